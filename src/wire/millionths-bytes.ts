/**
 * Decimals as bytes: read from their digits, printed three digits at a time, with
 * no float or string in between.
 */
import { type Millionths, MILLIONTHS_PER_UNIT } from '#src/core/decimal.ts'
import { threeDigits } from '#src/lib/digits.ts'

import { byteAt, byteOf, type Cursor, isDigit } from './json-bytes.ts'

/** More than the text of any decimal takes. */
export const MILLIONTHS_BYTES_MAX = 24

/** The digits of 0 to 999, three bytes each. */
const digits = new TextEncoder().encode(threeDigits.join(''))

/**
 * Writes the shortest decimal at `start`, where there must be room for the longest: what is after
 * it may be written over. Returns the offset after it.
 */
export function putMillionths(bytes: Uint8Array, start: number, millionths: Millionths): number {
  const whole = Math.floor(millionths / MILLIONTHS_PER_UNIT)
  const fraction = millionths - whole * MILLIONTHS_PER_UNIT
  let at = putInteger(bytes, start, whole)
  if (fraction === 0) return at
  at = putFraction(bytes, at, fraction)
  while (bytes[at - 1] === byteOf.zero) at--
  return at
}

/** Writes half of the sum of two prices, which is below 2^31 millionths: up to seven decimals. */
export function putHalfMillionths(bytes: Uint8Array, start: number, sum: Millionths): number {
  if ((sum & 1) === 0) return putMillionths(bytes, start, sum >> 1)
  const below = sum >> 1
  const whole = (below / MILLIONTHS_PER_UNIT) | 0
  const at = putInteger(bytes, start, whole)
  const end = putFraction(bytes, at, below - whole * MILLIONTHS_PER_UNIT)
  bytes[end] = byteOf.zero + 5
  return end + 1
}

/** Writes an integer that is not negative. */
export function putInteger(bytes: Uint8Array, start: number, value: number): number {
  if (value >= 1000) {
    const thousands = Math.floor(value / 1000)
    return putDigits(bytes, putInteger(bytes, start, thousands), value - thousands * 1000)
  }
  if (value >= 100) return putDigits(bytes, start, value)
  if (value < 10) {
    bytes[start] = byteOf.zero + value
    return start + 1
  }
  bytes[start] = digits[value * 3 + 1] ?? 0
  bytes[start + 1] = digits[value * 3 + 2] ?? 0
  return start + 2
}

/** Writes three digits of a number below 1000. */
export function putDigits(bytes: Uint8Array, start: number, value: number): number {
  const from = value * 3
  bytes[start] = digits[from] ?? 0
  bytes[start + 1] = digits[from + 1] ?? 0
  bytes[start + 2] = digits[from + 2] ?? 0
  return start + 3
}

/** Writes the point and six digits. */
function putFraction(bytes: Uint8Array, start: number, fraction: number): number {
  // Integers of 32 bits are divided several times faster.
  const rest = fraction | 0
  const thousandths = (rest / 1000) | 0
  bytes[start] = byteOf.dot
  return putDigits(bytes, putDigits(bytes, start + 1, thousandths), rest - thousandths * 1000)
}

/** What `readMillionths` returns instead of a decimal: the negated index of a reason. */
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

/** What a fraction of so many digits is multiplied by to make millionths. */
const fractionScales = Float64Array.of(1e6, 1e5, 1e4, 1e3, 100, 10, 1)

/**
 * Reads a decimal, quoted or bare, from its digits, so that it is exact, and moves past it. Accepts
 * what `parseMillionths` accepts. Returns millionths, or a negative index of `millionthsFaults`
 * with the cursor anywhere inside the decimal. Returning faults keeps this small enough to be
 * inlined.
 */
export function readMillionths(cursor: Cursor): number {
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

/** Reads the point and the digits after it, of which there must be one where none came before. */
function readFraction(cursor: Cursor, isLeading: boolean): number {
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

/** Whether a bare number may be followed by `byte`: `,`, `}` or white space. */
const endsNumber = (byte: number): boolean =>
  byte === byteOf.comma || byte === byteOf.closeBrace || (byte <= 0x20 && byte !== 0)
