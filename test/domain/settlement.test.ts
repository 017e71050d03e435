import { describe, expect, test } from 'bun:test'

import { averageOf, neededAverage, winnerAt } from '#src/domain/settlement.ts'

import { twapOf } from '../support/venue/generated.ts'

const ticksOf = (...ticks: [second: number, price: string][]) =>
  ticks.map(([second, price]) => ({ timestampMs: second * 1000, price }))

describe('averageOf', () => {
  test('default: each price counts for the time until the next', () => {
    const ticks = ticksOf([0, '100.00'], [1, '200.00'], [4, '300.00'])
    // 100 for one second, 200 for three, 300 for one.
    expect(averageOf(ticks, { fromMs: 0, toMs: 5000 })).toBe('200.00')
  })

  test('behavior: the price at the end has no weight, and the one before the start has its rest', () => {
    const ticks = ticksOf([0, '10.0'], [3, '20.0'], [4, '99.0'])
    expect(averageOf(ticks, { fromMs: 2000, toMs: 4000 })).toBe('15.0')
  })

  test('behavior: is rounded half up to the digits of the prices, whatever floats make of them', () => {
    const half = ticksOf([0, '64000.01'], [1, '64000.02'])
    expect(averageOf(half, { fromMs: 0, toMs: 2000 })).toBe('64000.02')
    const third = ticksOf([0, '1.005'], [1, '1.005'], [2, '1.006'])
    expect(averageOf(third, { fromMs: 0, toMs: 3000 })).toBe('1.005')
  })

  test('behavior: a price holds for five seconds, and a tenth of the time may be unknown', () => {
    const ticks = ticksOf([0, '1'], [5, '3'])
    expect(averageOf(ticks, { fromMs: 0, toMs: 11_000 })).toBe('2')
    expect(averageOf(ticks, { fromMs: 0, toMs: 12_000 })).toBeUndefined()
  })

  test('error: nothing is known of no time, and without prices', () => {
    expect(averageOf(ticksOf([0, '1']), { fromMs: 0, toMs: 0 })).toBeUndefined()
    expect(averageOf([], { fromMs: 0, toMs: 1000 })).toBeUndefined()
  })
})

describe('neededAverage', () => {
  test('default: Up wins at the test venue exactly if the rest reaches what is needed', () => {
    const endMs = 300_000
    const fromMs = endMs - 60_000
    /** Prices that rise make the price at the end matter most. */
    const priceAt = (atMs: number) => (64_000 + (atMs / 1000) ** 2 / 100).toFixed(2)
    const published = Number(twapOf((_, atMs) => priceAt(atMs))('btc', endMs))
    const ticks = Array.from({ length: 61 }, (_, second) => {
      const timestampMs = fromMs + second * 1000
      return { timestampMs, price: priceAt(timestampMs) }
    })
    for (const toMs of [fromMs + 1000, fromMs + 30_000, endMs - 1000]) {
      const rest = ticks.filter(({ timestampMs }) => timestampMs >= toMs && timestampMs < endMs)
      const mean = rest.reduce((sum, { price }) => sum + Number(price), 0) / rest.length
      const neededFor = (strike: number) =>
        Number(
          neededAverage(
            ticks.filter(({ timestampMs }) => timestampMs <= toMs),
            { fromMs, toMs, endMs, strike: strike.toFixed(2) },
          ),
        )
      expect(mean).toBeGreaterThanOrEqual(neededFor(published - 0.01))
      expect(mean).toBeLessThan(neededFor(published + 0.01))
    }
  })
})

describe('winnerAt', () => {
  test('default: Up wins at the strike or above it', () => {
    expect(winnerAt('64000.5', '64000.49')).toBe('down')
    expect(winnerAt('64000.5', '64000.51')).toBe('up')
    expect(winnerAt('64000.5', '64000.500')).toBe('up')
    expect(winnerAt('9.5', '10')).toBe('up')
  })

  test('behavior: the last digit decides, however many there are', () => {
    const strike = '64126.123456789012345679'
    expect(winnerAt(strike, '64126.123456789012345678')).toBe('down')
    expect(winnerAt(strike, '64126.123456789012345679')).toBe('up')
  })
})
