/** The cell under the crosshair of a heat map, in words. */

import type { Heatmap, Outcome } from '../lib/bodies.ts'
import { showMoment, showPrice, showShares } from '../lib/format.ts'
import { indexAt } from './find-at.ts'
import { cellAt, finestOf, priceOfBin, sizeIn } from './heat-columns.ts'
import type { Edge } from './heat-live.ts'
import type { LineData } from './line-data.ts'

/** The best prices of both outcomes over time, as `toLines` makes them. */
export type BestPrices = { bids: LineData; asks: LineData }

/** Time, price, size and side; without a price, the best prices at the moment. */
export function readoutAt(
  heats: readonly Heatmap[],
  best: BestPrices,
  ms: number,
  price: number | undefined,
  { missingToMs, knownToMs }: Edge,
): string {
  const heat = finestOf(heats, { fromMs: ms, toMs: ms })
  const cell = heat && cellAt(heat, ms, price ?? 0)
  const time = showMoment(ms)
  if (heat === undefined || cell === undefined) return time
  const { column, bin } = cell
  if (column === undefined && ms < missingToMs) return `${time} · not recorded`
  if (column === undefined && (price !== undefined || ms > knownToMs)) return time
  if (column === undefined || price === undefined) {
    // The best prices of a column are those at its end, later than a moment in it.
    const before = cellAt(heat, cell.fromMs - heat.stepMs, 0)?.column
    const bid = bestAt(best.bids, heat.outcome, ms, before?.bid)
    const ask = bestAt(best.asks, heat.outcome, ms, before?.ask)
    return `${time} · best bid ${showPrice(bid)} · best ask ${showPrice(ask)}`
  }
  const bid = sizeIn(column.bids, bin)
  const ask = sizeIn(column.asks, bin)
  const parts = [time, showPrice(priceOfBin(heat, bin))]
  if (bid > 0) parts.push(`bid ${showShares(bid)}`)
  if (ask > 0) parts.push(`ask ${showShares(ask)}`)
  if (bid + ask === 0) parts.push('no orders')
  for (const kind of ['pulled', 'traded'] as const) {
    const size = sizeIn(column[kind]?.bids, bin) + sizeIn(column[kind]?.asks, bin)
    if (size > 0) parts.push(`${kind} ${showShares(size)}`)
  }
  return parts.join(' · ')
}

/** The price at a moment; `before` if no quote is as early. Null is known: that side was empty. */
function bestAt(
  [times, up, down]: LineData,
  outcome: Outcome,
  ms: number,
  before: number | null | undefined,
): number | null | undefined {
  const at = indexAt(times, ms / 1000)
  return at < 0 ? before : (outcome === 'up' ? up : down)?.[at]
}
