import { describe, expect, test } from 'bun:test'

import { encodeHashes, readHash } from '#src/history/codec/beside.ts'
import { createRandom } from '#src/platform/random.ts'

import { aSnapshot, randomHash } from '../books.ts'

const random = createRandom('hashes')

const someHashes = (count: number): (string | undefined)[] =>
  Array.from({ length: count }, () => (random.integer(3) === 0 ? undefined : randomHash(random)))

const encode = (hashes: readonly (string | undefined)[]): Uint8Array =>
  encodeHashes(hashes.map((sourceHash) => aSnapshot({ sourceHash })))

describe('encodeHashes and readHash', () => {
  test('default: give back the hash of every row, and undefined where there is none', () => {
    for (let round = 0; round < 50; round++) {
      const hashes = someHashes(random.integer(101))
      const bytes = encode(hashes)
      expect(hashes.map((_, row) => readHash(bytes, row))).toEqual(hashes)
    }
  })

  test('behavior: rows without any hash take a few bytes together, not twenty each', () => {
    expect(encode([undefined, undefined]).length).toBeLessThan(20)
    expect(encode([undefined, 'ab'.repeat(20)]).length).toBeGreaterThanOrEqual(40)
  })

  test('behavior: a row beyond the bytes, or half within, has none', () => {
    expect(readHash(new Uint8Array(0), 0)).toBeUndefined()
    expect(readHash(new Uint8Array(30).fill(7), 1)).toBeUndefined()
  })
})
