/**
 * Writes rows of JSON as bytes, by the thousand: no string is made of a row or of a number in it.
 * Each function writes at an offset, where there must be room, and returns the offset after it. All
 * is ASCII.
 */
import type { Millionths } from '#src/core/decimal.ts'
import { toIso } from '#src/core/time.ts'

import { putDigits, putMillionths } from './millionths-bytes.ts'

const encoder = new TextEncoder()

/** Encodes texts that are written often, under their names. */
export const piecesOf = <Name extends string>(
  texts: Record<Name, string>,
): Record<Name, Uint8Array> => {
  const pieces = Object.entries<string>(texts).map(([name, text]) => [name, encoder.encode(text)])
  // The same names come out.
  return Object.fromEntries(pieces) as Record<Name, Uint8Array>
}

const NULL = encoder.encode('null')
const MINUS = 0x2d
const ZULU = 0x5a

/** Longer pieces are copied sooner by a call than by a loop. */
const LOOP_MAX = 16

export function putPiece(bytes: Uint8Array, start: number, piece: Uint8Array): number {
  const { length } = piece
  if (length > LOOP_MAX) bytes.set(piece, start)
  else for (let index = 0; index < length; index++) bytes[start + index] = piece[index] ?? 0
  return start + length
}

/** Writes a text that is no longer than there is room for. */
export const putText = (bytes: Uint8Array, start: number, ascii: string): number =>
  start + encoder.encodeInto(ascii, bytes.subarray(start)).written

export const putNull = (bytes: Uint8Array, start: number): number => putPiece(bytes, start, NULL)

/** Writes the shortest decimal of millionths that may be negative. */
export function putSigned(bytes: Uint8Array, start: number, millionths: Millionths): number {
  if (millionths >= 0) return putMillionths(bytes, start, millionths)
  bytes[start] = MINUS
  return putMillionths(bytes, start + 1, -millionths)
}

/** `2026-04-14T08:00:10.`: what times of one second have in common. */
const SECOND_LENGTH = 20

/** Makes what writes times as `toIso` prints them, fast where they are near each other. */
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
