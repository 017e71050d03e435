/**
 * The frame of a snapshot: its served text in the store's Huffman code, as a run of bits. A frame
 * stands alone, or its matches point only into the previous row of the same outcome; it is then
 * valid wherever the text of that row is the same distance before it.
 */

import { sameBest, sameWorst } from '#src/domain/snapshot.ts'
import { byteOf } from '#src/domain/wire/json-bytes.ts'
import type { BitWriter } from '#src/platform/bits.ts'

import {
  distanceBits,
  distanceCodesByDistance,
  endOfBlockBits,
  endOfBlockCode,
  lengthBits,
  lengthCodes,
  literalBits,
  literalCodes,
  MATCH_DISTANCE_MAX,
  MATCH_LENGTH_MAX,
  MATCH_LENGTH_MIN,
} from './deflate-code.ts'
import { ID_OFFSET, type LadderText, PRICE_OFFSET, type RowText, SIZE_OFFSET } from './row-text.ts'

/** A match from the previous row costs about four literals: shorter ones stay literals. */
const WORTHWHILE_LENGTH = 5
/** Length of a text that is searched for elsewhere if the expected place differs. */
const PROBE_LENGTH = 6

/** Every price is between 0 and 1, so it begins with `0.`. */
const PRICE_START = '0.'.length
/** `},` and the text before the digits of the price. */
const LEVEL_GAP = '},'.length + PRICE_OFFSET + PRICE_START

const { openBracket: OPEN_BRACKET, openBrace: OPEN_BRACE } = byteOf
const { closeBrace: CLOSE_BRACE, comma: COMMA } = byteOf

/**
 * Codes of two characters of a number at a time, digits or a point. The index is the lowest four
 * bits of both, which differ for all characters in or after a number.
 */
const pairs = new Int32Array(256)
const digits = Buffer.from('0123456789.')
const placeOf = (first: number, second: number): number => ((first & 15) << 4) | (second & 15)

for (const first of digits) {
  for (const second of digits) {
    const bits = literalBits[first] ?? 0
    const code = (literalCodes[first] ?? 0) | ((literalCodes[second] ?? 0) << bits)
    pairs[placeOf(first, second)] = (code << 5) | (bits + (literalBits[second] ?? 0))
  }
}

/** Both codes, and their total length (at most 16) in the lowest five bits; 0 for other bytes. */
const digitPairAt = (bytes: Uint8Array, at: number): number =>
  pairs[placeOf(bytes[at] ?? 0, bytes[at + 1] ?? 0)] ?? 0

export class FrameEncoder {
  readonly #bits: BitWriter
  #bytes: Uint8Array = new Uint8Array(0)
  /** The previous row, whose text begins `#base` bytes before that of the row. */
  #previous: Uint8Array = new Uint8Array(0)
  #base = 0
  /** The pending match: its start in the row, its length, and its distance. */
  #matchStart = 0
  #matchLength = 0
  #matchDistance = 0

  constructor(bits: BitWriter) {
    this.#bits = bits
  }

  /** Writes text before or after rows; printable ASCII only. */
  text(text: string): void {
    this.#bits.reserve(text.length * 2)
    for (let i = 0; i < text.length; i++) this.#literal(text.charCodeAt(i))
  }

  /**
   * Writes text like `text`, with matches for the parts that an earlier text shares. The earlier
   * text ends `distance` bytes before the end of this one, and always before its start.
   */
  echo(text: string, earlier: string, distance: number): void {
    this.#bits.reserve(text.length * 2)
    const base = distance + earlier.length - text.length
    const sameFrom = (at: number, from: number): number => {
      const max = Math.min(text.length - at, earlier.length - from)
      let same = 0
      while (same < max && text.charCodeAt(at + same) === earlier.charCodeAt(from + same)) same++
      return same
    }
    /** Offset between a place in the text and the same text in the earlier one. */
    let moved = 0
    let isInWord = false
    for (let at = 0; at < text.length;) {
      const code = text.charCodeAt(at)
      let same = sameFrom(at, at + moved)
      // A word that differs is searched for only once: most belong to a cursor, and are nowhere.
      if (same < PROBE_LENGTH && !(isInWord && isLetter(code))) {
        const found = findNear(earlier, text.slice(at, at + PROBE_LENGTH), at + moved)
        if (found >= 0) {
          moved = found - at
          same = sameFrom(at, found)
        }
      }
      const length = Math.min(same, MATCH_LENGTH_MAX)
      isInWord = length < WORTHWHILE_LENGTH
      if (isInWord) this.#literal(code)
      else this.match(length, base - moved)
      at += isInWord ? 1 : length
    }
  }

