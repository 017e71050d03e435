/** Rows of the chunk table, and the chunks read from it. */
import type { Position } from '#src/core/snapshot.ts'
import { createCache } from '#src/lib/cache.ts'
import { release } from '#src/lib/release.ts'

import type { ChunkWriter } from './codec/chunk-writer.ts'
import { Chunk } from './codec/chunk.ts'
import { encodeHashes } from './codec/hashes.ts'
import { decodeTops, encodeTops } from './codec/tops.ts'
import type { Database } from './database.ts'

/** What the index alone says of a chunk. */
export type ChunkRef = {
  id: number
  firstMs: number
  firstId: number
  lastMs: number
  lastId: number
  /** Rows of up and of down. */
  counts: readonly [number, number]
}

const REF_COLUMNS = 'id, first_ms, first_id, last_ms, last_id, up_count, down_count'
/** What a kept chunk weighs besides its bytes. */
const ENTRY_BYTES = 1024

/** What is kept of a chunk; its tops once they were asked for. */
type Kept = { chunk: Chunk; tops: Float64Array | undefined }

/** A chunk that is not kept: nothing of it may be read after its release. */
export type PassingChunk = { chunk: Chunk; release: () => void }

/** A chunk was cut anew after its id was read. */
export class ChunkGone extends Error {}

/** Finds chunks by the index alone. */
function createChunkIndex(db: Database) {
  const listRefs = db.prepare<unknown, [number]>(
    `SELECT ${REF_COLUMNS} FROM chunk WHERE market_id = ? ORDER BY last_ms, last_id`,
  )
  const findAt = db.prepare<unknown, [number, number, number]>(
    `SELECT ${REF_COLUMNS} FROM chunk WHERE market_id = ? AND (last_ms, last_id) >= (?, ?)
     ORDER BY last_ms, last_id LIMIT 1`,
  )
  const findLast = db.prepare<unknown, [number]>(
    `SELECT ${REF_COLUMNS} FROM chunk WHERE market_id = ? ORDER BY last_ms DESC, last_id DESC LIMIT 1`,
  )
  return {
    /** All chunks of a market, in order. */
    listRefs: (marketId: number): ChunkRef[] => listRefs.values(marketId).map(toRef),

    /** The first chunk whose last row is at or after `at`: the one that `at` is in, or would be. */
    findAt: (marketId: number, at: Position): ChunkRef | undefined =>
      findAt.values(marketId, at.timestampMs, at.id).map(toRef)[0],

    /** The last chunk of a market. */
    findLast: (marketId: number): ChunkRef | undefined => findLast.values(marketId).map(toRef)[0],
  }
}

/** Reads what lies beside the rows, as it is in the file now. */
function createColumns(db: Database) {
  const topsById = db.prepare<{ tops: Uint8Array }, [number]>('SELECT tops FROM chunk WHERE id = ?')
  const hashesById = db.prepare<{ hashes: Uint8Array }, [number]>(
    'SELECT hashes FROM chunk WHERE id = ?',
  )
  return {
    /** Best bids and asks, encoded. */
    readTops(id: number): Uint8Array {
      const row = topsById.get(id)
      if (row === null) throw new ChunkGone(`Chunk ${id} is gone.`)
      return row.tops
    },

    loadHashes(id: number): Uint8Array {
      const row = hashesById.get(id)
      if (row === null) throw new ChunkGone(`Chunk ${id} is gone.`)
      return row.hashes
    },
  }
}

/** Finds, reads, adds and removes chunks. Reading goes through a cache of `cacheBytesMax` bytes. */
export function createChunkTable(db: Database, cacheBytesMax: number) {
  const rowsById = db.prepare<{ rows: Uint8Array }, [number]>('SELECT rows FROM chunk WHERE id = ?')
  const removeById = db.prepare('DELETE FROM chunk WHERE id = ?')
  const insert = db.prepare(
    `INSERT INTO chunk (market_id, first_ms, first_id, last_ms, last_id, up_count, down_count, tops, rows, hashes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const relayout = db.prepare('UPDATE market SET layout = layout + 1 WHERE id = ?')
  const columns = createColumns(db)
  const cache = createCache<number, Kept>(cacheBytesMax)

  function read(id: number): Chunk {
    const row = rowsById.get(id)
    if (row === null) throw new ChunkGone(`Chunk ${id} is gone.`)
    return new Chunk(row.rows)
  }

  function keep(id: number, kept: Kept): void {
    const size = kept.chunk.byteLength + (kept.tops?.byteLength ?? 0) + ENTRY_BYTES
    cache.set(id, kept, { size })
  }

  return {
    ...createChunkIndex(db),
    ...columns,

    /** Reads a chunk as it is in the file now, whatever is kept of it. */
    read,

    /** Reads a chunk for one use, until its `release`: what is kept is used, and stays what it is. */
    pass(id: number): PassingChunk {
      const kept = cache.peek(id)
      if (kept !== undefined) return { chunk: kept.chunk, release() {} }
      const chunk = read(id)
      return { chunk, release: () => release(chunk.words) }
    },

    load(id: number): Chunk {
      const cached = cache.get(id)
      if (cached !== undefined) return cached.chunk
      const chunk = read(id)
      keep(id, { chunk, tops: undefined })
      return chunk
    },

    /** The decoded tops of a chunk that was loaded. */
    loadTops(id: number, chunk: Chunk): Float64Array {
      const cached = cache.get(id)?.tops
      if (cached !== undefined) return cached
      const tops = decodeTops(columns.readTops(id), chunk.outcomes())
      keep(id, { chunk, tops })
      return tops
    },

    /** Writes the run of `writer`, which holds at least one row. */
    insert(marketId: number, writer: ChunkWriter): void {
      const downs = writer.outcomes.reduce((sum, outcome) => sum + outcome, 0)
      const last = writer.count - 1
      insert.run(
        ...[marketId, writer.times[0] ?? 0, writer.ids[0] ?? 0],
        ...[writer.times[last] ?? 0, writer.ids[last] ?? 0],
        ...[writer.count - downs, downs],
        ...[encodeTops(writer.snapshots), writer.toChunk(), encodeHashes(writer.snapshots)],
      )
      relayout.run(marketId)
    },

    remove(marketId: number, id: number): void {
      removeById.run(id)
      relayout.run(marketId)
      cache.delete(id)
    },
  }
}

export type ChunkTable = ReturnType<typeof createChunkTable>

function toRef(row: unknown): ChunkRef {
  const [id = 0, firstMs = 0, firstId = 0, lastMs = 0, lastId = 0, ups = 0, downs = 0] =
    row as number[]
  return { id, firstMs, firstId, lastMs, lastId, counts: [ups, downs] }
}
