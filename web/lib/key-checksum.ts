/** Checks the shape and the checksum of a key, as the server does. */

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHECKSUM_LENGTH = 6
/** The prefix, 27 random characters, and the checksum of both. */
const shape = /^bf_(live|test)_[0-9A-Za-z]{33}$/

export type KeyFault = 'shape' | 'checksum'

/** Names the fault of a typed key; undefined if the server may know it. */
export function keyFaultOf(text: string): KeyFault | undefined {
  if (!shape.test(text)) return 'shape'
  const split = text.length - CHECKSUM_LENGTH
  return base62(crc32(text.slice(0, split))) === text.slice(split) ? undefined : 'checksum'
}

function base62(value: number): string {
  let digits = ''
  for (let rest = value; digits.length < CHECKSUM_LENGTH; rest = Math.floor(rest / 62)) {
    digits = ALPHABET.charAt(rest % 62) + digits
  }
  return digits
}

/** CRC-32 of ASCII text, as in gzip. */
function crc32(text: string): number {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index++) {
    crc ^= text.charCodeAt(index)
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}
