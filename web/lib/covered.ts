/** Coverage of a market: that of the outcome which its page opens on. */

import type { Market, Outcome } from './bodies.ts'
import { outcomeNames, showShare } from './format.ts'

/** A smaller difference is invisible in a chart. */
const COVERED_MARGIN = 0.01

export const coveredOf = ({ outcomes }: Pick<Market, 'outcomes'>, name: Outcome): number =>
  outcomes.find(({ outcome }) => outcome === name)?.coverage.covered ?? 0

/** Up, unless Down is covered better. */
export const bestCovered = (market: Pick<Market, 'outcomes'>): Outcome =>
  coveredOf(market, 'down') > coveredOf(market, 'up') + COVERED_MARGIN ? 'down' : 'up'

/**
 * The share of the better covered outcome, with its name if the shares differ. An upcoming window
 * has none: nothing of it can be missing yet.
 */
export function showCovered(market: Pick<Market, 'outcomes' | 'status'>): string {
  const isKnown =
    market.status !== 'upcoming' &&
    market.outcomes.some(({ coverage }) => coverage.covered !== null)
  if (!isKnown) return showShare(null)
  const [up, down] = [showShare(coveredOf(market, 'up')), showShare(coveredOf(market, 'down'))]
  const best = bestCovered(market)
  if (up === down) return up
  return `${outcomeNames[best]} ${best === 'up' ? up : down}`
}
