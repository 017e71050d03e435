/** The price of a coin as of a moment. */
import { exactNumber } from '#src/domain/decimal.ts'
import type { Coin, Source } from '#src/domain/market.ts'
import type { StoredTick } from '#src/domain/spot.ts'
import { toIso } from '#src/domain/time.ts'

import type { MarketHistory } from '../history.ts'

/** Each series has a price a second: among so many are all that go on. */
const SERIES_MAX = 8

/** The newest first; ids say nothing of prices of one millisecond, which a page may cut in two. */
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
  /** Of the market that it is for: what is simulated goes with what is simulated alone. */
  source?: Source | undefined
}

/**
 * The newest price at or before a moment, never after; of the shortest average where there are
 * several, and of the first source by its name where several have one of that millisecond.
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

/** The same as it is served; null where there is none. */
export function describeSpot(history: Pick<MarketHistory, 'spot'>, moment: Moment) {
  const tick = findSpot(history, moment)
  if (tick === undefined) return null
  const { price, source, windowSeconds, timestampMs } = tick
  return { price: exactNumber(price), source, windowSeconds, timestamp: toIso(timestampMs) }
}
