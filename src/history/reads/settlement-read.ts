/** Prices that settle windows: those at both ends, and the average so far. */
import { hasWindow, type WindowedMarket } from '#src/domain/coverage.ts'
import type { Coin, Market, Outcome, Source } from '#src/domain/market.ts'
import {
  averageOf,
  averageSeconds,
  averageSources,
  momentSource,
  neededAverage,
  PRICE_HOLD_MS,
  settlementSeriesOf,
  winnerAt,
} from '#src/domain/settlement.ts'
import type { StoredTick } from '#src/domain/spot.ts'
import { homeVenue } from '#src/venue/venues.ts'

import type { MarketHistory } from '../history.ts'

type SpotHistory = Pick<MarketHistory, 'spot'>

const SECOND_MS = 1000

/**
 * The price that decides one end of a window: the first price of the rule's series at or after that
 * moment, or the last one of the same second. Undefined if there is none within five seconds, and
 * for a rule whose prices are not recorded.
 */
export function findBoundaryTick(
  history: SpotHistory,
  { coin, source, settlementRule }: Market,
  atMs: number,
): StoredTick | undefined {
  const series = settlementRule && settlementSeriesOf(settlementRule, source)
  if (series === undefined) return undefined
  const { windowSeconds } = series
  for (const publisher of series.publishers) {
    const one = { coin, source: publisher, windowSeconds, limit: 1 } as const
    const range = { fromMs: atMs, toMs: atMs + PRICE_HOLD_MS }
    const [first] = history.spot({ ...one, ...range, order: 'asc' })
    if (first === undefined) continue
    const { timestampMs: fromMs } = first
    const toMs = fromMs - (fromMs % SECOND_MS) + SECOND_MS
    return history.spot({ ...one, fromMs, toMs, order: 'desc' })[0]
  }
  return undefined
}

/**
 * The published strike of an open window that settles on an average; averages computed from single
 * prices are not exact enough. Undefined for other windows, and if no average was published for the
 * start.
 */
export function findPublishedStrike(history: SpotHistory, market: Market): string | undefined {
  const { settlementRule, windowStartMs } = market
  if (settlementRule === undefined || averageSeconds[settlementRule] === undefined) return undefined
  if (windowStartMs === undefined) return undefined
  return findBoundaryTick(history, market, windowStartMs)?.price
}

/** Documented in features/settlement/schema.ts. */
export const settlementReasons = [
  'winner_differs',
  'void',
  'no_winner',
  'not_over',
  'no_tick_at_start',
  'no_tick_at_end',
  'candle',
  'rule_unknown',
  'window_unknown',
] as const
export type SettlementReason = (typeof settlementReasons)[number]

export const agreements = ['agrees', 'disagrees', 'unknown'] as const
export type Agreement = (typeof agreements)[number]

type Prices = { strike: string; finalPrice: string; winner: Outcome }

/** Result of comparing a market's result with recorded prices. */
export type Settlement = {
  agreement: Agreement
  /** Undefined if they agree. */
  reason?: SettlementReason | undefined
  /** Prices of the rule at both ends. */
  proof?: (Prices & { start: StoredTick; end: StoredTick }) | undefined
  /** Computed averages, if those of the rule were not recorded. */
  estimate?: (Prices & { source: string }) | undefined
}

/**
 * A market with a settlement rule: a recorded market whose object of the catalogue is not held has
 * the rule that the venue's windows of its length had at its end.
 */
export function withRule(market: Market): Market {
  const { settlementRule, source, timeframe, windowEndMs: endMs } = market
  if (settlementRule !== undefined || source !== 'recorded' || endMs === undefined) return market
  return { ...market, settlementRule: homeVenue.settlementRuleOf({ timeframe, endMs }) }
}

/** Checks the result of a market. */
export function settle(history: SpotHistory, held: Market, nowMs: number): Settlement {
  const market = withRule(held)
  const { settlementRule, source, winner } = market
  const unknown = (reason: SettlementReason): Settlement => ({ agreement: 'unknown', reason })
  if (!hasWindow(market)) return unknown('window_unknown')
  if (settlementRule === undefined) return unknown('rule_unknown')
  if (settlementSeriesOf(settlementRule, source) === undefined) return unknown('candle')
  if (nowMs < market.windowEndMs) return unknown('not_over')
  const start = findBoundaryTick(history, market, market.windowStartMs)
  const end = findBoundaryTick(history, market, market.windowEndMs)
  if (start === undefined || end === undefined) {
    const reason = start === undefined ? 'no_tick_at_start' : 'no_tick_at_end'
    return { ...unknown(reason), estimate: estimate(history, market, { start, end }) }
  }
  const proof = { ...pricesOf(start.price, end.price), start, end }
  if (winner === undefined) return { ...unknown('no_winner'), proof }
  if (winner === proof.winner) return { agreement: 'agrees', proof }
  return { agreement: 'disagrees', reason: winner === 'void' ? 'void' : 'winner_differs', proof }
}

