/**
 * A market as it was known at a moment: rows that were accepted by then, and were not replaced
 * since; facts and gaps as they were, of which changes are noted. Ids rise in the order of
 * acceptance, and once a second the first one of it is noted.
 */
import type { Gap } from '#src/domain/coverage.ts'
import { parameterError } from '#src/domain/errors.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { SpotQuery } from '#src/domain/spot.ts'
import { toIso } from '#src/domain/time.ts'
import type { StoredTrade, TradeQuery } from '#src/domain/trade.ts'
import { createSnapshotScanner } from '#src/domain/wire/snapshot-json.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { MarketHistory, Page, RowQuery, RowRange, StoredRow, Top } from '../history.ts'
import { readTops } from './fetched.ts'
import { firstOf, toPage } from './row-page.ts'

const SECOND_MS = 1000

/** Rows that are looked at in a step: a millisecond of work. */
export const BLOCK = 2000
const FIRST_BLOCK = 8
/** Rows whose texts are read at once. */
const TEXTS = 100

type Log = Pick<MarketHistory, 'revisions'>

type Asked = {
  knownAt: number
  nowMs: number
  /** Whether the answer has more than books, such as trades, or steps, which gaps decide. */
  needsEvents?: boolean
}

/** The whole second at or before `knownAt`: what came before it begins was known. */
export type Moment = {
  atMs: number
  /** The first ids that were not known. */
  belowId: number
  belowTradeId: number
  belowSpotId: number
  /** Whether facts, gaps, trades and prices of the coin are known as they were, too. */
  hasEvents: boolean
}

/** Throws `invalid_parameter` for a moment that cannot be answered, with the first that can. */
export function toMoment({ revisions }: Log, { knownAt, nowMs, needsEvents }: Asked): Moment {
  if (knownAt > nowMs) {
    throw parameterError('knownAt', '`knownAt` is in the future. Leave it out for what is known.')
  }
  const second = Math.floor(knownAt / SECOND_MS)
  const eventsSinceMs = revisions.eventsSinceMs()
  const sinceMs = needsEvents ? eventsSinceMs : revisions.sinceMs()
  assertKept(second, sinceMs, 'what changed before was not noted')
  const hasEvents = second >= firstAfter(eventsSinceMs)
  return {
    ...{ atMs: second * SECOND_MS, hasEvents, belowId: revisions.firstIdFrom(second) },
    belowTradeId: hasEvents ? revisions.firstTradeIdFrom(second) : 0,
    belowSpotId: hasEvents ? revisions.firstSpotIdFrom(second) : 0,
  }
}

const firstAfter = (ms: number): number => Math.floor(ms / SECOND_MS) + 1

/** Throws `invalid_parameter` for a second that is not after a moment. */
function assertKept(second: number, lostMs: number, why: string): void {
  const first = firstAfter(lostMs)
  if (second >= first) return
  throw parameterError(
    'knownAt',
    `What was known at ${toIso(second * SECOND_MS)} is not kept: ${why}. The first moment that can be answered is ${toIso(first * SECOND_MS)}.`,
  )
}

/** Throws `invalid_parameter` where rows, or what is asked beside, were replaced since. */
export function assertUnreplaced(
  { revisions }: Log,
  { conditionId }: Market,
  { atMs, withReceived }: { atMs: number; withReceived: boolean },
): void {
  const lostMs = withReceived
    ? revisions.lastChangeMs(conditionId)
    : revisions.lastRemovalMs(conditionId)
  const what = withReceived ? 'rows, or times of receipt,' : 'rows'
  assertKept(atMs / SECOND_MS, lostMs, `${what} of market ${conditionId} were replaced since`)
}

/** A market as it was, and the verbs that read it. */
export type Known = { market: Market; history: MarketHistory }

/** What `X-Coverage` says, which is not known of a moment before gaps were noted. */
export const coverageAt = ({ hasEvents }: Moment, coverage: string): string =>
  hasEvents ? coverage : UNKNOWN
const UNKNOWN = 'unknown'

/**
 * Reads in steps what decides the answers: where the rows that were known begin and end. Throws
 * `invalid_parameter` as `assertUnreplaced`.
 */
export function* openKnown(
  history: MarketHistory,
  now: Market,
  moment: Moment & { withReceived?: boolean },
): Steps<Known> {
  const { atMs, hasEvents, withReceived = false } = moment
  assertUnreplaced(history, now, { atMs, withReceived })
  const spans = {
    up: yield* findSpan(history, now, { outcome: 'up', belowId: moment.belowId }),
    down: yield* findSpan(history, now, { outcome: 'down', belowId: moment.belowId }),
  }
  const found = outcomes.flatMap((outcome) => spans[outcome] ?? [])
  const market: Market = {
    ...withFacts(history, now, moment),
    ...{ spans, firstSnapshotMs: undefined, lastSnapshotMs: undefined },
    ...(found.length > 0 && {
      firstSnapshotMs: Math.min(...found.map(({ firstMs }) => firstMs)),
      lastSnapshotMs: Math.max(...found.map(({ lastMs }) => lastMs)),
    }),
  }
  const gaps: readonly Gap[] = hasEvents ? history.revisions.gapsAt(now, atMs) : []
  const reads = createKnownReads(history, { ...moment, endMs: (market.lastSnapshotMs ?? -1) + 1 })
  return {
    market,
    history: { ...history, ...reads, gaps: () => gaps },
  }
}

/** A market with the facts of a moment, and not closed where it was not; its rows are as now. */
export function withFacts({ revisions }: Log, now: Market, { atMs, hasEvents }: Moment): Market {
  if (!hasEvents) return now
  const before = revisions
    .factsSince(now.conditionId, atMs)
    .map(({ fact, before: was }) => [fact, was ?? undefined] as const)
  const isClosed = now.isClosed && !revisions.isClosedSince(now, atMs)
  return { ...now, ...Object.fromEntries(before), isClosed }
}