  /** Ends the block and its gzip member (RFC 1952). */
  endMember(textCrc: number, textBytes: number): Uint8Array<ArrayBuffer> {
    const bits = this.#bits
    bits.reserve(16)
    bits.put(endOfBlockCode, endOfBlockBits)
    bits.align()
    bits.putUint32(textCrc)
    bits.putUint32(textBytes)
    return bits.view()
  }

  /**
   * Writes the row without reference to another: the text between the digits of two levels is a
   * match with the level before, and all digits are literals. Runs for each page, so it compares
   * little.
   */
  alone(bytes: Uint8Array, start: number, end: number): void {
    this.#begin(bytes, end - start)
    let at = start
    let lastLevel = 0
    let lastPriceEnd = 0
    for (let level = bytes.indexOf(OPEN_BRACKET, start) + 1; level < end; level++) {
      if (bytes[level] !== OPEN_BRACE) continue
      const price = level + PRICE_OFFSET + PRICE_START
      const isAfterLevel = bytes[level - 1] === COMMA && bytes[lastLevel - 1] === COMMA
      if (isAfterLevel) {
        const priceEnd = this.#numberAfter(LEVEL_GAP, level - lastLevel, price)
        at = this.#numberAfter(SIZE_OFFSET, priceEnd - lastPriceEnd, priceEnd + SIZE_OFFSET)
        lastPriceEnd = priceEnd
      } else {
        lastPriceEnd = endOfNumber(bytes, price)
        const sizeEnd = endOfNumber(bytes, lastPriceEnd + SIZE_OFFSET)
        this.#literals(at, sizeEnd)
        at = sizeEnd
      }
      lastLevel = level
      level = at
    }
    this.#literals(at, end)
  }

  /** Writes `row` against `previous`, whose text ends `gap` bytes before the comma of `row`. */
  after(row: RowText, previous: RowText, gap: number): void {
    const base = previous.length + gap + 1
    // Beyond deflate's window.
    if (base + row.length > MATCH_DISTANCE_MAX) {
      this.alone(row.bytes, 0, row.length)
      return
    }
    this.#begin(row.bytes, row.length)
    this.#previous = previous.bytes
    this.#base = base
    this.#header(row, previous)
    const bidsEnd = this.#ladder(row.bids, previous.bids, false)
    this.#joinBack(bidsEnd, row.asks.open + 1, previous.asks.open + 1)
    const asksEnd = this.#ladder(row.asks, previous.asks, true)
    this.#joinBack(asksEnd, row.length, previous.length)
    this.#flush()
  }

