/** Recorded history as events, in the order in which a live stream would have sent them. */

import { ENDLESS_MS, type Gap, type GapReason } from '#src/domain/coverage.ts'
import type { Coin, Market, MarketAsOf, Timeframe } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { StoredTick } from '#src/domain/spot.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'

import { MarketCursor } from './feed.ts'
import {
  type Coming,
  type FeedQuery,
  lastRows,
  type LiveRow,
  type RowFilter,
  type RowReader,
} from './rows.ts'
import { latestTicks, type SpotFilter } from './spot.ts'

const ROWS_A_READ = 50
const TICKS_A_READ = 100
const MARKETS_A_READ = 50

export type ReplayEvent =
  MarketEvent | { timeMs: number; kind: 'tick' | 'lastTick'; tick: StoredTick; isPart?: boolean }

export type MarketEvent = { timeMs: number; market: Market } & (
  | { kind: 'open' | 'update' | 'closed' | 'resolved' | 'end' }
  | { kind: 'snapshot' | 'row'; row: LiveRow }
  | { kind: 'gap'; gap: Gap }
)

export type ReplayRange = {
  filter: RowFilter
  coin: Coin
  timeframe: Timeframe | undefined
  /** Undefined for all markets whose windows are in the range. */
  market: Market | undefined
  fromMs: number | undefined
  /** Exclusive. */
  toMs: number | undefined
  /** Replaces `fromMs`, exclusive: a position in the one market, or in the coin's prices. */
  after: Position | undefined
  /** False if only prices of the coin are requested. */
  hasMarkets: boolean
  /** False if only the opening, closing and resolution of markets are requested. */
  hasRows: boolean
  /** Undefined without prices of the coin. */
  spot: SpotFilter | undefined
}

/**
 * Yields the events of all markets of a range by time; yields undefined after a long read, so that
 * other work can run, and promises of rows that are being fetched.
 */
export function* replayEvents(
  range: ReplayRange,
  history: MarketHistory,
  rows: RowReader,
  nowMs: number,
): Generator<ReplayEvent | Coming | undefined, void> {
  const coming = range.market ? [range.market].values() : marketsIn(range, history)
  let next = coming.next()
  // Started first, so that prices come first among events of the same time.
  const playing = range.spot ? yield* begin(spotEvents(range.spot, range, history)) : []
  while (!next.done || playing.length > 0) {
    let [first] = playing
    // Among events of the same time, the source that began first comes first.
    for (const each of playing) if (first && each.event.timeMs < first.event.timeMs) first = each
    const startMs = next.done ? Number.POSITIVE_INFINITY : toStartMs(next.value, range)
    if (!next.done && startMs <= (first?.event.timeMs ?? startMs)) {
      const market = next.value
      const marks = listMarks(market, range, history, nowMs)
      const events = rowEvents(market, range, history, rows)
      playing.push(...(yield* begin(marketEvents(market, range, marks, events))))
      next = coming.next()
      yield undefined
    } else if (first) {
      yield first.event
      const rest = yield* begin(first.events)
      playing.splice(playing.indexOf(first), 1, ...rest)
    }
  }
}

/** Waits for the first event, and returns it with those that follow; empty if there is none. */
function* begin(
  events: Generator<ReplayEvent | Coming, void>,
): Generator<Coming, { event: ReplayEvent; events: Generator<ReplayEvent | Coming, void> }[]> {
  for (;;) {
    const { done, value } = events.next()
    if (done) return []
    if (!(value instanceof Promise)) return [{ event: value, events }]
    yield value
  }
}

function* spotEvents(
  filter: SpotFilter,
  range: ReplayRange,
  history: MarketHistory,
): Generator<ReplayEvent, void> {
  const { fromMs = 0, toMs } = range
  if (range.after === undefined) {
    const ticks = latestTicks(history, { ...filter, toMs: fromMs })
    for (const tick of ticks)
      yield { kind: 'lastTick', timeMs: fromMs, tick, isPart: tick !== ticks.at(-1) }
  }
  let after = range.after ?? { timestampMs: fromMs, id: 0 }
  for (;;) {
    const ticks = history.spot({ ...filter, toMs, after, order: 'asc', limit: TICKS_A_READ })
    for (const tick of ticks) yield { kind: 'tick', timeMs: tick.timestampMs, tick }
    if (ticks.length < TICKS_A_READ) return
    after = ticks.at(-1) ?? after
  }
}

/** Markets whose windows are in a range, in the order in which they begin. */
function* marketsIn(range: ReplayRange, history: MarketHistory): Generator<Market, void> {
  if (!range.hasMarkets) return
  const { coin, timeframe, fromMs = 0, toMs } = range
  // The longest window is a day.
  const query = {
    coin,
    timeframe,
    fromMs: Math.max(0, fromMs - DAY_MS),
    toMs,
    order: 'asc',
  } as const
  for (const page of marketPages(history, { ...query, limit: MARKETS_A_READ })) {
    for (const market of page) {
      const endMs = market.windowEndMs ?? market.lastSnapshotMs ?? 0
      if (endMs > fromMs) yield market
    }
  }
}

const toStartMs = ({ orderMs }: Market, { market, fromMs = 0 }: ReplayRange): number =>
  market === undefined ? Math.max(orderMs, fromMs) : fromMs