type Own = { outcome: Outcome; belowId: number }

/** First and last row of an outcome that were known. */
function* findSpan(
  history: Pick<MarketHistory, 'fetch' | 'tops'>,
  market: Market,
  own: Own,
): Steps<Market['spans'][Outcome]> {
  const first = yield* findKnown(history, { ...own, market, order: 'asc' })
  if (first === undefined) return undefined
  const last = yield* findKnown(history, { ...own, market, order: 'desc' })
  return { firstMs: first.timestampMs, lastMs: (last ?? first).timestampMs }
}

/** The first row of a query that was known. */
function* findKnown(
  history: Pick<MarketHistory, 'fetch' | 'tops'>,
  { belowId, ...query }: Omit<RowQuery, 'limit'> & { belowId: number },
): Steps<Top | undefined> {
  let after: Position | undefined
  for (;;) {
    // The first one of all is known, unless it came late.
    const limit = after === undefined ? FIRST_BLOCK : BLOCK
    const block = yield* readTops(history, { ...query, after, limit })
    const found = block.find(({ id }) => id < belowId)
    if (found !== undefined || block.length < limit) return found
    after = block.at(-1)
    yield
  }
}

type Bounds = Pick<Moment, 'belowId' | 'belowTradeId' | 'belowSpotId'> & {
  /** After the last row that was known. */
  endMs: number
}

function createKnownReads(history: MarketHistory, bounds: Bounds) {
  const { belowId, belowTradeId, belowSpotId, endMs } = bounds
  const scanner = createSnapshotScanner()
  const clamp = <Query extends RowRange>(query: Query): Query => ({
    ...query,
    toMs: Math.min(query.toMs ?? endMs, endMs),
  })

  /**
   * A read goes on after rows that were not known, block after block: of each the next block is
   * fetched, up to where the read ends.
   */
  function fetchOne(range: RowRange): Promise<void> | undefined {
    const query = clamp(range)
    const { limit = Number.POSITIVE_INFINITY } = query
    let { after } = query
    for (let count = 0; count <= limit;) {
      const block = { ...query, stepMs: undefined, after, limit: BLOCK, withTops: true }
      const coming = history.fetch([block])
      if (coming !== undefined) return coming
      const places = history.tops(block)
      if (places.length < BLOCK) break
      count += places.filter(({ id }) => id < belowId).length
      after = places.at(-1)
    }
    return undefined
  }

  function fetch(ranges: readonly RowRange[]): Promise<void> | undefined {
    if (history.isWhole()) return undefined
    const coming = ranges.flatMap((range) => fetchOne(range) ?? [])
    if (coming.length === 0) return undefined
    const all = Promise.all(coming).then(() => undefined)
    // As of `MarketHistory.fetch`, a caller need not wait for it.
    all.catch(() => {})
    return all
  }

  function tops(asked: RowQuery): Top[] {
    const query = clamp(asked)
    const found: Top[] = []
    let { after } = query
    for (;;) {
      const block = history.tops({ ...query, after, limit: BLOCK })
      found.push(...block.filter(({ id }) => id < belowId))
      if (found.length >= query.limit || block.length < BLOCK) return found.slice(0, query.limit)
      after = block.at(-1)
    }
  }

  /** Rows that were known, with their places. */
  function* rowsOf(query: RowQuery) {
    let { after } = query
    for (;;) {
      const part = { ...query, after, limit: TEXTS }
      const places = history.tops(part)
      const { received, texts } = history.page(part)
      let at = 0
      for (const text of texts()) {
        const place = places[at]
        const receivedMs = received[at++]
        if (place !== undefined && place.id < belowId)
          yield { place, text: text.slice(), receivedMs }
      }
      if (places.length < TEXTS) return
      after = places.at(-1)
    }
  }

  function page(query: RowQuery): Page {
    const found = [...rowsOf(clamp(query)).take(query.limit + 1)]
    const rows = found.slice(0, query.limit)
    return toPage(query, {
      rows,
      last: rows.at(-1)?.place,
      hasMore: found.length > rows.length,
    })
  }

  const spot = (query: SpotQuery) =>
    history.spot({ ...query, uptoId: Math.min(query.uptoId ?? Infinity, belowSpotId - 1) })

  function at({ market, outcome, timestampMs }: Parameters<MarketHistory['at']>[0]) {
    const query = { market, outcome, toMs: timestampMs + 1, order: 'desc', limit: 1 } as const
    const [found] = tops(query)
    if (found === undefined) return undefined
    const after = { timestampMs: found.timestampMs, id: found.id - 1 }
    const read = (withReceived: boolean): Page =>
      history.page({ market, order: 'asc', after, limit: 1, withReceived })
    const text = (): Uint8Array => firstOf(read(false).texts())
    return {
      ...{ timestampMs: found.timestampMs, id: found.id, text },
      snapshot() {
        const bytes = text()
        const { id, ...snapshot } = scanner.scan(bytes, 0, bytes.length)
        return { ...snapshot, id: Number(id) }
      },
      receivedMs: () => read(true).received[0],
    } satisfies StoredRow
  }

  return { fetch, tops, page, at, spot, trades: createKnownTrades(history, belowTradeId) }
}

const createKnownTrades =
  (history: Pick<MarketHistory, 'trades'>, belowId: number) =>
  (query: TradeQuery): StoredTrade[] =>
    history.trades({ ...query, belowId: Math.min(query.belowId ?? belowId, belowId) })