const pricesOf = (strike: string, finalPrice: string): Prices => ({
  strike,
  finalPrice,
  winner: winnerAt(strike, finalPrice),
})

/** Averages at both ends; a published average is preferred. */
function estimate(
  history: SpotHistory,
  market: WindowedMarket,
  known: { start: StoredTick | undefined; end: StoredTick | undefined },
): Settlement['estimate'] {
  const { coin, source, settlementRule, windowStartMs, windowEndMs } = market
  const seconds = settlementRule && averageSeconds[settlementRule]
  if (seconds === undefined) return undefined
  const averageTo = (toMs: number) =>
    computeAverage(history, { coin, source, fromMs: toMs - seconds * 1000, toMs })?.price
  const strike = known.start?.price ?? averageTo(windowStartMs)
  const finalPrice = known.end?.price ?? averageTo(windowEndMs)
  if (strike === undefined || finalPrice === undefined) return undefined
  return { ...pricesOf(strike, finalPrice), source: momentSource[source] }
}

/** Price averaged over a time: `fromMs` inclusive, `toMs` exclusive. */
export type Average = {
  price: string
  fromMs: number
  toMs: number
  source: string
  /** True in the last seconds of the window, on whose average it settles. */
  isSettlement: boolean
}

/** Limit of ticks in one read: one a second for a minute, and a reserve. */
const TICKS_MAX = 300

/**
 * The settlement average at a moment: the published average of the source, or else the average of
 * its ticks. Within the settlement time the average begins with that time, before it the average
 * covers as many seconds up to the moment. Undefined if the window does not settle on an average,
 * or if the source has too few ticks; another source is never used.
 */
export function averageAt(
  history: SpotHistory,
  { coin, source, windowEndMs, settlementRule }: Market,
  atMs: number,
): Average | undefined {
  const seconds = settlementRule && averageSeconds[settlementRule]
  if (seconds === undefined || windowEndMs === undefined) return undefined
  const beginMs = windowEndMs - seconds * 1000
  const isSettlement = atMs > beginMs
  const fromMs = isSettlement ? beginMs : atMs - seconds * 1000
  const question = { coin, source, fromMs, toMs: atMs }
  const found = findPublished(history, question, seconds) ?? computeAverage(history, question)
  return found && { ...found, isSettlement }
}

type Question = { coin: Coin; source: Source; fromMs: number; toMs: number }
type Found = Omit<Average, 'isSettlement'>

/** The newest published average over that many seconds. */
function findPublished(
  history: SpotHistory,
  { coin, source, toMs }: Question,
  windowSeconds: number,
): Found | undefined {
  for (const publisher of averageSources[source]) {
    const [tick] = history.spot({
      coin,
      source: publisher,
      windowSeconds,
      fromMs: toMs - PRICE_HOLD_MS,
      toMs: toMs + 1,
      order: 'desc',
      limit: 1,
    })
    if (tick === undefined) continue
    const { price, timestampMs } = tick
    const fromMs = timestampMs - windowSeconds * 1000
    return { price, fromMs, toMs: timestampMs, source: publisher }
  }
  return undefined
}

/** Averages the ticks of the source over the time. */
function computeAverage(history: SpotHistory, question: Question): Found | undefined {
  const price = averageOf(readTicks(history, question), question)
  const { source, fromMs, toMs } = question
  return price === undefined ? undefined : { price, fromMs, toMs, source: momentSource[source] }
}

/** Ticks of a time, from the one that prevails at its start. */
const readTicks = (history: SpotHistory, { coin, source, fromMs, toMs }: Question) =>
  history.spot({
    coin,
    source: momentSource[source],
    windowSeconds: 0,
    fromMs: fromMs - PRICE_HOLD_MS,
    toMs: toMs + 1,
    order: 'asc',
    limit: TICKS_MAX,
  })

/**
 * The lowest average of the remaining ticks with which Up wins. Undefined outside of the settlement
 * time, and if ticks or the strike are missing.
 */
export function neededAt(
  history: SpotHistory,
  { coin, source, windowEndMs, settlementRule, strike }: Market,
  atMs: number,
): string | undefined {
  const seconds = settlementRule && averageSeconds[settlementRule]
  if (seconds === undefined || windowEndMs === undefined || strike === undefined) return undefined
  const fromMs = windowEndMs - seconds * 1000
  if (atMs <= fromMs) return undefined
  const ticks = readTicks(history, { coin, source, fromMs, toMs: atMs })
  return neededAverage(ticks, { fromMs, toMs: atMs, endMs: windowEndMs, strike })
}
