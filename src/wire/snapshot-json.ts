/**
 * Reads one snapshot from JSON bytes: as recorded (decimals quoted, best level last) or as we serve
 * it (decimals bare, best level first). Import spends its time here, so decimals go straight from
 * digits to millionths, and texts that repeat from line to line are compared instead of made again.
 *
 * The line is first copied before a zero byte, which no JSON token contains: the readers need
 * no bounds checks and cannot stray into the next line.
 */
import type { Coin, Outcome, Timeframe } from '#src/core/market.ts'
import { RecordFault } from '#src/core/record-fault.ts'
import {
  type Ladder,
  type Snapshot,
  type SnapshotField,
  snapshotFields,
} from '#src/core/snapshot.ts'

import {
  byteAt,
  byteOf,
  type Cursor,
  isHexDigit,
  MALFORMED,
  skipKey,
  skipSpace,
  skipValue,
  startsWith,
} from './json-bytes.ts'
import { createLadderReader } from './ladder-json.ts'
import { createTextReaders, readId, readReceived, readTimestamp } from './snapshot-text.ts'

/** Longest line that is read. */
export const LINE_BYTES_MAX = 1_048_576
/** Room after the zero byte for readers that look at a word, or at a few bytes, at once. */
const PADDING_BYTES = 64

/** A snapshot as it was read, with the `id` that its sender gave it. */
export type ScannedSnapshot = Snapshot & { readonly id: string }

export type SnapshotScanner = {
  /**
   * Reads the snapshot that fills `bytes[start..end)` but for white space. Throws `RecordFault`.
   * Texts are taken as plain ASCII without escapes; keys that are neither ours nor foreign are
   * skipped.
   */
  scan(bytes: Uint8Array, start: number, end: number): ScannedSnapshot
}

/** What was read so far; `undefined` is missing. Of one shape for every line. */
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
}
type Values = { [field in SnapshotField]: NonNullable<Draft[field]> }
type Fields = { [field in SnapshotField]: Values[field] | undefined }
type Readers = { [field in SnapshotField]: (cursor: Cursor) => Values[field] }

const encoder = new TextEncoder()
const toKey = (name: string): Uint8Array => encoder.encode(`"${name}"`)
const keys = snapshotFields.map(toKey)
/**
 * Members that say when the recorder received a snapshot: ours, and that of
 * recordings. None has to be there.
 */
const receivedKeys = ['receivedAt', '_recv'].map((name) => ({ name, key: toKey(name) }))

/**
 * Creates a scanner; it holds working space of a little more than one longest line. An object with
 * a member of `foreign` is refused, because it may be no snapshot.
 */
export function createSnapshotScanner(foreign: readonly string[] = []): SnapshotScanner {
  const buffer = new Uint8Array(LINE_BYTES_MAX + PADDING_BYTES)
  const cursor: Cursor = { bytes: buffer, view: new DataView(buffer.buffer), at: 0 }
  const ladders = createLadderReader()
  const readers: Readers = {
    ...createTextReaders(),
    id: readId,
    timestamp: readTimestamp,
    bids: (at) => ladders.read(at, 'bids'),
    asks: (at) => ladders.read(at, 'asks'),
  }
  const foreignKeys = foreign.map(toKey)

  return {
    scan(bytes, start, end) {
      const length = end - start
      if (length > LINE_BYTES_MAX) throw new RecordFault(`longer than ${LINE_BYTES_MAX} bytes`)
      buffer.set(bytes.subarray(start, end))
      buffer[length] = 0
      cursor.at = 0
      const draft = readObject(cursor, readers, foreignKeys)
      if (skipSpace(buffer, cursor.at) !== length) throw new RecordFault('text after the object')
      return toSnapshot(draft)
    },
  }
}

function readObject(cursor: Cursor, readers: Readers, foreignKeys: readonly Uint8Array[]): Draft {
  const { bytes } = cursor
  const draft = new Draft()
  cursor.at = skipSpace(bytes, 0)
  if (byteAt(bytes, cursor.at) !== byteOf.openBrace) throw new RecordFault('not a JSON object')
  const first = skipSpace(bytes, cursor.at + 1)
  if (byteAt(bytes, first) === byteOf.closeBrace) throw new RecordFault('an empty object')
  let expected = 0
  do {
    const keyAt = skipSpace(bytes, cursor.at + 1)
    const index = findField(bytes, keyAt, expected)
    cursor.at = assertJson(skipKey(bytes, keyAt))
    const field = snapshotFields[index]
    if (field === undefined) readOther(cursor, { keyAt, foreignKeys, draft })
    else if (draft[field] !== undefined) throw new RecordFault(`${field}: repeated`)
    else readField(cursor, field, { draft, readers })
    expected = index + 1
    cursor.at = skipSpace(bytes, cursor.at)
  } while (byteAt(bytes, cursor.at) === byteOf.comma)
  if (byteAt(bytes, cursor.at) !== byteOf.closeBrace) throw new RecordFault('not valid JSON')
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

/** Returns the index of the field whose key is at `at`, or -1, guessing `expected`. */
function findField(bytes: Uint8Array, at: number, expected: number): number {
  const guess = keys[expected]
  if (guess !== undefined && startsWith(bytes, at, guess)) return expected
  return keys.findIndex((key) => startsWith(bytes, at, key))
}

function assertJson(at: number): number {
  if (at === MALFORMED) throw new RecordFault('not valid JSON')
  return at
}

type Other = { keyAt: number; foreignKeys: readonly Uint8Array[]; draft: Draft }

/**
 * Reads the value of a member that not every snapshot has. Throws for a key that is foreign, or may
 * be because it is written with escapes.
 */
function readOther(cursor: Cursor, { keyAt, foreignKeys, draft }: Other): void {
  const key = cursor.bytes.subarray(keyAt, cursor.at)
  const received = receivedKeys.find((known) => startsWith(key, 0, known.key))
  if (received !== undefined) {
    if (draft.receivedMs !== undefined)
      throw new RecordFault(`${received.name}: a second time of receipt`)
    draft.receivedMs = readReceived(cursor, received.name)
    return
  }
  if (key.includes(byteOf.backslash) || foreignKeys.some((foreign) => startsWith(key, 0, foreign)))
    throw new RecordFault('a member that no snapshot has')
  cursor.at = assertJson(skipValue(cursor.bytes, cursor.at))
}

const isWhole = (draft: Draft): draft is Values & Draft =>
  snapshotFields.every((field) => draft[field] !== undefined)

function toSnapshot(draft: Draft): ScannedSnapshot {
  if (!isWhole(draft)) {
    const missing = snapshotFields.find((field) => draft[field] === undefined)
    throw new RecordFault(`${missing}: missing`)
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
    sourceHash: toSourceHash(id),
    receivedMs: draft.receivedMs,
    id,
  }
}

/** The venue's hash of a book, when that is what the id is. */
function toSourceHash(id: string): string | undefined {
  if (id.length !== 40) return undefined
  for (let index = 0; index < id.length; index++) {
    if (!isHexDigit(id.charCodeAt(index))) return undefined
  }
  return id.toLowerCase()
}
