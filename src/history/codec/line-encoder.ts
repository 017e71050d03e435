/**
 * Writes rows as lines, piece by piece, in one of the encodings. What is left of a chunk when a
 * piece is full continues in the next one as if nothing had been in between, so no row is paid for
 * twice.
 */
import type { Position } from '#src/core/snapshot.ts'
import { crc32, crcBetween } from '#src/lib/crc32.ts'

import type { Chunk } from './chunk.ts'
import type { Slice } from './slices.ts'

const NEWLINE = Uint8Array.of(0x0a)
/** The bits in which a comma and a newline differ. */
const COMMA_TO_NEWLINE = 0x2c ^ 0x0a
/** The CRC that a newline brings to 0, the CRC of no text. */
const CRC_AT_START = 0x0f6a702c

/** Puts rows into the bytes of a piece, each with a newline after it. */
export type LineWriter = {
  /** Begins a piece; the bytes of the one before may be written over. */
  begin(): void
  /** False when the row belongs into the next piece; the first of a piece is not asked for. */
  hasRoom(chunk: Chunk, row: number): boolean
  /** The rows that were written are no longer what the next ones refer to. */
  forget(): void
  /**
   * A row that refers to nothing, or to the last one of its outcome, `gap`
   * bytes nearer than in the chunk.
   */
  join(chunk: Chunk, row: number, gap: number): void
  /** A row that refers to one which was not written, so that it must be encoded again. */
  alone(chunk: Chunk, row: number): void
  /** The bytes of the piece, until the next one begins. */
  take(): Uint8Array<ArrayBuffer>
  /** What ends the stream: nothing, or what the encoding needs. */
  end(textCrc: number, textBytes: number): Uint8Array<ArrayBuffer>
}

/** A stream of lines in the making. */
export class LineEncoder {
  readonly #writer: LineWriter
  /** The chunk that was written last, of which outcome, from which row to (exclusive) which. */
  #chunk: Chunk | undefined
  #outcome: number | undefined
  #first = 0
  #next = 0
  /** Of the text without its last newline: newlines stand where commas do in chunks. */
  #crc = CRC_AT_START
  /** Length of all text so far. */
  textBytes = 0
  /** Rows in the piece. */
  rowCount = 0
  /** The place of the piece's last row; undefined while it has none. */
  last: Position | undefined
  /** True when the piece takes no further row. */
  isFull = false

  constructor(writer: LineWriter) {
    this.#writer = writer
  }

  /** CRC of all text so far. */
  get textCrc(): number {
    return crc32(NEWLINE, this.#crc)
  }

  /** Begins a piece. */
  begin(): void {
    this.#writer.begin()
    this.rowCount = 0
    this.last = undefined
    this.isFull = false
  }

  /** Adds rows until the piece is full. */
  add({ chunk, from, to, outcome }: Slice): void {
    const own = chunk.hasBoth ? outcome : undefined
    this.#continueAt(chunk, from, own)
    let last = -1
    for (let row = nextRow(chunk, from, own); row < to; row = nextRow(chunk, row + 1, own)) {
      this.isFull = this.rowCount > 0 && !this.#writer.hasRoom(chunk, row)
      if (this.isFull) break
      this.#put(chunk, row)
      last = row
    }
    if (last >= 0) this.last = { timestampMs: chunk.timeMs(last), id: chunk.id(last) }
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#writer.take()
  }

  end(): Uint8Array<ArrayBuffer> {
    return this.#writer.end(this.textCrc, this.textBytes)
  }

  #continueAt(chunk: Chunk, row: number, outcome: number | undefined): void {
    if (chunk === this.#chunk && row === this.#next && outcome === this.#outcome) return
    this.#writer.forget()
    this.#chunk = chunk
    this.#outcome = outcome
    this.#first = row
    this.#next = row
  }

  #put(chunk: Chunk, row: number): void {
    const isOwn = this.#outcome !== undefined
    const previous = chunk.previousRowOf(chunk.outcome(row), row)
    if (previous >= 0 && previous < this.#first) this.#writer.alone(chunk, row)
    else this.#writer.join(chunk, row, isOwn ? chunk.gap(row, previous) : 0)
    this.rowCount++
    this.#next = row + 1
    const length = chunk.textEnd(row) - chunk.textStart(row)
    this.textBytes += length
    const crcStart = isOwn ? ownCrc(chunk, previous) : chunk.crc(row - 1)
    const crcEnd = isOwn ? chunk.ownCrc(row) : chunk.crc(row)
    this.#crc = crcBetween(this.#crc ^ crcStart ^ COMMA_TO_NEWLINE, crcEnd, length)
  }
}

const nextRow = (chunk: Chunk, from: number, outcome: number | undefined): number =>
  outcome === undefined ? from : chunk.nextRowOf(outcome, from)

const ownCrc = (chunk: Chunk, row: number): number => (row < 0 ? 0 : chunk.ownCrc(row))
