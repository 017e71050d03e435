/**
 * The fair price of a simulated market: that of a bet on the sign of a random walk at the window's
 * end. So it is a martingale, moves more the nearer the end is, and runs to 0 or 1; the walk's last
 * value is the market's winner. Only exact IEEE operations, the same on every platform.
 */
import type { Outcome } from '#src/core/market.ts'
import type { Random } from '#src/lib/random.ts'

import { LEAD_VOLATILITY } from './model.ts'

/** Nearer the end than this the odds would be infinite. */
const REMAINING_MS_MIN = 50

/** Odds of a market that is decided. */
const DECIDED_SIGMAS = 20

type Window = { random: Random; windowStartMs: number; windowEndMs: number }
type FairPrice = ReturnType<typeof createPrice>

/** Begins at even odds, at a time before the window or in it. */
export const createPrice = (window: Window, timestampMs: number) => ({
  ...window,
  /** The walk; its variance over the window is one. */
  walk: 0,
  timestampMs,
  /** Known from the end of the window on. */
  winner: undefined as Outcome | undefined,
})

/** Moves the price on to a time; one step however long, with the right distribution. */
export function advancePrice(price: FairPrice, timestampMs: number): void {
  const { windowStartMs, windowEndMs } = price
  const former = price.timestampMs
  price.timestampMs = timestampMs
  if (price.winner !== undefined) return
  if (timestampMs < windowStartMs) {
    price.walk += step(price, timestampMs - former) * LEAD_VOLATILITY
    return
  }
  // What moved the price before the window does not count: the start is the strike.
  if (former < windowStartMs) price.walk = 0
  const from = Math.max(former, windowStartMs)
  price.walk += step(price, Math.min(timestampMs, windowEndMs) - from)
  if (timestampMs >= windowEndMs) price.winner = price.walk >= 0 ? 'up' : 'down'
}

/** Returns how many standard deviations of what is to come Up is ahead; negative when behind. */
export function oddsSigmas(price: FairPrice): number {
  if (price.winner !== undefined) return price.winner === 'up' ? DECIDED_SIGMAS : -DECIDED_SIGMAS
  const windowMs = price.windowEndMs - price.windowStartMs
  const remainingMs = Math.max(REMAINING_MS_MIN, price.windowEndMs - price.timestampMs)
  return price.walk / Math.sqrt(Math.min(1, remainingMs / windowMs))
}

/** Returns the probability that a standard normal number is below `x`, to 1.5e-7. */
export function normalProbability(x: number): number {
  // Abramowitz and Stegun 26.2.19.
  const size = Math.abs(x)
  const c5 = 0.0000488906 + size * 0.000005383
  const c3 = 0.0032776263 + size * (0.0000380036 + size * c5)
  const base = 1 + size * (0.049867347 + size * (0.0211410061 + size * c3))
  const power4 = base * base * (base * base)
  const tail = 0.5 / (power4 * power4 * (power4 * power4))
  return x < 0 ? tail : 1 - tail
}

function step(price: FairPrice, durationMs: number): number {
  const windowMs = price.windowEndMs - price.windowStartMs
  return price.random.normal() * Math.sqrt(Math.max(0, durationMs) / windowMs)
}
