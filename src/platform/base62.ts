/** Base 62: digits, upper case, lower case, the most significant character first. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BASE = 62n

/** Prints bytes as a big-endian number, zero-padded to `length`. Throws if that is too short. */
export const toBase62 = (bytes: Uint8Array, length: number): string =>
  integerToBase62(BigInt(`0x0${bytes.toHex()}`), length)

/** Prints an integer, zero-padded to `length` characters. Throws if that is too short. */
export function integerToBase62(integer: number | bigint, length: number): string {
  let text = ''
  for (let rest = BigInt(integer); rest > 0n; rest /= BASE) {
    text = ALPHABET.charAt(Number(rest % BASE)) + text
  }
  if (text.length > length) throw new RangeError(`A number needs more than ${length} characters.`)
  return text.padStart(length, ALPHABET.charAt(0))
}

const digits = new Uint8Array(128)
for (let digit = 0; digit < ALPHABET.length; digit++) digits[ALPHABET.charCodeAt(digit)] = digit

/** Reads a number below 2^53. Characters outside the alphabet count as 0. */
export function fromBase62(text: string): number {
  let value = 0
  for (let index = 0; index < text.length; index++) {
    value = value * ALPHABET.length + (digits[text.charCodeAt(index)] ?? 0)
  }
  return value
}
