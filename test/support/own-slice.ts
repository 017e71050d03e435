import type { Slice } from '#src/history/codec/chunk-decoder.ts'
import { ownChunkOf } from '#src/history/codec/own-chunk.ts'

/** A slice of one outcome as used for pages: from a chunk with no other outcome. */
export function ownSliceOf(slice: Slice): Slice {
  const { chunk, from, to, outcome } = slice
  if (outcome === undefined || !chunk.hasBoth) return slice
  const own = ownChunkOf(chunk, outcome)
  const place = (row: number) =>
    row === chunk.count ? own.count : own.seek(chunk.timeMs(row), chunk.id(row))
  return { chunk: own, from: place(from), to: place(to), outcome: undefined }
}
