import { describe, expect, test } from 'bun:test'

import { outcomes } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { decodeTops, encodeTops, topOf } from '#src/history/codec/beside.ts'
import { createRandom } from '#src/platform/random.ts'

import { aSnapshot, createBookMaker, NO_LEVELS } from '../books.ts'

const roundTrip = (rows: readonly Snapshot[]): number[] => [
  ...decodeTops(
    encodeTops(rows),
    rows.map(({ outcome }) => (outcome === 'up' ? 0 : 1)),
  ),
]

const withSize = (size: number): Snapshot =>
  aSnapshot({ bids: { prices: [1], sizes: [size] }, asks: NO_LEVELS })

describe('encodeTops and decodeTops', () => {
  test('default: give back best bid and ask of every row of both outcomes', () => {
    const random = createRandom('tops')
    for (let round = 0; round < 30; round++) {
      const make = createBookMaker(random)
      const rows = Array.from({ length: 1 + random.integer(100) }, () =>
        aSnapshot({ outcome: random.pick(outcomes), ...make() }),
      )
      expect(roundTrip(rows)).toEqual(rows.flatMap(topOf))
    }
  })

  test('behavior: an empty side is zeros, and no rows are no bytes', () => {
    expect(roundTrip([aSnapshot({ bids: NO_LEVELS, asks: NO_LEVELS })])).toEqual([0, 0, 0, 0])
    expect(encodeTops([]).length).toBe(0)
  })

  test('behavior: gives back every size that a snapshot may have, up to 2^53 - 1 millionths, growing and shrinking', () => {
    const sizes = [1, Number.MAX_SAFE_INTEGER, 1, 2 ** 52 + 1, 5, Number.MAX_SAFE_INTEGER - 1, 7]
    const rows = sizes.map(withSize)
    expect(roundTrip(rows)).toEqual(rows.flatMap(topOf))
  })

  test('error: bytes of more rows are refused', () => {
    const bytes = encodeTops([aSnapshot(), aSnapshot()])
    expect(() => decodeTops(bytes, [0])).toThrow('More tops than rows.')
  })

  test('error: too few bytes are refused', () => {
    const bytes = encodeTops([aSnapshot(), aSnapshot()])
    for (let length = 0; length < bytes.length; length++)
      expect(() => decodeTops(bytes.subarray(0, length), [0, 0])).toThrow('An integer is')
  })
})
