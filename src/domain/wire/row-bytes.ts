/**
 * Writes rows of JSON as ASCII bytes, by the thousand, without a string for any row or number. Each
 * function writes at an offset, where there must be room, and returns the offset after it.
 */
import { type Millionths, MILLIONTHS_PER_UNIT, threeDigits } from '#src/domain/decimal.ts'
import { type BestLevels, imbalanceOf } from '#src/domain/quote.ts'
import { toIso } from '#src/domain/time.ts'

import { byteOf } from './json-bytes.ts'

const encoder = new TextEncoder()

export const piecesOf = <Name extends string>(
  texts: Record<Name, string>,
): Record<Name, Uint8Array> => {
  const pieces = Object.entries<string>(texts).map(([name, text]) => [name, encoder.encode(text)])
  // The result has the same names.
  return Object.fromEntries(pieces) as Record<Name, Uint8Array>
}

const NULL = encoder.encode('null')
const MINUS = 0x2d
const ZULU = 0x5a

/** Longer pieces are copied faster by a call than by a loop. */
const LOOP_MAX = 16

export function putPiece(bytes: Uint8Array, start: number, piece: Uint8Array): number {
  const { length } = piece
  if (length > LOOP_MAX) bytes.set(piece, start)
  else for (let index = 0; index < length; index++) bytes[start + index] = piece[index] ?? 0
  return start + length
}

export const putText = (bytes: Uint8Array, start: number, ascii: string): number =>
  start + encoder.encodeInto(ascii, bytes.subarray(start)).written

export const putNull = (bytes: Uint8Array, start: number): number => putPiece(bytes, start, NULL)

/** Writes the shortest decimal of millionths that may be negative. */
export function putSigned(bytes: Uint8Array, start: number, millionths: Millionths): number {
  if (millionths >= 0) return putMillionths(bytes, start, millionths)
  bytes[start] = MINUS
  return putMillionths(bytes, start + 1, -millionths)
}

/** `2026-04-14T08:00:10.`: the common prefix of all times within a second. */
const SECOND_LENGTH = 20

/** Creates a writer of times as `toIso` prints them, fast if consecutive times are close. */
export function createTimePut(): (bytes: Uint8Array, start: number, timeMs: number) => number {
  const second = new Uint8Array(SECOND_LENGTH)
  let secondMs = Number.NEGATIVE_INFINITY
  return (bytes, start, timeMs) => {
    let millis = timeMs - secondMs
    if (millis < 0 || millis >= 1000) {
      millis = timeMs % 1000
      secondMs = timeMs - millis
      encoder.encodeInto(toIso(secondMs), second)
    }
    const at = putDigits(bytes, putPiece(bytes, start, second), millis)
    bytes[at] = ZULU
    return at + 1
  }
}

/** More than the length of any decimal. */
export const MILLIONTHS_BYTES_MAX = 24

const digits = new TextEncoder().encode(threeDigits.join(''))

/** Writes the shortest decimal. Needs room for the longest: bytes past the result are scratch. */
export function putMillionths(bytes: Uint8Array, start: number, millionths: Millionths): number {
  const whole = Math.floor(millionths / MILLIONTHS_PER_UNIT)
  const fraction = millionths - whole * MILLIONTHS_PER_UNIT
  let at = putInteger(bytes, start, whole)
  if (fraction === 0) return at
  at = putFraction(bytes, at, fraction)
  while (bytes[at - 1] === byteOf.zero) at--
  return at
}

/** Writes half the sum of two prices, which is below 2^31 millionths: up to seven decimals. */
export function putHalfMillionths(bytes: Uint8Array, start: number, sum: Millionths): number {
  if ((sum & 1) === 0) return putMillionths(bytes, start, sum >> 1)
  const below = sum >> 1
  const whole = (below / MILLIONTHS_PER_UNIT) | 0
  const at = putInteger(bytes, start, whole)
  const end = putFraction(bytes, at, below - whole * MILLIONTHS_PER_UNIT)
  bytes[end] = byteOf.zero + 5
  return end + 1
}

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

