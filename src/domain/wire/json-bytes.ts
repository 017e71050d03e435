/**
 * Steps over JSON in UTF-8 bytes without building values. Every function takes the index of a value
 * and returns the index just past it, or `MALFORMED`. The text must be followed by a zero byte: no
 * JSON token contains one, so no function reads past it.
 */

export const MALFORMED = -1

/** Zero-terminated bytes, padded for reads of whole words, and the position of the reader. */
export type Cursor = { readonly bytes: Buffer; readonly view: DataView; at: number }

export const byteOf = {
  quote: 0x22,
  comma: 0x2c,
  dot: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const

/** Nesting beyond this is malformed, so that hostile input cannot exhaust the stack. */
const DEPTH_MAX = 64

const encoder = new TextEncoder()
const escapable = new Set(encoder.encode('"\\/bfnrt'))
const literals = ['true', 'false', 'null'].map((text) => encoder.encode(text))

/** The byte at `at`; zero past the end, which ends every token. */
export const byteAt = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0

export const isDigit = (byte: number): boolean => byte >= byteOf.zero && byte <= byteOf.nine

const isHexDigit = (byte: number): boolean =>
  isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)

export function skipSpace(bytes: Uint8Array, at: number): number {
  let next = at
  while (isSpace(byteAt(bytes, next))) next++
  return next
}

/** Steps over a string. Escapes and control characters are checked, UTF-8 is not. */
function skipString(bytes: Uint8Array, at: number): number {
  if (byteAt(bytes, at) !== byteOf.quote) return MALFORMED
  let next = at + 1
  for (;;) {
    const byte = byteAt(bytes, next)
    if (byte === byteOf.quote) return next + 1
    if (byte < 0x20) return MALFORMED
    next = byte === byteOf.backslash ? skipEscape(bytes, next) : next + 1
    if (next === MALFORMED) return MALFORMED
  }
}

export function skipValue(bytes: Uint8Array, at: number, depth = 0): number {
  const byte = byteAt(bytes, at)
  if (byte === byteOf.quote) return skipString(bytes, at)
  if (byte === byteOf.openBrace || byte === byteOf.openBracket) {
    return depth === DEPTH_MAX ? MALFORMED : skipContainer(bytes, at, depth)
  }
  return byte === 0x2d || isDigit(byte) ? skipNumber(bytes, at) : skipLiteral(bytes, at)
}

export function startsWith(bytes: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++) {
    if (bytes[at + index] !== expected[index]) return false
  }
  return true
}

const isSpace = (byte: number): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

function skipEscape(bytes: Uint8Array, at: number): number {
  const kind = byteAt(bytes, at + 1)
  if (escapable.has(kind)) return at + 2
  if (kind !== 0x75) return MALFORMED
  for (let index = at + 2; index < at + 6; index++) {
    if (!isHexDigit(byteAt(bytes, index))) return MALFORMED
  }
  return at + 6
}

function skipContainer(bytes: Uint8Array, at: number, depth: number): number {
  const isObject = byteAt(bytes, at) === byteOf.openBrace
  const close = isObject ? byteOf.closeBrace : byteOf.closeBracket
  let next = skipSpace(bytes, at + 1)
  if (byteAt(bytes, next) === close) return next + 1
  for (;;) {
    if (isObject) next = skipKey(bytes, next)
    if (next !== MALFORMED) next = skipValue(bytes, next, depth + 1)
    if (next === MALFORMED) return MALFORMED
    next = skipSpace(bytes, next)
    const byte = byteAt(bytes, next)
    if (byte === close) return next + 1
    if (byte !== byteOf.comma) return MALFORMED
    next = skipSpace(bytes, next + 1)
  }
}

/** Steps over a member's key and colon, and the space after them. */
export function skipKey(bytes: Uint8Array, at: number): number {
  const end = skipString(bytes, at)
  if (end === MALFORMED) return MALFORMED
  const colon = skipSpace(bytes, end)
  return byteAt(bytes, colon) === byteOf.colon ? skipSpace(bytes, colon + 1) : MALFORMED
}

function skipNumber(bytes: Uint8Array, at: number): number {
  const whole = byteAt(bytes, at) === 0x2d ? at + 1 : at
  let next = skipDigits(bytes, whole)
  if (next > whole + 1 && byteAt(bytes, whole) === byteOf.zero) return MALFORMED
  if (next !== MALFORMED && byteAt(bytes, next) === byteOf.dot) next = skipDigits(bytes, next + 1)
  if (next === MALFORMED || (byteAt(bytes, next) | 0x20) !== 0x65) return next
  const sign = byteAt(bytes, next + 1)
  return skipDigits(bytes, sign === 0x2b || sign === 0x2d ? next + 2 : next + 1)
}

export function skipDigits(bytes: Uint8Array, at: number): number {
  let next = at
  while (isDigit(byteAt(bytes, next))) next++
  return next === at ? MALFORMED : next
}

function skipLiteral(bytes: Uint8Array, at: number): number {
  const literal = literals.find((candidate) => startsWith(bytes, at, candidate))
  return literal === undefined ? MALFORMED : at + literal.length
}
