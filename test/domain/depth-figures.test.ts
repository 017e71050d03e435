import { describe, expect, test } from 'bun:test'

import { depthFigures } from '#src/domain/depth-figures.ts'
import type { Ladder } from '#src/domain/snapshot.ts'
import { createRandom } from '#src/platform/random.ts'

import { createBookMaker, NO_LEVELS } from '../history/books.ts'

/** By long division: nothing here is a float. */
function plainFigures({ prices, sizes }: Ladder) {
  let size = 0n
  let cost = 0n
  for (const [index, price] of prices.entries()) {
    size += BigInt(sizes[index] ?? 0)
    cost += BigInt(sizes[index] ?? 0) * BigInt(price)
  }
  return {
    levels: prices.length,
    size: toDecimal(size),
    usdc: toDecimal((cost + 500_000n) / 1_000_000n),
  }
}

const toDecimal = (millionths: bigint): string =>
  `${millionths / 1_000_000n}.${String(millionths % 1_000_000n).padStart(6, '0')}`.replace(
    /\.?0+$/,
    '',
  )

describe('depthFigures', () => {
  test('default: levels, shares, and what they cost', () => {
    const side = { prices: [530_000, 520_000], sizes: [12_480_060_000, 310_000_000] }
    // 12480.06 × 0.53 + 310 × 0.52
    expect(depthFigures(side)).toEqual({ levels: 2, size: '12790.06', usdc: '6775.6318' })
  })

  test('behavior: an empty side is nothing', () => {
    expect(depthFigures(NO_LEVELS)).toEqual({ levels: 0, size: '0', usdc: '0' })
  })

  test.each([
    [[500_000], [1], '0.000001'],
    [[499_999], [1], '0'],
    [[500_000, 499_999], [1, 1], '0.000001'],
    [[333_333], [3], '0.000001'],
  ])('behavior: %p × %p is rounded once, half up', (prices, sizes, usdc) => {
    expect(depthFigures({ prices, sizes }).usdc).toBe(usdc)
  })

  test('behavior: the largest sizes are added up exactly', () => {
    const count = 2000
    const prices = Array.from({ length: count }, (_, index) => 999_999 - index)
    const largest = { prices, sizes: prices.map(() => Number.MAX_SAFE_INTEGER) }
    expect(depthFigures(largest)).toEqual(plainFigures(largest))
    // Right below and at the bound to which sums of numbers are safe.
    for (const whole of [8_999_999_999, 9_000_000_000]) {
      const side = { prices: [999_999], sizes: [whole * 1_000_000 + 999_999] }
      expect(depthFigures(side)).toEqual(plainFigures(side))
    }
  })

  test('behavior: on random books it is what integers without bounds say', () => {
    const make = createBookMaker(createRandom('depth'))
    for (let round = 0; round < 500; round++) {
      const { bids, asks } = make()
      expect(depthFigures(bids)).toEqual(plainFigures(bids))
      expect(depthFigures(asks)).toEqual(plainFigures(asks))
    }
  })
})
