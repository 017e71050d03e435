/** Columns of heat maps: the visible ones, requests for finer ones, and the content of cells. */

import type { HeatColumn, Heatmap } from '../lib/bodies.ts'
import { nowMs } from '../lib/clock.ts'
import type { Range } from './time-axis.ts'

export const spanOfHeat = ({ from, to }: Heatmap): Range => ({
  fromMs: Date.parse(from),
  toMs: Date.parse(to),
})

const covers = (outer: Range, inner: Range): boolean =>
  outer.fromMs <= inner.fromMs && outer.toMs >= inner.toMs

/** The finest heat map that covers a range; `heats` are sorted, the finest last. */
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

/** The parts of a range in which no book is known. */
export function unknownIn(heat: Heatmap, range: Range): Range[] {
  const startMs = Date.parse(heat.from)
  const { first, end } = columnsIn(heat, range)
  const parts: Range[] = []
  for (let index = first; index < end; index++) {
    if (heat.columns[index]) continue
    const fromMs = startMs + index * heat.stepMs
    const before = parts.at(-1)
    if (before?.toMs === fromMs) before.toMs += heat.stepMs
    else parts.push({ fromMs, toMs: fromMs + heat.stepMs })
  }
  return parts
}

/** Parameters that request the columns of a range. */
export function rangeQuery(heat: Heatmap, range: Range) {
  const { first, end } = columnsIn(heat, range)
  const { fromMs, toMs } = spanOfHeat(heat)
  return {
    from: fromMs + first * heat.stepMs,
    to: Math.min(toMs, fromMs + end * heat.stepMs),
    timeBins: Math.max(1, end - first),
  }
}

/** The fewest columns of a shown range, unless they would be shorter than a millisecond. */
const COLUMNS_MIN = 250
/** Finer columns begin and end at multiples of this number, and extend the view by as many. */
const COLUMNS_BESIDE = 50

/** 1, 2, 5, 10, 20, 50, …: the longest length up to one. */
function roundLength(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, ms)))
  return power * ([5, 2].find((factor) => factor * power <= ms) ?? 1)
}

export type FinerQuery = { from: number; to: number; timeBins: number }

/**
 * The finer columns that a part of the whole needs; undefined if it has enough columns of `stepMs`.
 */
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

/** The cell of a moment and a price; undefined outside of the columns. */
export function cellAt(heat: Heatmap, ms: number, price: number): HeatCell | undefined {
  const startMs = Date.parse(heat.from)
  // The end of the time belongs to the last column.
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

/** True if pulled and traded sizes are known for some column. */
export const hasRemoved = ({ columns }: Heatmap): boolean =>
  columns.some((column) => column?.pulled)

/** While a market is followed, columns with removed sizes are requested at least this often. */
const PENDING_MS = 30_000

/**
 * The share of a range, without its newest half minute, in which pulled and traded sizes are known.
 */
export function removedShare(heat: Heatmap, { fromMs, toMs }: Range): number {
  const { first, end } = columnsIn(heat, { fromMs, toMs: Math.min(toMs, nowMs() - PENDING_MS) })
  const known = heat.columns.slice(first, end).filter((column) => column?.pulled)
  return end <= first ? 1 : known.length / (end - first)
}

/** The cells of a range as a table, with removed sizes if any are known. */
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
