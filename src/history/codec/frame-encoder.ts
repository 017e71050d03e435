/**
 * The frame of a snapshot: its text, as it is served, in the store's Huffman
 * code, as a run of bits. A frame is alone, or its matches reach back into the previous row of the
 * same outcome and no further, so it is valid wherever that row's text is as many bytes before it.
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

/** A match from the previous row costs about four literals: shorter ones are written out. */
const WORTHWHILE_LENGTH = 5
/** Text that is looked for elsewhere when what is beside it differs. */
const PROBE_LENGTH = 6

/** Every price lies between 0 and 1, so it begins with `0.`. */
const PRICE_START = '0.'.length
/** `},` and what comes before the price's digits. */
const LEVEL_GAP = '},'.length + PRICE_OFFSET + PRICE_START

const { openBracket: OPEN_BRACKET, openBrace: OPEN_BRACE } = byteOf
const { closeBrace: CLOSE_BRACE, comma: COMMA } = byteOf

/**
 * Codes of two digits of a number at a time, a point being one: by the lowest four bits of both,
 * which differ for all that a number has in it or after it.
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

/** Both codes, and their bits (16 at most) in the lowest five; 0 where either is no digit. */
const digitPairAt = (bytes: Uint8Array, at: number): number =>
  pairs[placeOf(bytes[at] ?? 0, bytes[at + 1] ?? 0)] ?? 0

export class FrameEncoder {
  readonly #bits: BitWriter
  #bytes: Uint8Array = new Uint8Array(0)
  /** Of the row before, whose text begins `#base` bytes before that of the row. */
  #previous: Uint8Array = new Uint8Array(0)
  #base = 0
  /** The pending match: where it starts in the row, how long it is, how far back it reaches. */
  #matchStart = 0
  #matchLength = 0
  #matchDistance = 0

  constructor(bits: BitWriter) {
    this.#bits = bits
  }

  /** Writes text that precedes or follows rows; printable ASCII only. */
  text(text: string): void {
    this.#bits.reserve(text.length * 2)
    for (let i = 0; i < text.length; i++) this.#literal(text.charCodeAt(i))
  }

  /**
   * Writes text as `text` does, what an earlier one has too as matches. That one ends as far before
   * the end of this one as `distance` says, and before its beginning.
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
    /** From a place in the text to where the earlier one is like it. */
    let moved = 0
    let isInWord = false
    for (let at = 0; at < text.length;) {
      const code = text.charCodeAt(at)
      let same = sameFrom(at, at + moved)
      // A word that differs is looked for once: most are of a cursor, and nowhere.
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

  /** Ends the block and the gzip member around it (RFC 1952). */
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
   * Writes the row so that it needs no other: what is between the digits of two levels is a match
   * from one level before, all digits are literals. It runs for each page, so little is compared.
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
    // Deflate's window is too short.
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
    // No symbol of this code takes more than two bytes a byte of text.
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

  /** Writes the levels of one side to the end of the last size; returns that end. */
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

  /** Writes levels from one on, and what is before them, as they are in the previous row. */
  #sameLevels(done: number, { now, i, old, j }: Level, count: number): number {
    if (count === 0) return done
    const end = now.ends[i + count - 1] ?? 0
    this.#copy(done, end - done, this.#base + end - (old.ends[j + count - 1] ?? 0))
    return end
  }

  /** Writes a level that the previous row has too, sharing the unchanged digits of its size. */
  #sharedLevel(level: Level, done: number, isAdjacent: boolean): void {
    const { now, i, old, j } = level
    const base = this.#base
    const end = now.ends[i] ?? 0
    const isSame = now.sizes[i] === old.sizes[j]
    // Most levels are as they were, and so is what is before them.
    if (isSame && isAdjacent) {
      this.#copy(done, end - done, base + end - (old.ends[j] ?? 0))
      return
    }
    const start = now.sizeStarts[i] ?? 0
    const oldStart = old.sizeStarts[j] ?? 0
    // Between two levels that follow each other in both rows is the same text.
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

  /** Writes a level that the previous row lacks, borrowing the fixed text of one that it has. */
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

  /** How many bytes from `start` on agree with the previous row's from `at` on, `max` at most. */
  #sameAt(start: number, at: number, max: number): number {
    let same = 0
    while (same < max && this.#bytes[start + same] === this.#previous[at + same]) same++
    return same
  }

  /** Writes `from` to `to`, the end that agrees with what is before `previousTo` as a match. */
  #joinBack(from: number, to: number, previousTo: number): void {
    let same = 0
    const sameMax = Math.min(to - from, previousTo)
    while (same < sameMax && this.#bytes[to - 1 - same] === this.#previous[previousTo - 1 - same])
      same++
    this.#literals(from, to - same)
    this.#copy(to - same, same, this.#base + to - previousTo)
  }

  /** Takes bytes at `start` from `distance` before, growing the pending match if it continues. */
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

  /** A match, then the digits of a number, several at a time; returns the offset after it. */
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
      // A remainder must not be too short for a match of its own.
      if (rest > length && rest - length < MATCH_LENGTH_MIN) length = rest - MATCH_LENGTH_MIN
      this.match(length, distance)
      rest -= length
    }
  }

  /** Repeats text from so far before. */
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

/** Level `i` of the row's side, and where it is or would be in the previous row's. */
type Level = { now: LadderText; i: number; old: LadderText; j: number }

const isBetter = (price: number, other: number, isAsks: boolean): boolean =>
  isAsks ? price < other : price > other

const isLetter = (code: number): boolean => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a

/** Where `part` is, from `at` on if it is there; -1 if it is nowhere. */
function findNear(text: string, part: string, at: number): number {
  const next = text.indexOf(part, at)
  return next < 0 ? text.indexOf(part) : next
}

/** Every number of a level has a comma or a brace after it; so does what is no level. */
const isNumberEnd = (byte: number | undefined): boolean =>
  byte === COMMA || byte === CLOSE_BRACE || byte === undefined

/** Offset after the number that is or continues at `from`. */
function endOfNumber(bytes: Uint8Array, from: number): number {
  let at = from
  while (!isNumberEnd(bytes[at])) at++
  return at
}
