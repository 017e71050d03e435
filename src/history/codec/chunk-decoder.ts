/** Reads the text of a single row out of a chunk, through the nearest checkpoint. */
import { assert } from '#src/lib/assert.ts'
import { crc32 } from '#src/lib/crc32.ts'

import type { Chunk } from './chunk.ts'
import { decodeFrame, TextBuffer } from './frame-decoder.ts'

/** Reuses its buffer: a text is valid until the next call. */
export class ChunkDecoder {
  readonly #buffer = new TextBuffer(131_072)

  /** The row's JSON object. */
  text(chunk: Chunk, row: number): Uint8Array {
    return this.textWithComma(chunk, row).subarray(1)
  }

  /**
   * The row's JSON object after the comma that joins it to the row
   * before. Throws when it is damaged.
   */
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

  /**
   * Every walk begins at the first row of its outcome, the costliest of all to
   * decode: it stays with the chunk.
   */
  #firstText(chunk: Chunk, outcome: number): Uint8Array {
    const kept = chunk.firstTexts[outcome]
    if (kept !== undefined) return kept
    const row = chunk.nextRowOf(outcome, 0)
    const end = decodeFrame(chunk.frame(row, 0), this.#buffer, 0)
    const text = this.#buffer.bytes.slice(0, end)
    chunk.firstTexts[outcome] = text
    return text
  }

  /** Visits the JSON object of every row in order, with its row number. */
  forEach(chunk: Chunk, visit: (text: Uint8Array, row: number) => void): void {
    this.#buffer.reserve(chunk.textEnd(chunk.count - 1))
    let end = 0
    for (let row = 0; row < chunk.count; row++) {
      const start = end
      end = decodeFrame(chunk.frame(row, 0), this.#buffer, start)
      visit(this.#buffer.bytes.subarray(start + 1, end), row)
    }
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