function putDigits(bytes: Uint8Array, start: number, value: number): number {
  const from = value * 3
  bytes[start] = digits[from] ?? 0
  bytes[start + 1] = digits[from + 1] ?? 0
  bytes[start + 2] = digits[from + 2] ?? 0
  return start + 3
}

function putFraction(bytes: Uint8Array, start: number, fraction: number): number {
  // Division of 32-bit integers is several times faster.
  const rest = fraction | 0
  const thousandths = (rest / 1000) | 0
  bytes[start] = byteOf.dot
  return putDigits(bytes, putDigits(bytes, start + 1, thousandths), rest - thousandths * 1000)
}

const pieces = piecesOf({
  bid: '"bid":',
  bidSize: ',"bidSize":',
  ask: ',"ask":',
  askSize: ',"askSize":',
  mid: ',"mid":',
  spread: ',"spread":',
  imbalance: ',"imbalance":',
  noBid: '"bid":null,"bidSize":null',
  noAsk: ',"ask":null,"askSize":null',
  noMid: ',"mid":null,"spread":null,"imbalance":null',
})

/** Writes `bid` to `imbalance`, null where a side is empty; at most 200 bytes. */
export function putQuote(bytes: Uint8Array, start: number, levels: BestLevels): number {
  const { bidPrice, bidSize, askPrice, askSize } = levels
  const hasBid = bidSize > 0
  const hasAsk = askSize > 0
  let at = start
  if (hasBid) {
    at = putMillionths(bytes, putPiece(bytes, at, pieces.bid), bidPrice)
    at = putMillionths(bytes, putPiece(bytes, at, pieces.bidSize), bidSize)
  } else at = putPiece(bytes, at, pieces.noBid)
  if (hasAsk) {
    at = putMillionths(bytes, putPiece(bytes, at, pieces.ask), askPrice)
    at = putMillionths(bytes, putPiece(bytes, at, pieces.askSize), askSize)
  } else at = putPiece(bytes, at, pieces.noAsk)
  if (!hasBid || !hasAsk) return putPiece(bytes, at, pieces.noMid)
  at = putHalfMillionths(bytes, putPiece(bytes, at, pieces.mid), bidPrice + askPrice)
  at = putSigned(bytes, putPiece(bytes, at, pieces.spread), askPrice - bidPrice)
  at = putPiece(bytes, at, pieces.imbalance)
  return putSigned(bytes, at, imbalanceOf(bidSize, askSize))
}

const scratch = Buffer.alloc(256)

export const quoteText = (levels: BestLevels): string =>
  scratch.toString('latin1', 0, putQuote(scratch, 0, levels))

/** Writes the members `bid`, `ask` and `mid`; null where a side is empty. */
export function putMid(bytes: Uint8Array, start: number, levels: BestLevels): number {
  const { bidPrice, bidSize, askPrice, askSize } = levels
  const hasBid = bidSize > 0
  const hasAsk = askSize > 0
  let at = putPiece(bytes, start, pieces.bid)
  at = hasBid ? putMillionths(bytes, at, bidPrice) : putNull(bytes, at)
  at = putPiece(bytes, at, pieces.ask)
  at = hasAsk ? putMillionths(bytes, at, askPrice) : putNull(bytes, at)
  at = putPiece(bytes, at, pieces.mid)
  return hasBid && hasAsk ? putHalfMillionths(bytes, at, bidPrice + askPrice) : putNull(bytes, at)
}

const places = piecesOf({ id: '"id":"', up: '","outcome":"up"', down: '","outcome":"down"' })

export function putPlace(
  bytes: Uint8Array,
  start: number,
  { id, outcome }: { id: number; outcome: 'up' | 'down' },
): number {
  const at = putInteger(bytes, putPiece(bytes, start, places.id), id)
  return putPiece(bytes, at, places[outcome])
}
