/** Rows of the tail table: the unfinished run of each market, readable as a chunk. */
import type { Beside, Snapshot, StoredSnapshot } from '#src/core/snapshot.ts'
import { BitWriter, READ_SLACK, toWords } from '#src/lib/bits.ts'
import { assertSealed, checksumOf } from '#src/sqlite/checksum.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { ChunkWriter } from '../codec/chunk-writer.ts'
import { Chunk, encodeChunk } from '../codec/chunk.ts'
import { toHashBytes } from '../codec/hashes.ts'
import { decodeNotes, encodeNotes, withReceipt } from '../codec/notes.ts'
import { topOf } from '../codec/tops.ts'

type TailRow = {
  market_id: number
  time_ms: number
  id: number
  outcome: number
  bid_price: number
  bid_size: number
  ask_price: number
  ask_size: number
  text_length: number
  bit_length: number
  text_crc: number
  frame: Uint8Array
  source_hash: Uint8Array | null
  checksum: number | null
  notes: Uint8Array
}

/** The run of one market: its rows as a chunk, and what the chunk's other columns would hold. */
export type TailRun = { chunk: Chunk; beside: (row: number) => Beside; tops: Float64Array }

/** Reads and writes unfinished runs. */
export function createTailTable(db: Database) {
  const rowsOf = db.prepare<TailRow, [number]>(
    'SELECT * FROM tail WHERE market_id = ? ORDER BY time_ms, id',
  )
  const removeAll = db.prepare('DELETE FROM tail WHERE market_id = ?')
  const insert = db.prepare(`INSERT INTO tail VALUES (${'?, '.repeat(14)}?)`)
  const note = db.prepare(
    'UPDATE tail SET notes = ?, checksum = ? WHERE market_id = ? AND time_ms = ? AND id = ?',
  )
  const find = db.prepare<TailRow, [number, number, number]>(
    'SELECT * FROM tail WHERE market_id = ? AND time_ms = ? AND id = ?',
  )

  return {
    /** The market's unfinished run, or undefined when there is none. Throws `Damage`. */
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
        const [bid_price, bid_size, ask_price, ask_size] = topOf(snapshot)
        const { sourceHash } = snapshot
        const columns = {
          market_id: marketId,
          time_ms: writer.times[row] ?? 0,
          id: writer.ids[row] ?? 0,
          outcome: writer.outcomes[row] ?? 0,
          ...{ bid_price, bid_size, ask_price, ask_size },
          text_length: writer.textLengths[row] ?? 0,
          bit_length: (writer.bitEnds[row] ?? 0) - (writer.bitEnds[row - 1] ?? 0),
          text_crc: writer.textCrcs[row] ?? 0,
          frame: frames[row - from] ?? new Uint8Array(),
          source_hash: sourceHash === undefined ? null : toHashBytes(sourceHash),
          checksum: null,
          notes: encodeNotes([snapshot]),
        }
        insert.run(...Object.values({ ...columns, checksum: checksumOf(columns) }))
      }
    },

    /** Replaces the notes of rows. */
    putNotes(marketId: number, rows: readonly StoredSnapshot[]): void {
      for (const snapshot of rows) {
        const { timestampMs, id } = snapshot
        const row = find.get(marketId, timestampMs, id)
        const notes = encodeNotes([snapshot])
        if (row !== null) note.run(notes, checksumOf({ ...row, notes }), marketId, timestampMs, id)
      }
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
  for (const { frame, bit_length } of rows) {
    bits.reserve(frame.length)
    bits.copy(toWords(frame), 0, bit_length)
    bitEnds.push(bits.length)
  }
  const parts = {
    times: rows.map((row) => row.time_ms),
    ids: rows.map((row) => row.id),
    outcomes: rows.map((row) => row.outcome),
    textLengths: rows.map((row) => row.text_length),
    bitEnds,
    textCrcs: rows.map((row) => row.text_crc),
    rowStream: bits.toBytes(READ_SLACK),
    checkpoints: [],
    checkpointStream: new Uint8Array(0),
  }
  return {
    chunk: new Chunk(encodeChunk(parts)),
    beside: (row) => besideOf(rows[row]),
    tops: Float64Array.from(
      rows.flatMap((row) => [row.bid_price, row.bid_size, row.ask_price, row.ask_size]),
    ),
  }
}

const besideOf = (row: TailRow | undefined): Beside =>
  row === undefined
    ? {}
    : {
        sourceHash: row.source_hash?.toHex(),
        ...withReceipt(decodeNotes(row.notes, 1)[0], row.time_ms),
      }