function* marketEvents(
  market: Market,
  range: ReplayRange,
  marks: readonly MarketEvent[],
  rows: Generator<MarketEvent | Coming, void>,
): Generator<MarketEvent | Coming, void> {
  const endMs = range.toMs ?? Number.POSITIVE_INFINITY
  const fromMs = range.after?.timestampMs ?? toStartMs(market, range)
  const inRange = marks.filter(
    (mark) => mark.timeMs >= fromMs && (mark.timeMs < endMs || isEndAt(mark, endMs)),
  )
  let lastMs = fromMs
  let next = 0
  for (const row of rows) {
    if (row instanceof Promise) {
      yield row
      continue
    }
    // Marks come before rows of the same time.
    for (let mark = inRange[next]; mark && mark.timeMs <= row.timeMs; mark = inRange[++next])
      yield mark
    lastMs = row.timeMs
    yield row
  }
  for (const mark of inRange.slice(next)) {
    lastMs = mark.timeMs
    yield mark
  }
  yield { kind: 'end', timeMs: lastMs, market }
}

/** True if a mark ends something at a time, and so belongs to a range that ends there. */
function isEndAt(mark: MarketEvent, timeMs: number): boolean {
  if (mark.timeMs !== timeMs) return false
  if (mark.kind === 'gap') return mark.gap.toMs === timeMs
  return mark.kind === 'closed' || mark.kind === 'resolved'
}

/** Gaps are among the marks. */
const noGaps: readonly Gap[] = []

/** Rows of a market; without a position, after the states with which a live stream begins. */
function* rowEvents(
  market: Market,
  range: ReplayRange,
  history: MarketHistory,
  rows: RowReader,
): Generator<MarketEvent | Coming, void> {
  const { filter, after, toMs, hasRows } = range
  const startMs = toStartMs(market, range)
  if (!hasRows || startMs >= (toMs ?? Number.POSITIVE_INFINITY)) return
  if (after === undefined && startMs > 0) {
    const query = { ...filter, market, toMs: startMs }
    let last = lastRows(rows, query)
    for (; last instanceof Promise; last = lastRows(rows, query)) yield last
    for (const row of last) yield { kind: 'snapshot', timeMs: startMs, market, row }
  }
  const sources = { findMarket: history.findMarket, gaps: () => noGaps }
  const cursor = new MarketCursor(sources, market, after ?? { timestampMs: startMs, id: 0 })
  const read = (query: FeedQuery) => rows.after({ ...filter, ...query, toMs })
  for (let hasMore = true; hasMore;) {
    const event = cursor.next(read, ROWS_A_READ)
    if (event === undefined && cursor.coming !== undefined) {
      yield cursor.coming
      continue
    }
    if (event?.kind !== 'rows') return
    for (const row of event.rows.rows)
      yield { kind: 'row', timeMs: row.position.timestampMs, market, row }
    hasMore = event.rows.hasMore
  }
}

/** Gaps that a recorder notices when they begin; others are known only when they end. */
const noticed: ReadonlySet<GapReason> = new Set([
  'recorder_down',
  'hash_mismatch',
  'replica_behind',
])

/**
 * The changes and gaps of a market, by time. The time at which its winner became known is not
 * recorded, so the market is resolved at its end.
 */
function listMarks(
  market: Market,
  range: ReplayRange,
  history: MarketHistory,
  nowMs: number,
): MarketEvent[] {
  const { windowStartMs, windowEndMs, winner } = market
  const isOver = windowEndMs !== undefined && windowEndMs <= nowMs
  const marks: MarketEvent[] = []
  const put = (kind: 'open' | 'update' | 'closed' | 'resolved', timeMs: number) =>
    marks.push({ kind, timeMs, market })
  if (windowStartMs !== undefined && windowStartMs <= nowMs) put('open', windowStartMs)
  const struckMs = struckLateMs(market)
  if (struckMs <= nowMs) put('update', struckMs)
  for (const gap of range.hasRows ? history.gaps(market) : []) {
    const { fromMs, toMs, reason } = gap
    if (noticed.has(reason))
      marks.push({ kind: 'gap', timeMs: fromMs, market, gap: { ...gap, toMs: ENDLESS_MS } })
    if (toMs !== ENDLESS_MS) marks.push({ kind: 'gap', timeMs: toMs, market, gap })
  }
  if (isOver) put('closed', windowEndMs)
  if (winner !== undefined) put('resolved', Math.max(windowEndMs ?? 0, market.lastSnapshotMs ?? 0))
  return marks.sort((a, b) => a.timeMs - b.timeMs)
}

/** The time of a strike known only after the start; any other is part of `market_open`. */
const struckLateMs = ({ strike, strikeMs = 0, windowStartMs = strikeMs }: Market): number =>
  strike !== undefined && strikeMs > windowStartMs ? strikeMs : Number.POSITIVE_INFINITY

/** The facts of a market that were known at an event. When it is resolved, all facts are known. */
export function marketAsOf(market: Market, { kind, timeMs }: MarketEvent): Market | MarketAsOf {
  if (kind === 'resolved') return market
  const { conditionId, coin, timeframe, source, slug, question, assetIds } = market
  const { windowStartMs, windowEndMs, settlementRule, strike, strikeSource, strikeMs } = market
  const isStruck = (strikeMs ?? windowStartMs ?? 0) <= timeMs
  return {
    conditionId,
    coin,
    timeframe,
    source,
    slug,
    question,
    assetIds,
    windowStartMs,
    windowEndMs,
    settlementRule,
    isClosed: false,
    ...(isStruck ? { strike, strikeSource, strikeMs } : {}),
  }
}
