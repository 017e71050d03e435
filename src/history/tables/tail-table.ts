/** Rows of the tail table: the unfinished run of each market, readable as a chunk. */
import { tail } from '#db/history/schema.ts'
import type { Beside, Snapshot, StoredSnapshot } from '#src/core/snapshot.ts'
import { BitWriter, READ_SLACK, toWords } from '#src/lib/bits.ts'
import { assertSealed, checksumOf } from '#src/sqlite/checksum.ts'
import { sqlOf } from '#src/sqlite/columns.ts'
import type { Database } from '#src/sqlite/database.ts'

import { decodeNotes, encodeNotes, toHashBytes, topOf, withReceipt } from '../codec/beside.ts'
import type { ChunkWriter } from '../codec/chunk-writer.ts'
import { Chunk, encodeChunk } from '../codec/chunk.ts'

type TailRow = typeof tail.$inferSelect

/** The run of one market: its rows as a chunk, and what the chunk's other columns would hold. */
export type TailRun = { chunk: Chunk; beside: (row: number) => Beside; tops: Float64Array }

export function createTailTable(db: Database) {
  const sql = sqlOf(tail)
  const rowsOf = db.prepare<TailRow, [number]>(
    `SELECT ${sql.columns()} FROM tail WHERE market_id = ? ORDER BY time_ms, id`,
  )
  const removeAll = db.prepare<unknown, [number]>('DELETE FROM tail WHERE market_id = ?')
  const insert = db.prepare<unknown, [TailRow]>(sql.insert())
  const update = db.prepare<unknown, [TailRow]>(
    `UPDATE tail SET ${sql.set(['notes', 'checksum'])}
     WHERE market_id = $marketId AND time_ms = $timeMs AND id = $id`,
  )

  /** Writes the notes of a row, and its checksum. */
  const reseal = (row: TailRow, notes = row.notes): void => {
    const noted = { ...row, notes }
    update.run({ ...noted, checksum: checksumOf(noted) })
  }

  return {
    /** Throws `Damage`. */
    read(marketId: number): TailRun | undefined {
      const rows = rowsOf.all(marketId)
      for (const row of rows) assertSealed(row, `row ${row.id} of the tail of market ${marketId}`)
      return toRun(rows)
    },

    /** Adds the rows of `writer` from `from` on. */
    insert(marketId: number, writer: ChunkWriter, from: number): void {
      const frames = writer.frames(from)
      for (let row = from; row < writer.count; row++) {
        const snapshot = writer.snapshots[row] as Snapshot
        const [bidPrice, bidSize, askPrice, askSize] = topOf(snapshot)
        const { sourceHash } = snapshot
        // In the order of the table, which the checksum follows.
        const columns: TailRow = {
          marketId,
          timeMs: writer.times[row] ?? 0,
          id: writer.ids[row] ?? 0,
          outcome: writer.outcomes[row] ?? 0,
          ...{ bidPrice, bidSize, askPrice, askSize },
          textLength: writer.textLengths[row] ?? 0,
          bitLength: (writer.bitEnds[row] ?? 0) - (writer.bitEnds[row - 1] ?? 0),
          textCrc: writer.textCrcs[row] ?? 0,
          frame: frames[row - from] ?? new Uint8Array(),
          sourceHash: sourceHash === undefined ? null : toHashBytes(sourceHash),
          checksum: null,
          notes: encodeNotes([snapshot]),
        }
        columns.checksum = checksumOf(columns)
        insert.run(columns)
      }
    },

    putNotes(marketId: number, rows: readonly StoredSnapshot[]): void {
      const notesOf = new Map(rows.map((row) => [row.id, encodeNotes([row])]))
      for (const row of rowsOf.all(marketId)) reseal(row, notesOf.get(row.id))
    },

    /** Gives all rows of a market their checksums. */
    sealAll(marketId: number): void {
      for (const row of rowsOf.all(marketId)) reseal(row)
    },

    removeAll(marketId: number): void {
      removeAll.run(marketId)
    },
  }
}

export type TailTable = ReturnType<typeof createTailTable>

function toRun(rows: readonly TailRow[]): TailRun | undefined {
  if (rows.length === 0) return undefined
  const bits = new BitWriter(rows.length * 256)
  const bitEnds: number[] = []
  for (const { frame, bitLength } of rows) {
    bits.reserve(frame.length)
    bits.copy(toWords(frame), 0, bitLength)
    bitEnds.push(bits.length)
  }
  const parts = {
    times: rows.map((row) => row.timeMs),
    ids: rows.map((row) => row.id),
    outcomes: rows.map((row) => row.outcome),
    textLengths: rows.map((row) => row.textLength),
    bitEnds,
    textCrcs: rows.map((row) => row.textCrc),
    rowStream: bits.toBytes(READ_SLACK),
    checkpoints: [],
    checkpointStream: new Uint8Array(0),
  }
  return {
    chunk: new Chunk(encodeChunk(parts)),
    beside: (row) => besideOf(rows[row]),
    tops: Float64Array.from(
      rows.flatMap((row) => [row.bidPrice, row.bidSize, row.askPrice, row.askSize]),
    ),
  }
}

const besideOf = (row: TailRow | undefined): Beside =>
  row === undefined
    ? {}
    : {
        sourceHash: row.sourceHash?.toHex(),
        ...withReceipt(decodeNotes(row.notes, 1)[0], row.timeMs),
      }
