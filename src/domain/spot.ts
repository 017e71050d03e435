/** Reference prices of coins, as feeds publish them. */
import type { Coin } from './market.ts'
import type { Position } from './snapshot.ts'
import type { TimeRange } from './time.ts'

/** A price of a coin at a moment, or its average over a time that ends there. */
export type SpotTick = {
  readonly coin: Coin
  /** Who says so, as the feed names it: `chainlink`, `pyth`, `binance`; lower case. */
  readonly source: string
  /** Seconds that it is an average of (TWAP); 0 for the price of the moment. */
  readonly windowSeconds: number
  /** The source's time, Unix milliseconds. */
  readonly timestampMs: number
  /** When the recorder received it, Unix milliseconds; undefined for what came as history. */
  readonly receivedMs?: number | undefined
  /** In USD: plain decimal digits, exactly as many as the source has. */
  readonly price: string
  /** Its number in its feed, where that has numbers. */
  readonly sequence?: number | undefined
  /**
   * Ticks before it that were missed: by the feed's own account, or by its numbers. Of a stored one
   * without those that came as history since.
   */
  readonly dropped?: number | undefined
}

/** `id` rises in the order of acceptance; lists are in that of `compareTicks`. */
export type StoredTick = SpotTick & { readonly id: number }

/** Which of a coin's are read; undefined is every one. */
export type SpotQuery = TimeRange & {
  coin: Coin
  source?: string | undefined
  windowSeconds?: number | undefined
  /** `aboveId` exclusive, `uptoId` inclusive. */
  aboveId?: number
  uptoId?: number
  order: 'asc' | 'desc'
  /** Exclusive: continues past it in the direction of `order`. */
  after?: Position | undefined
  limit: number
}

/** There is one price of a series at a time. */
export type TickPlace = Pick<SpotTick, 'source' | 'windowSeconds' | 'timestampMs'>

/** By time, then by series: so it does not depend on which of a moment was accepted first. */
export const compareTicks = (a: TickPlace, b: TickPlace): number =>
  a.timestampMs - b.timestampMs ||
  Number(a.source > b.source) - Number(a.source < b.source) ||
  a.windowSeconds - b.windowSeconds

/** A source of a coin's price: ticks of different series are never mixed. */
export const seriesOf = ({ source, windowSeconds }: SpotTick): string =>
  windowSeconds === 0 ? source : `${source}-twap${windowSeconds}`

/** Texts of prices are those of ticks. */
export type SpotBar = Pick<SpotTick, 'coin' | 'source' | 'windowSeconds'> &
  Record<'open' | 'high' | 'low' | 'close', string> & { ticks: number }

/**
 * Adds a tick to the bars of its step, one a series. Ticks come in the order of time or against it;
 * so do the bars, by the first tick of their series.
 */
export function addToBars(bars: Map<string, SpotBar>, tick: SpotTick, order: 'asc' | 'desc'): void {
  const { coin, source, windowSeconds, price } = tick
  const series = seriesOf(tick)
  const all = { open: price, high: price, low: price, close: price }
  const bar = bars.get(series) ?? { coin, source, windowSeconds, ...all, ticks: 0 }
  const isAscending = order === 'asc'
  const above = Number(price) - Number(bar.high)
  const below = Number(price) - Number(bar.low)
  // Of equal prices with other digits the first one in time is shown.
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
