/**
 * The one Huffman code of all frames: since they share it, frames are joined bit by bit into a
 * single deflate block (RFC 1951) after one fixed header. `test/bench/fit-code.ts` fitted it to the
 * recorded days; other data takes a little more space and is just as correct. It can never change:
 * a better code is a new `CODE_VERSION` beside this one.
 */
import { type BitWriter, toWords } from '#src/platform/bits.ts'
import type { Copies } from '#src/platform/copies.ts'
import { reversedCodes } from '#src/platform/huffman.ts'

export const CODE_VERSION = 1

/** Limits that keep the decoding tables small. */
export const SYMBOL_BITS_MAX = 12
export const DISTANCE_BITS_MAX = 9
export const MATCH_LENGTH_MIN = 3
export const MATCH_LENGTH_MAX = 258
export const MATCH_DISTANCE_MAX = 32_768
export const END_OF_BLOCK = 256

/** Code lengths as base-36 digits: the printable bytes from 32 to 126, then 256 to 285. */
const PRINTABLE_LENGTHS =
  'cc7ccccccccc6c4c54444444458ccccccccccccccccccccccccccccccccbcacccaa998acc9cccabaaca9acccccbac8c'
const LENGTH_LENGTHS = 'c9ccac6cc85cc84579869787877864'
const DISTANCE_LENGTHS = '999999998498899999998822238899'

const SPACE = 32
const LAST_PRINTABLE = 126

/** The shortest length or distance of each length and distance code: RFC 1951 §3.2.5. */
export const lengthBases = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
  163, 195, 227, 258,
]
const lengthExtraBits = lengthBases.map((base, code) =>
  code < 8 || base === MATCH_LENGTH_MAX ? 0 : (code >>> 2) - 1,
)
export const distanceBases = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
  3073, 4097, 6145, 8193, 12289, 16385, 24577,
]
const distanceExtraBits = distanceBases.map((_, code) => (code < 4 ? 0 : (code >>> 1) - 1))

const digits = (text: string): number[] => [...text].map((digit) => Number.parseInt(digit, 36))

const symbolLengths: readonly number[] = [
  ...Array.from({ length: SPACE }, () => 0),
  ...digits(PRINTABLE_LENGTHS),
  ...Array.from({ length: END_OF_BLOCK - LAST_PRINTABLE - 1 }, () => 0),
  ...digits(LENGTH_LENGTHS),
]
const distanceLengths: readonly number[] = digits(DISTANCE_LENGTHS)

const symbolCodes = reversedCodes(symbolLengths)
const distanceCodes = reversedCodes(distanceLengths)

/** `literalCodes[byte]` has `literalBits[byte]` bits; a byte outside 32 to 126 has no code. */
export const literalCodes = Uint16Array.from(symbolCodes.slice(0, 256))
export const literalBits = Uint8Array.from(symbolLengths.slice(0, 256))
export const endOfBlockCode = symbolCodes[END_OF_BLOCK] ?? 0
export const endOfBlockBits = symbolLengths[END_OF_BLOCK] ?? 0

/**
 * In a stream of lines, the code of the space, which no row contains, means a newline. It is the
 * first of the longest codes for either character, so all other codes stay the same.
 */
export const newlineCode = symbolCodes[SPACE] ?? 0
export const newlineBits = symbolLengths[SPACE] ?? 0

/** By match length or distance: the code with its extra bits above it, and the bits of both. */
export const lengthCodes = new Int32Array(MATCH_LENGTH_MAX + 1)
export const lengthBits = new Uint8Array(MATCH_LENGTH_MAX + 1)
export const distanceCodesByDistance = new Int32Array(MATCH_DISTANCE_MAX + 1)
export const distanceBits = new Uint8Array(MATCH_DISTANCE_MAX + 1)

/**
 * Decoding tables, indexed by the next `SYMBOL_BITS_MAX` or `DISTANCE_BITS_MAX` bits. An entry
 * holds the length of the code in bits 0-3, the number of extra bits in bits 4-7, and the value
 * above: a byte, `END_OF_BLOCK`, 256 plus the base of a length, or the base of a distance. Entry 0
 * means that no code begins so.
 */
export const symbolTable = new Int32Array(1 << SYMBOL_BITS_MAX)
/** Added to the value of a pair (first byte + 256 × second byte), so that it exceeds all others. */
const PAIR = 1 << 16
/** Like `symbolTable`, but an entry holds two bytes if the bits contain both codes. */
const pairTable = new Int32Array(1 << SYMBOL_BITS_MAX)
export const distanceTable = new Int32Array(1 << DISTANCE_BITS_MAX)

fillEncodingTables()
fillDecodingTables()
fillPairs()

