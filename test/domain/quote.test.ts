import { describe, expect, test } from 'bun:test'

import { formatMillionths } from '#src/domain/decimal.ts'
import { formatMid, imbalanceOf } from '#src/domain/quote.ts'
import { quoteText } from '#src/domain/wire/row-bytes.ts'
import { createRandom } from '#src/platform/random.ts'

const formatSigned = (millionths: number): string =>
  millionths < 0 ? `-${formatMillionths(-millionths)}` : formatMillionths(millionths)

/** By integers alone, half away from zero. */
function plainImbalance(bidSize: number, askSize: number): number {
  const bid = BigInt(bidSize)
  const ask = BigInt(askSize)
  const difference = bid < ask ? ask - bid : bid - ask
  const sum = bid + ask
  const scaled = difference * 1_000_000n
  const rounded = Number(scaled / sum + (2n * (scaled % sum) >= sum ? 1n : 0n))
  return bid < ask && rounded > 0 ? -rounded : rounded
}

describe('quoteText', () => {
  test('default: best levels, mid, spread and imbalance as exact decimals', () => {
    const text = quoteText({
      bidPrice: 530_000,
      bidSize: 12_480_060_000,
      askPrice: 540_001,
      askSize: 96_500_000,
    })
    expect(text).toBe(
      '"bid":0.53,"bidSize":12480.06,"ask":0.540001,"askSize":96.5,"mid":0.5350005,"spread":0.010001,"imbalance":0.984654',
    )
  })

  test('behavior: an empty side is null, and so is what needs both', () => {
    const sides = { bidPrice: 10_000, bidSize: 1, askPrice: 0, askSize: 0 }
    const none = '"mid":null,"spread":null,"imbalance":null'
    expect(quoteText(sides)).toBe(`"bid":0.01,"bidSize":0.000001,"ask":null,"askSize":null,${none}`)
    expect(quoteText({ ...sides, bidPrice: 0, bidSize: 0 })).toBe(
      `"bid":null,"bidSize":null,"ask":null,"askSize":null,${none}`,
    )
  })

  test('behavior: the spread of a crossed book is negative', () => {
    const text = quoteText({ bidPrice: 540_000, bidSize: 1, askPrice: 530_000, askSize: 3 })
    expect(text).toEndWith('"mid":0.535,"spread":-0.01,"imbalance":-0.5')
  })
})

describe('formatMid', () => {
  test.each([
    [1, 2, '0.0000015'],
    [1, 1, '0.000001'],
    [999_999, 999_998, '0.9999985'],
    [999_999, 999_999, '0.999999'],
    [400_000, 600_000, '0.5'],
  ])('behavior: the middle of %p and %p millionths is %p', (bid, ask, text) => {
    expect(formatMid(bid, ask)).toBe(text)
  })
})

describe('imbalanceOf', () => {
  test.each([
    [1, 1, '0'],
    [2_000_001, 1_999_999, '0.000001'],
    // Exactly half a millionth, either way.
    [2_000_001, 1_999_999 + 2, '0'],
    [1_000_001, 999_999, '0.000001'],
    [1_999_999, 2_000_001, '-0.000001'],
    [Number.MAX_SAFE_INTEGER, 1, '1'],
    [1, Number.MAX_SAFE_INTEGER, '-1'],
  ])('behavior: %p against %p is %p', (bid, ask, text) => {
    expect(formatSigned(imbalanceOf(bid, ask))).toBe(text)
  })

  test('behavior: it is what integers without bounds say, also next to a half', () => {
    const random = createRandom('imbalance')
    const pairs = Array.from({ length: 3000 }, (_, index): [number, number] => {
      if (index % 3 === 0) return [1 + random.integer(2 ** 32), 1 + random.integer(2 ** 32)]
      const half = 1_000_000 * (1 + random.integer(1000))
      const odd = Math.floor((half / 1_000_000) * (2 * random.integer(1_000_000) + 1) * 0.5)
      if (index % 3 === 1)
        return [half + odd, half - odd + random.integer(3)].map(positive) as [number, number]
      return [Number.MAX_SAFE_INTEGER - random.integer(1000), 2 ** 52 + random.integer(2 ** 32)]
    })
    for (const [bid, ask] of pairs) expect(imbalanceOf(bid, ask)).toBe(plainImbalance(bid, ask))
  })
})

const positive = (value: number): number => Math.max(1, value)
