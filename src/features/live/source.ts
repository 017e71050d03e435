/** What a group of streams follows: a market, or the open markets of a coin, as events. */
import {
  type Coin,
  factsFingerprint,
  type Market,
  type MarketStatus,
  statusOf,
  type Timeframe,
} from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { StaleSince } from '#src/domain/staleness.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
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

/** Rows of a market that are read at a time. */
const STEP_ROWS = 100

export type FollowOptions = {
  coin: Coin
  /** Undefined for every open market of the coin. */
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
  staleSince: StaleSince
}

/** The last rows of a market, which can be read once more. */
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

/** A market, and what was last said of it besides its rows and gaps. */
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
    // A subscriber that resumes gets what has become of the market since.
    status: position === undefined ? statusOf(market, clock()) : 'open',
    facts: factsFingerprint(market),
  }
}

type Opened = { conditionId: string; last: LiveRow[] | Coming }

export interface EventSource extends Source<Uint8Array, EventSource> {
  readonly encoder: EventEncoder
  /** What a stream begins with: the last rows, unless it continues. */
  begin(isContinued: boolean): Uint8Array[]
}

export function createEventSource(
  feed: EventFeed,
  options: FollowOptions,
  encoder: EventEncoder,
  /** By condition id. */
  followed: Map<string, FollowedMarket>,
  /** Markets that opened and are still to be sent, with their last rows. */
  opened: Opened[] = [],
  /** Whether `stale` was the last that was said of it. */
  wasStale = false,
): EventSource {
  const { coin, conditionId, timeframe, filter, heartbeatMs } = options
  const { clock, timer, describeMarket, staleSince } = feed
  const pieces: Uint8Array[] = []
  let sentMs = timer()
  let hasMore = false
  let isStale = wasStale
  /** Why a market that opened cannot be read: the next read ends this group, and no other. */
  let fault: unknown
  /** Last rows of a market that opened, which are being fetched. */
  let coming: Coming | undefined

  const say = (name: string, json: string): void =>
    void pieces.push(encoder.event(`event:${name}\ndata:${toAscii(json)}`))
  const sayMarket = (kind: string, { cursor }: FollowedMarket): void =>
    say(`market_${kind}`, describeMarket(cursor.market))

  /** What is before the data of a row, to whose position it takes the market. */
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

  /** Returns undefined for a market that is followed, or is not wanted. */
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

  /** Only the last row has an id: a client cut off before it begins again. */
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

  /** Writes some rows, and each gap after those before it; returns whether these were all. */
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
    // What is said of the market comes after its rows.
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

  /** Sends a market that opened with its last rows; false while they are being fetched. */
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

  /** The moment up to which what is followed is known, while that is stale: a closed market never is. */
  function staleMoment(): number | undefined {
    const sinceMs = staleSince('history')
    if (sinceMs === undefined || conditionId === undefined) return sinceMs
    return cursorsOf(followed).some(({ market }) => !market.isClosed) ? sinceMs : undefined
  }

  function sayStale(): void {
    const sinceMs = isStale ? undefined : staleMoment()
    if (sinceMs === undefined) return
    isStale = true
    say('stale', `{"since":"${toIso(sinceMs)}"}`)
  }

  /** After the rows that were recorded meanwhile. */
  function sayCurrent(): void {
    if (!isStale || hasMore || staleMoment() !== undefined) return
    isStale = false
    say('current', `{"time":"${toIso(clock())}"}`)
  }

  function taken(): Uint8Array[] {
    if (pieces.length > 0) sentMs = timer()
    return pieces.splice(0)
  }

  return {
    encoder,

    begin(isContinued) {
      pieces.push(encoder.event('retry:3000'))
      sayStale()
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
      sayStale()
      while (coming === undefined && opened[0] !== undefined && sayOpened(opened[0])) opened.shift()
      const waiting = new Set(opened.map((each) => each.conditionId))
      for (const [id, each] of [...followed]) if (!waiting.has(id)) advance(each)
      sayCurrent()
      if (pieces.length === 0 && timer() - sentMs >= heartbeatMs)
        pieces.push(encoder.event(isStale ? ':stale' : ':'))
      return taken()
    },

    get hasMore() {
      return hasMore
    },

    get step() {
      const markets = [...followed.values()].map(({ cursor, status, facts }) => {
        return [cursor.step, status, facts]
      })
      return JSON.stringify([encoder.step, markets, isStale])
    },

    fork() {
      const markets = [...followed].map(
        ([id, each]) => [id, { ...each, cursor: each.cursor.fork() }] as const,
      )
      const ownEncoder = encoder.fork(encoder.sum)
      const ownOpened = [...opened]
      return createEventSource(feed, options, ownEncoder, new Map(markets), ownOpened, isStale)
    },

    stop: () => watch?.stop(),
  }
}

const cursorsOf = (followed: Map<string, FollowedMarket>): MarketCursor[] =>
  [...followed.values()].map(({ cursor }) => cursor)

/** JSON without any character that a stream of rows has no code for; they are all in strings. */
export const toAscii = (json: string): string =>
  json.replace(/[^!-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
