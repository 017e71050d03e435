/** Reference prices of coins, as feeds publish them. */
import type { Coin } from './market.ts'

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
  /** Ticks before it that were missed: by the feed's own account, or by its numbers. */
  readonly dropped?: number | undefined
}

/** `id` rises in the order of acceptance. */
export type StoredTick = SpotTick & { readonly id: number }

/** A source of a coin's price: ticks of different series are never mixed. */
export const seriesOf = ({ source, windowSeconds }: SpotTick): string =>
  windowSeconds === 0 ? source : `${source}-twap${windowSeconds}`

export type SpotBar = Pick<SpotTick, 'coin' | 'source' | 'windowSeconds'> & {
  /** Inclusive. */
  startMs: number
  /** Texts of ticks. */
  open: string
  high: string
  low: string
  close: string
  ticks: number
}

/**
 * Bars of ticks that ascend in time: of each series one a step that it has a tick in, ascending by
 * start, then by the series' first tick. Steps are multiples of `stepMs` since 1970.
 */
export function toBars(ticks: readonly StoredTick[], stepMs: number): SpotBar[] {
  const bars = new Map<string, SpotBar>()
  for (const { coin, source, windowSeconds, timestampMs, price } of ticks) {
    const startMs = Math.floor(timestampMs / stepMs) * stepMs
    const key = `${startMs} ${source} ${windowSeconds}`
    const bar = bars.get(key)
    if (bar === undefined) {
      const all = { open: price, high: price, low: price, close: price }
      bars.set(key, { coin, source, windowSeconds, startMs, ...all, ticks: 1 })
      continue
    }
    if (Number(price) > Number(bar.high)) bar.high = price
    if (Number(price) < Number(bar.low)) bar.low = price
    bar.close = price
    bar.ticks++
  }
  return [...bars.values()]
}
