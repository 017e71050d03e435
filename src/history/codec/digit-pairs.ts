/** Two digits of a number at a time, a point being one, in the code of frames. */
import { literalBits, literalCodes } from './deflate-code.ts'

/** By the lowest four bits of both, which differ for all that a number has in it or after it. */
const pairs = new Int32Array(256)
const digits = Buffer.from('0123456789.')
const placeOf = (first: number, second: number): number => ((first & 15) << 4) | (second & 15)

for (const first of digits) {
  for (const second of digits) {
    const bits = literalBits[first] ?? 0
    const code = (literalCodes[first] ?? 0) | ((literalCodes[second] ?? 0) << bits)
    pairs[placeOf(first, second)] = (code << 5) | (bits + (literalBits[second] ?? 0))
  }
}

/** Both codes, and their bits (16 at most) in the lowest five; 0 where either is no digit. */
export const digitPairAt = (bytes: Uint8Array, at: number): number =>
  pairs[placeOf(bytes[at] ?? 0, bytes[at + 1] ?? 0)] ?? 0
