/**
 * Lines as they are, decoded one after the other; at a new piece only what
 * the next rows refer to is kept.
 */
import { assert } from '#src/lib/assert.ts'

import type { ChunkDecoder } from './chunk-decoder.ts'
import type { Chunk } from './chunk.ts'
import { decodeFrame, TextBuffer } from './frame-decoder.ts'
import type { LineWriter } from './line-encoder.ts'

/** A piece is full at this size; one row more may be in it. */
const PIECE_BYTES = 65_536
/**
 * Room for a piece and two rows that the next ones refer to; only a book
 * out of the ordinary needs more.
 */
const BUFFER_BYTES_START = 131_072
/** Bytes that must be free after a row: its newline, and what decoding writes too many. */
const SLACK_BYTES = 4

const NEWLINE = 0x0a

/** Where the last row of an outcome is in the buffer. */
class Kept {
  isThere = false
  start = 0
  end = 0
  /** Bytes between that row and the next one of its outcome that are not in the buffer any more. */
  dropped = 0
}

/** Holds the piece in the making; `reader` may be shared. */
export class PlainLines implements LineWriter {
  readonly #reader: ChunkDecoder
  readonly #up = new Kept()
  readonly #down = new Kept()
  #text = new TextBuffer(BUFFER_BYTES_START)
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
    const isFull = this.#at - this.#start >= PIECE_BYTES
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
