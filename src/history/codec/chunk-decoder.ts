/** Reads rows of chunks back to text: single ones, whole chunks, slices, the rows of a page. */
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

  /** The row's JSON object after its comma. Throws when it is damaged. */
  textWithComma(chunk: Chunk, row: number): Uint8Array {
    const text = this.#decode(chunk, row)
    assert(crc32(text, chunk.crc(row - 1)) === chunk.crc(row), 'a row agrees with its CRC')
    return text
  }

  #decode(chunk: Chunk, row: number): Uint8Array {
    // The walk holds at most the chunk's text and one checkpoint.
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

  /** All of the texts stay as they are until the end; `copies` say how one repeats others. */
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

/** Index of the last checkpoint of the row's outcome at or before it, or -1. */
function nearestCheckpoint(chunk: Chunk, row: number): number {
  for (let index = chunk.checkpointCount - 1; index >= 0; index--) {
    const { row: at } = chunk.checkpoint(index)
    if (at <= row && chunk.outcome(at) === chunk.outcome(row)) return index
  }
  return -1
}

const COMMA = 0x2c
const encoder = new TextEncoder()

/** Rows `from` (inclusive) to `to` (exclusive) of a chunk; of one outcome when it is given. */
export type Slice = { chunk: Chunk; from: number; to: number; outcome: number | undefined }

/** Single rows of a chunk, ascending. */
export type Picks = { chunk: Chunk; rows: readonly number[] }

/** Joins rows by commas, the first without one; `ends` are the offsets after them. */
export class SliceDecoder {
  readonly #text = new TextBuffer()
  readonly #reader = new ChunkDecoder()
  readonly ends: number[] = []
  readonly #isSeen: [boolean, boolean] = [false, false]
  #at = 0

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#text.bytes
  }

  /** Empties the text and leaves `start` bytes free before it; there is room for `size` in all. */
  begin(start: number, size: number): void {
    this.#text.reserve(size)
    this.ends.length = 0
    this.#isSeen.fill(false)
    this.#at = start
  }

  /**
   * Adds all rows of a slice. A frame needs the row before it of its outcome, so only the first of
   * each is costly.
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

  /** A pick whose predecessor was picked too continues from there. */
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
    this.#text.bytes.set(text, this.#at)
    this.#at += text.length
    this.#isSeen[chunk.outcome(row)] = true
    this.ends.push(this.#at)
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

/** Bytes of the rows' texts, each with its comma; of a slice all of its rows. */
export function textLengthOf(part: Slice | Picks): number {
  const { chunk } = part
  const lengthOf = (row: number): number => chunk.textEnd(row) - chunk.textStart(row)
  if ('rows' in part) return part.rows.reduce((sum, row) => sum + lengthOf(row), 0)
  return chunk.textEnd(part.to - 1) - chunk.textStart(part.from)
}

type Order = 'asc' | 'desc'

/** Parts in ascending order, and the order in which their rows are wanted. */
type RowList = { parts: readonly (Slice | Picks)[]; order: Order }

export class PageTexts {
  /** That of the last walk that ended: a buffer costs more than many rows. Walks may overlap. */
  #spare: SliceDecoder | undefined;

  /** Each row's JSON object, decoded once; valid until the next is asked for. */
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
    // All but the first have a comma before them.
    const start = row === 0 ? 0 : (ends[row - 1] ?? 0) + 1
    yield bytes.subarray(start, ends[row])
  }
}