/** The header of a final block in this code: `headerBits` bits of `headerBytes`. */
export const headerBits = 451
export const headerBytes = Uint8Array.fromBase64(
  '7Z0JYxzXUkb/Cgw7NMWtva7Y933feQRIbAUM5CXEYXtB/HYMoUEXVHes9mg0oy7vVlnyLp1zPskG',
)

/** The same for lines: with a code for the newline, and none for the space. */
export const lineHeaderBits = 462
export const lineHeaderBytes = Uint8Array.fromBase64(
  '7Z3pYlzXUkb/8xY0MxyKXXNtMc/zPHMJkNgKGMhNiMN0g3h2DOGANqh2W8etVrdOebbKkmdprfVJNg==',
)

/** RFC 1952: magic, deflate, no flags, no time, no extra flags, unknown system. */
const gzipHeader = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
const memberStart = (header: Uint8Array, bits: number) => ({
  words: toWords(Uint8Array.of(...gzipHeader, ...header)),
  bits: gzipHeader.length * 8 + bits,
})
/** The start of a gzip member of a page, and of one of lines: its header and the block's. */
export const pageStart = memberStart(headerBytes, headerBits)
export const lineStart = memberStart(lineHeaderBytes, lineHeaderBits)

function fillEncodingTables(): void {
  lengthBases.forEach((base, index) => {
    const extraBits = lengthExtraBits[index] ?? 0
    const code = symbolCodes[257 + index] ?? 0
    const bits = symbolLengths[257 + index] ?? 0
    for (let extra = 0; extra < 1 << extraBits; extra++) {
      const length = base + extra
      // Length 258 has its own code, after the range of the previous code.
      if (length > MATCH_LENGTH_MAX || (length === MATCH_LENGTH_MAX && extraBits > 0)) continue
      lengthCodes[length] = code | (extra << bits)
      lengthBits[length] = bits + extraBits
    }
  })
  distanceBases.forEach((base, index) => {
    const extraBits = distanceExtraBits[index] ?? 0
    const bits = distanceLengths[index] ?? 0
    for (let extra = 0; extra < 1 << extraBits; extra++) {
      distanceCodesByDistance[base + extra] = (distanceCodes[index] ?? 0) | (extra << bits)
      distanceBits[base + extra] = bits + extraBits
    }
  })
}

function fillDecodingTables(): void {
  symbolLengths.forEach((bits, symbol) => {
    const index = symbol - 257
    const value = index < 0 ? symbol : 256 + (lengthBases[index] ?? 0)
    const extraBits = index < 0 ? 0 : (lengthExtraBits[index] ?? 0)
    fill(symbolTable, symbolCodes[symbol] ?? 0, (value << 8) | (extraBits << 4) | bits)
  })
  distanceLengths.forEach((bits, index) => {
    const entry = ((distanceBases[index] ?? 0) << 8) | ((distanceExtraBits[index] ?? 0) << 4) | bits
    fill(distanceTable, distanceCodes[index] ?? 0, entry)
  })
}

function fill(table: Int32Array, code: number, entry: number): void {
  const bits = entry & 15
  if (bits === 0) return
  for (let at = code; at < table.length; at += 1 << bits) table[at] = entry
}

function fillPairs(): void {
  for (const [at, entry] of symbolTable.entries()) {
    const bits = entry & 15
    const next = symbolTable[at >> bits] ?? 0
    const isPair = isByte(entry) && isByte(next) && bits + (next & 15) <= SYMBOL_BITS_MAX
    const both = PAIR + ((next >> 8) << 8) + (entry >> 8)
    pairTable[at] = isPair ? (both << 8) | (bits + (next & 15)) : entry
  }
}

function isByte(entry: number): boolean {
  return entry !== 0 && entry >> 8 < END_OF_BLOCK
}

const SYMBOL_MASK = (1 << SYMBOL_BITS_MAX) - 1
const DISTANCE_MASK = (1 << DISTANCE_BITS_MAX) - 1
/** The minimum number of bits that `load` returns. */
const LOADED_BITS = 25
const LOADED_MASK = (1 << LOADED_BITS) - 1
const load = (view: DataView, position: number): number =>
  view.getInt32(position >> 3, true) >> (position & 7)

/** From this length on, a native copy is faster than a loop. */
const NATIVE_COPY_LENGTH = 64

/** A growing text, with room for three bytes after it. */
export class TextBuffer {
  bytes: Uint8Array<ArrayBuffer>
  words: DataView
  /** Receives the parts of the text that repeat earlier ones, if set. */
  copies: Copies | undefined

  constructor(size = 0) {
    this.bytes = new Uint8Array(size)
    this.words = new DataView(this.bytes.buffer)
  }

