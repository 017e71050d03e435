/**
 * Merges late rows into sealed chunks and takes rows out of them; a
 * chunk is never changed in place.
 */
import type { Market } from '#src/core/market.ts'
import { comparePositions, type Position, type StoredSnapshot } from '#src/core/snapshot.ts'

import { ChunkWriter } from '../codec/chunk-writer.ts'
import { CHUNK_ROWS } from '../codec/chunk.ts'
import type { Tables } from '../tables/tables.ts'

/** Rows to put in and ids to take out, with their places; both in order. */
export type MergeChange = { rows: readonly StoredSnapshot[]; gone: readonly Position[] }

/**
 * Returns the function that changes the chunks of a market and gives back the rows that lie after
 * its last chunk. It needs a transaction around it.
 */
export function createMerge({ chunks, snapshots }: Tables) {
  const writer = new ChunkWriter()

  /** Writes rows as chunks of about equal size, none of which is tiny. */
  function rewrite(market: Market, rows: readonly StoredSnapshot[]): void {
    writer.reset()
    const size = Math.ceil(rows.length / Math.ceil(rows.length / CHUNK_ROWS))
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

  return (market: Market, change: MergeChange): readonly StoredSnapshot[] => {
    let { rows, gone } = change
    for (;;) {
      const next = firstOf(rows[0], gone[0])
      const ref = next && chunks.findAt(market.id, next)
      if (ref === undefined) return rows
      const end = { timestampMs: ref.lastMs, id: ref.lastId }
      const within = rows.filter((row) => comparePositions(row, end) <= 0)
      const goneIds = new Set(gone.map(({ id }) => id))
      const kept = snapshots.ofChunk(ref).filter(({ id }) => !goneIds.has(id))
      chunks.remove(ref)
      rewrite(market, [...kept, ...within].sort(comparePositions))
      rows = rows.slice(within.length)
      gone = gone.filter((position) => comparePositions(position, end) > 0)
    }
  }
}

function firstOf(a: Position | undefined, b: Position | undefined): Position | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return comparePositions(a, b) < 0 ? a : b
}
