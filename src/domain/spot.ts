/** Reference prices of coins, as feeds publish them. */
import type { Coin } from './market.ts'
import type { Position } from './snapshot.ts'
import type { TimeRange } from './time.ts'

/** A price of a coin at one time, or its average over a period that ends then. */
export type SpotTick = {
  readonly coin: Coin
  /** The publisher, as the feed names it: `chainlink`, `pyth`, `binance`; lower case. */
  readonly source: string
  /** Averaging period in seconds (TWAP); 0 for a spot price. */
  readonly windowSeconds: number
  /** The source's time, Unix milliseconds. */
  readonly timestampMs: number
  /** Time of receipt, Unix milliseconds; undefined for ticks that were received as history. */
  readonly receivedMs?: number | undefined
  /** In USD: plain decimal digits, exactly as many as the source prints. */
  readonly price: string
  /** Sequence number in the feed, if the feed has them. */
  readonly sequence?: number | undefined
  /**
   * Number of ticks missed before this one, as reported by the feed or by its sequence numbers. For
   * a stored tick, less those received as history since.
   */
  readonly dropped?: number | undefined
}

/** `id` rises in the order of acceptance; lists are ordered by `compareTicks`. */
export type StoredTick = SpotTick & { readonly id: number }

/** Which ticks of a coin to read; an undefined member selects all. */
export type SpotQuery = TimeRange & {
  coin: Coin
  source?: string | undefined
  windowSeconds?: number | undefined
  /** `aboveId` exclusive, `uptoId` inclusive. */
  aboveId?: number
  uptoId?: number
  order: 'asc' | 'desc'
  /** Exclusive: continues after it in the direction of `order`. */
  after?: Position | undefined
  limit: number
}

/** The key of a tick: a series has one price at a time. */
export type TickPlace = Pick<SpotTick, 'source' | 'windowSeconds' | 'timestampMs'>

/** By time, then by series, so that the order of acceptance does not matter. */
export const compareTicks = (a: TickPlace, b: TickPlace): number =>
  a.timestampMs - b.timestampMs ||
  Number(a.source > b.source) - Number(a.source < b.source) ||
  a.windowSeconds - b.windowSeconds

/** The name of a series; ticks of different series are never mixed. */
export const seriesOf = ({ source, windowSeconds }: SpotTick): string =>
  windowSeconds === 0 ? source : `${source}-twap${windowSeconds}`

/** Prices are strings, as in ticks. */
export type SpotBar = Pick<SpotTick, 'coin' | 'source' | 'windowSeconds'> &
  Record<'open' | 'high' | 'low' | 'close', string> & { ticks: number }

/**
 * Adds a tick to the bars of its step, one bar per series. Ticks arrive in ascending or descending
 * order of time; bars are ordered by the first tick of their series.
 */
export function addToBars(bars: Map<string, SpotBar>, tick: SpotTick, order: 'asc' | 'desc'): void {
  const { coin, source, windowSeconds, price } = tick
  const series = seriesOf(tick)
  const all = { open: price, high: price, low: price, close: price }
  const bar = bars.get(series) ?? { coin, source, windowSeconds, ...all, ticks: 0 }
  const isAscending = order === 'asc'
  const above = Number(price) - Number(bar.high)
  const below = Number(price) - Number(bar.low)
  // The earliest of equal prices with different digits is shown.
  if (above > 0 || (above === 0 && !isAscending)) bar.high = price
  if (below < 0 || (below === 0 && !isAscending)) bar.low = price
  bar.ticks++
  if (isAscending) {
    bar.close = price
  } else {
    bar.open = price
    bars.delete(series)
  }
  bars.set(series, bar)
}