  /** Makes room for `size` bytes in total; growing discards the contents. */
  reserve(size: number): void {
    if (size + 4 <= this.bytes.length) return
    this.bytes = new Uint8Array(size * 2)
    this.words = new DataView(this.bytes.buffer)
  }
}

/**
 * A frame: the bits from `start` (inclusive) to `end` (exclusive) of a buffer that ends in
 * `READ_SLACK` spare bytes. `gap` is the number of bytes by which the previous row of the outcome
 * is nearer than it was when the frame was encoded.
 */
export type FrameBits = { view: DataView; start: number; end: number; gap: number }

/** Decodes the frame to `out` at `at`; returns the offset after it. Throws if it is damaged. */
// One function: this is the inner loop of every decoded page, and a call per symbol would double its cost.
export function decodeFrame(frame: FrameBits, out: TextBuffer, at: number): number {
  const { view, end, gap } = frame
  const { bytes, words, copies } = out
  let position = frame.start
  let to = at
  while (position < end) {
    const start = position
    let loaded = load(view, position)
    const symbol = pairTable[loaded & SYMBOL_MASK] ?? 0
    const value = symbol >> 8
    position += symbol & 15
    if (value >= PAIR) {
      bytes[to++] = value
      // The second byte may belong to the next frame.
      if (position <= end) bytes[to++] = value >> 8
      continue
    }
    if (value < END_OF_BLOCK) {
      if (symbol === 0) throw new Error('A frame holds bits that are no symbol.')
      bytes[to++] = value
      continue
    }
    const lengthExtra = (symbol >> 4) & 15
    let length = value - 256 + ((loaded >> (symbol & 15)) & ((1 << lengthExtra) - 1))
    position += lengthExtra
    loaded = load(view, position)
    const code = distanceTable[loaded & DISTANCE_MASK] ?? 0
    const extra = (code >> 4) & 15
    let distance = (code >> 8) + ((loaded >> (code & 15)) & ((1 << extra) - 1))
    position += (code & 15) + extra
    // A text longer than any match is the longest match several times over: a single copy.
    const bits = position - start
    if (length === MATCH_LENGTH_MAX && bits <= LOADED_BITS) {
      const mask = (1 << bits) - 1
      const match = load(view, start) & mask
      for (; position + bits <= end && (load(view, position) & mask) === match; position += bits)
        length += MATCH_LENGTH_MAX
    }
    if (distance > to - at) distance -= gap
    const stop = to + length
    // Matches are at least a word away, so word-wise copies never read their own output.
    if (code === 0 || length < 3 || distance < 4 || distance > to || stop > bytes.length - 4) {
      throw new Error('A frame holds a match that leads nowhere.')
    }
    if (copies !== undefined) copies.add(to, stop, distance)
    if (length >= NATIVE_COPY_LENGTH && distance >= length) {
      bytes.copyWithin(to, to - distance, stop - distance)
    } else {
      // The last word may write up to three bytes too many, which the following text overwrites.
      for (; to < stop; to += 4) words.setInt32(to, words.getInt32(to - distance, true), true)
    }
    to = stop
  }
  return to
}

/** Appends the frame to `bits`; rewrites only distances that point out of the frame. */
export function moveFrame({ view, start, end, gap }: FrameBits, bits: BitWriter): void {
  let position = start
  /** All bits before this one are written. */
  let from = start
  let written = 0
  const copyTo = (to: number): void => {
    for (; to - from > LOADED_BITS; from += LOADED_BITS)
      bits.put(load(view, from) & LOADED_MASK, LOADED_BITS)
    bits.put(load(view, from) & ((1 << (to - from)) - 1), to - from)
  }
  while (position < end) {
    let loaded = load(view, position)
    const symbol = symbolTable[loaded & SYMBOL_MASK] ?? 0
    const value = symbol >> 8
    if (symbol === 0) throw new Error('A frame holds bits that are no symbol.')
    const symbolBits = (symbol & 15) + ((symbol >> 4) & 15)
    position += symbolBits
    if (value < END_OF_BLOCK) {
      written++
      continue
    }
    const length = value - 256 + ((loaded & ((1 << symbolBits) - 1)) >> (symbol & 15))
    loaded = load(view, position)
    const code = distanceTable[loaded & DISTANCE_MASK] ?? 0
    const codeBits = (code & 15) + ((code >> 4) & 15)
    const distance = (code >> 8) + ((loaded & ((1 << codeBits) - 1)) >> (code & 15))
    if (distance > written) {
      copyTo(position)
      from = position + codeBits
      bits.put(distanceCodesByDistance[distance - gap] ?? 0, distanceBits[distance - gap] ?? 0)
    }
    position += codeBits
    written += length
  }
  if (position > end) throw new Error('A frame ends within a symbol.')
  copyTo(end)
}
