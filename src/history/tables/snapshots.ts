/** Turns stored rows back into snapshots. */
import type { Beside, StoredSnapshot } from '#src/core/snapshot.ts'
import { createSnapshotScanner } from '#src/wire/snapshot-json.ts'

import { ChunkDecoder } from '../codec/chunk-decoder.ts'
import type { Chunk } from '../codec/chunk.ts'
import type { ChunkRef, ChunkTable, ReadBeside } from './chunk-table.ts'
import type { TailRun } from './tail-table.ts'

/** Reads single rows, whole chunks and tails. */
export function createSnapshots(chunks: ChunkTable) {
  const scanner = createSnapshotScanner()
  const decoder = new ChunkDecoder()

  function scan(text: Uint8Array, beside: Beside): StoredSnapshot {
    const { id, ...snapshot } = scanner.scan(text, 0, text.length)
    return { ...snapshot, ...beside, id: Number(id) }
  }

  function readAll(chunk: Chunk, besideOf: ReadBeside): StoredSnapshot[] {
    const snapshots: StoredSnapshot[] = []
    decoder.forEach(chunk, (text, row) =>
      snapshots.push(scan(text, besideOf(row, chunk.timeMs(row)))),
    )
    return snapshots
  }

  return {
    /** Reads one row's text. */
    scan,

    ofChunk(ref: ChunkRef): StoredSnapshot[] {
      const chunk = chunks.load(ref)
      return readAll(chunk, chunks.loadBeside(ref, chunk))
    },

    ofTail: ({ chunk, beside }: TailRun): StoredSnapshot[] => readAll(chunk, beside),

    ofRow: (chunk: Chunk, row: number, beside: Beside): StoredSnapshot =>
      scan(decoder.text(chunk, row), beside),

    /** One row's text; valid until the next row is read. */
    textOf: (chunk: Chunk, row: number): Uint8Array => decoder.text(chunk, row),
  }
}

export type Snapshots = ReturnType<typeof createSnapshots>
