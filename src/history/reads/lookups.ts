/** Single rows: the last of an outcome before a moment, and the place of a snapshot by its id. */
import type { Outcome } from '#src/core/market.ts'
import type { Beside, Position } from '#src/core/snapshot.ts'

import { type Chunk, outcomeCodes } from '../codec/chunk.ts'
import { indexesOf, type Picks, type Slice } from '../codec/slices.ts'
import type { ChunkRef, ChunkTable } from '../tables/chunk-table.ts'
import { findRef } from './selection.ts'
import type { MarketView } from './views.ts'

/** A row of a chunk that is in memory, and so readable whatever becomes of the file. */
export type FoundRow = { chunk: Chunk; row: number }

/** Before every row of the moment `toMs`, Unix milliseconds. */
type Moment = { outcome: Outcome; toMs: number }

/** Finds the last row of an outcome before a moment. */
export function findLastRow(
  { refs, tail }: MarketView,
  chunks: ChunkTable,
  { outcome, toMs }: Moment,
): FoundRow | undefined {
  const code = outcomeCodes[outcome]
  const lastIn = (chunk: Chunk): number => chunk.previousRowOf(code, chunk.seek(toMs, 0))
  const row = tail === undefined ? -1 : lastIn(tail.chunk)
  if (tail !== undefined && row >= 0) return { chunk: tail.chunk, row }
  let at = Math.min(findRef(refs, { timestampMs: toMs, id: 0 }), refs.length - 1)
  for (let ref = refs[at]; ref !== undefined; ref = refs[--at]) {
    if (ref.counts[code] === 0) continue
    const chunk = chunks.load(ref)
    const found = lastIn(chunk)
    if (found >= 0) return { chunk, row: found }
  }
  return undefined
}

/**
 * What is kept beside the row at `position`. It is searched again, because the chunk that the row
 * was found in may have been cut in the meantime; its position never changes.
 */
export function findBeside(
  { refs, tail }: MarketView,
  chunks: ChunkTable,
  position: Position,
): Beside {
  const { timestampMs, id } = position
  const ref = refs[findRef(refs, position)]
  const chunk = ref === undefined ? tail?.chunk : chunks.load(ref)
  const row = chunk?.seek(timestampMs, id) ?? 0
  // A better book may have taken its place.
  if (chunk === undefined || row === chunk.count || chunk.id(row) !== id) return {}
  return ref === undefined
    ? (tail?.beside(row) ?? {})
    : chunks.loadBeside(ref, chunk)(row, timestampMs)
}

/**
 * When the rows of parts of chunks were received, in the order of the parts; the
 * view is the one they come from.
 */
export const listReceived = (
  { refs, tail }: MarketView,
  chunks: ChunkTable,
  parts: readonly (Slice | Picks)[],
): (number | undefined)[] =>
  parts.flatMap((part) => {
    const { chunk } = part
    const rows = indexesOf(part)
    const [first = 0] = rows
    const ref = refs[findRef(refs, { timestampMs: chunk.timeMs(first), id: chunk.id(first) })]
    const besideOf = ref === undefined ? tail?.beside : chunks.loadBeside(ref, chunk)
    return rows.map((row) => besideOf?.(row, chunk.timeMs(row)).receivedMs)
  })

/**
 * Finds the place of the snapshot with this id. Ids rise with the positions except where rows came
 * late, so the chunks that should hold it are searched first.
 */
export function findPosition(
  { refs, tail }: MarketView,
  chunks: ChunkTable,
  id: number,
): Position | undefined {
  const isLikely = (ref: ChunkRef): boolean => ref.firstId <= id && id <= ref.lastId
  const likely = refs.filter(isLikely)
  const others = refs.filter((ref) => !isLikely(ref))
  return (
    (tail && positionIn(tail.chunk, id)) ??
    positionInAny(likely, chunks.load, id) ??
    // Of these most will not be needed again.
    positionInAny(others, (other) => chunks.pass(other).chunk, id)
  )
}

function positionInAny(
  refs: readonly ChunkRef[],
  load: (ref: ChunkRef) => Chunk,
  id: number,
): Position | undefined {
  for (const ref of refs) {
    const found = positionIn(load(ref), id)
    if (found !== undefined) return found
  }
  return undefined
}

function positionIn(chunk: Chunk, id: number): Position | undefined {
  for (let row = 0; row < chunk.count; row++) {
    if (chunk.id(row) === id) return { timestampMs: chunk.timeMs(row), id }
  }
  return undefined
}
