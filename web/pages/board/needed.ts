/** What the rest of a window must be for the outcome that is behind, in its last minute. */

import type { Outcome } from '../../lib/bodies.ts'
import { showCoinDistance } from '../../lib/format.ts'
import { settlesFrom } from '../../lib/settlement.ts'
import type { Row } from './follow-board.ts'

const LAST_MS = 60_000

export type Needed = {
  /** The average of the prices that are left, or the price at the end, which Up needs at least. */
  price: number
  /** Which outcome is behind at the price of now. */
  side: Outcome
  seconds: number
  /** `+$12.00`: how far it is from the price of now. */
  change: string
}

/** Undefined before the last minute, and where it is not known. */
export function neededOf(row: Row, nowMs: number): Needed | undefined {
  const { spot, strike, needed, settlementRule, windowEnd } = row
  const leftMs = windowEnd === null ? 0 : Date.parse(windowEnd) - nowMs
  if (leftMs <= 0 || leftMs > LAST_MS || spot === null || strike === null) return undefined
  const fromMs = settlesFrom(row)
  const isSettling = fromMs !== undefined && nowMs > fromMs
  // Until the settlement begins no price counts, and without an average the last one decides alone.
  const price = isSettling ? needed?.price : strike
  if (price === undefined || settlementRule === null) return undefined
  const side = spot.price < price ? 'up' : 'down'
  // At the strike itself Up wins.
  const change = spot.price === price ? 'a fall' : showCoinDistance(price, spot.price)
  return { price, side, seconds: Math.ceil(leftMs / 1000), change }
}
