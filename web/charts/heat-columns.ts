/** Columns of heat maps: which ones are seen, which finer ones they need, and what a cell holds. */

import type { HeatColumn, Heatmap } from '../lib/bodies.ts'
import { nowMs } from '../lib/clock.ts'
import type { Range } from './time-axis.ts'

export const spanOfHeat = ({ from, to }: Heatmap): Range => ({
  fromMs: Date.parse(from),
  toMs: Date.parse(to),
})

const covers = (outer: Range, inner: Range): boolean =>
  outer.fromMs <= inner.fromMs && outer.toMs >= inner.toMs

/** The finest of several heat maps that has all of a range; they are sorted, the finest one last. */
export const finestOf = (heats: readonly Heatmap[], range: Range): Heatmap | undefined =>
  heats.findLast((heat) => covers(spanOfHeat(heat), range)) ?? heats[0]

/** The indexes of the columns that a range touches; `end` is exclusive. */
export function columnsIn(heat: Heatmap, { fromMs, toMs }: Range): { first: number; end: number } {
  const startMs = Date.parse(heat.from)
  const { length } = heat.columns
  const first = Math.floor((fromMs - startMs) / heat.stepMs)
  const end = Math.ceil((toMs - startMs) / heat.stepMs)
  return {
    first: Math.min(Math.max(first, 0), length),
    end: Math.min(Math.max(end, 0), length),
  }
}

/** What the columns of a range are requested with. */
export function rangeQuery(heat: Heatmap, range: Range) {
  const { first, end } = columnsIn(heat, range)
  const { fromMs, toMs } = spanOfHeat(heat)
  return {
    from: fromMs + first * heat.stepMs,
    to: Math.min(toMs, fromMs + end * heat.stepMs),
    timeBins: Math.max(1, end - first),
  }
}

/** A range that is shown has at least so many columns, if they are not shorter than a millisecond. */
const COLUMNS_MIN = 250
/** Finer columns begin and end at multiples of so many, and have as many beside what is shown. */
const COLUMNS_BESIDE = 50

/** 1, 2, 5, 10, 20, 50, …: the longest length up to one. */
function roundLength(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, ms)))
  return power * ([5, 2].find((factor) => factor * power <= ms) ?? 1)
}

export type FinerQuery = { from: number; to: number; timeBins: number }

/** The finer columns that a part of the whole needs; undefined if it has enough columns of `stepMs`. */
export function finerQuery(whole: Range, shown: Range, stepMs: number): FinerQuery | undefined {
  const columnMs = roundLength((shown.toMs - shown.fromMs) / COLUMNS_MIN)
  if (columnMs >= stepMs) return undefined
  const unit = columnMs * COLUMNS_BESIDE
  const from = Math.max(whole.fromMs, (Math.floor(shown.fromMs / unit) - 1) * unit)
  const to = Math.min(whole.toMs, (Math.ceil(shown.toMs / unit) + 1) * unit)
  return { from, to, timeBins: Math.ceil((to - from) / columnMs) }
}

type Side = HeatColumn['bids']
export const sizeIn = (side: Side | undefined, bin: number): number =>
  side?.sizes[bin - side.from] ?? 0

export type HeatCell = Range & {
  /** Undefined where no book is known. */
  column: HeatColumn | undefined
  bin: number
}

/** The cell of a moment and a price; undefined for a moment that no column has. */
export function cellAt(heat: Heatmap, ms: number, price: number): HeatCell | undefined {
  const startMs = Date.parse(heat.from)
  // The end of the last column is in it.
  const isEnd = ms === Date.parse(heat.to)
  const index = isEnd ? heat.columns.length - 1 : Math.floor((ms - startMs) / heat.stepMs)
  const column = heat.columns[index]
  if (column === undefined) return undefined
  const fromMs = startMs + index * heat.stepMs
  return {
    fromMs,
    toMs: fromMs + heat.stepMs,
    column: column ?? undefined,
    bin: binOf(heat, price),
  }
}

const NOISE = 1e-9
export const binOf = ({ priceStep }: Heatmap, price: number): number =>
  Math.min(Math.round(1 / priceStep) - 1, Math.max(0, Math.floor(price / priceStep + NOISE)))

/** A bin is a whole number of steps of price. */
export const priceOfBin = ({ priceStep }: Heatmap, bin: number): number =>
  Math.round(bin * priceStep * 1e6) / 1e6

/** The sizes of all cells, ascending. */
export function sizesOf({ columns }: Heatmap): Float64Array {
  const sizes: number[] = []
  for (const column of columns) {
    for (const size of column?.bids.sizes ?? []) if (size > 0) sizes.push(size)
    for (const size of column?.asks.sizes ?? []) if (size > 0) sizes.push(size)
  }
  // Numbers in an array of their own are sorted several times as fast.
  return Float64Array.from(sizes).sort()
}

type Cell = string | number | null

/** Whether it is known of any column what was pulled and what was traded. */
export const hasRemoved = ({ columns }: Heatmap): boolean =>
  columns.some((column) => column?.pulled)

/** The share of a range up to now in which it is known what was pulled and what was traded. */
export function removedShare(heat: Heatmap, { fromMs, toMs }: Range): number {
  const { first, end } = columnsIn(heat, { fromMs, toMs: Math.min(toMs, nowMs()) })
  const known = heat.columns.slice(first, end).filter((column) => column?.pulled)
  return known.length / Math.max(1, end - first)
}

/** The cells of a range as a table, with what left them where anything is known of that. */
export function* cellRows(heat: Heatmap | undefined, range: Range): Generator<readonly Cell[]> {
  const isKnown = heat !== undefined && hasRemoved(heat)
  yield ['time', 'side', 'price', 'size', ...(isKnown ? ['pulled', 'traded'] : [])]
  if (heat === undefined) return
  const startMs = Date.parse(heat.from)
  const { first, end } = columnsIn(heat, range)
  for (let index = first; index < end; index++) {
    const column = heat.columns[index] ?? null
    const time = new Date(startMs + index * heat.stepMs).toISOString()
    if (column === null) {
      yield [time, 'unknown', null, null, ...(isKnown ? [null, null] : [])]
      continue
    }
    for (const side of ['bids', 'asks'] as const) {
      const pulled = column.pulled?.[side]
      const traded = column.traded?.[side]
      const lists = [column[side], pulled, traded].filter((list) => list && list.sizes.length > 0)
      const from = Math.min(...lists.map((list) => list?.from ?? 0))
      const to = Math.max(...lists.map((list) => (list ? list.from + list.sizes.length : 0)))
      for (let bin = from; bin < to; bin++) {
        yield [
          time,
          side === 'bids' ? 'bid' : 'ask',
          priceOfBin(heat, bin),
          sizeIn(column[side], bin),
          ...(isKnown ? [pulled ? sizeIn(pulled, bin) : null] : []),
          ...(isKnown ? [traded ? sizeIn(traded, bin) : null] : []),
        ]
      }
    }
  }
}
