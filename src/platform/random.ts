/**
 * A small seeded generator, not for secrets: sfc32 by Chris Doty-Humphrey, from PractRand (public
 * domain, https://pracrand.sourceforge.net/RNG_engines.txt). Draws use only 32-bit integer
 * operations and the four exact IEEE operations, so a seed gives the same values on every platform.
 */
import { createHash } from 'node:crypto'

import { assert } from './assert.ts'

const UINT32_VALUES = 4_294_967_296
const WARM_UP_ROUNDS = 12

export type Random = ReturnType<typeof createRandom>

/** Creates the stream of a seed. Any text is a seed, and similar texts give unrelated streams. */
export function createRandom(seed: string) {
  const uint32 = createSfc32(seed)
  const uniform = (): number => uint32() / UINT32_VALUES
  const integer = (bound: number): number => Math.floor(uniform() * bound)
  return {
    /** From 0 (inclusive) to 1 (exclusive), with 32 bits. */
    uniform,
    /** From 0 (inclusive) to `bound` (exclusive); `bound` is 1 to 2^32. */
    integer,
    /** Approximately standard normal, between -6 and 6. */
    normal: (): number => sumOfTwelve(uint32),
    /** An element of a non-empty list. */
    pick: <T>(items: readonly T[]): T => {
      assert(items.length > 0, 'cannot pick from an empty list')
      // The index is below the length.
      return items[integer(items.length)] as T
    },
  }
}

function createSfc32(seed: string): () => number {
  const digest = createHash('sha256').update(seed).digest()
  let a = digest.readInt32LE(0)
  let b = digest.readInt32LE(4)
  let c = digest.readInt32LE(8)
  let counter = 1
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  for (let round = 0; round < WARM_UP_ROUNDS; round++) next()
  return next
}

/** Twelve 16-bit uniforms minus six: variance one, without the logarithm of Box and Muller. */
function sumOfTwelve(uint32: () => number): number {
  let sum = 0
  for (let draw = 0; draw < 6; draw++) {
    const bits = uint32()
    sum += (bits & 0xffff) + (bits >>> 16) + 1
  }
  return sum / 65_536 - 6
}

/** An unsigned 32-bit integer from a cryptographically secure source. */
export const integerFrom = (randomBytes: (length: number) => Uint8Array): number =>
  Buffer.from(randomBytes(4)).readUInt32LE()
