/**
 * Reads one side of a book: an array of `{"price":…,"size":…}` with decimals quoted or bare, sorted
 * either way. Nearly all bytes of a snapshot are here, so a level that is written compactly takes a
 * short path that only looks for what it expects; anything else is read again in full, which also
 * finds the words for what is wrong with it.
 */
import { type Millionths, MILLIONTHS_PER_UNIT } from '#src/core/decimal.ts'
import { RecordFault } from '#src/core/record-fault.ts'
import type { Ladder } from '#src/core/snapshot.ts'

import {
  byteAt,
  byteOf,
  type Cursor,
  MALFORMED,
  skipKey,
  skipSpace,
  skipValue,
  startsWith,
} from './json-bytes.ts'
import { millionthsFaults, readMillionths } from './millionths-bytes.ts'

/** Most levels on one side of a book. */
export const LEVELS_MAX = 2000

export type Side = 'bids' | 'asks'

export type LadderReader = {
  /** Reads the array at the cursor, best level first, and moves past it. Throws `RecordFault`. */
  read(cursor: Cursor, side: Side): Ladder
}

const encoder = new TextEncoder()
const priceKey = encoder.encode('"price"')
const sizeKey = encoder.encode('"size"')

/** `{"price"` and `,"size":` in two little-endian words each: one comparison for four bytes. */
const PRICE_WORDS = [0x7270227b, 0x22656369] as const
const SIZE_WORDS = [0x6973222c, 0x3a22657a] as const

type LevelBuffer = { readonly prices: Int32Array; readonly sizes: Float64Array }

/** Creates a reader; it holds working space, so it reads one ladder at a time. */
export function createLadderReader(): LadderReader {
  const buffer = { prices: new Int32Array(LEVELS_MAX), sizes: new Float64Array(LEVELS_MAX) }
  return {
    read(cursor, side) {
      const count = readLevels(cursor, side, buffer)
      return toLadder(buffer, count, side)
    },
  }
}

/** Fills the buffer in the order of the text and returns the number of levels. */
function readLevels(cursor: Cursor, side: Side, buffer: LevelBuffer): number {
  const { bytes } = cursor
  if (byteAt(bytes, cursor.at) !== byteOf.openBracket) throw new RecordFault(`${side}: no array`)
  cursor.at = skipSpace(bytes, cursor.at + 1)
  let count = 0
  if (byteAt(bytes, cursor.at) !== byteOf.closeBracket) {
    for (;;) {
      if (count === LEVELS_MAX) throw new RecordFault(`${side}: more than ${LEVELS_MAX} levels`)
      if (!readCompactLevel(cursor, count, buffer)) {
        readLevel(cursor, { buffer, count, path: `${side}[${count}]` })
      }
      count++
      cursor.at = skipSpace(bytes, cursor.at)
      if (byteAt(bytes, cursor.at) !== byteOf.comma) break
      cursor.at = skipSpace(bytes, cursor.at + 1)
    }
  }
  if (byteAt(bytes, cursor.at) !== byteOf.closeBracket) {
    throw new RecordFault(`${side}: not valid JSON after ${count} levels`)
  }
  cursor.at++
  return count
}

/** Reads a level as both sides write it. Returns false, not having moved, for anything else. */
function readCompactLevel(cursor: Cursor, index: number, buffer: LevelBuffer): boolean {
  const { bytes, view } = cursor
  const start = cursor.at
  if (
    view.getUint32(start, true) === PRICE_WORDS[0] &&
    view.getUint32(start + 4, true) === PRICE_WORDS[1] &&
    bytes[start + 8] === byteOf.colon
  ) {
    cursor.at = start + 9
    const price = readMillionths(cursor)
    const middle = cursor.at
    if (
      view.getUint32(middle, true) === SIZE_WORDS[0] &&
      view.getUint32(middle + 4, true) === SIZE_WORDS[1]
    ) {
      cursor.at = middle + 8
      const size = readMillionths(cursor)
      if (isLevel(price, size) && bytes[cursor.at] === byteOf.closeBrace) {
        cursor.at++
        buffer.prices[index] = price
        buffer.sizes[index] = size
        return true
      }
    }
  }
  cursor.at = start
  return false
}

