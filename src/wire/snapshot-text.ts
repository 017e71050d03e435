import {
  assetIdPattern,
  assetIdRule,
  type Coin,
  conditionIdRule,
  isCoin,
  isTimeframe,
  type Outcome,
  parseConditionId,
  type Timeframe,
} from '#src/core/market.ts'
import { RecordFault as SnapshotFault } from '#src/core/record-fault.ts'

import { type ByteInterner, createByteInterner } from './byte-interner.ts'
import { byteAt, byteOf, type Cursor, isDigit, MALFORMED, skipValue } from './json-bytes.ts'
import { readTimestampMs, timestampFaults } from './timestamp-bytes.ts'

/**
 * Reads the fields of a snapshot that are not ladders. Each reader moves the cursor past its value
 * and throws `SnapshotFault`. Texts are plain ASCII without escapes: none of them needs more.
 */

/** Longest `id`. */
const ID_LENGTH_MAX = 100
/** Texts remembered of each field: more than the tokens that are live at once. */
const INTERNED_MAX = 64

type Reader<Value> = (cursor: Cursor) => Value

/** Readers of the fields whose texts repeat from line to line; they remember the last of them. */
export type TextReaders = {
  assetId: Reader<string>
  conditionId: Reader<string>
  symbol: Reader<Coin>
  outcome: Reader<Outcome>
  timeframe: Reader<Timeframe>
}

/** Creates readers that remember nothing yet. */
export const createTextReaders = (): TextReaders => ({
  assetId: createTextReader('assetId', `not ${assetIdRule}`, parseAssetId),
  conditionId: createTextReader('conditionId', `not ${conditionIdRule}`, parseConditionId),
  symbol: createTextReader('symbol', 'not a coin that is kept', parseCoin),
  outcome: createTextReader('outcome', 'neither "up" nor "down"', parseOutcome),
  timeframe: createTextReader('timeframe', 'not a timeframe', parseTimeframe),
})

/** Makes a reader of a string field with few different values. */
function createTextReader<Value>(
  field: string,
  expectation: string,
  parse: (text: string) => Value | undefined,
): (cursor: Cursor) => Value {
  const interner: ByteInterner<Value> = createByteInterner(INTERNED_MAX)
  return (cursor) => {
    const known = interner.find(cursor.bytes, cursor.at)
    if (known !== undefined) {
      cursor.at += known.bytes.length
      return known.value
    }
    const start = cursor.at
    const end = findTextEnd(cursor, field)
    const value = parse(toText(cursor.bytes, start + 1, end - 1))
    if (value === undefined) throw new SnapshotFault(`${field}: ${expectation}`)
    interner.add(cursor.bytes.subarray(start, end), value)
    cursor.at = end
    return value
  }
}

/** Returns the index past the string at the cursor, which must be plain ASCII without escapes. */
function findTextEnd({ bytes, at }: Cursor, field: string): number {
  if (byteAt(bytes, at) !== byteOf.quote) throw new SnapshotFault(`${field}: not a string`)
  let next = at + 1
  let byte = byteAt(bytes, next)
  while (byte !== byteOf.quote) {
    if (byte < 0x20 || byte > 0x7e || byte === byteOf.backslash) {
      throw new SnapshotFault(`${field}: not plain ASCII text`)
    }
    byte = byteAt(bytes, ++next)
  }
  return next + 1
}

const toText = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')

const parseAssetId = (text: string): string | undefined =>
  assetIdPattern.test(text) ? text : undefined

function parseCoin(text: string): Coin | undefined {
  const coin = text.toLowerCase()
  return isCoin(coin) ? coin : undefined
}

const parseOutcome = (text: string): Outcome | undefined =>
  text === 'up' || text === 'down' ? text : undefined

const parseTimeframe = (text: string): Timeframe | undefined =>
  isTimeframe(text) ? text : undefined

/** Reads an `id`: text, or a bare integer as its digits. */
export function readId(cursor: Cursor): string {
  const { bytes, at } = cursor
  const isBare = isDigit(byteAt(bytes, at))
  const end = isBare ? skipDigits(bytes, at) : findTextEnd(cursor, 'id')
  const text = isBare ? toText(bytes, at, end) : toText(bytes, at + 1, end - 1)
  if (text.length === 0 || text.length > ID_LENGTH_MAX) {
    throw new SnapshotFault(`id: not 1 to ${ID_LENGTH_MAX} characters`)
  }
  cursor.at = end
  return text
}

/** Reads a `timestamp`, quoted or bare, as Unix milliseconds. */
export function readTimestamp(cursor: Cursor): number {
  const { bytes, at } = cursor
  const isBare = isDigit(byteAt(bytes, at))
  const end = isBare ? skipDigits(bytes, at) : findTextEnd(cursor, 'timestamp')
  const timestampMs = isBare
    ? readTimestampMs(bytes, at, end)
    : readTimestampMs(bytes, at + 1, end - 1)
  if (timestampMs < 0) throw new SnapshotFault(`timestamp: ${timestampFaults[-timestampMs]}`)
  cursor.at = end
  return timestampMs
}

function skipDigits(bytes: Uint8Array, at: number): number {
  let next = at
  while (isDigit(byteAt(bytes, next))) next++
  return next
}

const encoder = new TextEncoder()

/**
 * Reads when something was received, as Unix milliseconds; undefined for null. It may be written as a `timestamp` is,
 * and with a fraction of any length: what is below a millisecond is cut off. The digits are read as text, because a
 * float may round up.
 */
export function readReceived(cursor: Cursor, field: string): number | undefined {
  const { bytes, at } = cursor
  const end = skipValue(bytes, at)
  if (end === MALFORMED) throw new SnapshotFault('not valid JSON')
  const isQuoted = byteAt(bytes, at) === byteOf.quote
  const text = isQuoted ? toText(bytes, at + 1, end - 1) : toText(bytes, at, end)
  cursor.at = end
  if (text === 'null' && !isQuoted) return undefined
  const [, head = text, fraction = '', zulu = ''] = /^(.+)\.(\d+)(Z?)$/.exec(text) ?? []
  const coarse = encoder.encode(head + zulu)
  const coarseMs = readTimestampMs(coarse, 0, coarse.length)
  if (coarseMs < 0) throw new SnapshotFault(`${field}: ${timestampFaults[-coarseMs]}`)
  const isWhole = zulu === '' && coarseMs === Number(head)
  return isWhole ? coarseMs : coarseMs + Number(fraction.padEnd(3, '0').slice(0, 3))
}
