/** The tables of a history and the conversion of their rows to snapshots. */
import type { Database } from '#src/database/database.ts'
import type { Beside, StoredSnapshot } from '#src/domain/snapshot.ts'
import type { Clock } from '#src/domain/time.ts'
import { createSnapshotScanner } from '#src/domain/wire/snapshot-json.ts'

import { ChunkDecoder } from '../codec/chunk-decoder.ts'
import type { Chunk } from '../codec/chunk.ts'
import { createArchive } from './archive.ts'
import { createChunkFetch, type FetchedChunks } from './chunk-fetch.ts'
import { type ChunkRef, type ChunkTable, createChunkTable, type ReadBeside } from './chunk-table.ts'
import { createEvidenceTable } from './evidence-table.ts'
import { createGapTable } from './gap-table.ts'
import { createManifestTable } from './manifest-table.ts'
import { createMarketTable } from './market-table.ts'
import { createLogMeta, createMetaTable } from './meta-table.ts'
import { createOutcomeTable } from './outcome-table.ts'
import { createRecorderTable } from './recorder-table.ts'
import { createRevisionTable } from './revision-table.ts'
import { createSegmentTable } from './segment-table.ts'
import { createSpotTable } from './spot-table.ts'
import { createTailTable, type TailRun } from './tail-table.ts'
import { createTradeChainTable } from './trade-chain-table.ts'
import { createTradeTable } from './trade-table.ts'

export type TableOptions = {
  /** Bytes of cached chunks. */
  chunkCacheBytes: number
  /** The time of logged changes. */
  clock: Clock
  /** In a file, archived parts must be fetched before they are read, without blocking. */
  isServing?: boolean | undefined
  /** Books may be archived while it is open. */
  isArchiving?: boolean | undefined
  fetched: FetchedChunks
}

export function createTables(
  db: Database,
  { chunkCacheBytes, clock, isServing = false, isArchiving = false, fetched }: TableOptions,
) {
  const meta = createMetaTable(db)
  const logMeta = createLogMeta(db)
  const archive = createArchive(logMeta)
  const hasSegment = (): boolean =>
    db.prepare<unknown, []>('SELECT 1 FROM segment LIMIT 1').get() !== null
  const elsewhere = createChunkFetch(archive, fetched, {
    isServing,
    isUsed: isArchiving || hasSegment(),
  })
  const chunks = createChunkTable(db, elsewhere, chunkCacheBytes)
  const windowOutcomes = createOutcomeTable(db, logMeta)
  return {
    db,
    elsewhere,
    archiveCounts: archive.counts,
    closeElsewhere(): void {
      archive.close()
      fetched.close()
    },
    segments: createSegmentTable(db, logMeta),
    chunks,
    meta,
    logMeta,
    windowOutcomes,
    markets: createMarketTable(db, meta, windowOutcomes),
    tails: createTailTable(db),
    gaps: createGapTable(db),
    evidence: createEvidenceTable(db, logMeta),
    trades: createTradeTable(db, meta),
    tradeChain: createTradeChainTable(db, logMeta),
    spot: createSpotTable(db, meta),
    revisions: createRevisionTable(db, logMeta, clock),
    manifests: createManifestTable(db, logMeta),
    recorders: createRecorderTable(db),
    snapshots: createSnapshots(chunks),
  }
}

export type Tables = ReturnType<typeof createTables>

/** Converts stored rows to snapshots: single rows, whole chunks and tails. */
function createSnapshots(chunks: ChunkTable) {
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
    scan,

    ofChunk(ref: ChunkRef): StoredSnapshot[] {
      const chunk = chunks.load(ref)
      return readAll(chunk, chunks.loadBeside(ref, chunk))
    },

    ofTail: ({ chunk, beside }: TailRun): StoredSnapshot[] => readAll(chunk, beside),

    ofRow: (chunk: Chunk, row: number, beside: Beside): StoredSnapshot =>
      scan(decoder.text(chunk, row), beside),

    /** The text of a row; valid until the next row is read. */
    textOf: (chunk: Chunk, row: number): Uint8Array => decoder.text(chunk, row),
  }
}