  #begin(bytes: Uint8Array, length: number): void {
    this.#bytes = bytes
    this.#matchLength = 0
    // No symbol of this code takes more than two bytes per byte of text.
    this.#bits.reserve(length * 2 + 16)
  }

  #header(row: RowText, previous: RowText): void {
    const idLengthMax = Math.min(row.idEnd, previous.idEnd) - ID_OFFSET
    const same = this.#sameAt(ID_OFFSET, ID_OFFSET, idLengthMax)
    this.#copy(0, ID_OFFSET + same, this.#base)
    this.#literals(ID_OFFSET + same, row.idEnd)
    const moved = row.idEnd - previous.idEnd
    const end = row.bids.open + 1
    let at = row.idEnd
    while (at < end) {
      const kept = this.#sameAt(at, at - moved, end - at)
      this.#copy(at, kept, this.#base + moved)
      at += kept
      const changed = at
      while (at < end && row.bytes[at] !== previous.bytes[at - moved]) at++
      this.#literals(changed, at)
    }
  }

  /** Writes the levels of one side up to the end of the last size; returns that end. */
  #ladder(now: LadderText, old: LadderText, isAsks: boolean): number {
    const head = sameBest(now, old)
    const tail = sameWorst(now, old, head)
    const end = now.count - tail
    const oldEnd = old.count - tail
    let done = this.#sameLevels(now.open + 1, { now, i: 0, old, j: 0 }, head)
    let j = head
    let isAdjacent = true
    for (let i = head; i < end; i++) {
      const price = now.prices[i] ?? 0
      const first = j
      while (j < oldEnd && isBetter(old.prices[j] ?? 0, price, isAsks)) j++
      const isShared = old.prices[j] === price
      const level = { now, i, old, j }
      if (isShared) this.#sharedLevel(level, done, isAdjacent && j === first)
      else this.#newLevel(level, done)
      j += Number(isShared)
      isAdjacent = isShared
      done = now.ends[i] ?? 0
    }
    const worst = { now, i: end, old, j: oldEnd }
    if (tail === 0 || (isAdjacent && j === oldEnd)) return this.#sameLevels(done, worst, tail)
    this.#sharedLevel(worst, done, false)
    const next = { now, i: end + 1, old, j: oldEnd + 1 }
    return this.#sameLevels(now.ends[end] ?? 0, next, tail - 1)
  }

  /** Writes `count` levels, and the text before them, as a match with the previous row. */
  #sameLevels(done: number, { now, i, old, j }: Level, count: number): number {
    if (count === 0) return done
    const end = now.ends[i + count - 1] ?? 0
    this.#copy(done, end - done, this.#base + end - (old.ends[j + count - 1] ?? 0))
    return end
  }

  /** Writes a level that the previous row has as well, sharing the unchanged digits of its size. */
  #sharedLevel(level: Level, done: number, isAdjacent: boolean): void {
    const { now, i, old, j } = level
    const base = this.#base
    const end = now.ends[i] ?? 0
    const isSame = now.sizes[i] === old.sizes[j]
    // Most levels are unchanged, together with the text before them.
    if (isSame && isAdjacent) {
      this.#copy(done, end - done, base + end - (old.ends[j] ?? 0))
      return
    }
    const start = now.sizeStarts[i] ?? 0
    const oldStart = old.sizeStarts[j] ?? 0
    // Levels that are adjacent in both rows have the same text between them.
    if (isAdjacent) this.#copy(done, start - done, base + start - oldStart)
    else this.#joinBack(done, start, oldStart)
    if (isSame) {
      this.#copy(start, end - start, base + start - oldStart)
      return
    }
    const oldEnd = old.ends[j] ?? 0
    const shorter = Math.min(end - start, oldEnd - oldStart)
    const head = this.#sameAt(start, oldStart, shorter)
    let tail = 0
    const tailMax = shorter - head
    while (tail < tailMax && this.#bytes[end - 1 - tail] === this.#previous[oldEnd - 1 - tail])
      tail++
    this.#copy(start, head, base + start - oldStart)
    this.#literals(start + head, end - tail)
    this.#copy(end - tail, tail, base + end - oldEnd)
  }

  /** Writes a level that the previous row lacks, borrowing the fixed text of another level. */
  #newLevel({ now, i, old, j }: Level, done: number): void {
    const end = now.ends[i] ?? 0
    if (old.count === 0) {
      this.#literals(done, end)
      return
    }
    const model = Math.min(j, old.count - 1)
    const price = (now.starts[i] ?? 0) + PRICE_OFFSET
    const priceEnd = (now.sizeStarts[i] ?? 0) - SIZE_OFFSET
    const oldPrice = (old.starts[model] ?? 0) + PRICE_OFFSET
    this.#joinBack(done, price, oldPrice)
    const same = this.#sameAt(price, oldPrice, priceEnd - price)
    this.#copy(price, same, this.#base + price - oldPrice)
    this.#literals(price + same, priceEnd)
    const oldPriceEnd = (old.sizeStarts[model] ?? 0) - SIZE_OFFSET
    this.#copy(priceEnd, SIZE_OFFSET, this.#base + priceEnd - oldPriceEnd)
    this.#literals(priceEnd + SIZE_OFFSET, end)
  }

  /** The number of bytes, up to `max`, equal from `start` and, in the previous row, from `at`. */
  #sameAt(start: number, at: number, max: number): number {
    let same = 0
    while (same < max && this.#bytes[start + same] === this.#previous[at + same]) same++
    return same
  }

  /** Writes `from` to `to`; the end that equals the text before `previousTo` becomes a match. */
  #joinBack(from: number, to: number, previousTo: number): void {
    let same = 0
    const sameMax = Math.min(to - from, previousTo)
    while (same < sameMax && this.#bytes[to - 1 - same] === this.#previous[previousTo - 1 - same])
      same++
    this.#literals(from, to - same)
    this.#copy(to - same, same, this.#base + to - previousTo)
  }

  /** Copies bytes at `start` from `distance` before; may extend the pending match. */
  #copy(start: number, length: number, distance: number): void {
    if (length === 0) return
    if (distance === this.#matchDistance && start === this.#matchStart + this.#matchLength) {
      this.#matchLength += length
      return
    }
    this.#flush()
    this.#matchStart = start
    this.#matchLength = length
    this.#matchDistance = distance
  }

  #literals(start: number, end: number): void {
    if (start >= end) return
    this.#flush()
    for (let at = start; at < end; at++) this.#literal(this.#bytes[at] ?? 0)
  }

  /** Writes a match, then the digits of a number, several at a time; returns the next offset. */
  #numberAfter(length: number, distance: number, start: number): number {
    const bytes = this.#bytes
    let count = lengthBits[length] ?? 0
    let code = (lengthCodes[length] ?? 0) | ((distanceCodesByDistance[distance] ?? 0) << count)
    count += distanceBits[distance] ?? 0
    let at = start
    for (;;) {
      const pair = digitPairAt(bytes, at)
      if (pair === 0) break
      if (count > 15) {
        this.#bits.put(code, count)
        code = 0
        count = 0
      }
      code |= (pair >> 5) << count
      count += pair & 31
      at += 2
    }
    if (!isNumberEnd(bytes[at])) {
      this.#bits.put(code, count)
      code = literalCodes[bytes[at] ?? 0] ?? 0
      count = literalBits[bytes[at++] ?? 0] ?? 0
    }
    this.#bits.put(code, count)
    return at
  }

  #literal(byte: number): void {
    this.#bits.put(literalCodes[byte] ?? 0, literalBits[byte] ?? 0)
  }

  #flush(): void {
    let rest = this.#matchLength
    if (rest === 0) return
    this.#matchLength = 0
    if (rest < WORTHWHILE_LENGTH) {
      this.#literals(this.#matchStart, this.#matchStart + rest)
      return
    }
    const distance = this.#matchDistance
    while (rest > 0) {
      let length = Math.min(rest, MATCH_LENGTH_MAX)
      // The remainder must be long enough for a match of its own.
      if (rest > length && rest - length < MATCH_LENGTH_MIN) length = rest - MATCH_LENGTH_MIN
      this.match(length, distance)
      rest -= length
    }
  }

  /** Repeats text from `distance` before. */
  match(length: number, distance: number): void {
    const code = lengthCodes[length] ?? 0
    const count = lengthBits[length] ?? 0
    const distanceCode = distanceCodesByDistance[distance] ?? 0
    const total = count + (distanceBits[distance] ?? 0)
    if (total < 32) {
      this.#bits.put(code | (distanceCode << count), total)
      return
    }
    this.#bits.put(code, count)
    this.#bits.put(distanceCode, total - count)
  }
}

/** Level `i` of a side of the row, and its index, or insertion point, in the previous row. */
type Level = { now: LadderText; i: number; old: LadderText; j: number }

const isBetter = (price: number, other: number, isAsks: boolean): boolean =>
  isAsks ? price < other : price > other

const isLetter = (code: number): boolean => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a

/** The offset of `part`: `at` if it is there, else its first one; -1 if there is none. */
function findNear(text: string, part: string, at: number): number {
  const next = text.indexOf(part, at)
  return next < 0 ? text.indexOf(part) : next
}

/** True at the end of a number: in a level, a comma or a brace follows. */
const isNumberEnd = (byte: number | undefined): boolean =>
  byte === COMMA || byte === CLOSE_BRACE || byte === undefined

/** The offset after the number that begins or continues at `from`. */
function endOfNumber(bytes: Uint8Array, from: number): number {
  let at = from
  while (!isNumberEnd(bytes[at])) at++
  return at
}
