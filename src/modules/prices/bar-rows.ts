/** Bars as JSON: what the states of a step say, with its trades and how much of it is recorded. */
import { type Bar, barPlaceOf, type DoubleMid, readBars } from '#src/core/bars.ts'
import { coverageOf, shareOf, type Span } from '#src/core/coverage.ts'
import { formatMillionths } from '#src/core/decimal.ts'
import { type Market, type Outcome, outcomes } from '#src/core/market.ts'
import { formatMid } from '#src/core/quote.ts'
import type { SeriesPage, SeriesRequest } from '#src/core/series.ts'
import type { Position } from '#src/core/snapshot.ts'
import { decidedMs } from '#src/core/steps.ts'
import { toIso } from '#src/core/time.ts'
import type { Trade } from '#src/core/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Steps } from '#src/lib/scheduler.ts'
import { putText } from '#src/wire/row-bytes.ts'

import { tradePriceOf, walkTrades } from './last-trades.ts'

type History = Pick<MarketHistory, 'tops' | 'trades' | 'gaps'>
type Range = SeriesRequest['range']
/** Some 25 ms. */
const STATES_MAX = 200_000
const ROWS_A_STEP = 128

type BarsOf = { market: Market; stepMs: number; range: Range }

/** Reads a page of bars. */
export function* readPriceBars(history: History, request: BarsOf): Steps<SeriesPage> {
  const { market, stepMs, range } = request
  const read = (part: Range) => history.tops({ market, ...part })
  const { bars, hasMore } = yield* readBars({ read, stepMs, range, statesMax: STATES_MAX })
  const rows = yield* toRows(history, request, bars)
  const last = bars.at(-1)
  return {
    count: bars.length,
    put: (row, bytes, start) => putText(bytes, start, rows[row] ?? ''),
    last: last && barPlaceOf(last),
    hasMore,
    resume: resumeOf(request, bars),
  }
}

/**
 * A bar of an open market may still grow until a state at or after its end has come of each
 * outcome: a follower resumes before it, and is given it again. Undefined where no bar of the page
 * can grow.
 */
function resumeOf({ market, stepMs, range }: BarsOf, bars: readonly Bar[]): Position | undefined {
  if (range.order === 'desc') return undefined
  const endMs = decidedMs(market, range.outcome === undefined ? outcomes : [range.outcome]) + 1
  const growing = bars.find(({ startMs }) => startMs + stepMs > endMs)
  return growing && { timestampMs: growing.startMs, id: 0 }
}

function* toRows(history: History, request: BarsOf, bars: readonly Bar[]): Steps<string[]> {
  const { market, stepMs, range } = request
  const ascending = range.order === 'asc' ? bars : bars.toReversed()
  const [first, last] = [ascending[0], ascending.at(-1)]
  if (first === undefined || last === undefined) return []
  const whole = clip(range, { fromMs: first.startMs, toMs: last.startMs + stepMs })
  const tradesOf = createTradeCounter(history, market, whole)
  const coveredOf = createCoverageSums(history, request, whole)
  const rows: string[] = []
  for (const bar of ascending) {
    if (rows.length % ROWS_A_STEP === 0) yield
    const step = { fromMs: bar.startMs, toMs: bar.startMs + stepMs }
    const own = clip(range, step)
    const { count, last } = tradesOf(own)
    const place = `"outcome":"${bar.outcome}","start":"${toIso(step.fromMs)}","end":"${toIso(step.toMs)}"`
    const trades = `${tradeText(last, bar.outcome)},"lastTradeUpdates":${count}`
    const covered = formatMillionths(shareOf(coveredOf(bar.outcome, own), stepMs))
    rows.push(`{${place},${midsText(bar)},${trades},"states":${bar.states},"covered":${covered}}`)
  }
  return range.order === 'asc' ? rows : rows.reverse()
}

function tradeText(trade: Trade | undefined, outcome: Outcome): string {
  if (trade === undefined) return '"lastTrade":null,"lastTradeTime":null,"lastTradeOutcome":null'
  const traded = trade.outcome === undefined ? 'null' : `"${trade.outcome}"`
  const price = formatMillionths(tradePriceOf(trade, outcome))
  const time = toIso(trade.timestampMs)
  return `"lastTrade":${price},"lastTradeTime":"${time}","lastTradeOutcome":${traded}`
}

/** The part of a span that lies in the range. */
const clip = ({ fromMs = 0, toMs = Number.MAX_SAFE_INTEGER }: Range, span: Span): Span => ({
  fromMs: Math.max(span.fromMs, fromMs),
  toMs: Math.min(span.toMs, toMs),
})

function midsText({ mids }: Bar): string {
  if (mids === undefined) return '"open":null,"high":null,"low":null,"close":null'
  const { open, high, low, close } = mids
  return `"open":${text(open)},"high":${text(high)},"low":${text(low)},"close":${text(close)}`
}

const text = (mid: DoubleMid): string => formatMid(mid, 0)

/** Counts the last-trade updates of spans that ascend; those of equal spans are the same. */
function createTradeCounter(history: History, market: Market, whole: Span) {
  const walk = walkTrades(history.trades, market, whole)
  let known = { fromMs: -1, count: 0, last: walk.upTo(whole.fromMs - 1) }
  return ({ fromMs, toMs }: Span) => {
    if (known.fromMs === fromMs) return known
    walk.upTo(fromMs - 1)
    const before = walk.passed
    const last = walk.upTo(toMs - 1)
    known = { fromMs, count: walk.passed - before, last }
    return known
  }
}

/** Adds up the recorded milliseconds of spans that ascend, of each outcome by itself. */
function createCoverageSums(history: History, { market, range }: BarsOf, whole: Span) {
  // An open market is taken as known up to its last state: the answer must not change with the
  // clock.
  const nowMs = (market.lastSnapshotMs ?? 0) + 1
  const { outcome } = range
  const recorded = coverageOf({ market, gaps: history.gaps(market), outcome, ...whole, nowMs })
  const places = { up: 0, down: 0 }
  return (own: Outcome, { fromMs, toMs }: Span): number => {
    const intervals = recorded.find((each) => each.outcome === own)?.intervals ?? []
    let sum = 0
    for (let at = places[own], interval = intervals[at]; interval; interval = intervals[++at]) {
      if (interval.fromMs >= toMs) break
      sum += Math.max(0, Math.min(interval.toMs, toMs) - Math.max(interval.fromMs, fromMs))
      if (interval.toMs <= toMs) places[own] = at + 1
    }
    return sum
  }
}
