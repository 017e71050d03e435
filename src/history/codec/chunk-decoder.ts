/** Decodes rows of chunks to text: single rows, whole chunks, slices, the rows of a page. */
import { assert } from '#src/platform/assert.ts'
import { Copies } from '#src/platform/copies.ts'
import { crc32 } from '#src/platform/crc32.ts'

import type { Chunk } from './chunk.ts'
import { decodeFrame, TextBuffer } from './deflate-code.ts'

/** Reuses its buffer: a text is valid until the next call. */
export class ChunkDecoder {
  readonly #buffer = new TextBuffer()

  text(chunk: Chunk, row: number): Uint8Array {
    return this.textWithComma(chunk, row).subarray(1)
  }

  /** The row's JSON object after its comma. Throws if it is damaged. */
  textWithComma(chunk: Chunk, row: number): Uint8Array {
    const text = this.#decode(chunk, row)
    assert(crc32(text, chunk.crc(row - 1)) === chunk.crc(row), 'a row agrees with its CRC')
    return text
  }

  #decode(chunk: Chunk, row: number): Uint8Array {
    // A walk holds at most the chunk's text and one checkpoint.
    this.#buffer.reserve(chunk.textEnd(row) * 2)
    const first = this.#firstText(chunk, chunk.outcome(row))
    let at = chunk.nextRowOf(chunk.outcome(row), 0)
    let start = 0
    let end = first.length
    this.#buffer.bytes.set(first)
    if (at === row) return this.#buffer.bytes.subarray(start, end)
    const index = nearestCheckpoint(chunk, row)
    if (index >= 0) {
      at = chunk.checkpoint(index).row
      start = end
      end = decodeFrame(chunk.checkpointFrame(index), this.#buffer, start)
    }
    while (at < row) {
      const next = chunk.nextRowOf(chunk.outcome(row), at + 1)
      start = end
      end = decodeFrame(chunk.frame(next, chunk.gap(next, at)), this.#buffer, start)
      at = next
    }
    return this.#buffer.bytes.subarray(start, end)
  }

  #firstText = (chunk: Chunk, outcome: number): Uint8Array =>
    chunk.firstText(outcome, (row) => {
      const end = decodeFrame(chunk.frame(row, 0), this.#buffer, 0)
      return this.#buffer.bytes.subarray(0, end)
    })

  /**
   * All texts stay valid until the end; `copies` lists parts of a text that repeat earlier ones.
   */
  forEach(chunk: Chunk, visit: (text: Uint8Array, row: number, copies: Copies) => void): void {
    this.#buffer.reserve(chunk.textEnd(chunk.count - 1))
    const copies = new Copies()
    this.#buffer.copies = copies
    let end = 0
    for (let row = 0; row < chunk.count; row++) {
      const start = end
      copies.reset()
      end = decodeFrame(chunk.frame(row, 0), this.#buffer, start)
      visit(this.#buffer.bytes.subarray(start + 1, end), row, copies)
    }
    this.#buffer.copies = undefined
  }
}

/** Index of the last checkpoint of the row's outcome, at or before the row; -1 if there is none. */
function nearestCheckpoint(chunk: Chunk, row: number): number {
  for (let index = chunk.checkpointCount - 1; index >= 0; index--) {
    const { row: at } = chunk.checkpoint(index)
    if (at <= row && chunk.outcome(at) === chunk.outcome(row)) return index
  }
  return -1
}

const COMMA = 0x2c
const encoder = new TextEncoder()

/** Rows `from` (inclusive) to `to` (exclusive) of a chunk; only those of `outcome` if it is set. */
export type Slice = { chunk: Chunk; from: number; to: number; outcome: number | undefined }

/** Single rows of a chunk, ascending. */
export type Picks = { chunk: Chunk; rows: readonly number[] }

/** Joins rows by commas, without one before the first; `ends` are the offsets after them. */
export class SliceDecoder {
  readonly #text = new TextBuffer()
  readonly #reader = new ChunkDecoder()
  readonly ends: number[] = []
  readonly #isSeen: [boolean, boolean] = [false, false]
  #at = 0

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#text.bytes
  }

  get words(): DataView {
    return this.#text.words
  }

  /** Clears the text and leaves `start` bytes free before it, with room for `size` bytes in all. */
  begin(start: number, size: number): void {
    this.#text.reserve(size)
    this.ends.length = 0
    this.#isSeen.fill(false)
    this.#at = start
  }

  /**
   * Adds all rows of a slice. A frame needs the previous row of its outcome, so only the first row
   * of each outcome is expensive.
   */
  addSlice({ chunk, from, to }: Slice): void {
    for (let row = from; row < to; row++) {
      if (!this.#isSeen[chunk.outcome(row)]) {
        this.#addAlone(chunk, row)
        continue
      }
      this.#at = decodeFrame(chunk.frame(row, 0), this.#text, this.#at)
      this.ends.push(this.#at)
    }
  }

  /**
   * Visits each wanted row's JSON object; all texts stay valid until the end. `copies` lists parts
   * of a text that repeat earlier ones.
   */
  forEach(slice: Slice, visit: (text: Uint8Array, row: number, copies: Copies) => void): void {
    const { chunk, from, to, outcome } = slice
    const copies = new Copies()
    this.begin(0, textLengthOf(slice))
    this.#text.copies = copies
    for (let row = from; row < to; row++) {
      const code = chunk.outcome(row)
      if ((outcome ?? code) !== code) continue
      copies.reset()
      const start = this.#at
      const gap = outcome === undefined ? 0 : chunk.gap(row, chunk.previousRowOf(code, row))
      if (this.#isSeen[code]) this.#at = decodeFrame(chunk.frame(row, gap), this.#text, start)
      else this.#put(this.#reader.textWithComma(chunk, row), code)
      visit(this.#text.bytes.subarray(start + 1, this.#at), row, copies)
    }
    this.#text.copies = undefined
  }

  /** A pick whose previous row was picked, too, continues from it. */
  addPicks({ chunk, rows }: Picks): void {
    /** The last pick of each outcome, and the end of its text. */
    const before = Array.from({ length: 2 }, () => ({ row: -1, end: 0 }))
    for (const row of rows) {
      const outcome = chunk.outcome(row)
      const previous = chunk.previousRowOf(outcome, row)
      const picked = before[outcome]
      if (picked === undefined || previous < 0 || picked.row !== previous) {
        this.#addAlone(chunk, row)
      } else {
        const gap = chunk.gap(row, previous) - (this.#at - picked.end)
        this.#at = decodeFrame(chunk.frame(row, gap), this.#text, this.#at)
        this.ends.push(this.#at)
      }
      before[outcome] = { row, end: this.#at }
    }
  }

  #addAlone(chunk: Chunk, row: number): void {
    const isFirst = this.ends.length === 0
    const text = isFirst ? this.#reader.text(chunk, row) : this.#reader.textWithComma(chunk, row)
    this.#put(text, chunk.outcome(row))
    this.ends.push(this.#at)
  }

  #put(text: Uint8Array, outcome: number): void {
    this.#text.bytes.set(text, this.#at)
    this.#at += text.length
    this.#isSeen[outcome] = true
  }
}

export function indexesOf(part: Slice | Picks): readonly number[] {
  if ('rows' in part) return part.rows
  const { chunk, from, to, outcome } = part
  const rows: number[] = []
  for (let row = from; row < to; row++) {
    if (outcome === undefined || chunk.outcome(row) === outcome) rows.push(row)
  }
  return rows
}

/** Bytes of the rows' texts, each with its comma; for a slice, of all its rows. */
export function textLengthOf(part: Slice | Picks): number {
  const { chunk } = part
  const lengthOf = (row: number): number => chunk.textEnd(row) - chunk.textStart(row)
  if ('rows' in part) return part.rows.reduce((sum, row) => sum + lengthOf(row), 0)
  return chunk.textEnd(part.to - 1) - chunk.textStart(part.from)
}

type Order = 'asc' | 'desc'

/** Parts in ascending order, and the order in which their rows are requested. */
type RowList = { parts: readonly (Slice | Picks)[]; order: Order }

export class PageTexts {
  /** The decoder of the last finished walk: a buffer is more expensive than many rows. */
  #spare: SliceDecoder | undefined;

  /** Decodes each row's JSON object once; a text is valid until the next one is requested. */
  *each({ parts, order }: RowList): Generator<Uint8Array> {
    const decoder = this.#spare ?? new SliceDecoder()
    this.#spare = undefined
    try {
      for (const part of order === 'asc' ? parts : parts.toReversed()) {
        decoder.begin(0, textLengthOf(part))
        if ('rows' in part) decoder.addPicks(part)
        else decoder.addSlice(part)
        yield* textsIn(decoder, order)
      }
    } finally {
      this.#spare = decoder
    }
  }

  /** The rows joined by commas between `prefix` and `suffix` (ASCII). */
  joined(list: RowList, prefix: string, suffix: string): Uint8Array<ArrayBuffer> {
    const length = list.parts.reduce((sum, part) => sum + textLengthOf(part), 0)
    const page = new Uint8Array(prefix.length + length + suffix.length)
    let at = encoder.encodeInto(prefix, page).written
    let isFirst = true
    for (const text of this.each(list)) {
      if (!isFirst) page[at++] = COMMA
      isFirst = false
      page.set(text, at)
      at += text.length
    }
    at += encoder.encodeInto(suffix, page.subarray(at)).written
    return page.subarray(0, at)
  }
}

function* textsIn({ bytes, ends }: SliceDecoder, order: Order): Generator<Uint8Array> {
  const step = order === 'asc' ? 1 : -1
  const first = step > 0 ? 0 : ends.length - 1
  for (let row = first; row >= 0 && row < ends.length; row += step) {
    // All rows but the first have a comma before them.
    const start = row === 0 ? 0 : (ends[row - 1] ?? 0) + 1
    yield bytes.subarray(start, ends[row])
  }
}
