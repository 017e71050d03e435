/** Chooses the rows of a page: which slices of which chunks, where it ends, and whether more follows. */
import type { Position } from '#src/core/snapshot.ts'

import type { Chunk } from '../codec/chunk.ts'
import type { Slice } from '../codec/slice-decoder.ts'
import type { RowQuery } from '../history.ts'
import type { ChunkTable } from '../tables/chunk-table.ts'
import { type Bounds, type Run, runsOf, toBounds } from './page-bounds.ts'
import type { MarketView } from './views.ts'

/** A slice with the chunk's place in the table; without one it is of the unfinished run. */
export type PageSlice = Slice & Pick<Run, 'ref'>

export type Selection = {
  /** In ascending order, whatever the order of the query. */
  slices: PageSlice[]
  count: number
  /** The row that the page ends with in the direction of the query. */
  last: Position | undefined
  hasMore: boolean
}

/** Selects the rows of a query. */
export function select(view: MarketView, chunks: ChunkTable, query: RowQuery): Selection {
  const selection: Selection = { slices: [], count: 0, last: undefined, hasMore: false }
  const bounds = { ...toBounds(query), limit: query.limit }
  for (const run of runsOf(view, { chunks }, bounds)) if (take(selection, run, bounds)) break
  if (query.order === 'desc') selection.slices.reverse()
  return selection
}

/** Adds what the page still lacks from a run; true when it is known that more follows. */
function take(
  selection: Selection,
  { chunk, ref }: Run,
  { start, end, order, outcome, limit }: Bounds & { limit: number },
): boolean {
  const from = chunk.seek(start.timestampMs, start.id)
  const to = chunk.seek(end.timestampMs, end.id)
  // A tail comes unasked for its outcome; in a sealed chunk of one outcome it is the right one.
  if (from >= to || (outcome !== undefined && chunk.lacks(outcome))) return false
  const own = chunk.hasBoth ? outcome : undefined
  const step = order === 'asc' ? 1 : -1
  const wanted = limit - selection.count
  const rows = { begin: step > 0 ? from : to - 1, stop: step > 0 ? to : from - 1, step }
  const { count, last, hasMore } = pick(chunk, rows, { wanted, outcome: own })
  if (count > 0) {
    const slice = step > 0 ? { from, to: last + 1 } : { from: last, to }
    selection.slices.push({ chunk, ref, ...slice, outcome: own })
    selection.count += count
    selection.last = { timestampMs: chunk.timeMs(last), id: chunk.id(last) }
  }
  selection.hasMore = hasMore
  return hasMore
}

type Rows = { begin: number; stop: number; step: number }
type Wish = { wanted: number; outcome: number | undefined }

/** Takes up to `wanted` matching rows; `last` is the last one taken. */
function pick(chunk: Chunk, { begin, stop, step }: Rows, { wanted, outcome }: Wish) {
  if (outcome === undefined) {
    const there = Math.abs(stop - begin)
    const count = Math.min(wanted, there)
    return { count, last: begin + (count - 1) * step, hasMore: count < there }
  }
  let count = 0
  let last = begin
  for (let row = begin; row !== stop; row += step) {
    if (chunk.outcome(row) !== outcome) continue
    if (count === wanted) return { count, last, hasMore: true }
    last = row
    count++
  }
  return { count, last, hasMore: false }
}
