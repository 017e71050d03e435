/** What was recorded, as events in the order in which a live stream would have had them. */
import { ENDLESS_MS, type Gap, type GapReason } from '#src/core/coverage.ts'
import { type Coin, type Market, outcomes, type Timeframe } from '#src/core/market.ts'
import type { Position } from '#src/core/snapshot.ts'
import { DAY_MS } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'

import type { LiveRow, RowFilter, RowReader } from './rows.ts'

const ROWS_A_READ = 50
const MARKETS_A_READ = 50

export type ReplayEvent = { timeMs: number; market: Market } & (
  | { kind: 'open' | 'closed' | 'resolved' | 'end' }
  | { kind: 'snapshot' | 'row'; row: LiveRow }
  | { kind: 'gap'; gap: Gap }
)

export type ReplayRange = {
  filter: RowFilter
  coin: Coin
  timeframe: Timeframe | undefined
  /** The only market; undefined for all whose windows are in the range. */
  market: Market | undefined
  fromMs: number | undefined
  /** Exclusive. */
  toMs: number | undefined
  /** Of one market: exclusive, in place of `fromMs`. */
  after: Position | undefined
  /** False where only what becomes of markets is asked for. */
  hasRows: boolean
}

export type ReplayPorts = { history: MarketHistory; read: RowReader; nowMs: number }

type Events = Generator<ReplayEvent, void>

/**
 * Events of all markets of a range by time. Yields undefined where it only read something: others
 * may go between.
 */
export function* replayEvents(
  range: ReplayRange,
  ports: ReplayPorts,
): Generator<ReplayEvent | undefined, void> {
  const coming = range.market ? [range.market].values() : marketsIn(range, ports)
  let next = coming.next()
  const playing: Playing[] = []
  while (!next.done || playing.length > 0) {
    const first = earliest(playing)
    const startMs = next.done ? Number.POSITIVE_INFINITY : startOf(next.value, range)
    if (!next.done && startMs <= (first?.event.timeMs ?? startMs)) {
      const events = marketEvents(next.value, range, ports)
      playing.push(...begin(events))
      next = coming.next()
      yield undefined
    } else if (first) {
      yield first.event
      playing.splice(playing.indexOf(first), 1, ...begin(first.events))
    }
  }
}

type Playing = { event: ReplayEvent; events: Events }

/** A market with its next event; nothing where there is none. */
function begin(events: Events): Playing[] {
  const next = events.next()
  return next.done ? [] : [{ event: next.value, events }]
}

/** Of several at one moment that which came first. */
const earliest = (playing: readonly Playing[]): Playing | undefined =>
  playing.reduce<Playing | undefined>(
    (least, each) => (least && least.event.timeMs <= each.event.timeMs ? least : each),
    undefined,
  )

/** Markets whose windows are in a range, in the order in which they begin. */
function* marketsIn(range: ReplayRange, { history }: ReplayPorts): Generator<Market, void> {
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

const startOf = ({ orderMs }: Market, { market, fromMs = 0 }: ReplayRange): number =>
  market === undefined ? Math.max(orderMs, fromMs) : fromMs

function* marketEvents(market: Market, range: ReplayRange, ports: ReplayPorts): Events {
  const endMs = range.toMs ?? Number.POSITIVE_INFINITY
  const fromMs = range.after?.timestampMs ?? startOf(market, range)
  const marks = marksOf(market, range, ports).filter(
    ({ timeMs }) => timeMs >= fromMs && timeMs < endMs,
  )
  let atMs = fromMs
  for (const event of mergedOf(marks, rowEvents(market, range, ports))) {
    if (event.timeMs >= endMs) return
    atMs = event.timeMs
    yield event
  }
  yield { kind: 'end', timeMs: atMs, market }
}

/** By time; of one moment marks come first. */
function* mergedOf(marks: readonly ReplayEvent[], rows: Events): Events {
  let next = 0
  for (const row of rows) {
    for (let mark = marks[next]; mark && mark.timeMs <= row.timeMs; mark = marks[++next]) yield mark
    yield row
  }
  yield* marks.slice(next)
}

function* rowEvents(market: Market, range: ReplayRange, ports: ReplayPorts): Events {
  if (!range.hasRows) return
  const startMs = startOf(market, range)
  if (range.after === undefined && startMs > 0)
    yield* statesAt(market, startMs, { range, read: ports.read })
  for (const row of rowsOf(market, range, ports))
    yield { kind: 'row', timeMs: row.position.timestampMs, market, row }
}

/** What a live stream would have begun with. */
function* statesAt(
  market: Market,
  timeMs: number,
  { range: { filter }, read }: { range: ReplayRange; read: RowReader },
): Events {
  for (const outcome of filter.outcome === undefined ? outcomes : [filter.outcome]) {
    const row = read.latest({ ...filter, market, outcome, toMs: timeMs })
    if (row) yield { kind: 'snapshot', timeMs, market, row }
  }
}

function* rowsOf(market: Market, range: ReplayRange, { history, read }: ReplayPorts) {
  let after = range.after ?? { timestampMs: startOf(market, range), id: 0 }
  for (;;) {
    const now = history.findMarket(market.conditionId) ?? market
    const page = read.after({ ...range.filter, market: now, after, limit: ROWS_A_READ })
    yield* page.rows
    after = page.resume
    if (!page.hasMore) return
  }
}

/** Gaps that somebody noticed when they began; of the others one knows when they are over. */
const noticed: ReadonlySet<GapReason> = new Set(['recorder_down', 'hash_mismatch'])

/** What became of a market, by time. When its winner was known is not on record: at its end. */
function marksOf(
  market: Market,
  range: ReplayRange,
  { history, nowMs }: ReplayPorts,
): ReplayEvent[] {
  const { windowStartMs, windowEndMs, winner } = market
  const isOver = windowEndMs !== undefined && windowEndMs <= nowMs
  const marks: ReplayEvent[] = []
  const put = (kind: 'open' | 'closed' | 'resolved', timeMs: number) =>
    marks.push({ kind, timeMs, market })
  if (windowStartMs !== undefined && windowStartMs <= nowMs) put('open', windowStartMs)
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

/** What was known of a market at a moment; how many states are held is as of today. */
export function marketAsOf(market: Market, { kind, timeMs }: ReplayEvent): Market {
  if (kind === 'resolved') return market
  const lastSnapshotMs = Math.min(market.lastSnapshotMs ?? timeMs, timeMs)
  return {
    ...market,
    ...{ winner: undefined, winnerSource: undefined, finalPrice: undefined, isClosed: false },
    ...{ lastSnapshotMs },
  }
}
