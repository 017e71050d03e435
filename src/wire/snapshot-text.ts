/**
 * Reads the fields of a snapshot that are not ladders. Each reader moves the cursor past its value
 * and throws `RecordFault`. Texts are plain ASCII without escapes: none of them needs more.
 */
import {
  assetIdPattern,
  assetIdRule,
  conditionIdRule,
  isCoin,
  isTimeframe,
  parseConditionId,
} from '#src/core/market.ts'
import { RecordFault } from '#src/core/record-fault.ts'

import {
  byteAt,
  byteOf,
  type Cursor,
  isDigit,
  MALFORMED,
  skipDigits,
  skipValue,
  startsWith,
} from './json-bytes.ts'
import { readTimestampMs, timestampFaults } from './timestamp-bytes.ts'

/** Longest `id`. */
const ID_LENGTH_MAX = 100
/** Texts remembered of each field: more than the tokens that are live at once. */
const INTERNED_MAX = 64

/**
 * Creates readers of the fields whose texts repeat from line to line;
 * they remember the last of them.
 */
export const createTextReaders = () => ({
  assetId: createTextReader('assetId', `not ${assetIdRule}`, (text) =>
    assetIdPattern.test(text) ? text : undefined,
  ),
  conditionId: createTextReader('conditionId', `not ${conditionIdRule}`, parseConditionId),
  symbol: createTextReader('symbol', 'not a coin that is kept', (text) => {
    const coin = text.toLowerCase()
    return isCoin(coin) ? coin : undefined
  }),
  outcome: createTextReader('outcome', 'neither "up" nor "down"', (text) =>
    text === 'up' || text === 'down' ? text : undefined,
  ),
  timeframe: createTextReader('timeframe', 'not a timeframe', (text) =>
    isTimeframe(text) ? text : undefined,
  ),
})

/** Makes a reader of a string field with few different values. */
function createTextReader<Value>(
  field: string,
  expectation: string,
  parse: (text: string) => Value | undefined,
): (cursor: Cursor) => Value {
  const interner = createByteInterner<Value>(INTERNED_MAX)
  return (cursor) => {
    const known = interner.find(cursor.bytes, cursor.at)
    if (known !== undefined) {
      cursor.at += known.bytes.length
      return known.value
    }
    const start = cursor.at
    const end = findTextEnd(cursor, field)
    const value = parse(toText(cursor.bytes, start + 1, end - 1))
    if (value === undefined) throw new RecordFault(`${field}: ${expectation}`)
    interner.add(cursor.bytes.subarray(start, end), value)
    cursor.at = end
    return value
  }
}

/** A value and the bytes that it was read from. */
type Interned<Value> = { readonly bytes: Uint8Array; readonly value: Value }

/**
 * Remembers the values read last: a comparison of bytes replaces
 * checking the text and making it again.
 */
function createByteInterner<Value>(slotsMax: number) {
  const slots: Interned<Value>[] = []
  let hit = 0
  let oldest = 0

  return {
    /** Finds the remembered value whose bytes are at `at`, all of them. */
    find(bytes: Uint8Array, at: number): Interned<Value> | undefined {
      const recent = slots[hit]
      if (recent !== undefined && startsWith(bytes, at, recent.bytes)) return recent
      for (let index = 0; index < slots.length; index++) {
        const slot = slots[index]
        if (slot === undefined || !startsWith(bytes, at, slot.bytes)) continue
        hit = index
        return slot
      }
      return undefined
    },

    /** Remembers a value, forgetting the oldest when full. The bytes are copied. */
    add(bytes: Uint8Array, value: Value): void {
      hit = oldest
      slots[oldest] = { bytes: bytes.slice(), value }
      oldest = (oldest + 1) % slotsMax
    },
  }
}

/** Returns the index past the string at the cursor, which must be plain ASCII without escapes. */
function findTextEnd({ bytes, at }: Cursor, field: string): number {
  if (byteAt(bytes, at) !== byteOf.quote) throw new RecordFault(`${field}: not a string`)
  let next = at + 1
  let byte = byteAt(bytes, next)
  while (byte !== byteOf.quote) {
    if (byte < 0x20 || byte > 0x7e || byte === byteOf.backslash)
      throw new RecordFault(`${field}: not plain ASCII text`)
    byte = byteAt(bytes, ++next)
  }
  return next + 1
}

/** Returns the index past the digits at the cursor, which must be a whole JSON number. */
function findIntegerEnd({ bytes, at }: Cursor, field: string): number {
  const end = skipDigits(bytes, at)
  if (skipValue(bytes, at) === end) return end
  throw new RecordFault(`${field}: not an integer`)
}

const toText = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')

/** Reads an `id`: text, or a bare integer as its digits. */
export function readId(cursor: Cursor): string {
  const { bytes, at } = cursor
  const isBare = isDigit(byteAt(bytes, at))
  const end = isBare ? findIntegerEnd(cursor, 'id') : findTextEnd(cursor, 'id')
  const text = isBare ? toText(bytes, at, end) : toText(bytes, at + 1, end - 1)
  if (text.length === 0 || text.length > ID_LENGTH_MAX)
    throw new RecordFault(`id: not 1 to ${ID_LENGTH_MAX} characters`)
  cursor.at = end
  return text
}

/** Reads a `timestamp`, quoted or bare, as Unix milliseconds. */
export function readTimestamp(cursor: Cursor): number {
  const { bytes, at } = cursor
  const isBare = isDigit(byteAt(bytes, at))
  const end = isBare ? findIntegerEnd(cursor, 'timestamp') : findTextEnd(cursor, 'timestamp')
  const quote = isBare ? 0 : 1
  const timestampMs = readTimestampMs(bytes, at + quote, end - quote)
  if (timestampMs < 0) throw new RecordFault(`timestamp: ${timestampFaults[-timestampMs]}`)
  cursor.at = end
  return timestampMs
}

const encoder = new TextEncoder()

/**
 * Reads when something was received, as Unix milliseconds; undefined for null. It may be written as
 * a `timestamp` is, and with a fraction of any length: what is below a millisecond is cut off. The
 * digits are read as text, because a float may round up.
 */
export function readReceived(cursor: Cursor, field: string): number | undefined {
  const { bytes, at } = cursor
  const end = skipValue(bytes, at)
  if (end === MALFORMED) throw new RecordFault('not valid JSON')
  const isQuoted = byteAt(bytes, at) === byteOf.quote
  const text = isQuoted ? toText(bytes, at + 1, end - 1) : toText(bytes, at, end)
  cursor.at = end
  if (text === 'null' && !isQuoted) return undefined
  const [, head = text, fraction = '', zulu = ''] = /^(.+)\.(\d+)(Z?)$/.exec(text) ?? []
  const coarse = encoder.encode(head + zulu)
  const coarseMs = readTimestampMs(coarse, 0, coarse.length)
  if (coarseMs < 0) throw new RecordFault(`${field}: ${timestampFaults[-coarseMs]}`)
  const isWhole = zulu === '' && coarseMs === Number(head)
  return isWhole ? coarseMs : coarseMs + Number(fraction.padEnd(3, '0').slice(0, 3))
}
