/**
 * Chooses the rows of a page: between which positions they are, in which
 * runs, and whether more follows.
 */
import { comparePositions, type Position } from '#src/core/snapshot.ts'

import { type Chunk, outcomeCodes } from '../codec/chunk.ts'
import type { Slice } from '../codec/slices.ts'
import type { RowQuery } from '../history.ts'
import type { ChunkRef, ChunkTable } from '../tables/chunk-table.ts'
import type { MarketView } from './views.ts'

/** Positions `start` (inclusive) to `end` (exclusive), to be walked in the direction of `order`. */
export type Bounds = {
  start: Position
  end: Position
  order: RowQuery['order']
  /** A code of `outcomeCodes`; undefined for both. */
  outcome: number | undefined
}

/** A chunk, or the unfinished run, which has no `ref`. */
export type Run = { chunk: Chunk; ref: ChunkRef | undefined }

type Source = {
  chunks: Pick<ChunkTable, 'load'>
  /** True for a chunk that need not be read; `next` is the one after it in time. */
  isIdle?: (ref: ChunkRef, next: ChunkRef | undefined) => boolean
}

/** After every row of any market. */
const LAST_POSITION = { timestampMs: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER }

export const startOfMs = (timestampMs: number): Position => ({ timestampMs, id: 0 })

export function toBounds({ order, outcome, after, fromMs = 0, toMs }: RowQuery): Bounds {
  const start = startOfMs(fromMs)
  const end = toMs === undefined ? LAST_POSITION : startOfMs(toMs)
  const bounds = { start, end, order, outcome: outcome && outcomeCodes[outcome] }
  if (after === undefined) return bounds
  if (order === 'desc') return { ...bounds, end: comparePositions(after, end) < 0 ? after : end }
  const next = { timestampMs: after.timestampMs, id: after.id + 1 }
  return { ...bounds, start: comparePositions(next, start) > 0 ? next : start }
}

/**
 * The runs that may hold rows within the bounds, in their direction;
 * each is read when it is asked for.
 */
export function* runsOf(
  { refs, tail }: MarketView,
  { chunks, isIdle }: Source,
  { start, end, order, outcome }: Bounds,
): Generator<Run> {
  const unfinished = tail === undefined ? [] : [{ chunk: tail.chunk, ref: undefined }]
  const isUp = order === 'asc'
  const first = isUp ? findRef(refs, start) : Math.min(findRef(refs, end), refs.length - 1)
  const step = isUp ? 1 : -1
  if (!isUp) yield* unfinished
  for (let at = first, ref = refs[at]; ref !== undefined; at += step, ref = refs[at]) {
    if (isUp ? ref.firstMs > end.timestampMs : ref.lastMs < start.timestampMs) break
    const isChosen = outcome === undefined || ref.counts[outcome] !== 0
    if (isChosen && isIdle?.(ref, refs[at + 1]) !== true) yield { chunk: chunks.load(ref), ref }
  }
  if (isUp) yield* unfinished
}

/**
 * Index of the first chunk whose last row is at or after `position`; their number if there is none.
 */
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
export function selectRows(view: MarketView, chunks: ChunkTable, query: RowQuery): Selection {
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
  // Only sealed chunks were chosen by their outcome.
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

/** Takes up to `wanted` matching rows; `last` is the last one taken. */
function pick(
  chunk: Chunk,
  { begin, stop, step }: Rows,
  { wanted, outcome }: { wanted: number; outcome: number | undefined },
) {
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
