/** Base 62: digits, upper case, lower case, the most significant character first. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BASE = 62n

/** Prints bytes as one big-endian number, padded with zeros to `length` characters. Throws if it is too long. */
export function toBase62(bytes: Uint8Array, length: number): string {
  let value = 0n
  for (const byte of bytes) value = (value << 8n) | BigInt(byte)
  let text = ''
  for (; value > 0n; value /= BASE) text = ALPHABET.charAt(Number(value % BASE)) + text
  if (text.length > length)
    throw new RangeError(`${bytes.length} bytes need more than ${length} characters.`)
  return text.padStart(length, ALPHABET.charAt(0))
}

/** Prints an integer below 2^53, padded with zeros to `length` characters. Throws if it is too long. */
export function integerToBase62(integer: number, length: number): string {
  let value = integer
  let text = ''
  while (value > 0 || text.length < length) {
    text = ALPHABET.charAt(value % ALPHABET.length) + text
    value = Math.floor(value / ALPHABET.length)
  }
  if (text.length > length) throw new RangeError(`${integer} needs more than ${length} characters.`)
  return text
}

const digits = new Uint8Array(128)
for (let digit = 0; digit < ALPHABET.length; digit++) digits[ALPHABET.charCodeAt(digit)] = digit

/** Reads a number below 2^53 back. Other characters than those of the alphabet count as 0. */
export function fromBase62(text: string): number {
  let value = 0
  for (let index = 0; index < text.length; index++) {
    value = value * ALPHABET.length + (digits[text.charCodeAt(index)] ?? 0)
  }
  return value
}
