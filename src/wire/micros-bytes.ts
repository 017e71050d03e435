import { type Micros, MICROS_PER_UNIT } from '#src/core/decimal.ts'
/** Prints decimals into bytes, three digits at a time: no float and no string in between. */
import { threeDigits } from '#src/lib/digits.ts'

import { byteOf } from './json-bytes.ts'

/** More than the text of any decimal takes. */
export const MICROS_BYTES_MAX = 24

/** The digits of 0 to 999, three bytes each. */
const digits = new TextEncoder().encode(threeDigits.join(''))

/**
 * Writes the shortest decimal at `start`, where there must be room for the longest: what is behind it may be
 * written over. Returns the offset behind it.
 */
export function putMicros(bytes: Uint8Array, start: number, micros: Micros): number {
  const whole = Math.floor(micros / MICROS_PER_UNIT)
  const fraction = micros - whole * MICROS_PER_UNIT
  let at = putInteger(bytes, start, whole)
  if (fraction === 0) return at
  at = putFraction(bytes, at, fraction)
  while (bytes[at - 1] === byteOf.zero) at--
  return at
}

/** Writes half of the sum of two prices, which is below 2^31 millionths: up to seven decimals. */
export function putHalfMicros(bytes: Uint8Array, start: number, sum: Micros): number {
  if ((sum & 1) === 0) return putMicros(bytes, start, sum >> 1)
  const below = sum >> 1
  const whole = (below / MICROS_PER_UNIT) | 0
  const at = putInteger(bytes, start, whole)
  const end = putFraction(bytes, at, below - whole * MICROS_PER_UNIT)
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
