/** The price with which the losing outcome would win a window, in its last minute. */

import { neededAverage, PRICE_HOLD_MS } from '#src/domain/settlement.ts'

import type { BoardWindow, Outcome, Spot } from './bodies.ts'
import { showCoinDistance } from './format.ts'
import { settlesFrom } from './settlement.ts'

const LAST_MS = 60_000

export type Needed = {
  /** The lowest average of the remaining prices, or price at the end, with which Up wins. */
  price: number
  /** The outcome that loses at the current price. */
  side: Outcome
  seconds: number
  /** Distance from the current price, such as `+$12.00`. */
  change: string
}

type WindowFacts = Pick<BoardWindow, 'windowEnd' | 'settlementRule' | 'strike'>
type Prices = {
  /** The newest price. */
  spot: { price: number } | null
  /** The average that is needed, while the window settles. */
  needed: { price: number } | null
}

/** Undefined before the last minute, and if a price, the strike or the average is missing. */
export function neededOf(window: WindowFacts & Prices, nowMs: number): Needed | undefined {
  const { spot, strike, needed, settlementRule, windowEnd } = window
  const leftMs = windowEnd === null ? 0 : Date.parse(windowEnd) - nowMs
  if (leftMs <= 0 || leftMs > LAST_MS || spot === null || strike === null) return undefined
  const fromMs = settlesFrom(window)
  const isSettling = fromMs !== undefined && nowMs > fromMs
  // Before the averaged time no price counts, and without an average only the last price does.
  const price = isSettling ? needed?.price : strike
  if (price === undefined || settlementRule === null) return undefined
  const side = spot.price < price ? 'up' : 'down'
  // Rounded as the time left is shown.
  const seconds = Math.floor(leftMs / 1000)
  // At the strike itself Up wins.
  const change = spot.price === price ? 'a fall' : showCoinDistance(price, spot.price)
  return { price, side, seconds, change }
}

/** `neededOf` from the prices of a coin: computes the average that the server sends to the board. */
export function neededOfMarket(
  market: WindowFacts,
  ticks: readonly Spot[],
  nowMs: number,
): Needed | undefined {
  const { windowEnd, settlementRule, strike } = market
  const spot = ticks.at(-1) ?? null
  const fromMs = settlesFrom(market)
  const price =
    fromMs === undefined || windowEnd === null || strike === null || nowMs <= fromMs
      ? undefined
      : neededAverage(
          ticks
            .map((tick) => ({ timestampMs: Date.parse(tick.timestamp), price: String(tick.price) }))
            .filter(
              ({ timestampMs }) => timestampMs >= fromMs - PRICE_HOLD_MS && timestampMs <= nowMs,
            ),
          { fromMs, toMs: nowMs, endMs: Date.parse(windowEnd), strike: String(strike) },
        )
  const needed = price === undefined ? null : { price: Number(price) }
  return neededOf({ windowEnd, settlementRule, strike, spot, needed }, nowMs)
}
