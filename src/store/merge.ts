/** Merges late rows into sealed chunks, which are written anew: a chunk is never changed in place. */
import type { Market } from '#src/core/market.ts'
import { comparePositions, type StoredSnapshot } from '#src/core/snapshot.ts'

import type { ChunkTable } from './chunk-table.ts'
import { ChunkWriter } from './codec/chunk-writer.ts'
import { CHUNK_ROWS } from './codec/chunk.ts'
import type { SnapshotReader } from './snapshot-reader.ts'

type Tables = { chunks: ChunkTable; reader: SnapshotReader }

/**
 * Returns the function that merges rows, in order, into the chunks of a market and gives back those
 * that lie behind its last chunk. It needs a transaction around it.
 */
export function createMerge({ chunks, reader }: Tables) {
  const writer = new ChunkWriter()

  /** Writes rows as chunks of about equal size, none of which is a crumb. */
  function rewrite(market: Market, rows: readonly StoredSnapshot[]): void {
    const size = Math.ceil(rows.length / Math.ceil(rows.length / CHUNK_ROWS))
    writer.reset()
    for (const row of rows) {
      if (writer.count >= size || writer.isFullFor(row)) flush(market)
      writer.add(row)
    }
    flush(market)
  }

  function flush(market: Market): void {
    if (writer.count > 0) chunks.insert(market.id, writer)
    writer.reset()
  }

  return (market: Market, rows: readonly StoredSnapshot[]): readonly StoredSnapshot[] => {
    let rest = rows
    while (rest[0] !== undefined) {
      const ref = chunks.findAt(market.id, rest[0])
      if (ref === undefined) return rest
      const end = { timestampMs: ref.lastMs, id: ref.lastId }
      const within = rest.filter((row) => comparePositions(row, end) < 0)
      const merged = [...reader.readChunk(ref), ...within].sort(comparePositions)
      chunks.remove(ref)
      rewrite(market, merged)
      rest = rest.slice(within.length)
    }
    return rest
  }
}
