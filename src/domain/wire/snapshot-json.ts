/**
 * Parses one snapshot from JSON bytes, as recorded (decimals quoted, best level last) or as served
 * (decimals bare, best level first). An import spends most of its time here. The line is first
 * copied in front of a zero byte, which no JSON token contains, so the readers need no bounds
 * checks.
 */

import { type Millionths, MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import type { Coin, Outcome, Source, Timeframe } from '#src/domain/market.ts'
import { recordFault } from '#src/domain/record-fault.ts'
import {
  type Ladder,
  type Snapshot,
  type SnapshotField,
  snapshotFields,
} from '#src/domain/snapshot.ts'

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
import {
  createTextReaders,
  millionthsFaults,
  readId,
  readMillionths,
  readReceived,
  readTimestamp,
} from './snapshot-values.ts'

export const LINE_BYTES_MAX = 4_194_304
/** Padding after the zero byte for reads of a whole word or a few bytes. */
const PADDING_BYTES = 64

/** A parsed snapshot with the `id` that its sender gave it. */
export type ScannedSnapshot = Snapshot & {
  readonly id: string
  /** The source of the book, if the line names it. */
  readonly source?: Source | undefined
}

/** The fields read so far; `undefined` is missing. The same shape for every line. */
class Draft {
  id: string | undefined
  assetId: string | undefined
  conditionId: string | undefined
  symbol: Coin | undefined
  outcome: Outcome | undefined
  timeframe: Timeframe | undefined
  timestamp: number | undefined
  bids: Ladder | undefined
  asks: Ladder | undefined
  receivedMs: number | undefined
  source: Source | undefined
}
type Values = { [field in SnapshotField]: NonNullable<Draft[field]> }
type Fields = { [field in SnapshotField]: Values[field] | undefined }
type Readers = { [field in SnapshotField]: (cursor: Cursor) => Values[field] }

const encoder = new TextEncoder()
const toKey = (name: string): Uint8Array => encoder.encode(`"${name}"`)
const keys = snapshotFields.map(toKey)
/** Names of the time of receipt: ours, and that of recordings. Optional. */
const receivedKeys = ['receivedAt', '_recv'].map((name) => ({ name, key: toKey(name) }))

/** The source in our own exports; a `source` in any other form is ignored. */
const sourceKey = toKey('source')
const sources = (['recorded', 'simulated'] as const).map((name) => ({ name, text: toKey(name) }))

const readSource = ({ bytes, at }: Cursor): Source | undefined =>
  sources.find(({ text }) => startsWith(bytes, at, text))?.name

/** The current line, shared by all scanners. A zero byte ends it; later bytes do not matter. */
const buffer = Buffer.allocUnsafeSlow(LINE_BYTES_MAX + PADDING_BYTES)
const cursor: Cursor = { bytes: buffer, view: new DataView(buffer.buffer), at: 0 }

/** Creates a scanner that refuses an object with a `foreign` member: it may not be a snapshot. */
export function createSnapshotScanner(foreign: readonly string[] = []) {
  const readLadder = createLadderReader()
  const readers: Readers = {
    ...createTextReaders(),
    id: readId,
    timestamp: readTimestamp,
    bids: (at) => readLadder(at, 'bids'),
    asks: (at) => readLadder(at, 'asks'),
  }
  const foreignKeys = foreign.map(toKey)

  return {
    /** Parses `bytes[start..end)`: one object and white space. Throws a `record` fault. */
    scan(bytes: Uint8Array, start: number, end: number): ScannedSnapshot {
      const length = end - start
      if (length > LINE_BYTES_MAX) throw recordFault(`longer than ${LINE_BYTES_MAX} bytes`)
      buffer.set(bytes.subarray(start, end))
      buffer[length] = 0
      cursor.at = 0
      const draft = readObject(cursor, readers, foreignKeys)
      if (skipSpace(buffer, cursor.at) !== length) throw recordFault('text after the object')
      return toSnapshot(draft)
    },
  }
}

function readObject(cursor: Cursor, readers: Readers, foreignKeys: readonly Uint8Array[]): Draft {
  const { bytes } = cursor
  const draft = new Draft()
  cursor.at = skipSpace(bytes, 0)
  if (byteAt(bytes, cursor.at) !== byteOf.openBrace) throw recordFault('not a JSON object')
  const first = skipSpace(bytes, cursor.at + 1)
  if (byteAt(bytes, first) === byteOf.closeBrace) throw recordFault('an empty object')
  let expected = 0
  do {
    const keyAt = skipSpace(bytes, cursor.at + 1)
    const index = findField(bytes, keyAt, expected)
    cursor.at = assertJson(skipKey(bytes, keyAt))
    const field = snapshotFields[index]
    if (field === undefined) readOther(cursor, { keyAt, foreignKeys, draft })
    else if (draft[field] !== undefined) throw recordFault(`${field}: repeated`)
    else readField(cursor, field, { draft, readers })
    expected = index + 1
    cursor.at = skipSpace(bytes, cursor.at)
  } while (byteAt(bytes, cursor.at) === byteOf.comma)
  if (byteAt(bytes, cursor.at) !== byteOf.closeBrace) throw recordFault('not valid JSON')
  cursor.at++
  return draft
}

function readField<Field extends SnapshotField>(
  cursor: Cursor,
  field: Field,
  { draft, readers }: { draft: Fields; readers: Readers },
): void {
  draft[field] = readers[field](cursor)
}

/** Returns the index of the field whose key is at `at`, or -1; tries `expected` first. */
function findField(bytes: Uint8Array, at: number, expected: number): number {
  const guess = keys[expected]
  if (guess !== undefined && startsWith(bytes, at, guess)) return expected
  return keys.findIndex((key) => startsWith(bytes, at, key))
}

function assertJson(at: number): number {
  if (at === MALFORMED) throw recordFault('not valid JSON')
  return at
}

type Member = { keyAt: number; foreignKeys: readonly Uint8Array[]; draft: Draft }

/** Reads an unknown member. Throws for a foreign key, or one with escapes, which may be one. */
function readOther(cursor: Cursor, { keyAt, foreignKeys, draft }: Member): void {
  const key = cursor.bytes.subarray(keyAt, cursor.at)
  const received = receivedKeys.find((known) => startsWith(key, 0, known.key))
  if (received !== undefined) {
    if (draft.receivedMs !== undefined) throw recordFault(`${received.name}: a second receipt time`)
    draft.receivedMs = readReceived(cursor, received.name)
    return
  }
  if (startsWith(key, 0, sourceKey)) draft.source = readSource(cursor)
  if (key.includes(byteOf.backslash) || foreignKeys.some((foreign) => startsWith(key, 0, foreign)))
    throw recordFault('an unknown member')
  cursor.at = assertJson(skipValue(cursor.bytes, cursor.at))
}

const isWhole = (draft: Draft): draft is Values & Draft =>
  snapshotFields.every((field) => draft[field] !== undefined)

function toSnapshot(draft: Draft): ScannedSnapshot {
  if (!isWhole(draft)) {
    const missing = snapshotFields.find((field) => draft[field] === undefined)
    throw recordFault(`${missing}: missing`)
  }
  const { id, symbol, timestamp, conditionId, timeframe, assetId, outcome, bids, asks } = draft
  return {
    coin: symbol,
    conditionId,
    timeframe,
    assetId,
    outcome,
    timestampMs: timestamp,
    bids,
    asks,
    // The venue's hash of the book, if the id has its form.
    sourceHash: /^[0-9a-f]{40}$/i.test(id) ? id.toLowerCase() : undefined,
    receivedMs: draft.receivedMs,
    source: draft.source,
    id,
  }
}

const LEVELS_MAX = 2000

type Side = 'bids' | 'asks'

const priceKey = toKey('price')
const sizeKey = toKey('size')

/** `{"price"` and `,"size":` as two little-endian words each: one comparison per four bytes. */
const PRICE_WORDS = [0x7270227b, 0x22656369] as const
const SIZE_WORDS = [0x6973222c, 0x3a22657a] as const

type LevelBuffer = { readonly prices: Int32Array; readonly sizes: Float64Array }

/**
 * Reads one side of a book: `{"price":…,"size":…}` with decimals quoted or bare, sorted either way;
 * returns the best level first. Nearly all bytes of a line are levels, so a compact level takes a
 * fast path; any other is read again by the general path, which also names the fault.
 */
function createLadderReader(): (cursor: Cursor, side: Side) => Ladder {
  const buffer = { prices: new Int32Array(LEVELS_MAX), sizes: new Float64Array(LEVELS_MAX) }
  return (cursor, side) => toLadder(buffer, readLevels(cursor, side, buffer), side)
}

function readLevels(cursor: Cursor, side: Side, buffer: LevelBuffer): number {
  const { bytes } = cursor
  if (byteAt(bytes, cursor.at) !== byteOf.openBracket) throw recordFault(`${side}: no array`)
  cursor.at = skipSpace(bytes, cursor.at + 1)
  let count = 0
  if (byteAt(bytes, cursor.at) !== byteOf.closeBracket) {
    for (;;) {
      if (count === LEVELS_MAX) throw recordFault(`${side}: more than ${LEVELS_MAX} levels`)
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
    throw recordFault(`${side}: not valid JSON after ${count} levels`)
  }
  cursor.at++
  return count
}

/**
 * Reads a compact level as recordings and the store write it. Returns false, without moving, for
 * anything else.
 */
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

function readLevel(
  cursor: Cursor,
  { buffer, count, path }: { buffer: LevelBuffer; count: number; path: string },
): void {
  const { bytes } = cursor
  if (byteAt(bytes, cursor.at) !== byteOf.openBrace) throw recordFault(`${path}: no object`)
  const first = skipSpace(bytes, cursor.at + 1)
  if (byteAt(bytes, first) === byteOf.closeBrace) throw recordFault(`${path}.price: missing`)
  let price: Millionths | undefined
  let size: Millionths | undefined
  do {
    const key = skipSpace(bytes, cursor.at + 1)
    cursor.at = skipKey(bytes, key)
    if (cursor.at === MALFORMED) throw recordFault(`${path}: not valid JSON`)
    if (startsWith(bytes, key, priceKey)) price = readOnce(cursor, price, `${path}.price`)
    else if (startsWith(bytes, key, sizeKey)) size = readOnce(cursor, size, `${path}.size`)
    else cursor.at = skipValue(bytes, cursor.at)
    if (cursor.at === MALFORMED) throw recordFault(`${path}: not valid JSON`)
    cursor.at = skipSpace(bytes, cursor.at)
  } while (byteAt(bytes, cursor.at) === byteOf.comma)
  if (byteAt(bytes, cursor.at) !== byteOf.closeBrace) {
    throw recordFault(`${path}: not valid JSON`)
  }
  cursor.at++
  if (price === undefined) throw recordFault(`${path}.price: missing`)
  if (size === undefined) throw recordFault(`${path}.size: missing`)
  assertLevel(price, size, path)
  buffer.prices[count] = price
  buffer.sizes[count] = size
}

function assertLevel(price: Millionths, size: Millionths, path: string): void {
  if (price === 0 || price >= MILLIONTHS_PER_UNIT) {
    throw recordFault(`${path}.price: not between 0 and 1`)
  }
  if (size === 0) throw recordFault(`${path}.size: zero`)
}

function readOnce(cursor: Cursor, known: Millionths | undefined, path: string): Millionths {
  if (known !== undefined) throw recordFault(`${path}: repeated`)
  const millionths = readMillionths(cursor)
  if (millionths < 0) throw recordFault(`${path}: ${millionthsFaults[-millionths]}`)
  return millionths
}

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
    throw recordFault(`${side}[${index}].price: ${fault}`)
  }
}
