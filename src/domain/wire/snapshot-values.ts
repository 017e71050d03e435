/**
 * Readers of the values of a snapshot. Each moves the cursor past a value or throws a `record`
 * fault. Texts are ASCII without escapes.
 */

import { MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import {
  assetIdPattern,
  assetIdRule,
  conditionIdRule,
  isCoin,
  isTimeframe,
  parseConditionId,
} from '#src/domain/market.ts'
import { recordFault, skippedRecord } from '#src/domain/record-fault.ts'
import { isDateTime, MOMENT_MS_MAX, parseMoment, toUnixMs } from '#src/domain/time.ts'

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

const ID_LENGTH_MAX = 100
/** Texts cached per field: more than the number of tokens that are live at once. */
const INTERNED_MAX = 64

/** Form of a symbol of a coin that is not recorded. */
const symbolPattern = /^[a-z0-9]{1,20}$/

/** Creates readers of fields whose texts repeat; each caches its last texts. */
export const createTextReaders = () => ({
  assetId: createTextReader('assetId', `not ${assetIdRule}`, (text) =>
    assetIdPattern.test(text) ? text : undefined,
  ),
  conditionId: createTextReader('conditionId', `not ${conditionIdRule}`, parseConditionId),
  symbol: createTextReader('symbol', 'not a supported coin', (text) => {
    const coin = text.toLowerCase()
    if (isCoin(coin)) return coin
    if (symbolPattern.test(coin)) throw skippedRecord(`${coin} is not a supported coin`)
    return undefined
  }),
  outcome: createTextReader('outcome', 'neither "up" nor "down"', (text) =>
    text === 'up' || text === 'down' ? text : undefined,
  ),
  timeframe: createTextReader('timeframe', 'not a timeframe', (text) =>
    isTimeframe(text) ? text : undefined,
  ),
})

/** Caches values: a comparison of bytes replaces decoding and checking the text. */
function createTextReader<Value>(
  field: string,
  expectation: string,
  parse: (text: string) => Value | undefined,
): (cursor: Cursor) => Value {
  const slots: { readonly bytes: Uint8Array; readonly value: Value }[] = []
  let hit = 0
  let oldest = 0

  function find(bytes: Uint8Array, at: number) {
    const recent = slots[hit]
    if (recent !== undefined && startsWith(bytes, at, recent.bytes)) return recent
    hit = slots.findIndex((slot) => startsWith(bytes, at, slot.bytes))
    return hit < 0 ? undefined : slots[hit]
  }

  return (cursor) => {
    const { bytes, at } = cursor
    const known = find(bytes, at)
    if (known !== undefined) {
      cursor.at += known.bytes.length
      return known.value
    }
    const end = findTextEnd(cursor, field)
    const value = parse(toText(bytes, at + 1, end - 1))
    if (value === undefined) throw recordFault(`${field}: ${expectation}`)
    hit = oldest
    slots[oldest] = { bytes: new Uint8Array(bytes.subarray(at, end)), value }
    oldest = (oldest + 1) % INTERNED_MAX
    cursor.at = end
    return value
  }
}

/** Returns the index past the string at the cursor, which must be plain ASCII without escapes. */
function findTextEnd({ bytes, at }: Cursor, field: string): number {
  if (byteAt(bytes, at) !== byteOf.quote) throw recordFault(`${field}: not a string`)
  let next = at + 1
  let byte = byteAt(bytes, next)
  while (byte !== byteOf.quote) {
    if (byte < 0x20 || byte > 0x7e || byte === byteOf.backslash)
      throw recordFault(`${field}: not plain ASCII text`)
    byte = byteAt(bytes, ++next)
  }
  return next + 1
}

/** Returns the index past the digits at the cursor, which must be a whole JSON number. */
function findIntegerEnd({ bytes, at }: Cursor, field: string): number {
  const end = skipDigits(bytes, at)
  if (skipValue(bytes, at) === end) return end
  throw recordFault(`${field}: not an integer`)
}

const toText = (bytes: Buffer, start: number, end: number): string =>
  bytes.toString('latin1', start, end)

function readPlain(cursor: Cursor, field: string): string {
  const { bytes, at } = cursor
  const isBare = isDigit(byteAt(bytes, at))
  cursor.at = isBare ? findIntegerEnd(cursor, field) : findTextEnd(cursor, field)
  return isBare ? toText(bytes, at, cursor.at) : toText(bytes, at + 1, cursor.at - 1)
}

export function readId(cursor: Cursor): string {
  const text = readPlain(cursor, 'id')
  if (text.length > 0 && text.length <= ID_LENGTH_MAX) return text
  throw recordFault(`id: not 1 to ${ID_LENGTH_MAX} characters`)
}

export const readTimestamp = (cursor: Cursor): number =>
  toTimestampMs(readPlain(cursor, 'timestamp'), 'timestamp')

/**
 * Reads a time of receipt; undefined for null. Truncated to milliseconds as text, because a float
 * may round up.
 */
export function readReceived(cursor: Cursor, field: string): number | undefined {
  const { bytes, at } = cursor
  const end = skipValue(bytes, at)
  if (end === MALFORMED) throw recordFault('not valid JSON')
  const isQuoted = byteAt(bytes, at) === byteOf.quote
  const text = isQuoted ? toText(bytes, at + 1, end - 1) : toText(bytes, at, end)
  cursor.at = end
  return text === 'null' && !isQuoted ? undefined : toReceivedMs(text, field)
}

/** Unix microseconds and nanoseconds of the years 2001 to 2286, split after the milliseconds. */
const finerPattern = /^(\d{13})(?:\d{3}|\d{6})(?:\.\d+)?$/

/**
 * A time of receipt has the form of a `timestamp`, with a fraction of any length, or is Unix
 * microseconds or nanoseconds. It is truncated to milliseconds as text, because a float may round
 * up.
 */
export function toReceivedMs(text: string, field: string): number {
  const [, finerMs] = finerPattern.exec(text) ?? []
  if (finerMs !== undefined) return Number(finerMs)
  if (text[4] === '-') return toDateTimeMs(text, field)
  const [, head = text, fraction = ''] = /^(.+)\.(\d+)$/.exec(text) ?? []
  const coarseMs = toWholeMs(head, field)
  const isWhole = coarseMs === Number(head)
  return isWhole ? coarseMs : coarseMs + Number(fraction.padEnd(3, '0').slice(0, 3))
}

const NOT_A_TIME = 'not an ISO date-time in UTC, nor Unix milliseconds or seconds'
const OUT_OF_RANGE = 'before 1970 or after 9999'

/** Parses a date-time like `parseMoment`, or digits like `toUnixMs`. Throws a `record` fault. */
export function toTimestampMs(text: string, field: string): number {
  return text[4] === '-' ? toDateTimeMs(text, field) : toWholeMs(text, field)
}

function toDateTimeMs(text: string, field: string): number {
  const timeMs = parseMoment(text)
  if (timeMs !== undefined) return timeMs
  if (!isDateTime(text)) throw recordFault(`${field}: ${NOT_A_TIME}`)
  throw recordFault(`${field}: ${text < '1970' ? OUT_OF_RANGE : 'no such day or time of day'}`)
}

function toWholeMs(digits: string, field: string): number {
  if (!/^\d+$/.test(digits)) throw recordFault(`${field}: ${NOT_A_TIME}`)
  const time = Number(digits)
  if (time > MOMENT_MS_MAX) throw recordFault(`${field}: ${OUT_OF_RANGE}`)
  return toUnixMs(time)
}

/** Reasons for which `readMillionths` returns no decimal, as the negated index into this list. */
export const millionthsFaults = [
  '',
  'not a plain decimal',
  'more than six decimals',
  'too large',
] as const
const NOT_A_DECIMAL = -1
const TOO_PRECISE = -2
const TOO_LARGE = -3

const FRACTION_DIGITS_MAX = 6

/** Multiplier that turns a fraction with this many digits into millionths. */
const fractionScales = Float64Array.of(1e6, 1e5, 1e4, 1e3, 100, 10, 1)

type DecimalCursor = { readonly bytes: Uint8Array; at: number }

/**
 * Reads what `parseMillionths` accepts, quoted or bare, and moves past it. Returns millionths, or a
 * negative index of `millionthsFaults`: without exceptions the function is small enough to be
 * inlined.
 */
export function readMillionths(cursor: DecimalCursor): number {
  const { bytes } = cursor
  const isQuoted = byteAt(bytes, cursor.at) === byteOf.quote
  const start = isQuoted ? cursor.at + 1 : cursor.at
  let at = start
  let whole = 0
  let byte = byteAt(bytes, at)
  while (isDigit(byte)) {
    whole = whole * 10 + (byte - byteOf.zero)
    byte = byteAt(bytes, ++at)
  }
  cursor.at = at
  const fraction = byte === byteOf.dot ? readFraction(cursor, at === start) : 0
  if (fraction < 0) return fraction
  byte = byteAt(bytes, cursor.at)
  const isEnd = isQuoted ? byte === byteOf.quote : endsNumber(byte)
  if (!isEnd || cursor.at === start) return NOT_A_DECIMAL
  if (isQuoted) cursor.at++
  const millionths = whole * MILLIONTHS_PER_UNIT + fraction
  return millionths > Number.MAX_SAFE_INTEGER ? TOO_LARGE : millionths
}

/** Reads the point and the digits after it; at least one digit is required if none came before. */
function readFraction(cursor: DecimalCursor, isLeading: boolean): number {
  const { bytes } = cursor
  const start = cursor.at + 1
  let at = start
  let digits = 0
  let byte = byteAt(bytes, at)
  while (isDigit(byte) && at < start + FRACTION_DIGITS_MAX) {
    digits = digits * 10 + (byte - byteOf.zero)
    byte = byteAt(bytes, ++at)
  }
  const fraction = digits * (fractionScales[at - start] ?? 0)
  while (byte === byteOf.zero) byte = byteAt(bytes, ++at)
  cursor.at = at
  if (isDigit(byte)) return TOO_PRECISE
  return isLeading && at === start ? NOT_A_DECIMAL : fraction
}

/** True if a bare number may be followed by `byte`: `,`, `}` or white space. */
const endsNumber = (byte: number): boolean =>
  byte === byteOf.comma || byte === byteOf.closeBrace || (byte <= 0x20 && byte !== 0)
