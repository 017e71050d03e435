/** Prices of a market over time: changes, or bars; each row has the last trade. */
import { type Bar, barPosition, type DoubleMid, doubleMidOf, readBars } from '#src/domain/bars.ts'
import { readChanges } from '#src/domain/changes.ts'
import { coverageOf, createGapFinder, shareOf, type Span } from '#src/domain/coverage.ts'
import { formatMillionths, type Millionths, MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import { formatMid } from '#src/domain/quote.ts'
import type { ReadStates, SeriesPage, SeriesRequest, State } from '#src/domain/series.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { overlapOf } from '#src/domain/spans.ts'
import { decidedMs } from '#src/domain/steps.ts'
import { toIso } from '#src/domain/time.ts'
import type { StoredTrade, Trade } from '#src/domain/trade.ts'
import {
  createTimePut,
  piecesOf,
  putMid,
  putMillionths,
  putPiece,
  putPlace,
  putText,
} from '#src/domain/wire/row-bytes.ts'
import type { MarketHistory, Top } from '#src/history/history.ts'
import { readTops } from '#src/history/reads/until-ready.ts'

type History = Pick<MarketHistory, 'ready' | 'tops' | 'trades' | 'gaps'>
type Range = SeriesRequest['range']
type BarsOf = { market: Market; stepMs: number; range: Range }
type PriceState = State & { top: Top; trade: Trade | undefined }

/** Bounds the states read for one page, about 25 ms. */
const STATES_MAX = 200_000

/** Throws `NotReady`. */
export const readPrices = (history: History, request: SeriesRequest): SeriesPage =>
  request.stepMs === undefined
    ? readPriceChanges(history, request)
    : readPriceBars(history, { ...request, stepMs: request.stepMs })

function readPriceChanges(history: History, { market, range }: SeriesRequest): SeriesPage {
  const putState = createPut()
  const { rows, last, hasMore } = readChanges({
    read: createReader(history, market),
    isSame,
    range,
  })
  const put: SeriesPage['put'] = (row, bytes, start) => {
    const state = rows[row]
    return state ? putState(bytes, start, state) : start
  }
  return { count: rows.length, put, last, hasMore }
}

const createTopReader =
  (history: History, market: Market): ReadStates<Top> =>
  (part) =>
    readTops(history, { ...part, market })

function createReader(history: History, market: Market): ReadStates<PriceState> {
  const readPart = createTopReader(history, market)
  return (part) => {
    const tops = readPart(part)
    const ascending = part.order === 'asc' ? tops : tops.toReversed()
    const first = ascending[0]
    const last = ascending.at(-1)
    if (first === undefined || last === undefined) return []
    const span = { fromMs: first.timestampMs, toMs: last.timestampMs + 1 }
    const walk = walkTrades(history.trades, market, span)
    const states = ascending.map((top): PriceState => {
      const { timestampMs, id, outcome } = top
      return { timestampMs, id, outcome, top, trade: walk.upTo(timestampMs) }
    })
    return part.order === 'asc' ? states : states.reverse()
  }
}

const isSame = (before: PriceState, state: PriceState): boolean =>
  doubleMidOf(before.top) === doubleMidOf(state.top) && isSameTrade(before.trade, state.trade)

/** Compares only the members that a row shows. */
const isSameTrade = (a: Trade | undefined, b: Trade | undefined): boolean =>
  a === b ||
  (a?.timestampMs === b?.timestampMs && a?.price === b?.price && a?.outcome === b?.outcome)

const pieces = piecesOf({
  open: '{',
  timestamp: ',"timestamp":"',
  next: '",',
  lastTrade: ',"lastTrade":',
  time: ',"lastTradeTime":"',
  outcome: '","lastTradeOutcome":',
  noOutcome: '","lastTradeOutcome":null}',
  noTrade: ',"lastTrade":null,"lastTradeTime":null,"lastTradeOutcome":null}',
  up: '"up"}',
  down: '"down"}',
})

function createPut(): (bytes: Uint8Array, start: number, state: PriceState) => number {
  const putTime = createTimePut()
  const putTradeTime = createTimePut()
  return (bytes, start, { top, trade, outcome }) => {
    let at = putPlace(bytes, putPiece(bytes, start, pieces.open), top)
    at = putTime(bytes, putPiece(bytes, at, pieces.timestamp), top.timestampMs)
    at = putMid(bytes, putPiece(bytes, at, pieces.next), top)
    if (trade === undefined) return putPiece(bytes, at, pieces.noTrade)
    at = putPiece(bytes, at, pieces.lastTrade)
    at = putMillionths(bytes, at, tradePriceOf(trade, outcome))
    at = putTradeTime(bytes, putPiece(bytes, at, pieces.time), trade.timestampMs)
    if (trade.outcome === undefined) return putPiece(bytes, at, pieces.noOutcome)
    return putPiece(bytes, putPiece(bytes, at, pieces.outcome), pieces[trade.outcome])
  }
}

function readPriceBars(history: History, request: BarsOf): SeriesPage {
  const { market, stepMs, range } = request
  const read = createTopReader(history, market)
  const isKnown = createKnownCheck(history, market)
  const { bars, hasMore } = readBars({ read, stepMs, range, isKnown, statesMax: STATES_MAX })
  const rows = toRows(history, request, bars)
  const last = bars.at(-1)
  return {
    count: bars.length,
    put: (row, bytes, start) => putText(bytes, start, rows[row] ?? ''),
    last: last && barPosition(last),
    hasMore,
    resume: resumeOf(request, bars),
  }
}

/** Unverified books, from a hash mismatch to the next verified book, are in no bar. */
function createKnownCheck(
  history: History,
  market: Market,
): ((state: State) => boolean) | undefined {
  const doubtful = history.gaps(market).filter(({ reason }) => reason === 'hash_mismatch')
  if (doubtful.length === 0) return undefined
  const hasGap = createGapFinder(doubtful)
  return ({ outcome, timestampMs }) => !hasGap(outcome, timestampMs, timestampMs + 1)
}

/** Position before the first bar that may still change; undefined if none can. */
function resumeOf({ market, stepMs, range }: BarsOf, bars: readonly Bar[]): Position | undefined {
  if (range.order === 'desc') return undefined
  const endMs = decidedMs(market, range.outcome === undefined ? outcomes : [range.outcome]) + 1
  const growing = bars.find(({ startMs }) => startMs + stepMs > endMs)
  return growing && { timestampMs: growing.startMs, id: 0 }
}

function toRows(history: History, request: BarsOf, bars: readonly Bar[]): string[] {
  const { market, stepMs, range } = request
  const ascending = range.order === 'asc' ? bars : bars.toReversed()
  const first = ascending[0]
  const last = ascending.at(-1)
  if (first === undefined || last === undefined) return []
  const whole = overlapOf({ fromMs: first.startMs, toMs: last.startMs + stepMs }, range)
  const tradesOf = createTradeCounter(history, market, whole)
  const coveredOf = createCoverageSums(history, request, whole)
  const rows: string[] = []
  for (const bar of ascending) {
    const step = { fromMs: bar.startMs, toMs: bar.startMs + stepMs }
    const own = overlapOf(step, range)
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

function midsText({ mids }: Bar): string {
  if (mids === undefined) return '"open":null,"high":null,"low":null,"close":null'
  const { open, high, low, close } = mids
  return `"open":${text(open)},"high":${text(high)},"low":${text(low)},"close":${text(close)}`
}

const text = (mid: DoubleMid): string => formatMid(mid, 0)

/** Counts last-trade updates of ascending spans; equal spans share one count. */
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

/** Sums the recorded milliseconds of ascending spans, by outcome. */
function createCoverageSums(history: History, { market, range }: BarsOf, whole: Span) {
  // Up to the last state of an open market: the result must not depend on the clock.
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

/** Trades in one read, about a millisecond of work. */
const TRADES_AT_ONCE = 500

/** Walks the trades of a span: `fromMs` inclusive, `toMs` exclusive. */
function walkTrades(read: MarketHistory['trades'], market: Market, { fromMs, toMs }: Span) {
  let last = read({ market, toMs: fromMs, last: 1 })[0]
  const readBlock = (blockMs: number) =>
    read({ market, fromMs: blockMs, toMs, first: TRADES_AT_ONCE })
  let trades = readBlock(fromMs)
  let at = 0
  let passed = 0

  /** Next trade, from the next block if needed. */
  function next(): StoredTrade | undefined {
    const end = trades.at(-1)
    if (at === trades.length && end !== undefined && trades.length >= TRADES_AT_ONCE) {
      trades = readBlock(end.timestampMs + 1)
      at = 0
    }
    return trades[at]
  }
  return {
    /** Last trade at or before `timeMs`, which must not decrease; undefined before the first. */
    upTo(timeMs: number): Trade | undefined {
      for (let trade = next(); trade !== undefined && trade.timestampMs <= timeMs; trade = next()) {
        last = trade
        at++
        passed++
      }
      return last
    },
    /** Number of trades passed since the walk began. */
    get passed() {
      return passed
    },
  }
}

/**
 * Price in terms of an outcome: 1 minus a price of the other outcome; as printed if the outcome is
 * unknown.
 */
const tradePriceOf = ({ price, outcome }: Trade, own: Outcome): Millionths =>
  outcome === undefined || outcome === own ? price : MILLIONTHS_PER_UNIT - price
