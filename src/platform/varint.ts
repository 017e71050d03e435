/** Integers in groups of seven bits, lowest first; the sign is the lowest bit of the first byte. */

export const VARINT_BYTES_MAX = 8

/** Writes a safe integer; returns the offset after it. */
export function putVarint(bytes: Uint8Array, start: number, value: number): number {
  const magnitude = Math.abs(value)
  let rest = Math.floor(magnitude / 64)
  let at = start
  bytes[at++] = (value < 0 ? 1 : 0) + (magnitude % 64) * 2 + (rest > 0 ? 128 : 0)
  while (rest > 0) {
    const next = Math.floor(rest / 128)
    bytes[at++] = (rest % 128) + (next > 0 ? 128 : 0)
    rest = next
  }
  return at
}

/** Reads integers one after the other; throws at the end of the bytes. */
export class VarintReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  next(): number {
    const first = this.#byte()
    let magnitude = (first >> 1) & 63
    let byte = first
    for (let factor = 64; byte >= 128; factor *= 128) {
      if (factor > 2 ** 48) throw new Error('An integer is too long.')
      byte = this.#byte()
      magnitude += (byte & 127) * factor
    }
    if ((first & 1) === 0) return magnitude
    if (magnitude === 0) throw new Error('An integer is a negative zero.')
    return -magnitude
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw new Error('An integer is cut.')
    return byte
  }
}
