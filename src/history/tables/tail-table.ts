/** Rows of the tail table, which stores unfinished runs, and their chunks. */
import { tail } from '#db/history/schema.ts'
import { assertSealed, checksumOf } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import type { Beside, Snapshot } from '#src/domain/snapshot.ts'
import { BitWriter, toWords } from '#src/platform/bits.ts'

import { decodeNotes, encodeNotes, topOf, withReceipt } from '../codec/beside.ts'
import type { ChunkWriter } from '../codec/chunk-writer.ts'
import { Chunk, encodeChunk } from '../codec/chunk.ts'
import { type ColumnRow, RunColumns } from '../codec/run-columns.ts'

type TailRow = typeof tail.$inferSelect

/** The unfinished run of a market as a chunk, with its additional columns. */
export type TailRun = { chunk: Chunk; beside: (row: number) => Beside; tops: Float64Array }

export function createTailTable(db: Database) {
  const sql = sqlOf(tail)
  const rowsOf = db.prepare<TailRow, [number]>(
    `SELECT ${sql.columns()} FROM tail WHERE market_id = $1 ORDER BY time_ms, id`,
  )
  const removeAll = db.prepare<unknown, [number]>('DELETE FROM tail WHERE market_id = $1')
  const insert = db.prepare<unknown, [TailRow]>(sql.insert())

  return {
    /** Throws a `damage` fault. */
    read(marketId: number): TailRun | undefined {
      const rows = rowsOf.all(marketId)
      for (const row of rows) assertSealed(row, `row ${row.id} of the tail of market ${marketId}`)
      return toRun(rows)
    },

    insert(marketId: number, writer: ChunkWriter, from: number): void {
      const frames = writer.frames(from)
      for (const [at, frame] of frames.entries()) {
        const row = from + at
        const snapshot = writer.snapshots[row] as Snapshot
        const { timeMs, id, outcome, textLength, textCrc, bitEnd } = writer.columns.rows[
          row
        ] as ColumnRow
        const [bidPrice, bidSize, askPrice, askSize] = topOf(snapshot)
        const { sourceHash } = snapshot
        // In the column order that the checksum follows.
        const columns: TailRow = {
          marketId,
          timeMs,
          id,
          outcome,
          bidPrice,
          bidSize,
          askPrice,
          askSize,
          textLength,
          bitLength: bitEnd - writer.columns.bitStart(row),
          textCrc,
          frame,
          sourceHash: sourceHash === undefined ? null : Uint8Array.fromHex(sourceHash),
          checksum: null,
          notes: encodeNotes([snapshot]),
        }
        columns.checksum = checksumOf(columns)
        insert.run(columns)
      }
    },

    removeAll(marketId: number): void {
      removeAll.run(marketId)
    },
  }
}

function toRun(rows: readonly TailRow[]): TailRun | undefined {
  if (rows.length === 0) return undefined
  const bits = new BitWriter(rows.length * 256)
  const columns = new RunColumns()
  for (const { frame, bitLength, ...row } of rows) {
    bits.reserve(frame.length)
    bits.copy(toWords(frame), 0, bitLength)
    columns.add({ ...row, bitEnd: bits.length })
  }
  return {
    chunk: new Chunk(encodeChunk({ columns, rowStream: bits.view() })),
    beside: (row) => besideOf(rows[row]),
    tops: Float64Array.from(
      rows.flatMap((row) => [row.bidPrice, row.bidSize, row.askPrice, row.askSize]),
    ),
  }
}

/** The run of a writer, as it would be read from the table. */
export function toTail(writer: ChunkWriter): TailRun | undefined {
  if (writer.count === 0) return undefined
  // The cached columns must not keep the levels in memory.
  const besides = writer.snapshots.map(({ sourceHash, isVerified, sequence, receivedMs }) => ({
    sourceHash,
    isVerified,
    receivedMs,
    sequence: sequence === 0 ? undefined : sequence,
  }))
  return {
    chunk: new Chunk(writer.toChunk()),
    beside: (row) => besides[row] ?? {},
    tops: Float64Array.from(writer.snapshots.flatMap(topOf)),
  }
}

const besideOf = (row: TailRow | undefined): Beside =>
  row === undefined
    ? {}
    : {
        sourceHash: row.sourceHash?.toHex(),
        ...withReceipt(decodeNotes(row.notes, 1)[0], row.timeMs),
      }
