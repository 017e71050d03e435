/** What is under the crosshair of a heat map, in words. */

import type { Heatmap } from '../lib/bodies.ts'
import { showMoment, showPrice, showShares } from '../lib/format.ts'
import { cellAt, finestOf, priceOfBin, sizeIn } from './heat-columns.ts'

/** Time, price, size and side; without a price the best ones. */
export function readoutAt(
  heats: readonly Heatmap[],
  ms: number,
  price: number | undefined,
): string {
  const heat = finestOf(heats, { fromMs: ms, toMs: ms })
  const cell = heat && cellAt(heat, ms, price ?? 0)
  const time = showMoment(ms)
  if (heat === undefined || cell === undefined) return time
  const { column, bin } = cell
  if (column === undefined) return `${time} · not recorded`
  if (price === undefined)
    return `${time} · best bid ${showPrice(column.bid)} · best ask ${showPrice(column.ask)}`
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
