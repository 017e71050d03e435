/**
 * CRC-32 of concatenated texts without reading them again: `crc(A + B) = shift(crc(A), length of B)
 * ^ crc(B)`, where the shift multiplies by x^(8 * length) in GF(2) modulo the polynomial (zlib's
 * crc32_combine).
 */
import { crc32 as zlibCrc32 } from 'node:zlib'

const POLYNOMIAL = 0xedb88320
/** x^0 in the reflected bit order. */
const ONE = 0x80000000

/** CRC-32 of bytes, or of a text as UTF-8, continuing from `seed`. An unsigned 32-bit integer. */
export const crc32 = (data: Uint8Array | string, seed = 0): number => zlibCrc32(data, seed) >>> 0

function multiply(a: number, b: number): number {
  let mask = ONE
  let factor = b
  let product = 0
  for (;;) {
    if (a & mask) {
      product ^= factor
      if ((a & (mask - 1)) === 0) return product
    }
    mask >>>= 1
    if (mask === 0) return product
    factor = factor & 1 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1
  }
}

/** Index `256 * k + d` holds the operator that shifts by `d * 256^k` bytes; 0 until needed. */
const operators = new Uint32Array(4 * 256)
// x^8: one byte.
operators[1] = 0x00800000

/** `digit` is at least 1. */
function operatorOf(table: number, digit: number): number {
  const at = 256 * table + digit
  operators[at] ||= makeOperator(table, digit)
  return operators[at] ?? 0
}

function makeOperator(table: number, digit: number): number {
  if (digit === 1) {
    const half = operatorOf(table - 1, 128)
    return multiply(half, half)
  }
  const half = operatorOf(table, digit >>> 1)
  const even = multiply(half, half)
  return digit % 2 === 0 ? even : multiply(even, operatorOf(table, 1))
}

/** The CRC register `crc` after `length` zero bytes; `length` is below 2^32. */
export function crcShift(crc: number, length: number): number {
  let shifted = crc
  for (let rest = length >>> 0, table = 0; rest !== 0; rest >>>= 8, table++) {
    const digit = rest & 255
    if (digit !== 0) shifted = multiply(operatorOf(table, digit), shifted)
  }
  return shifted
}

/** The CRC of A + B from both CRCs and the length of B in bytes. */
export const crcJoin = (crcA: number, crcB: number, lengthB: number): number =>
  (crcShift(crcA, lengthB) ^ crcB) >>> 0

/** The CRC of the text between two prefixes, from their CRCs and the length between them. */
export const crcBetween = (crcStart: number, crcEnd: number, length: number): number =>
  (crcShift(crcStart, length) ^ crcEnd) >>> 0
