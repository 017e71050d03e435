/** The average of a coin's prices on which a window settles, as far as it is known. */
import type { Coin, Market, Source } from '#src/domain/market.ts'
import {
  averageOf,
  averageSeconds,
  averageSources,
  momentSource,
  neededAverage,
  PRICE_HOLD_MS,
} from '#src/domain/settlement.ts'
import type { MarketHistory } from '#src/history/history.ts'

type SpotHistory = Pick<MarketHistory, 'spot'>

/** The price of an average over a time: `fromMs` inclusive, `toMs` exclusive. */
export type Average = {
  price: string
  fromMs: number
  toMs: number
  source: string
  /** Whether the window is in the time that it settles on. */
  isSettlement: boolean
}

/** Prices of a moment that are read: one a second, for a minute. */
const TICKS_MAX = 300

/**
 * The average at a moment: the one that the source of the settlement publishes, or else that of its
 * prices, in the last seconds of a window since these began, and before of as many seconds up to the
 * moment. Undefined for a window that does not settle on an average, and where the source has said
 * too little; another source is never in its place.
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

/** The newest average of so many seconds that holds. */
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

/** The average of the prices of the moment. */
function computeAverage(history: SpotHistory, question: Question): Found | undefined {
  const price = averageOf(readTicks(history, question), question)
  const { source, fromMs, toMs } = question
  return price === undefined ? undefined : { price, fromMs, toMs, source: momentSource[source] }
}

/** Prices of the moment of a time, from the one that holds at its start. */
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
 * The average that prices after a moment must have at least for Up to win. Undefined outside of the
 * time that the window settles on, and where its prices or the strike are missing.
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
