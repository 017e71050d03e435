/** Writes rows as lines, piece by piece; a chunk continues in the next: no row is paid twice. */
import type { Position } from '#src/domain/snapshot.ts'
import { assert } from '#src/platform/assert.ts'
import { BitWriter } from '#src/platform/bits.ts'
import { crc32, crcBetween } from '#src/platform/crc32.ts'

import type { Encoding } from '../history.ts'
import type { ChunkDecoder, Slice } from './chunk-decoder.ts'
import type { Chunk } from './chunk.ts'
import {
  decodeFrame,
  lineStart,
  literalBits,
  moveFrame,
  newlineBits,
  newlineCode,
  TextBuffer,
} from './deflate-code.ts'
import { FrameEncoder } from './frame-encoder.ts'

const NEWLINE = 0x0a
const NEWLINE_BYTES = Uint8Array.of(NEWLINE)
/** The bits in which a comma and a newline differ. */
const COMMA_TO_NEWLINE = 0x2c ^ NEWLINE
/** The CRC that a newline brings to 0, the CRC of no text. */
const CRC_AT_START = 0x0f6a702c

/** Puts rows into the bytes of a piece, each with a newline after it. */
type LineWriter = {
  /** Begins a piece; the bytes of the one before may be written over. */
  begin(): void
  /** False when the row belongs into the next piece; the first of a piece is not asked for. */
  hasRoom(chunk: Chunk, row: number): boolean
  /** What was written is no longer what the next rows refer to. */
  forget(): void
  /** A row that refers to nothing, or to its outcome's last, `gap` bytes nearer than stored. */
  join(chunk: Chunk, row: number, gap: number): void
  /** A row that refers to one which was not written, so that it must be encoded again. */
  alone(chunk: Chunk, row: number): void
  /** The bytes of the piece, until the next one begins. */
  take(): Uint8Array<ArrayBuffer>
  /** What ends the stream: nothing, or what the encoding needs. */
  end(textCrc: number, textBytes: number): Uint8Array<ArrayBuffer>
}

export class LineEncoder {
  readonly #writer: LineWriter
  /** The chunk written last, of which outcome, from which row to (exclusive) which. */
  #chunk: Chunk | undefined
  #outcome: number | undefined
  #first = 0
  #next = 0
  /** Of the text without its last newline: newlines stand where commas do in chunks. */
  #crc = CRC_AT_START
  textBytes = 0
  rowCount = 0
  /** The place of the piece's last row; undefined while it has none. */
  last: Position | undefined
  isFull = false

  /** `reader` may be shared. */
  constructor(encoding: Encoding, reader: ChunkDecoder) {
    this.#writer = encoding === 'gzip' ? new GzipLines(reader) : new PlainLines(reader)
  }

