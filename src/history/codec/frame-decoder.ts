/**
 * Reads frames: back to text, or into the same frame for another distance to the previous row.
 * Words are signed, which the engine keeps out of floating point; smeared signs are above what is
 * read.
 */
import type { BitWriter } from '#src/lib/bits.ts'

import {
  DISTANCE_BITS_MAX,
  distanceBits,
  distanceCodesByDistance,
  distanceTable,
  END_OF_BLOCK,
  SYMBOL_BITS_MAX,
  symbolTable,
} from './deflate-code.ts'

const SYMBOL_MASK = (1 << SYMBOL_BITS_MAX) - 1
const DISTANCE_MASK = (1 << DISTANCE_BITS_MAX) - 1
/** From this length on a native copy beats a loop. */
const NATIVE_COPY_LENGTH = 64

/** Text in the making, with room for three bytes after it. */
export class TextBuffer {
  bytes: Uint8Array<ArrayBuffer>
  words: DataView

  constructor(size: number) {
    this.bytes = new Uint8Array(size)
    this.words = new DataView(this.bytes.buffer)
  }

  /** Makes room for `size` bytes in all; what was there is lost when more is made. */
  reserve(size: number): void {
    if (size + 4 <= this.bytes.length) return
    this.bytes = new Uint8Array(size * 2)
    this.words = new DataView(this.bytes.buffer)
  }
}

/**
 * Bits `start` (inclusive) to `end` (exclusive) of a buffer that ends in `READ_SLACK` spare bytes,
 * to be read where the previous row of its outcome is `gap` bytes nearer than where it was encoded.
 */
export type FrameBits = { view: DataView; start: number; end: number; gap: number }

/** Writes the frame's text to `out` at `at`; returns the offset after it. Throws on no frame. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the inner loop of every decoded page; a call a symbol would double its cost.
export function decodeFrame(frame: FrameBits, out: TextBuffer, at: number): number {
  const { view, end, gap } = frame
  const { bytes, words } = out
  let position = frame.start
  let to = at
  while (position < end) {
    let loaded = view.getInt32(position >> 3, true) >> (position & 7)
    const symbol = symbolTable[loaded & SYMBOL_MASK] ?? 0
    const value = symbol >> 8
    position += symbol & 15
    if (value < END_OF_BLOCK) {
      if (symbol === 0) throw new Error('A frame holds bits that are no symbol.')
      bytes[to++] = value
      continue
    }
    const lengthExtra = (symbol >> 4) & 15
    const length = value - 256 + ((loaded >> (symbol & 15)) & ((1 << lengthExtra) - 1))
    position += lengthExtra
    loaded = view.getInt32(position >> 3, true) >> (position & 7)
    const code = distanceTable[loaded & DISTANCE_MASK] ?? 0
    const extra = (code >> 4) & 15
    let distance = (code >> 8) + ((loaded >> (code & 15)) & ((1 << extra) - 1))
    position += (code & 15) + extra
    if (distance > to - at) distance -= gap
    const stop = to + length
    // The encoder writes no match from nearer than a word, so copies by words never read their own
    // output.
    if (code === 0 || length < 3 || distance < 4 || distance > to || stop > bytes.length - 4) {
      throw new Error('A frame holds a match that leads nowhere.')
    }
    if (length >= NATIVE_COPY_LENGTH && distance >= length) {
      bytes.copyWithin(to, to - distance, stop - distance)
    } else {
      // The last word may write up to three bytes too many, which what follows covers.
      for (; to < stop; to += 4) words.setInt32(to, words.getInt32(to - distance, true), true)
    }
    to = stop
  }
  return to
}

/** Appends the frame to `bits`; only distances that reach out of it are written again. */
export function moveFrame({ view, start, end, gap }: FrameBits, bits: BitWriter): void {
  let position = start
  let written = 0
  while (position < end) {
    let loaded = view.getInt32(position >> 3, true) >> (position & 7)
    const symbol = symbolTable[loaded & SYMBOL_MASK] ?? 0
    const value = symbol >> 8
    if (symbol === 0) throw new Error('A frame holds bits that are no symbol.')
    const symbolBits = (symbol & 15) + ((symbol >> 4) & 15)
    bits.put(loaded & ((1 << symbolBits) - 1), symbolBits)
    position += symbolBits
    if (value < END_OF_BLOCK) {
      written++
      continue
    }
    const length = value - 256 + ((loaded & ((1 << symbolBits) - 1)) >> (symbol & 15))
    loaded = view.getInt32(position >> 3, true) >> (position & 7)
    const code = distanceTable[loaded & DISTANCE_MASK] ?? 0
    const codeBits = (code & 15) + ((code >> 4) & 15)
    const distance = (code >> 8) + ((loaded & ((1 << codeBits) - 1)) >> (code & 15))
    const moved = distance > written ? distance - gap : distance
    bits.put(distanceCodesByDistance[moved] ?? 0, distanceBits[moved] ?? 0)
    position += codeBits
    written += length
  }
}
