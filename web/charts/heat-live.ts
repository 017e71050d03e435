/** Extends the heat map of an open market by the books that arrived since it was requested. */

import type { Book, HeatColumn, Heatmap, Level } from '../lib/bodies.ts'
import { continues, type Gap, gapBetween } from './line-data.ts'

/** Adds up the sizes of levels in one bin, as the server does. */
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

/** A column without its removed sizes, which belong to no other column. */
function withoutRemoved(column: HeatColumn | null | undefined): HeatColumn | null {
  if (!column) return null
  const { pulled: _, traded: __, ...rest } = column
  return rest
}

const bases = new WeakMap<Heatmap, Heatmap>()

/** The heat map of the server that a heat map extends; only that one has removed sizes. */
export const baseOf = (heat: Heatmap): Heatmap => bases.get(heat) ?? heat

/** The latest extension of a heat map of the server, with the books and gaps in it. */
type Grown = { heat: Heatmap; books: readonly Book[]; gaps: readonly Gap[] }
const grown = new WeakMap<Heatmap, Grown>()

/**
 * Adds the books that arrived after the request; called again with more books, it only adds these.
 * An average cannot be continued without its parts: a new column shows its last size. A state
 * holds until the next book, or until a gap of the outcome begins.
 */
export function withBooks(heat: Heatmap, books: readonly Book[], gaps: readonly Gap[]): Heatmap {
  if (books.length === 0) return heat
  const before = grown.get(heat)
  const isMore = before !== undefined && before.gaps === gaps && continues(books, before.books)
  const joined = isMore
    ? addBooks(before.heat, books.slice(before.books.length), gaps, before.books.at(-1))
    : addBooks(heat, books, gaps)
  grown.set(heat, { heat: joined, books, gaps })
  bases.set(joined, heat)
  return joined
}

function addBooks(
  heat: Heatmap,
  books: readonly Book[],
  gaps: readonly Gap[],
  before = books[0],
): Heatmap {
  const columns = [...heat.columns]
  const last = columns.length - 1
  const startMs = Date.parse(heat.from)
  const columnAt = (ms: number) => Math.floor((ms - startMs) / heat.stepMs)
  let beforeMs = Date.parse(before?.timestamp ?? heat.to)
  for (const { timestamp, bids, asks } of books) {
    const ms = Date.parse(timestamp)
    const index = columnAt(ms)
    for (
      let between = Math.max(0, columnAt(beforeMs) + 1);
      between <= Math.min(index, last);
      between++
    ) {
      const isKnown = !gapBetween(gaps, beforeMs, startMs + between * heat.stepMs)
      columns[between] = isKnown ? (columns[between] ?? withoutRemoved(columns[between - 1])) : null
    }
    beforeMs = ms
    // A heat map of a part also gets books of before and after it. A column whose removed sizes the
    // server knew is complete.
    if (index >= 0 && index <= last && !columns[index]?.pulled)
      columns[index] = join(columns[index] ?? null, { bids, asks }, heat)
  }
  return { ...heat, columns }
}

/** The ends of the time that a heat map shows. */
export type Edge = {
  /** A time before this without a column was not recorded. */
  missingToMs: number
  /** The last book holds until this time, unless a gap began; later times are unknown. */
  knownToMs: number
}

/**
 * The end of the columns of an open market, or of a gap that is known to continue. A pause since
 * the last book is no gap by itself. Finer columns, which are drawn in place of coarse ones, may
 * end before the coarse column of the last book does.
 */
export function missingTo(
  heat: Heatmap,
  finer: Heatmap | undefined,
  gaps: readonly Gap[],
  knownToMs: number,
): number {
  const coarseMs = endOf(heat, gaps, knownToMs)
  if (finer === undefined || Date.parse(finer.to) < coarseMs) return coarseMs
  return Math.min(coarseMs, endOf(finer, gaps, knownToMs))
}

function endOf(heat: Heatmap, gaps: readonly Gap[], knownToMs: number): number {
  const last = heat.columns.findLastIndex((column) => column !== null)
  if (last < 0) return knownToMs
  const endMs = Date.parse(heat.from) + (last + 1) * heat.stepMs
  const gapEnds = gaps.flatMap(({ fromMs, toMs }) => (fromMs <= knownToMs ? toMs : []))
  return Math.max(endMs, Math.min(knownToMs, Math.max(endMs, ...gapEnds)))
}
