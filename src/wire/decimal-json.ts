import { MICROS_PER_UNIT } from '#src/core/decimal.ts'

import { byteAt, byteOf, type Cursor, isDigit } from './json-bytes.ts'

/** What `readMicros` returns instead of a decimal: the negated index of a reason. */
export const microsFaults = [
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
 * what `parseMicros` accepts. Returns millionths, or a negative index of `microsFaults` with the
 * cursor anywhere inside the decimal. Returning faults keeps this small enough to be inlined.
 */
export function readMicros(cursor: Cursor): number {
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
  const micros = whole * MICROS_PER_UNIT + fraction
  return micros > Number.MAX_SAFE_INTEGER ? TOO_LARGE : micros
}

/** Reads the point and the digits after it, of which there must be one where none stood before. */
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
