/**
 * Changes of books as JSON: the levels in which a state differs from the previous state of its
 * outcome, size 0 if a level is gone. The levels are copied from the texts of the books. Parts known
 * to repeat the previous text are skipped, so the cost follows the change, not the book.
 */
import type { Outcome } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { type Copies, noCopies } from '#src/platform/copies.ts'

import { byteOf } from './json-bytes.ts'
import { ASKS_KEY, LEVEL_BYTES_MIN, PRICE_KEY, readDecimal } from './level-columns.ts'
import { createTimePut, piecesOf, putInteger, putPiece } from './row-bytes.ts'

/**
 * Offsets of the sides of a snapshot in `bytes`; `words` is a view of the same buffer. At least
 * `TEXT_SLACK` bytes follow the text.
 */
export type BookText = {
  bytes: Uint8Array
  words: DataView
  bids: number
  bidsEnd: number
  asks: number
  asksEnd: number
}

/** The end of a row after its last level. */
const ROW_END = ']}'.length

/** Finds the sides of the row from `start` to `end`. */
export function bookTextOf(
  { bytes, words }: Pick<BookText, 'bytes' | 'words'>,
  start: number,
  end: number,
): BookText {
  const bids = bytes.indexOf(byteOf.openBracket, start) + 1
  const bidsEnd = bytes.indexOf(byteOf.closeBracket, bids)
  return { bytes, words, bids, bidsEnd, asks: bidsEnd + ASKS_KEY, asksEnd: end - ROW_END }
}

/** Texts are copied in words: the last word may extend beyond the end. */
export const TEXT_SLACK = 4

/** Copies the sides of a text out of a buffer that is reused. */
export function copyOf({ bytes, bids, bidsEnd, asks, asksEnd }: BookText): BookText {
  const own = new Uint8Array(asksEnd - bids + TEXT_SLACK)
  own.set(bytes.subarray(bids, asksEnd))
  return {
    bytes: own,
    words: new DataView(own.buffer),
    bids: 0,
    bidsEnd: bidsEnd - bids,
    asks: asks - bids,
    asksEnd: asksEnd - bids,
  }
}

/** A state and the id of the state that it changes. */
export type ChangedState = Position & {
  outcome: Outcome
  /** Undefined for a whole book. */
  prevId: number | undefined
  receivedMs: number | undefined
  isVerified: boolean | undefined
}

const pieces = piecesOf({
  id: '{"id":"',
  previous: '","prevId":"',
  receipt: '","receivedAt":"',
  asks: '],"asks":[',
  close: ']}',
  gone: ',"size":0}',
})
/** All text between two values in one piece: several calls for each row take longer. */
const outcomePieces = {
  whole: piecesOf({
    up: '","prevId":null,"outcome":"up","timestamp":"',
    down: '","prevId":null,"outcome":"down","timestamp":"',
  }),
  changed: piecesOf({
    up: '","outcome":"up","timestamp":"',
    down: '","outcome":"down","timestamp":"',
  }),
}
const verdictPieces = (before: string, isWhole: boolean) => {
  const after = `,"snapshot":${isWhole},"bids":[`
  return piecesOf({
    null: `${before},"verified":null${after}`,
    true: `${before},"verified":true${after}`,
    false: `${before},"verified":false${after}`,
  })
}
const endPieces = {
  received: { whole: verdictPieces('"', true), changed: verdictPieces('"', false) },
  unknown: {
    whole: verdictPieces('","receivedAt":null', true),
    changed: verdictPieces('","receivedAt":null', false),
  },
}
/** More than the length of a row without its levels. */
const HEADER_BYTES_MAX = 320
const BYTES_START = 65_536

/** Ticks of the venue in millionths, coarsest first. */
const ticks = [10_000, 5_000, 2_500, 1_000] as const
const [COARSEST] = ticks

