/**
 * Assembles pages from chunks: frames are copied bit by bit, CRCs are combined from the columns.
 * Only the first row of each outcome is encoded again, because the row that it refers to is not on
 * the page.
 */
import { BitWriter } from '#src/platform/bits.ts'
import { crc32, crcBetween, crcJoin } from '#src/platform/crc32.ts'

import { ChunkDecoder, type Slice, SliceDecoder, textLengthOf } from './chunk-decoder.ts'
import type { Chunk } from './chunk.ts'
import { literalBits, pageStart } from './deflate-code.ts'
import { FrameEncoder } from './frame-encoder.ts'

const COMMA_BYTE = 0x2c
const COMMA = Uint8Array.of(COMMA_BYTE)
const COMMA_BITS = literalBits[COMMA_BYTE] ?? 0
const OUTPUT_BYTES_START = 1024

const encoder = new TextEncoder()

type Progress = { crc: number; length: number; isSeen: [boolean, boolean] }

/** Results are views of a buffer, valid until the next call: copying would double the cost. */
export class PageEncoder {
  readonly #bits = new BitWriter(OUTPUT_BYTES_START)
  readonly #frames = new FrameEncoder(this.#bits)
  readonly #reader = new ChunkDecoder()
  readonly #text = new SliceDecoder()

  /**
   * Encodes `prefix`, the rows joined by commas, and `suffix` as one gzip member (RFC 1952).
   * Includes all rows of a slice, so a slice of one outcome must be of a chunk without the other.
   */
  gzip(slices: readonly Slice[], prefix: string, suffix: string): Uint8Array<ArrayBuffer> {
    const bits = this.#bits
    bits.reset()
    bits.reserve(pageStart.words.length * 4)
    bits.copy(pageStart.words, 0, pageStart.bits)
    this.#frames.text(prefix)
    const crc = crc32(encoder.encode(prefix))
    const progress: Progress = { crc, length: prefix.length, isSeen: [false, false] }
    for (const slice of slices) this.#copyAll(slice, progress)
    this.#frames.text(suffix)
    const textCrc = crcJoin(progress.crc, crc32(encoder.encode(suffix)), suffix.length)
    return this.#frames.endMember(textCrc, progress.length + suffix.length)
  }

  identity(slices: readonly Slice[], prefix: string, suffix: string): Uint8Array<ArrayBuffer> {
    const text = this.#text
    const length = slices.reduce((sum, slice) => sum + textLengthOf(slice), 0)
    text.begin(prefix.length, prefix.length + length + suffix.length)
    for (const slice of slices) text.addSlice(slice)
    const end = text.ends.at(-1) ?? prefix.length
    encoder.encodeInto(prefix, text.bytes)
    encoder.encodeInto(suffix, text.bytes.subarray(end))
    return text.bytes.subarray(0, end + suffix.length)
  }

  /** Copies all rows of the slice, in runs as long as possible. */
  #copyAll({ chunk, from, to }: Slice, progress: Progress): void {
    const { isSeen } = progress
    let row = from
    while (row < to) {
      const outcome = chunk.outcome(row)
      if (!isSeen[outcome] && chunk.previousRowOf(outcome, row) >= 0) {
        this.#putAlone(chunk, row++, progress)
        continue
      }
      const isWhole = !chunk.hasBoth || isSeen[1 - outcome]
      const end = isWhole ? to : Math.min(to, chunk.nextRowOf(1 - outcome, row))
      this.#copyRun(chunk, { from: row, to: end }, progress)
      row = end
    }
  }

  /** Copies rows whose frames refer only to each other and to rows on the page. */
  #copyRun(chunk: Chunk, { from, to }: { from: number; to: number }, progress: Progress): void {
    const { isSeen } = progress
    const comma = isSeen[0] || isSeen[1] ? 0 : 1
    const bitStart = chunk.bitStart(from) + comma * COMMA_BITS
    const bitEnd = chunk.bitEnd(to - 1)
    this.#bits.reserve((bitEnd - bitStart) >>> 3)
    this.#bits.copy(chunk.words, bitStart, bitEnd)
    const crcStart = comma > 0 ? crc32(COMMA, chunk.crc(from - 1)) : chunk.crc(from - 1)
    const length = chunk.textEnd(to - 1) - chunk.textStart(from) - comma
    // Combines the CRC of the run with the page's, with one shift for both.
    progress.crc = crcBetween(progress.crc ^ crcStart, chunk.crc(to - 1), length)
    progress.length += length
    isSeen[chunk.outcome(from)] = true
  }

  /** Writes a row without references, with a comma unless it is the first of the page. */
  #putAlone(chunk: Chunk, row: number, progress: Progress): void {
    const isFirst = !(progress.isSeen[0] || progress.isSeen[1])
    const text = isFirst ? this.#reader.text(chunk, row) : this.#reader.textWithComma(chunk, row)
    if (!isFirst) this.#frames.text(',')
    this.#frames.alone(text, isFirst ? 0 : 1, text.length)
    progress.crc = crc32(text, progress.crc)
    progress.length += text.length
    progress.isSeen[chunk.outcome(row)] = true
  }
}
