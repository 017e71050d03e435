/** The average of a coin's prices on which a window settles, as far as it is known. */
import type { Coin, Market, Source } from '#src/domain/market.ts'
import { averageOf, averageSeconds, PRICE_HOLD_MS } from '#src/domain/settlement.ts'
import type { StoredTick } from '#src/domain/spot.ts'
import type { MarketHistory } from '#src/history/history.ts'

type SpotHistory = Pick<MarketHistory, 'spot'>

/** The price of an average over a time: `fromMs` exclusive, `toMs` inclusive. */
export type Average = {
  price: string
  fromMs: number
  toMs: number
  source: string
  /** Whether all of its time counts for the settlement. */
  isSettlement: boolean
}

/** Prices of a moment that are read: of four sources a second, for a minute. */
const TICKS_MAX = 300
/** Those that the venue settles on, the first before the others. */
const settlementSources = ['chainlink', 'pyth']

/**
 * The average at a moment: in the last seconds of a window, which its settlement is the average of,
 * that of the prices since they began; before, that of as many seconds up to the moment. Undefined
 * for a window that does not settle on an average, and where prices are missing.
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
  const published = () => findPublished(history, question, seconds)
  const computed = () => {
    const found = computeAverage(history, question)
    return found && { ...found, isSettlement }
  }
  // What the feed publishes reaches back before the settlement's time.
  return isSettlement ? (computed() ?? published()) : (published() ?? computed())
}

type Question = { coin: Coin; source: Source; fromMs: number; toMs: number }

/** The newest average of so many seconds that a feed publishes. */
function findPublished(
  history: SpotHistory,
  { coin, source, toMs }: Question,
  windowSeconds: number,
): Average | undefined {
  const newest = history.spot({
    coin,
    windowSeconds,
    fromMs: toMs - PRICE_HOLD_MS,
    toMs: toMs + 1,
    order: 'desc',
    limit: TICKS_MAX,
  })
  const tick = ofOneSource(newest, source)[0]
  if (tick === undefined) return undefined
  const { price, timestampMs } = tick
  const fromMs = timestampMs - windowSeconds * 1000
  return { price, fromMs, toMs: timestampMs, source: tick.source, isSettlement: false }
}

/** The average of the prices of the moment. */
function computeAverage(
  history: SpotHistory,
  { coin, source, fromMs, toMs }: Question,
): Omit<Average, 'isSettlement'> | undefined {
  const ticks = ofOneSource(
    history.spot({
      coin,
      windowSeconds: 0,
      fromMs: fromMs - PRICE_HOLD_MS,
      toMs: toMs + 1,
      order: 'asc',
      limit: TICKS_MAX,
    }),
    source,
  )
  const price = averageOf(ticks, { fromMs, toMs })
  return price === undefined ? undefined : { price, fromMs, toMs, source: ticks[0]?.source ?? '' }
}

/** Prices of the source that the venue settles on; of simulated markets those of the simulator. */
function ofOneSource(ticks: readonly StoredTick[], source: Source): StoredTick[] {
  const names = [...new Set(ticks.map((tick) => tick.source))]
    .filter((name) => (name === 'simulated') === (source === 'simulated'))
    .toSorted()
  const chosen = settlementSources.find((name) => names.includes(name)) ?? names[0]
  return ticks.filter((tick) => tick.source === chosen)
}
