/** Between which positions the rows of a query lie, and in which runs: what all selections share. */
import { comparePositions, type Position } from '#src/core/snapshot.ts'

import { type Chunk, outcomeCodes } from '../codec/chunk.ts'
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
  /** True for a chunk that need not be read; `next` is the one behind it in time. */
  isIdle?: (ref: ChunkRef, next: ChunkRef | undefined) => boolean
}

/** Behind every row of any market. */
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

/** The runs that may hold rows within the bounds, in their direction; each is read when it is asked for. */
export function* runsOf(
  { refs, tail }: MarketView,
  source: Source,
  bounds: Bounds,
): Generator<Run> {
  const unfinished = tail === undefined ? [] : [{ chunk: tail.chunk, ref: undefined }]
  if (bounds.order === 'desc') yield* unfinished
  yield* sealedRunsOf(refs, source, bounds)
  if (bounds.order === 'asc') yield* unfinished
}

function* sealedRunsOf(
  refs: readonly ChunkRef[],
  { chunks, isIdle }: Source,
  bounds: Bounds,
): Generator<Run> {
  const isUp = bounds.order === 'asc'
  const first = isUp ? findRef(refs, bounds.start) : lastRef(refs, bounds.end)
  const step = isUp ? 1 : -1
  for (let at = first, ref = refs[at]; ref !== undefined; at += step, ref = refs[at]) {
    if (isUp ? ref.firstMs > bounds.end.timestampMs : ref.lastMs < bounds.start.timestampMs) return
    if (bounds.outcome !== undefined && ref.counts[bounds.outcome] === 0) continue
    if (isIdle?.(ref, refs[at + 1])) continue
    yield { chunk: chunks.load(ref), ref }
  }
}

const lastRef = (refs: readonly ChunkRef[], end: Position): number =>
  Math.min(findRef(refs, end), refs.length - 1)

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
