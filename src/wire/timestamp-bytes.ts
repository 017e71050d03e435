import { toUnixMs } from '#src/core/time.ts'

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

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/**
 * Reads `YYYY-MM-DDTHH:MM:SS[.mmm]Z`, or Unix milliseconds or seconds by `toUnixMs`, from the bytes between
 * two indices. Returns Unix milliseconds, or a negative index of `timestampFaults`. Written by hand because
 * `Date.parse` accepts far more than one format and rolls 31 June over into July.
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
  if (day < 1 || day > daysIn(year, month)) return NO_SUCH_TIME
  return daysSince1970(year, month, day) * 86_400_000
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

/** Zero for a month that does not exist, so that no day fits it. */
function daysIn(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return month === 2 && isLeap ? 29 : (monthDays[month - 1] ?? 0)
}

/** Counts days in the calendar that begins years in March, so that leap days come last. */
function daysSince1970(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1
  const marchMonth = month > 2 ? month - 3 : month + 9
  const dayOfYear = Math.trunc((153 * marchMonth + 2) / 5) + day - 1
  const leapDays =
    Math.trunc(marchYear / 4) - Math.trunc(marchYear / 100) + Math.trunc(marchYear / 400)
  return marchYear * 365 + leapDays + dayOfYear - 719_468
}
