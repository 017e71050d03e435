/** Turns stored rows back into snapshots. */
import { createSnapshotScanner } from '#src/core/snapshot-json.ts'
import type { StoredSnapshot } from '#src/core/snapshot.ts'

import type { ChunkRef, ChunkTable } from './chunk-table.ts'
import type { Chunk } from './codec/chunk.ts'
import { readHash } from './codec/hashes.ts'
import { RowReader } from './codec/row-reader.ts'
import type { TailRun } from './tail-table.ts'

/** Reads single rows, whole chunks and tails. */
export function createSnapshotReader(chunks: ChunkTable) {
  const scanner = createSnapshotScanner()
  const rows = new RowReader()

  function scan(text: Uint8Array, sourceHash: string | undefined): StoredSnapshot {
    const { id, ...snapshot } = scanner.scan(text, 0, text.length)
    return { ...snapshot, sourceHash, id: Number(id) }
  }

  function readAll(chunk: Chunk, hashOf: (row: number) => string | undefined): StoredSnapshot[] {
    const snapshots: StoredSnapshot[] = []
    rows.forEach(chunk, (text, row) => snapshots.push(scan(text, hashOf(row))))
    return snapshots
  }

  return {
    /** Reads one row's text. */
    scan,

    readChunk(ref: ChunkRef): StoredSnapshot[] {
      const hashes = chunks.loadHashes(ref)
      return readAll(chunks.load(ref), (row) => readHash(hashes, row))
    },

    readTail: ({ chunk, hashes }: TailRun): StoredSnapshot[] =>
      readAll(chunk, (row) => hashes[row]),

    readRow: (chunk: Chunk, row: number, sourceHash: string | undefined): StoredSnapshot =>
      scan(rows.text(chunk, row), sourceHash),

    /** One row's text; valid until the next row is read. */
    readText: (chunk: Chunk, row: number): Uint8Array => rows.text(chunk, row),
  }
}

export type SnapshotReader = ReturnType<typeof createSnapshotReader>