export class ChangeTexts {
  #bytes = new Uint8Array(BYTES_START)
  #words = new DataView(this.#bytes.buffer)
  #length = 0
  /** Start of the side being written, and the span of levels that is not copied yet. */
  #sideAt = 0
  #from = 0
  #to = 0
  #isFine = false
  readonly #putTime = createTimePut()
  readonly #putReceipt = createTimePut()

  /** Bytes so far. */
  get length(): number {
    return this.#length
  }

  /** All rows with commas between; valid until the next row is added. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Drops all bytes after the first `length`. */
  cut(length: number): void {
    this.#length = length
  }

  /** Adds a whole book. */
  addWhole(state: ChangedState & { prevId: undefined }, now: BookText): void {
    this.#begin(state, now.asksEnd - now.bids)
    const bytes = this.#bytes
    bytes.set(now.bytes.subarray(now.bids, now.asksEnd), this.#length)
    this.#length = putPiece(bytes, this.#length + now.asksEnd - now.bids, pieces.close)
  }

  /**
   * Adds the levels of `now` that differ from those of `before`. `copies` are spans of `now` that
   * repeat earlier text of its buffer; they are used if `before` is in the same buffer. Returns
   * false and adds nothing if `now` has prices on a finer tick.
   */
  addChange(state: ChangedState, now: BookText, before: BookText, copies: Copies): boolean {
    const started = this.#length
    // Each level of either book is written at most once.
    this.#begin(state, now.asksEnd - now.bids + before.asksEnd - before.bids)
    const known = now.bytes === before.bytes ? copies : noCopies
    this.#isFine = false
    this.#putSide(now, now.bids, now.bidsEnd, before, before.bids, before.bidsEnd, known, -1)
    this.#length = putPiece(this.#bytes, this.#length, pieces.asks)
    this.#putSide(now, now.asks, now.asksEnd, before, before.asks, before.asksEnd, known, 1)
    if (this.#isFine && tickIndexOf(now) > tickIndexOf(before)) {
      this.#length = started
      return false
    }
    this.#length = putPiece(this.#bytes, this.#length, pieces.close)
    return true
  }

  #begin({ id, prevId, outcome, timestampMs, receivedMs, isVerified }: ChangedState, more: number) {
    const needed = this.#length + HEADER_BYTES_MAX + more
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(needed * 2)
      grown.set(this.view())
      this.#bytes = grown
      this.#words = new DataView(grown.buffer)
    }
    const bytes = this.#bytes
    let at = this.#length
    if (at > 0) bytes[at++] = byteOf.comma
    at = putInteger(bytes, putPiece(bytes, at, pieces.id), id)
    const form = prevId === undefined ? 'whole' : 'changed'
    if (prevId !== undefined) at = putInteger(bytes, putPiece(bytes, at, pieces.previous), prevId)
    at = this.#putTime(bytes, putPiece(bytes, at, outcomePieces[form][outcome]), timestampMs)
    if (receivedMs !== undefined)
      at = this.#putReceipt(bytes, putPiece(bytes, at, pieces.receipt), receivedMs)
    const ends = endPieces[receivedMs === undefined ? 'unknown' : 'received'][form]
    this.#length = putPiece(bytes, at, ends[`${isVerified ?? null}`])
  }

  /** `worse` is 1 if higher prices are worse, else -1. */
  #putSide(
    now: BookText,
    start: number,
    end: number,
    before: BookText,
    oldStart: number,
    oldEnd: number,
    copies: Copies,
    worse: 1 | -1,
  ): void {
    const { bytes, words } = now
    const { bytes: oldBytes } = before
    this.#sideAt = this.#length
    let at = start
    let old = oldStart
    while (at < end || old < oldEnd) {
      if (at < end && old < oldEnd) {
        // All levels have the same text up to the price.
        const alike = Math.min(copies.endOf(at + PRICE_KEY, at - old), end, oldEnd + at - old)
        const same = alike > at ? lastLevelEnd(bytes, at, alike) : at
        if (same > at) {
          old += same - at + 1
          at = same + 1
          continue
        }
      }
      if (at < end && old < oldEnd && isSamePrice(bytes, at, oldBytes, old)) {
        const stop = levelEnd(bytes, at)
        const oldStop = levelEnd(oldBytes, old)
        if (!isSameText(bytes, at, stop, oldBytes, old, oldStop)) this.#put(words, at, stop)
        at = stop + 1
        old = oldStop + 1
        continue
      }
      const price = at < end ? readDecimal(bytes, at + PRICE_KEY) : NOTHING
      const oldPrice = old < oldEnd ? readDecimal(oldBytes, old + PRICE_KEY) : NOTHING
      const isGone = price === NOTHING || (oldPrice - price) * worse < 0
      if (oldPrice !== NOTHING && isGone) {
        this.#flush(words)
        this.#putGone(oldBytes, old)
        old = levelEnd(oldBytes, old) + 1
      } else {
        const stop = levelEnd(bytes, at)
        this.#put(words, at, stop)
        this.#isFine ||= price % COARSEST !== 0
        at = stop + 1
      }
    }
    this.#flush(words)
  }

  /** Adds a level's text; adjacent levels are copied together. */
  #put(words: DataView, from: number, stop: number): void {
    if (from !== this.#to + 1 || this.#from === this.#to) {
      this.#flush(words)
      this.#from = from
    }
    this.#to = stop
  }

  #flush(words: DataView): void {
    if (this.#from === this.#to) return
    this.#separate()
    const out = this.#words
    const distance = this.#length - this.#from
    const to = this.#to
    for (let at = this.#from; at < to; at += TEXT_SLACK)
      out.setInt32(at + distance, words.getInt32(at, true), true)
    this.#length = to + distance
    this.#from = to
  }

  #putGone(oldBytes: Uint8Array, old: number): void {
    this.#separate()
    const out = this.#bytes
    let length = this.#length
    let at = old
    for (let byte = oldBytes[at]; byte !== byteOf.comma; byte = oldBytes[++at])
      out[length++] = byte ?? 0
    this.#length = putPiece(out, length, pieces.gone)
  }

  #separate(): void {
    if (this.#length > this.#sideAt) this.#bytes[this.#length++] = byteOf.comma
  }
}