const isLevel = (price: Millionths, size: Millionths): boolean =>
  price > 0 && price < MILLIONTHS_PER_UNIT && size > 0

/** Reads a level with its keys in any order, unknown ones and white space. */
function readLevel(
  cursor: Cursor,
  { buffer, count, path }: { buffer: LevelBuffer; count: number; path: string },
): void {
  const { bytes } = cursor
  if (byteAt(bytes, cursor.at) !== byteOf.openBrace) throw new RecordFault(`${path}: no object`)
  const first = skipSpace(bytes, cursor.at + 1)
  if (byteAt(bytes, first) === byteOf.closeBrace) throw new RecordFault(`${path}.price: missing`)
  let price: Millionths | undefined
  let size: Millionths | undefined
  do {
    const key = skipSpace(bytes, cursor.at + 1)
    cursor.at = skipKey(bytes, key)
    if (cursor.at === MALFORMED) throw new RecordFault(`${path}: not valid JSON`)
    if (startsWith(bytes, key, priceKey)) price = readOnce(cursor, price, `${path}.price`)
    else if (startsWith(bytes, key, sizeKey)) size = readOnce(cursor, size, `${path}.size`)
    else cursor.at = skipValue(bytes, cursor.at)
    if (cursor.at === MALFORMED) throw new RecordFault(`${path}: not valid JSON`)
    cursor.at = skipSpace(bytes, cursor.at)
  } while (byteAt(bytes, cursor.at) === byteOf.comma)
  if (byteAt(bytes, cursor.at) !== byteOf.closeBrace) {
    throw new RecordFault(`${path}: not valid JSON`)
  }
  cursor.at++
  assertLevel(price, size, path)
  buffer.prices[count] = price ?? 0
  buffer.sizes[count] = size ?? 0
}

function readOnce(cursor: Cursor, known: Millionths | undefined, path: string): Millionths {
  if (known !== undefined) throw new RecordFault(`${path}: repeated`)
  const millionths = readMillionths(cursor)
  if (millionths < 0) throw new RecordFault(`${path}: ${millionthsFaults[-millionths]}`)
  return millionths
}

function assertLevel(
  price: Millionths | undefined,
  size: Millionths | undefined,
  path: string,
): void {
  if (price === undefined) throw new RecordFault(`${path}.price: missing`)
  if (size === undefined) throw new RecordFault(`${path}.size: missing`)
  if (price === 0 || price >= MILLIONTHS_PER_UNIT) {
    throw new RecordFault(`${path}.price: not between 0 and 1`)
  }
  if (size === 0) throw new RecordFault(`${path}.size: zero`)
}

/** Copies the levels out, best first. */
function toLadder(buffer: LevelBuffer, count: number, side: Side): Ladder {
  const isAscending = count > 1 && (buffer.prices[1] ?? 0) > (buffer.prices[0] ?? 0)
  assertSorted(buffer.prices, { count, side, direction: isAscending ? 1 : -1 })
  const isBestFirst = isAscending === (side === 'asks')
  const ladder = { prices: new Array<Millionths>(count), sizes: new Array<Millionths>(count) }
  for (let index = 0; index < count; index++) {
    const from = isBestFirst ? index : count - 1 - index
    ladder.prices[index] = buffer.prices[from] ?? 0
    ladder.sizes[index] = buffer.sizes[from] ?? 0
  }
  return ladder
}

function assertSorted(
  prices: Int32Array,
  { count, side, direction }: { count: number; side: Side; direction: 1 | -1 },
): void {
  for (let index = 1; index < count; index++) {
    const step = (prices[index] ?? 0) - (prices[index - 1] ?? 0)
    if (step * direction > 0) continue
    const fault = step === 0 ? `the same as ${side}[${index - 1}].price` : 'out of order'
    throw new RecordFault(`${side}[${index}].price: ${fault}`)
  }
}
