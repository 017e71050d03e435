/** The prices that a heat map shows: all, those around the mid, or a chosen range. */

import type { Heatmap } from '../lib/bodies.ts'
import { columnsIn } from './heat-columns.ts'
import type { Prices, PriceView, Range } from './time-axis.ts'

const all: Prices = { low: 0, high: 1 }
/** Less than this on each side of the mid says nothing of the book. */
const REACH_MIN = 0.05
const LENGTH_MIN = 0.02

/** Within 0 and 1, and not too short. */
function bounded(low: number, high: number): Prices {
  const length = Math.min(1, Math.max(LENGTH_MIN, high - low))
  const start = Math.min(1 - length, Math.max(0, low))
  return { low: start, high: start + length }
}

/** Prices around the last mid of a range of time, on each side as far as the mid moved in it. */
function fitted(heat: Heatmap | undefined, range: Range): Prices {
  if (heat === undefined) return all
  const { first, end } = columnsIn(heat, range)
  const mids = heat.columns.slice(first, end).flatMap((column) => {
    const { bid = null, ask = null } = column ?? {}
    return bid === null || ask === null ? [] : (bid + ask) / 2
  })
  const mid = mids.at(-1)
  if (mid === undefined) return all
  const reach = Math.max(REACH_MIN, Math.max(...mids) - Math.min(...mids))
  return { low: Math.max(0, mid - reach), high: Math.min(1, mid + reach) }
}

export function pricesOf(view: PriceView, heat: Heatmap | undefined, range: Range): Prices {
  if (view === 'all') return all
  return view === 'fit' ? fitted(heat, range) : view
}

/** Shows less (`factor` below 1) or more, around a price that stays where it is. */
export function zoomPrices({ low, high }: Prices, price: number, factor: number): PriceView {
  const below = (price - low) * factor
  const above = (high - price) * factor
  return below + above >= 1 ? 'all' : bounded(price - below, price + above)
}

export const panPrices = ({ low, high }: Prices, by: number): Prices => bounded(low + by, high + by)
