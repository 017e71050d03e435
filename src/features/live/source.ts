/** Events of a fan-out group: of one market, or of the open markets of a coin. */
import {
  type Coin,
  factsFingerprint,
  type Market,
  type MarketStatus,
  statusOf,
  type Timeframe,
} from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { CoinCursors, RowCursors } from '#src/live/cursors.ts'
import { type FeedSources, MarketCursor } from '#src/live/feed.ts'
import { gapMembers } from '#src/live/gaps.ts'
import type { Source } from '#src/live/group.ts'
import { type MarketWatch, UNRESOLVED_MS } from '#src/live/market-watch.ts'
import {
  type Coming,
  type FeedQuery,
  lastRows,
  type LiveRow,
  type RowFilter,
  type RowReader,
  START,
} from '#src/live/rows.ts'

import type { EventEncoder } from './encoder.ts'

/** Rows of a market in one read. */
const STEP_ROWS = 100

export type FollowOptions = {
  coin: Coin
  /** Undefined for all open markets of the coin. */
  conditionId: string | undefined
  timeframe: Timeframe | undefined
  filter: RowFilter
  heartbeatMs: number
}

export type EventFeed = {
  sources: FeedSources
  rows: RowReader
  rowCursors: RowCursors
  coinCursors: CoinCursors
  markets: MarketWatch
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  describeMarket: (market: Market) => string
  ready: MarketHistory['ready']
}

/** The last rows of a market, as rows that can be read again. */
export function readLast(
  { rows, ready }: Pick<EventFeed, 'rows' | 'ready'>,
  filter: RowFilter,
  market: Market,
): LiveRow[] | Coming {
  const last = lastRows(rows, { ...filter, market })
  if (last instanceof Promise || filter.channel === 'trades') return last
  const ranges = last.map(({ position, outcome }) => ({
    market,
    outcome: outcome ?? undefined,
    order: 'asc' as const,
    after: { ...position, id: position.id - 1 },
    limit: 1,
  }))
  return ready(ranges) ?? last
}

/** A market, with the status that was last sent. */
export type FollowedMarket = { cursor: MarketCursor; status: MarketStatus; facts: string }

/** Follows a market after a position, or after its last row. */
export function followMarket(
  { sources, rows, clock }: EventFeed,
  filter: RowFilter,
  market: Market,
  position: Position | undefined,
): FollowedMarket {
  const start = position ?? rows.end(market, filter)
  const cursor = new MarketCursor(sources, market, start, { seen: rows.seen(filter) })
  if (position === undefined) cursor.waitForRows()
  return {
    cursor,
    // A client that resumes also gets changes of the market since its cursor.
    status: position === undefined ? statusOf(market, clock()) : 'open',
    facts: factsFingerprint(market),
  }
}

type Opened = { conditionId: string; last: LiveRow[] | Coming }

export interface EventSource extends Source<Uint8Array, EventSource> {
  readonly encoder: EventEncoder
  /** First events of a stream: the last rows, unless it resumes. */
  begin(isContinued: boolean): Uint8Array[]
}

