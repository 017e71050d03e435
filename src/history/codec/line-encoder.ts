/** Writes rows as lines in pieces, across chunks without a row encoded twice. */
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
/** XOR of comma and newline. */
const COMMA_TO_NEWLINE = 0x2c ^ NEWLINE
/** The CRC that becomes 0, the CRC of the empty text, after a newline. */
const CRC_AT_START = 0x0f6a702c

/** Writes rows into the bytes of a piece, each with a newline after it. */
type LineWriter = {
  /** Begins a piece; may overwrite the bytes of the previous one. */
  begin(): void
  /** False if the row belongs into the next piece; not called for the first row of a piece. */
  hasRoom(chunk: Chunk, row: number): boolean
  /** Prevents following rows from referring to the text written so far. */
  forget(): void
  /**
   * Writes a row that refers to no row, or to the last row of its outcome, which is `gap` bytes nearer
   * than in the chunk.
   */
  join(chunk: Chunk, row: number, gap: number): void
  /** Writes a row that refers to one that was not written, so it is encoded again. */
  alone(chunk: Chunk, row: number): void
  /** The bytes of the piece; valid until the next one begins. */
  take(): Uint8Array<ArrayBuffer>
  /** The end of the stream: empty, or the trailer of the encoding. */
  end(textCrc: number, textBytes: number): Uint8Array<ArrayBuffer>
}

export class LineEncoder {
  readonly #writer: LineWriter
  /** The chunk written last: its outcome, and its rows from (inclusive) and to (exclusive). */
  #chunk: Chunk | undefined
  #outcome: number | undefined
  #first = 0
  #next = 0
  /** CRC of the text without its last newline: newlines replace the commas of chunks. */
  #crc = CRC_AT_START
  textBytes = 0
  rowCount = 0
  /** Position of the piece's last row; undefined while it is empty. */
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

/** A piece is full at this size, and may exceed it by one row. */
const GZIP_PIECE_BYTES = 49_152
const GZIP_BUFFER_BYTES = 65_536

const COMMA_BITS = literalBits[0x2c] ?? 0

/**
 * One gzip member of one deflate block, open until the stream ends. It holds the rows' stored
 * frames, with the code of a newline after each row in place of the code of a comma before it. No
 * match spans a comma, so none is affected. The remaining bits of a piece begin the next one.
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

  /** Frames refer to text by distance only, so there is nothing to forget. */
  forget(): void {}

  join(chunk: Chunk, row: number, gap: number): void {
    const bits = this.#bits
    const start = chunk.bitStart(row) + COMMA_BITS
    const end = chunk.bitEnd(row)
    // Rewritten distances may each grow by a few bits.
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
/** Room for a piece and the two rows that later ones refer to; few books need more. */
const PLAIN_BUFFER_BYTES = 131_072
/** Free bytes required after a row: its newline, and the overrun of decoding. */
const SLACK_BYTES = 4

/** Position of the last row of an outcome in the buffer. */
class Kept {
  isThere = false
  start = 0
  end = 0
  /** Bytes between that row and the next one of its outcome that have left the buffer. */
  dropped = 0
}

/** Decodes rows one after the other; a new piece keeps only the rows that later ones refer to. */
class PlainLines implements LineWriter {
  readonly #reader: ChunkDecoder
  readonly #up = new Kept()
  readonly #down = new Kept()
  #text = new TextBuffer(PLAIN_BUFFER_BYTES)
  /** Offsets of the newline before the piece, and of the one after its last row. */
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

  /** Makes room for a row; returns its future end. */
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

  /** Ends the row at `#at`, which ends at `end`: a newline replaces its comma. */
  #finish(kept: Kept, end: number): void {
    this.#text.bytes[this.#at] = NEWLINE
    kept.isThere = true
    kept.start = this.#at + 1
    kept.end = end
    kept.dropped = 0
    this.#at = end
  }
}
