/**
 * One outcome as the mirror of the other: a bid for Down at 40¢ is an ask for Up at 60¢. So where
 * one was not recorded, the other shows the same orders.
 */

import type { Book, HeatColumn, Heatmap, Level, Outcome, Quote } from '../lib/bodies.ts'
import { outcomeNames } from '../lib/format.ts'

export const otherOutcome = (outcome: Outcome): Outcome => (outcome === 'up' ? 'down' : 'up')

/** End of the title of a mirrored chart. */
export const mirrorOf = (outcome: Outcome): string =>
  `, mirror of ${outcomeNames[otherOutcome(outcome)]}`

/** Prices have six decimals, and middles of two prices seven: the rest is noise of floats. */
const complement = (price: number): number => Math.round((1 - price) * 1e9) / 1e9
const complementOf = (price: number | null): number | null =>
  price === null ? null : complement(price)

export const mirrorQuote = ({ outcome, timestamp, bid, ask, mid }: Quote): Quote => ({
  outcome: otherOutcome(outcome),
  timestamp,
  bid: complementOf(ask),
  ask: complementOf(bid),
  mid: complementOf(mid),
})

const mirrorLevels = (levels: readonly Level[]): Level[] =>
  levels.map(({ price, size }) => ({ price: complement(price), size }))

export const mirrorBook = ({ outcome, timestamp, bids, asks }: Book): Book => ({
  outcome: otherOutcome(outcome),
  timestamp,
  bids: mirrorLevels(asks),
  asks: mirrorLevels(bids),
})

export const mirrorGap = <Gap extends { outcome: Outcome }>(gap: Gap): Gap => ({
  ...gap,
  outcome: otherOutcome(gap.outcome),
})

/**
 * A bin of whole prices is exact: the complement of its lower edge is the lower edge of its mirror.
 * Finer prices, which the venue has only near 0 and 1, are one bin too high, if there is a higher
 * one.
 */
function mirrorSide({ from, sizes }: HeatColumn['bids'], bins: number): HeatColumn['bids'] {
  if (sizes.length === 0) return { from: 0, sizes: [] }
  const first = bins - (from + sizes.length - 1)
  const mirrored = sizes.toReversed()
  if (from > 0) return { from: first, sizes: mirrored }
  // The mirror of the lowest bin would be above the highest.
  const [beyond = 0] = sizes
  const kept = mirrored.slice(0, -1)
  if (kept.length === 0) return { from: bins - 1, sizes: [beyond] }
  kept[kept.length - 1] = (kept.at(-1) ?? 0) + beyond
  return { from: first, sizes: kept }
}

type BothSides = Pick<HeatColumn, 'bids' | 'asks'>

const mirrorSides = ({ bids, asks }: BothSides, bins: number): BothSides => ({
  bids: mirrorSide(asks, bins),
  asks: mirrorSide(bids, bins),
})

/** Removed sizes, if they were requested and are known. */
function mirrorRemoved({ pulled, traded }: HeatColumn, bins: number) {
  if (!pulled || !traded) return {}
  return { pulled: mirrorSides(pulled, bins), traded: mirrorSides(traded, bins) }
}

export function mirrorHeat(heat: Heatmap): Heatmap {
  const bins = Math.round(1 / heat.priceStep)
  return {
    ...heat,
    outcome: otherOutcome(heat.outcome),
    columns: heat.columns.map(
      (column) =>
        column && {
          ...column,
          bid: complementOf(column.ask),
          ask: complementOf(column.bid),
          ...mirrorSides(column, bins),
          ...mirrorRemoved(column, bins),
        },
    ),
  }
}
