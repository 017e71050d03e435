/**
 * Writes events that contain rows, as one gzip member of one deflate block, in the code of lines. A
 * row is its stored frame; the text between the row and the one that it refers to differs from the
 * text in its chunk, so its distances are adjusted. Other text becomes a match where the last text
 * of its kind agrees. An inflater returns every complete symbol, so an event needs no marker at its
 * end, only a full byte: a comment line of fixed length, with a character whose code fills the
 * missing bits.
 */
import { assert } from '#src/platform/assert.ts'
import { BitWriter } from '#src/platform/bits.ts'
import { crc32, crcBetween } from '#src/platform/crc32.ts'

import type { TextSum } from '../history.ts'
import type { Chunk } from './chunk.ts'
import {
  lineStart,
  literalBits,
  MATCH_DISTANCE_MAX,
  moveFrame,
  newlineBits,
} from './deflate-code.ts'
import { FrameEncoder } from './frame-encoder.ts'
import type { RowText } from './row-text.ts'

const COMMA = Uint8Array.of(0x2c)
const COMMA_BITS = literalBits[0x2c] ?? 0
/** The encoder's symbol for a newline: see `newlineCode`. */
const SPACE = ' '
/** Bits of the end of an event, without the filler. */
const END_BITS = newlineBits * 3 + (literalBits[0x3a] ?? 0)
const OUTPUT_BYTES = 16_384
const encodableLines = /^[!-~\n]*$/

/** For each number of bits missing from a byte, a character whose code has that many. */
const fillers = Array.from({ length: 8 }, (_, missing) => {
  const codes = [...literalBits].map((bits, byte) => ({ bits, byte })).slice(0x21)
  const fitting = codes.filter(({ bits }) => bits > 0 && bits % 8 === missing)
  const [best] = fitting.sort((a, b) => a.bits - b.bits)
  assert(best !== undefined, 'the code has characters of any length')
  return String.fromCharCode(best.byte)
})

/** A row of a stream, and the text before it in its event. */
type EventRow = PlacedRow & { before: string }
type PlacedRow = { chunk: Chunk; row: number }
/** The last text of a kind, and the bytes of text up to its end; for a row, the text before it. */
export type Kept = { text: string; end: number; row?: PlacedRow }

/** Decodes a row to compare it with another one. */
type ReadRow = (chunk: Chunk, row: number, slot: 0 | 1) => RowText

export class EventEncoder {
  readonly #bits = new BitWriter(OUTPUT_BYTES)
  readonly #frames = new FrameEncoder(this.#bits)
  readonly #read: ReadRow

  constructor(read: ReadRow) {
    this.#read = read
  }

  /** Begins an event that `take` returns; the first event also begins the member. */
  begin(isFirst: boolean): void {
    this.#bits.reset()
    if (isFirst) this.#bits.copy(lineStart.words, 0, lineStart.bits)
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#bits.toBytes()
  }

  /** Writes text against the last of its kind, if that is near enough. */
  text(lines: string, sum: TextSum, last: Kept | undefined): Kept {
    const text = encodable(lines)
    const end = sum.bytes + text.length
    const distance = last === undefined ? Infinity : end - last.end
    if (last !== undefined && distance + last.text.length <= MATCH_DISTANCE_MAX)
      this.#frames.echo(text, last.text, distance)
    else this.#frames.text(text)
    this.#finish({ crc: crc32(lines, sum.crc), bytes: end }, sum)
    return { text, end }
  }

  /** Writes a row against the previous one of its outcome, if that is near enough. */
  row({ chunk, row, before }: EventRow, sum: TextSum, last: Kept | undefined): Kept {
    const text = encodable(before)
    const start = sum.bytes + before.length
    const length = lengthOf(chunk, row)
    const former = last?.row
    const between = last === undefined ? 0 : start - last.end
    const distance = former === undefined ? Infinity : lengthOf(former.chunk, former.row) + between
    if (last !== undefined && former !== undefined && distance + length <= MATCH_DISTANCE_MAX) {
      this.#frames.echo(text, last.text, distance)
      this.#after({ chunk, row }, former, between)
    } else {
      this.#frames.text(text)
      const { bytes } = this.#read(chunk, row, 0)
      this.#frames.alone(bytes, 0, length)
    }
    const crcStart = crc32(before, sum.crc) ^ crc32(COMMA, chunk.crc(row - 1))
    const end = start + length
    this.#finish({ crc: crcBetween(crcStart, chunk.crc(row), length), bytes: end }, sum)
    return { text, end, row: { chunk, row } }
  }

  /** Ends the block and the member. */
  end({ crc, bytes }: TextSum): Uint8Array<ArrayBuffer> {
    this.#bits.reset()
    return this.#frames.endMember(crc, bytes).slice()
  }

  #after({ chunk, row }: PlacedRow, last: PlacedRow, between: number): void {
    const previous = chunk.previousRowOf(chunk.outcome(row), row)
    if (previous < 0 || chunk.id(previous) !== last.chunk.id(last.row)) {
      const now = this.#read(chunk, row, 0)
      this.#frames.after(now, this.#read(last.chunk, last.row, 1), between - 1)
      return
    }
    const start = chunk.bitStart(row) + COMMA_BITS
    // Rewritten distances may each grow by a few bits.
    this.#bits.reserve((chunk.bitEnd(row) - start) >>> 2)
    // In the chunk, a comma and rows of the other outcome are between them.
    const gap = chunk.gap(row, previous) + 1 - between
    moveFrame({ ...chunk.frame(row, gap), start }, this.#bits)
  }

  /** Ends an event at the end of a byte. */
  #finish(now: TextSum, sum: TextSum): void {
    const filler = fillers[-(this.#bits.length + END_BITS) & 7] ?? ''
    const text = `\n:${filler}\n\n`
    this.#frames.text(text.replaceAll('\n', SPACE))
    sum.crc = crc32(text, now.crc)
    sum.bytes = now.bytes + text.length
  }
}

/** Lines in the form that the encoder accepts. */
function encodable(lines: string): string {
  assert(encodableLines.test(lines), 'an event is printable ASCII without spaces')
  return lines.replaceAll('\n', SPACE)
}

const lengthOf = (chunk: Chunk, row: number): number =>
  chunk.textEnd(row) - chunk.textStart(row) - 1
