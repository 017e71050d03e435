/**
 * Reads times from bytes. Written by hand because `Date.parse` accepts far more than one format and
 * rolls 31 June over into July.
 */
import { DAY_MS, toUnixMs } from '#src/core/time.ts'

import { byteAt, byteOf, isDigit } from './json-bytes.ts'

/** What `readTimestampMs` returns instead of a time: the negated index of a reason. */
export const timestampFaults = [
  '',
  'not an ISO date-time in UTC, nor Unix milliseconds or seconds',
  'no such day or time of day',
  'finer than a millisecond',
  'before 1970 or after 9999',
] as const

const NOT_A_TIME = -1
const NO_SUCH_TIME = -2
const TOO_FINE = -3
const OUT_OF_RANGE = -4

/** The last millisecond of the year 9999. */
const TIMESTAMP_MS_MAX = 253_402_300_799_999
/** `YYYY-MM-DDTHH:MM:SS`. */
const SECONDS_LENGTH = 19

/**
 * Reads `YYYY-MM-DDTHH:MM:SS[.mmm]Z`, or Unix milliseconds or seconds by `toUnixMs`, from the bytes
 * between two indices. Returns Unix milliseconds, or a negative index of `timestampFaults`.
 */
export function readTimestampMs(bytes: Uint8Array, from: number, to: number): number {
  if (to - from < 5 || byteAt(bytes, from + 4) !== 0x2d) return readUnixMs(bytes, from, to)
  if (to - from < SECONDS_LENGTH + 1 || !hasSeparators(bytes, from)) return NOT_A_TIME
  const dayMs = readDayMs(bytes, from)
  if (dayMs < 0) return dayMs
  const secondsMs = readTimeOfDayMs(bytes, from + 11)
  if (secondsMs < 0) return secondsMs
  const milliseconds = readFractionMs(bytes, from + SECONDS_LENGTH, to)
  return milliseconds < 0 ? milliseconds : dayMs + secondsMs + milliseconds
}

function readUnixMs(bytes: Uint8Array, from: number, to: number): number {
  if (from === to) return NOT_A_TIME
  let total = 0
  for (let at = from; at < to; at++) {
    const byte = byteAt(bytes, at)
    if (!isDigit(byte)) return NOT_A_TIME
    total = total * 10 + (byte - byteOf.zero)
  }
  return total > TIMESTAMP_MS_MAX ? OUT_OF_RANGE : toUnixMs(total)
}

const hasSeparators = (bytes: Uint8Array, from: number): boolean =>
  byteAt(bytes, from + 7) === 0x2d &&
  byteAt(bytes, from + 10) === 0x54 &&
  byteAt(bytes, from + 13) === byteOf.colon &&
  byteAt(bytes, from + 16) === byteOf.colon

function readDayMs(bytes: Uint8Array, from: number): number {
  const century = readPair(bytes, from)
  const yearOfCentury = readPair(bytes, from + 2)
  const month = readPair(bytes, from + 5)
  const day = readPair(bytes, from + 8)
  if (century < 0 || yearOfCentury < 0 || month < 0 || day < 0) return NOT_A_TIME
  const year = century * 100 + yearOfCentury
  if (year < 1970) return OUT_OF_RANGE
  const monthMs = Date.UTC(year, month - 1)
  const isDay = month >= 1 && month <= 12 && day >= 1
  // Every month has 28 days.
  if (!isDay || (day > 28 && monthMs + day * DAY_MS > Date.UTC(year, month))) return NO_SUCH_TIME
  return monthMs + (day - 1) * DAY_MS
}

function readTimeOfDayMs(bytes: Uint8Array, from: number): number {
  const hour = readPair(bytes, from)
  const minute = readPair(bytes, from + 3)
  const second = readPair(bytes, from + 6)
  if (hour < 0 || minute < 0 || second < 0) return NOT_A_TIME
  if (hour > 23 || minute > 59 || second > 59) return NO_SUCH_TIME
  return ((hour * 60 + minute) * 60 + second) * 1000
}

/** Reads `Z`, or a point, digits and `Z`, up to `to`. */
function readFractionMs(bytes: Uint8Array, from: number, to: number): number {
  if (byteAt(bytes, to - 1) !== 0x5a) return NOT_A_TIME
  if (from === to - 1) return 0
  if (byteAt(bytes, from) !== byteOf.dot || from + 2 > to - 1) return NOT_A_TIME
  let milliseconds = 0
  let weight = 100
  for (let at = from + 1; at < to - 1; at++) {
    const digit = byteAt(bytes, at) - byteOf.zero
    if (digit < 0 || digit > 9) return NOT_A_TIME
    if (weight === 0 && digit !== 0) return TOO_FINE
    milliseconds += digit * weight
    weight = Math.trunc(weight / 10)
  }
  return milliseconds
}

function readPair(bytes: Uint8Array, at: number): number {
  const tens = byteAt(bytes, at)
  const ones = byteAt(bytes, at + 1)
  if (!isDigit(tens) || !isDigit(ones)) return NOT_A_TIME
  return (tens - byteOf.zero) * 10 + (ones - byteOf.zero)
}
