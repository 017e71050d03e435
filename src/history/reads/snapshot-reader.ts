import type { Beside, StoredSnapshot } from '#src/core/snapshot.ts'
/** Turns stored rows back into snapshots. */
import { createSnapshotScanner } from '#src/wire/snapshot-json.ts'

import type { Chunk } from '../codec/chunk.ts'
import { RowReader } from '../codec/row-reader.ts'
import type { ChunkRef, ChunkTable, ReadBeside } from '../tables/chunk-table.ts'
import type { TailRun } from '../tables/tail-table.ts'

/** Reads single rows, whole chunks and tails. */
export function createSnapshotReader(chunks: ChunkTable) {
  const scanner = createSnapshotScanner()
  const rows = new RowReader()

  function scan(text: Uint8Array, beside: Beside): StoredSnapshot {
    const { id, ...snapshot } = scanner.scan(text, 0, text.length)
    return { ...snapshot, ...beside, id: Number(id) }
  }

  function readAll(chunk: Chunk, besideOf: ReadBeside): StoredSnapshot[] {
    const snapshots: StoredSnapshot[] = []
    rows.forEach(chunk, (text, row) => snapshots.push(scan(text, besideOf(row, chunk.timeMs(row)))))
    return snapshots
  }

  return {
    /** Reads one row's text. */
    scan,

    readChunk(ref: ChunkRef): StoredSnapshot[] {
      const chunk = chunks.load(ref)
      return readAll(chunk, chunks.loadBeside(ref, chunk))
    },

    readTail: ({ chunk, beside }: TailRun): StoredSnapshot[] => readAll(chunk, beside),

    readRow: (chunk: Chunk, row: number, beside: Beside): StoredSnapshot =>
      scan(rows.text(chunk, row), beside),

    /** One row's text; valid until the next row is read. */
    readText: (chunk: Chunk, row: number): Uint8Array => rows.text(chunk, row),
  }
}

export type SnapshotReader = ReturnType<typeof createSnapshotReader>
