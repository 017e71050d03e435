/**
 * Bits in deflate's order: the first bit is the lowest bit of the first byte. Positions are bit
 * offsets. Runs are moved as 32-bit little-endian words; the words are signed, because the engine
 * stores unsigned ones as floating point.
 */
import { assert } from './assert.ts'

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1
assert(isLittleEndian, 'bookfeed runs on a little-endian machine')

/** Spare bytes that a buffer needs after its last bit, so that whole words can be loaded. */
export const READ_SLACK = 8

/** A growable bit buffer; reused, so that a page allocates only its result. */
export class BitWriter {
  #words: Int32Array<ArrayBuffer>
  /** Number of whole words written; the rest is in `#pending`. */
  #count = 0
  #pending = 0
  /** Number of bits in `#pending`: 0 to 31 between calls. */
  #filled = 0

  /** `capacity` in bytes; `reserve` adds more. */
  constructor(capacity: number) {
    this.#words = new Int32Array(capacity >>> 2)
  }

  get length(): number {
    return this.#count * 32 + this.#filled
  }

  reset(): void {
    this.#count = 0
    this.#pending = 0
    this.#filled = 0
  }

  /** Makes room for `count` more bytes. All other methods assume that there is room. */
  reserve(count: number): void {
    const needed = this.#count + (count >>> 2) + 4
    if (needed <= this.#words.length) return
    const grown = new Int32Array(Math.max(needed, this.#words.length * 2))
    grown.set(this.#words.subarray(0, this.#count))
    this.#words = grown
  }

  /** Appends the low `count` bits of `value`; `count` is at most 31 and no higher bit is set. */
  put(value: number, count: number): void {
    const filled = this.#filled
    const pending = this.#pending | (value << filled)
    const next = filled + count
    if (next < 32) {
      this.#pending = pending
      this.#filled = next
      return
    }
    this.#words[this.#count++] = pending
    // In JavaScript, a shift by 32 is a shift by 0.
    this.#pending = filled === 0 ? 0 : value >>> (32 - filled)
    this.#filled = next - 32
  }

  /** Appends bits `start` (inclusive) to `end` (exclusive) of `source`, which has a spare word. */
  copy(source: Int32Array, start: number, end: number): void {
    // Bits up to the next whole word; from there on, all words are shifted by the same number.
    const first = Math.min(-this.#filled & 31, end - start)
    this.put(load(source, start) & ((1 << first) - 1), first)
    const words = this.#words
    const stop = this.#count + ((end - start - first) >>> 5)
    const shift = (start + first) & 31
    let from = (start + first) >>> 5
    let to = this.#count
    if (shift === 0) {
      while (to < stop) words[to++] = source[from++] ?? 0
    } else {
      let low = source[from] ?? 0
      while (to < stop) {
        const high = source[++from] ?? 0
        words[to++] = (low >>> shift) | (high << (32 - shift))
        low = high
      }
    }
    this.#count = stop
    const rest = this.#filled === 0 ? (end - start - first) & 31 : 0
    this.put(load(source, end - rest) & ((1 << rest) - 1), rest)
  }

  /** Fills the current byte with zero bits. */
  align(): void {
    this.put(0, -this.#filled & 7)
  }

  putUint32(value: number): void {
    this.put(value & 0xffff, 16)
    this.put(value >>> 16, 16)
  }

  /** The words so far and a spare one, as a source of `copy`; valid until the next change. */
  toWords(): Int32Array {
    this.#words[this.#count] = this.#pending
    return this.#words
  }

  /** All bytes written, the last one filled with zero bits; valid until the next change. */
  view(): Uint8Array<ArrayBuffer> {
    this.#words[this.#count] = this.#pending
    return new Uint8Array(this.#words.buffer, 0, (this.length + 7) >>> 3)
  }

  /** A copy of `view`. */
  toBytes = (): Uint8Array<ArrayBuffer> => this.view().slice()
}

function load(source: Int32Array, position: number): number {
  const word = position >>> 5
  const shift = position & 31
  const low = source[word] ?? 0
  // In JavaScript, a shift by 32 is a shift by 0.
  return shift === 0 ? low : (low >>> shift) | ((source[word + 1] ?? 0) << (32 - shift))
}

export function toWords(bytes: Uint8Array): Int32Array {
  const words = new Int32Array((bytes.length >>> 2) + 2)
  new Uint8Array(words.buffer).set(bytes)
  return words
}