  get textCrc(): number {
    return crc32(NEWLINE_BYTES, this.#crc)
  }

  begin(): void {
    this.#writer.begin()
    this.rowCount = 0
    this.last = undefined
    this.isFull = false
  }

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

/** A piece is full at this size; one row more may be in it. */
const GZIP_PIECE_BYTES = 49_152
const GZIP_BUFFER_BYTES = 65_536

const COMMA_BITS = literalBits[0x2c] ?? 0

/**
 * One gzip member of one deflate block, never ended before the stream is: the rows' stored frames,
 * each with the code of a newline after it instead of a comma before. No match reaches over a
 * comma, so none meets the difference. The odd bits of a piece begin the next one.
 */
class GzipLines implements LineWriter {
  readonly #bits = new BitWriter(GZIP_BUFFER_BYTES)
  readonly #frames = new FrameEncoder(this.#bits)
  readonly #reader: ChunkDecoder
  #isTaken = false

  constructor(reader: ChunkDecoder) {
    this.#reader = reader
    this.#bits.copy(lineStart.words, 0, lineStart.bits)
  }

  begin(): void {
    if (!this.#isTaken) return
    this.#isTaken = false
    const bits = this.#bits
    const odd = bits.length & 7
    const rest = (bits.view()[bits.length >>> 3] ?? 0) & ((1 << odd) - 1)
    bits.reset()
    bits.put(rest, odd)
  }

  hasRoom(): boolean {
    return this.#bits.length < GZIP_PIECE_BYTES * 8
  }

  /** Frames refer to text by its distance, whatever holds it: nothing is kept here. */
  forget(): void {}

  join(chunk: Chunk, row: number, gap: number): void {
    const bits = this.#bits
    const start = chunk.bitStart(row) + COMMA_BITS
    const end = chunk.bitEnd(row)
    // Distances that are written again may grow longer by some bits each.
    bits.reserve((end - start) >>> 2)
    if (gap === 0) bits.copy(chunk.words, start, end)
    else moveFrame({ ...chunk.frame(row, gap), start }, bits)
    bits.put(newlineCode, newlineBits)
  }

  alone(chunk: Chunk, row: number): void {
    const text = this.#reader.text(chunk, row)
    this.#frames.alone(text, 0, text.length)
    this.#bits.put(newlineCode, newlineBits)
  }

  take(): Uint8Array<ArrayBuffer> {
    this.#isTaken = true
    return this.#bits.view().subarray(0, this.#bits.length >>> 3)
  }

  end(textCrc: number, textBytes: number): Uint8Array<ArrayBuffer> {
    this.begin()
    return this.#frames.endMember(textCrc, textBytes)
  }
}

const PLAIN_PIECE_BYTES = 65_536
/** Room for a piece and two rows that the next ones refer to; few books need more. */
const PLAIN_BUFFER_BYTES = 131_072
/** Bytes that must be free after a row: its newline, and what decoding writes too many. */
const SLACK_BYTES = 4

/** Where the last row of an outcome is in the buffer. */
class Kept {
  isThere = false
  start = 0
  end = 0
  /** Bytes between that row and the next one of its outcome that are not in the buffer any more. */
  dropped = 0
}

/** Rows decoded one after the other; at a new piece only what the next ones refer to is kept. */
class PlainLines implements LineWriter {
  readonly #reader: ChunkDecoder
  readonly #up = new Kept()
  readonly #down = new Kept()
  #text = new TextBuffer(PLAIN_BUFFER_BYTES)
  /** Where the newline before the piece would be, and where the one after its last row will be. */
  #start = 0
  #at = 0

  constructor(reader: ChunkDecoder) {
    this.#reader = reader
  }

  begin(): void {
    const kept = [this.#up, this.#down].filter(({ isThere }) => isThere)
    kept.sort((a, b) => a.start - b.start)
    const sum = kept.reduce((total, { start, end }) => total + end - start, 0)
    let to = 0
    for (const row of kept) {
      const { start, end } = row
      this.#text.bytes.copyWithin(to, start, end)
      row.start = to
      to += end - start
      row.end = to
      row.dropped += this.#at - end - (sum - to)
    }
    this.#start = to
    this.#at = to
  }

  hasRoom(chunk: Chunk, row: number): boolean {
    const isFull = this.#at - this.#start >= PLAIN_PIECE_BYTES
    return !isFull && this.#endOf(chunk, row) + SLACK_BYTES <= this.#text.bytes.length
  }

  forget(): void {
    this.#up.isThere = false
    this.#down.isThere = false
  }

  join(chunk: Chunk, row: number, gap: number): void {
    const end = this.#reserve(chunk, row)
    const kept = this.#keptOf(chunk, row)
    const dropped = kept.isThere ? kept.dropped : 0
    const decoded = decodeFrame(chunk.frame(row, gap + dropped), this.#text, this.#at)
    assert(decoded === end, 'a row is as long as its chunk says')
    this.#finish(kept, end)
  }

  alone(chunk: Chunk, row: number): void {
    const end = this.#reserve(chunk, row)
    this.#text.bytes.set(this.#reader.text(chunk, row), this.#at + 1)
    this.#finish(this.#keptOf(chunk, row), end)
  }

  take(): Uint8Array<ArrayBuffer> {
    this.#text.bytes[this.#at] = NEWLINE
    return this.#text.bytes.subarray(this.#start + 1, this.#at + 1)
  }

  end(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(0)
  }

  #endOf(chunk: Chunk, row: number): number {
    return this.#at + chunk.textEnd(row) - chunk.textStart(row)
  }

  /** Makes room for a row; returns where it will end. */
  #reserve(chunk: Chunk, row: number): number {
    const end = this.#endOf(chunk, row)
    if (end + SLACK_BYTES <= this.#text.bytes.length) return end
    const grown = new TextBuffer((end + SLACK_BYTES) * 2)
    grown.bytes.set(this.#text.bytes.subarray(0, this.#at))
    this.#text = grown
    return end
  }

  #keptOf(chunk: Chunk, row: number): Kept {
    return chunk.outcome(row) === 0 ? this.#up : this.#down
  }

  /** The row at `#at` ends at `end`: a newline takes the place of its comma. */
  #finish(kept: Kept, end: number): void {
    this.#text.bytes[this.#at] = NEWLINE
    kept.isThere = true
    kept.start = this.#at + 1
    kept.end = end
    kept.dropped = 0
    this.#at = end
  }
}
