/** A heat map that goes on: states that came since it was made are put into its columns. */

import type { Book, HeatColumn, Heatmap, Level } from '../lib/bodies.ts'
import { type Gap, gapBetween } from './line-data.ts'

/** As the server bins: sizes of levels in one bin are added up. */
function toSide(levels: readonly Level[], priceStep: number): HeatColumn['bids'] {
  const bins = new Map<number, number>()
  const last = Math.round(1 / priceStep) - 1
  for (const { price, size } of levels) {
    const bin = Math.min(last, Math.floor(price / priceStep + 1e-9))
    bins.set(bin, (bins.get(bin) ?? 0) + size)
  }
  if (bins.size === 0) return { from: 0, sizes: [] }
  const from = Math.min(...bins.keys())
  const to = Math.max(...bins.keys())
  return {
    from,
    sizes: Array.from({ length: to - from + 1 }, (_, index) => bins.get(from + index) ?? 0),
  }
}

function larger(a: HeatColumn['bids'], b: HeatColumn['bids']): HeatColumn['bids'] {
  if (a.sizes.length === 0) return b
  if (b.sizes.length === 0) return a
  const from = Math.min(a.from, b.from)
  const to = Math.max(a.from + a.sizes.length, b.from + b.sizes.length)
  const at = ({ from: first, sizes }: HeatColumn['bids'], bin: number) => sizes[bin - first] ?? 0
  return {
    from,
    sizes: Array.from({ length: to - from }, (_, index) =>
      Math.max(at(a, from + index), at(b, from + index)),
    ),
  }
}

function join(
  now: HeatColumn | null,
  { bids, asks }: Pick<Book, 'bids' | 'asks'>,
  { priceStep, agg }: Heatmap,
): HeatColumn {
  const own = { bids: toSide(bids, priceStep), asks: toSide(asks, priceStep) }
  const isMax = agg === 'max' && now !== null
  return {
    covered: 1,
    bid: bids[0]?.price ?? null,
    ask: asks[0]?.price ?? null,
    bids: isMax ? larger(now.bids, own.bids) : own.bids,
    asks: isMax ? larger(now.asks, own.asks) : own.asks,
  }
}

/** What left a column left no other one. */
function withoutRemoved(column: HeatColumn | null | undefined): HeatColumn | null {
  if (!column) return null
  const { pulled: _, traded: __, ...rest } = column
  return rest
}

/**
 * An average cannot be continued without its parts: of a new column it shows the last size. What
 * was there goes on until the next book, or until a gap of the outcome begins.
 */
export function withBooks(heat: Heatmap, books: readonly Book[], gaps: readonly Gap[]): Heatmap {
  if (books.length === 0) return heat
  const columns = [...heat.columns]
  const last = columns.length - 1
  const startMs = Date.parse(heat.from)
  const columnAt = (ms: number) => Math.floor((ms - startMs) / heat.stepMs)
  let beforeMs = Date.parse(books[0]?.timestamp ?? heat.to)
  for (const { timestamp, bids, asks } of books) {
    const ms = Date.parse(timestamp)
    const index = columnAt(ms)
    const before = columnAt(beforeMs)
    for (let between = Math.max(0, before + 1); between <= Math.min(index, last); between++) {
      const isKnown = !gapBetween(gaps, beforeMs, startMs + between * heat.stepMs)
      columns[between] = isKnown ? (columns[between] ?? withoutRemoved(columns[between - 1])) : null
    }
    beforeMs = ms
    // A heat map of a part has books of before and after it too.
    if (index >= 0 && index <= last)
      columns[index] = join(columns[index] ?? null, { bids, asks }, heat)
  }
  return { ...heat, columns }
}

/** Up to when a heat map says something. */
export type Edge = {
  /** Before this, what has no column was not recorded. */
  missingToMs: number
  /** Up to this the last book holds, where no gap began; nothing is known of what is later. */
  knownToMs: number
}

/**
 * Of a market that goes on: where its columns end, or as late as it is known that a gap goes on.
 * That no book came since the last one says nothing by itself.
 */
export function missingTo(heat: Heatmap, gaps: readonly Gap[], knownToMs: number): number {
  const last = heat.columns.findLastIndex((column) => column !== null)
  if (last < 0) return knownToMs
  const endMs = Date.parse(heat.from) + (last + 1) * heat.stepMs
  const gapEnds = gaps.flatMap(({ fromMs, toMs }) => (fromMs <= knownToMs ? toMs : []))
  return Math.max(endMs, Math.min(knownToMs, Math.max(endMs, ...gapEnds)))
}
