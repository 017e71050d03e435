/** The price of a coin at a moment. */
import { exactNumber } from '#src/domain/decimal.ts'
import type { Coin, Source } from '#src/domain/market.ts'
import type { StoredTick } from '#src/domain/spot.ts'
import { toIso } from '#src/domain/time.ts'

import type { MarketHistory } from '../history.ts'

/** Enough prices to include every active series, each of which has one per second. */
const SERIES_MAX = 8

/** Newest first; ids do not order prices of the same millisecond, which a page may split. */
function newestTicks(
  history: Pick<MarketHistory, 'spot'>,
  query: { coin: Coin; toMs: number },
): StoredTick[] {
  const ticks = history.spot({ ...query, order: 'desc', limit: SERIES_MAX + 1 })
  const cutMs = ticks.length > SERIES_MAX ? ticks.at(-1)?.timestampMs : undefined
  const whole = ticks.filter(({ timestampMs }) => timestampMs !== cutMs)
  return whole.length > 0 ? whole : ticks
}

const compareNewest = (a: StoredTick, b: StoredTick): number =>
  a.windowSeconds - b.windowSeconds ||
  b.timestampMs - a.timestampMs ||
  Number(a.source > b.source) - Number(a.source < b.source)

type Moment = {
  coin: Coin
  /** Unix milliseconds, inclusive. */
  atMs: number
  /** The source of the market: simulated markets use only simulated prices. */
  source?: Source | undefined
}

/**
 * The newest price at or before a moment, never after. Of several, that of the shortest average; of
 * several sources at that millisecond, the first by name.
 */
export function findSpot(
  history: Pick<MarketHistory, 'spot'>,
  { coin, atMs, source }: Moment,
): StoredTick | undefined {
  const isSimulated = source === 'simulated'
  const newest = newestTicks(history, { coin, toMs: atMs + 1 }).filter(
    (tick) => source === undefined || (tick.source === 'simulated') === isSimulated,
  )
  return newest.toSorted(compareNewest)[0]
}

/** Reads the price at a moment once for all markets of a coin and source. */
export function createSpotReader(history: Pick<MarketHistory, 'spot'>, atMs: number) {
  const spots = new Map<string, ReturnType<typeof describeSpot>>()
  return ({ coin, source }: { coin: Coin; source: Source }) => {
    const key = `${coin} ${source}`
    const known = spots.get(key)
    if (known !== undefined) return known
    const spot = describeSpot(history, { coin, source, atMs })
    spots.set(key, spot)
    return spot
  }
}

/** The price as served; null without one. */
export function describeSpot(history: Pick<MarketHistory, 'spot'>, moment: Moment) {
  const tick = findSpot(history, moment)
  if (tick === undefined) return null
  const { price, source, windowSeconds, timestampMs } = tick
  return { price: exactNumber(price), source, windowSeconds, timestamp: toIso(timestampMs) }
}