export function createEventSource(
  feed: EventFeed,
  options: FollowOptions,
  encoder: EventEncoder,
  /** Followed markets by condition id. */
  followed: Map<string, FollowedMarket>,
  /** Newly opened markets that are to be sent with their last rows. */
  opened: Opened[] = [],
): EventSource {
  const { coin, conditionId, timeframe, filter, heartbeatMs } = options
  const { clock, timer, describeMarket } = feed
  const pieces: Uint8Array[] = []
  let sentMs = timer()
  let hasMore = false
  /** Error of an unreadable new market: the next read ends this group only. */
  let fault: unknown
  /** Pending fetch of a new market's last rows. */
  let coming: Coming | undefined

  const say = (name: string, json: string): void =>
    void pieces.push(encoder.event(`event:${name}\ndata:${toAscii(json)}`))
  const sayMarket = (kind: string, { cursor }: FollowedMarket): void =>
    say(`market_${kind}`, describeMarket(cursor.market))

  /** Lines before the data of a row; moves the market to the row's position. */
  function linesBefore(
    name: 'row' | 'late' | 'snapshot',
    { cursor }: FollowedMarket,
    at: Position,
  ): string {
    cursor.skipTo(at)
    const id =
      conditionId === undefined
        ? feed.coinCursors.encode(options, cursorsOf(followed))
        : feed.rowCursors.encode(cursor.market, filter, cursor.position)
    return `event:${name}\nid:${id}\ndata:`
  }

  /** Returns undefined for a market that is already followed, or does not match the filter. */
  function add(market: Market, position: Position | undefined): FollowedMarket | undefined {
    if ((timeframe ?? market.timeframe) !== market.timeframe || followed.has(market.conditionId))
      return undefined
    const made = followMarket(feed, filter, market, position)
    followed.set(market.conditionId, made)
    return made
  }

  const lastOf = (market: Market): Opened => ({
    conditionId: market.conditionId,
    last: readLast(feed, filter, market),
  })

  /** Only the last row has an id: a client that is cut off before it starts again. */
  function writeLast(those: readonly Opened[]): void {
    const all = those.flatMap(({ conditionId: of, last }) => {
      if (last instanceof Promise) throw new Error('The last rows of a market were not fetched.')
      return last.map((row) => ({ row, of }))
    })
    for (const [index, { row, of }] of all.entries()) {
      const each = followed.get(of)
      if (each === undefined) continue
      const lines = linesBefore('snapshot', each, row.position)
      const before = index < all.length - 1 ? 'event:snapshot\ndata:' : lines
      pieces.push(encoder.row(each.cursor.market, row, before))
    }
  }

  /** Writes some rows, and each gap after its preceding rows; returns true if no rows are left. */
  function writeRows(each: FollowedMarket): boolean {
    const { cursor } = each
    const read = (query: FeedQuery) =>
      encoder.rows(query, (position, isLate = false) =>
        linesBefore(isLate ? 'late' : 'row', each, position),
      )
    for (;;) {
      const event = cursor.next(read, STEP_ROWS)
      if (event === undefined) return true
      if (event.kind === 'gap') say('gap', `{${gapMembers(cursor.market, event.gap)}}`)
      else if (event.rows.bytes.length > 0) pieces.push(event.rows.bytes)
      if (event.kind === 'rows' && event.rows.hasMore) return false
    }
  }

  function sayChange(each: FollowedMarket): void {
    const { market } = each.cursor
    const status = statusOf(market, clock())
    const facts = factsFingerprint(market)
    if (status !== each.status && status !== 'upcoming') sayMarket(status, each)
    else if (facts !== each.facts) sayMarket('update', each)
    each.status = status
    each.facts = facts
  }

  function advance(each: FollowedMarket): void {
    const { cursor } = each
    const hasNewRows = !cursor.hasAllRows
    if (!hasNewRows) sayChange(each)
    if (!writeRows(each)) {
      hasMore = true
      return
    }
    // Events of the market follow its rows.
    if (cursor.coming !== undefined) return
    if (hasNewRows) sayChange(each)
    const isOver = clock() > (cursor.market.windowEndMs ?? Infinity) + UNRESOLVED_MS
    if (conditionId === undefined && (each.status === 'resolved' || isOver))
      followed.delete(cursor.market.conditionId)
  }

  const watch =
    conditionId === undefined
      ? feed.markets.watch(coin, ({ kind, market }) => {
          try {
            if (kind === 'open' && add(market, undefined)) opened.push(lastOf(market))
          } catch (error) {
            fault = error
          }
        })
      : undefined

  /** Sends a new market with its last rows; returns false while they are being fetched. */
  function sayOpened(each: Opened): boolean {
    const market = followed.get(each.conditionId)
    if (market === undefined) return true
    const last =
      each.last instanceof Promise ? readLast(feed, filter, market.cursor.market) : each.last
    if (!(last instanceof Promise)) {
      sayMarket('open', market)
      writeLast([{ ...each, last }])
      return true
    }
    coming = last
      .catch((error: unknown) => {
        fault = error
      })
      .finally(() => {
        coming = undefined
      })
    return false
  }

  function taken(): Uint8Array[] {
    if (pieces.length > 0) sentMs = timer()
    return pieces.splice(0)
  }

  return {
    encoder,

    begin(isContinued) {
      pieces.push(encoder.event('retry:3000'))
      for (const market of watch?.open ?? []) add(market, isContinued ? START : undefined)
      if (!isContinued) writeLast(cursorsOf(followed).map(({ market }) => lastOf(market)))
      else
        for (const each of followed.values())
          if (each.cursor.position === START) sayMarket('open', each)
      return taken()
    },

    next() {
      if (fault !== undefined) throw fault
      hasMore = false
      while (coming === undefined && opened[0] !== undefined && sayOpened(opened[0])) opened.shift()
      const waiting = new Set(opened.map((each) => each.conditionId))
      for (const [id, each] of [...followed]) if (!waiting.has(id)) advance(each)
      if (pieces.length === 0 && timer() - sentMs >= heartbeatMs) pieces.push(encoder.event(':'))
      return taken()
    },

    get hasMore() {
      return hasMore
    },

    get step() {
      const markets = [...followed.values()].map(({ cursor, status, facts }) => {
        return [cursor.step, status, facts]
      })
      return JSON.stringify([encoder.step, markets])
    },

    fork() {
      const markets = [...followed].map(
        ([id, each]) => [id, { ...each, cursor: each.cursor.fork() }] as const,
      )
      const ownEncoder = encoder.fork(encoder.sum)
      const ownOpened = [...opened]
      return createEventSource(feed, options, ownEncoder, new Map(markets), ownOpened)
    },

    stop: () => watch?.stop(),
  }
}

const cursorsOf = (followed: Map<string, FollowedMarket>): MarketCursor[] =>
  [...followed.values()].map(({ cursor }) => cursor)

/**
 * Escapes non-ASCII characters, which the row encoding has no code for; they only occur in strings.
 */
export const toAscii = (json: string): string =>
  json.replace(/[^!-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
