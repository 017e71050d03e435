/** Chooses the rows of a page: which slices of which chunks, where it ends, and whether more follows. */
import { comparePositions, type Position } from '#src/core/snapshot.ts'

import type { ChunkRef, ChunkTable } from './chunk-table.ts'
import { type Chunk, outcomeCodes } from './codec/chunk.ts'
import type { Slice } from './codec/page-encoder.ts'
import type { RowQuery } from './history.ts'
import type { MarketView } from './views.ts'

export type Selection = {
  /** In ascending order, whatever the order of the query. */
  slices: Slice[]
  count: number
  /** The row that the page ends with in the direction of the query. */
  last: Position | undefined
  hasMore: boolean
}

/** Positions `start` (inclusive) to `end` (exclusive). */
type Range = { start: Position; end: Position }

/** Behind every row of any market. */
const LAST_POSITION = { timestampMs: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER }

/** Selects the rows of a query. */
export function select(view: MarketView, chunks: ChunkTable, query: RowQuery): Selection {
  const selection: Selection = { slices: [], count: 0, last: undefined, hasMore: false }
  const bounds = { ...toRange(query), query }
  const tail = view.tail?.chunk
  if (query.order === 'asc') {
    const isDone = takeChunks(selection, view, { chunks, bounds })
    if (!isDone && tail !== undefined) take(selection, tail, bounds)
    return selection
  }
  const isDone = tail !== undefined && take(selection, tail, bounds)
  if (!isDone) takeChunks(selection, view, { chunks, bounds })
  selection.slices.reverse()
  return selection
}

type Reach = { chunks: ChunkTable; bounds: Bounds }

/** Takes from the chunks that may hold rows, in the direction of the query; true when it has all. */
function takeChunks(
  selection: Selection,
  { refs }: MarketView,
  { chunks, bounds }: Reach,
): boolean {
  const { start, end, query } = bounds
  const isUp = query.order === 'asc'
  const first = isUp ? findRef(refs, start) : Math.min(findRef(refs, end), refs.length - 1)
  const step = isUp ? 1 : -1
  for (let at = first, ref = refs[at]; ref !== undefined; at += step, ref = refs[at]) {
    if (isUp ? ref.firstMs > end.timestampMs : ref.lastMs < start.timestampMs) return false
    if (query.outcome !== undefined && ref.counts[outcomeCodes[query.outcome]] === 0) continue
    if (take(selection, chunks.load(ref.id), bounds)) return true
  }
  return false
}

/** Index of the first chunk whose last row is at or after `position`; their number if there is none. */
export function findRef(refs: readonly ChunkRef[], position: Position): number {
  let low = 0
  let high = refs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const ref = refs[middle]
    const order = (ref?.lastMs ?? 0) - position.timestampMs || (ref?.lastId ?? 0) - position.id
    if (order < 0) low = middle + 1
    else high = middle
  }
  return low
}

const startOfMs = (timestampMs: number): Position => ({ timestampMs, id: 0 })

function toRange({ order, after, fromMs = 0, toMs }: RowQuery): Range {
  const start = startOfMs(fromMs)
  const end = toMs === undefined ? LAST_POSITION : startOfMs(toMs)
  if (after === undefined) return { start, end }
  if (order === 'desc') return { start, end: comparePositions(after, end) < 0 ? after : end }
  const next = { timestampMs: after.timestampMs, id: after.id + 1 }
  return { start: comparePositions(next, start) > 0 ? next : start, end }
}

/** Adds what the page still lacks from a chunk; true when it is known that more follows. */
function take(selection: Selection, chunk: Chunk, bounds: Bounds): boolean {
  const { start, end, query } = bounds
  const from = chunk.seek(start.timestampMs, start.id)
  const to = chunk.seek(end.timestampMs, end.id)
  const outcome = query.outcome === undefined ? undefined : outcomeCodes[query.outcome]
  // A tail comes unasked for its outcome; in a sealed chunk of one outcome it is the right one.
  if (from >= to || (outcome !== undefined && chunk.lacks(outcome))) return false
  const own = chunk.hasBoth ? outcome : undefined
  const step = query.order === 'asc' ? 1 : -1
  const wanted = query.limit - selection.count
  const rows = { begin: step > 0 ? from : to - 1, stop: step > 0 ? to : from - 1, step }
  const { count, last, hasMore } = pick(chunk, rows, { wanted, outcome: own })
  if (count > 0) {
    const slice = step > 0 ? { from, to: last + 1 } : { from: last, to }
    selection.slices.push({ chunk, ...slice, outcome: own })
    selection.count += count
    selection.last = { timestampMs: chunk.timeMs(last), id: chunk.id(last) }
  }
  selection.hasMore = hasMore
  return hasMore
}

type Bounds = Range & { query: RowQuery }
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