const NOTHING = -1

/** The end of the level that begins at `at`. */
function levelEnd(bytes: Uint8Array, at: number): number {
  let end = at + LEVEL_BYTES_MIN
  while (bytes[end] !== byteOf.closeBrace) end++
  return end + 1
}

/** The end of the last level that ends at or before `end`; at most `start` if there is none. */
function lastLevelEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = end
  while (at > start && bytes[at - 1] !== byteOf.closeBrace) at--
  return at
}

function isSamePrice(bytes: Uint8Array, at: number, other: Uint8Array, otherAt: number): boolean {
  for (let index = PRICE_KEY; ; index++) {
    const byte = bytes[at + index]
    if (byte !== other[otherAt + index]) return false
    if (byte === byteOf.comma) return true
  }
}

function isSameText(
  bytes: Uint8Array,
  from: number,
  to: number,
  other: Uint8Array,
  otherFrom: number,
  otherTo: number,
): boolean {
  if (to - from !== otherTo - otherFrom) return false
  for (let at = from; at < to; at++) if (bytes[at] !== other[at - from + otherFrom]) return false
  return true
}

/** The index in `ticks` of the coarsest tick that divides all prices of a book. */
function tickIndexOf({ bytes, bids, bidsEnd, asks, asksEnd }: BookText): number {
  let index = 0
  const look = (start: number, end: number): void => {
    for (let at = start; at < end; at = levelEnd(bytes, at) + 1) {
      const price = readDecimal(bytes, at + PRICE_KEY)
      while (index < ticks.length && price % (ticks[index] ?? 1) !== 0) index++
    }
  }
  look(bids, bidsEnd)
  look(asks, asksEnd)
  return index
}
