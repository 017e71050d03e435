/** Trades whose source does not say which outcome was traded. */

import type { Outcome, Trade } from '../lib/bodies.ts'
import { indexAt } from './find-at.ts'

/** Unix seconds, then the mids of Up, and those of Down. */
export type Mids = readonly [times: readonly number[], ...(readonly (number | null)[])[]]

export type ShownTrade = Trade & {
  /** The source does not state the outcome: it is the one whose mid was nearer. */
  isGuessed?: boolean
}

/**
 * Gives each trade the outcome whose mid was nearer to its price at its time. A trade is left out
 * if no mid was known then, or both were equally near. A mid that is missing is the complement of
 * the other.
 */
export function guessOutcomes(trades: readonly Trade[], mids: Mids): readonly ShownTrade[] {
  if (trades.every(({ outcome }) => outcome !== null)) return trades
  return trades.flatMap((trade): ShownTrade[] => {
    if (trade.outcome !== null) return [trade]
    const outcome = nearerOutcome(trade, mids)
    return outcome === undefined ? [] : [{ ...trade, outcome, isGuessed: true }]
  })
}

function nearerOutcome({ timestamp, price }: Trade, mids: Mids): Outcome | undefined {
  const [times, ups = [], downs = []] = mids
  const at = indexAt(times, Date.parse(timestamp) / 1000)
  const down = downs[at] ?? null
  const up = ups[at] ?? (down === null ? null : 1 - down)
  if (up === null) return undefined
  const upDistance = Math.abs(price - up)
  const downDistance = Math.abs(price - (down ?? 1 - up))
  if (Math.abs(upDistance - downDistance) < 1e-9) return undefined
  return upDistance < downDistance ? 'up' : 'down'
}
