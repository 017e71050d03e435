import { describe, expect, test } from 'bun:test'

import { gapReasons } from '#src/domain/coverage.ts'
import {
  showChange,
  showCoinChange,
  showCoinPrice,
  showCompact,
  showDayMinute,
  showDollars,
  showDuration,
  showProfit,
  showShares,
  showWindow,
} from '#web/lib/format.ts'
import { describeReason, shortReason } from '#web/lib/gap-reasons.ts'
import { withoutRoutes } from '#web/lib/without-routes.ts'

describe('numbers and times of pages', () => {
  test('default: a price of a coin has the decimals that venues show at about this price', () => {
    for (const [price, text] of [
      [104_050, '$104,050.00'],
      [64_019.75, '$64,019.75'],
      [3_100.5, '$3,100.50'],
      [145.2, '$145.20'],
      [41.5, '$41.500'],
      [2.1, '$2.1000'],
      [0.210176, '$0.21018'],
      [null, '–'],
      [undefined, '–'],
    ] as const)
      expect(showCoinPrice(price)).toBe(text)
  })

  test('default: a change has the decimals of the price that it belongs to', () => {
    expect(showCoinChange(64_019.75, 64_000)).toBe('+$19.75')
    expect(showCoinChange(63_360, 64_000)).toBe('−$640.00')
    expect(showCoinChange(2.1, 2.100176)).toBe('−$0.0002')
    expect(showCoinChange(0.210176, 0.21)).toBe('+$0.00018')
  })

  test('default: money has cents, and shares of it two decimals', () => {
    expect(showDollars(1_234.5)).toBe('$1,234.50')
    expect(showDollars(0.126)).toBe('$0.13')
    expect(showProfit(-3.2)).toBe('−$3.20')
    expect(showChange(0.034)).toBe('+3.40 %')
  })

  test('default: numbers of shares have three digits where room is short, else hundredths', () => {
    for (const [size, text] of [
      [0.25, '0.3'],
      [64.72, '64.7'],
      [980.4, '980'],
      [999.6, '1K'],
      [4_120, '4.1K'],
      [123_456, '123K'],
      [999_600, '1M'],
      [null, '–'],
    ] as const)
      expect(showCompact(size)).toBe(text)
    expect(showShares(1_240.499)).toBe('1,240.5 shares')
  })

  test('default: durations and times have one form each', () => {
    expect(showDuration(12.345)).toBe('12.35 ms')
    expect(showDuration(12_345)).toBe('12.3 s')
    const ms = Date.UTC(2026, 3, 14, 8)
    expect(showDayMinute(ms)).toBe('Apr 14, 08:00')
    const [start, end] = [ms, ms + 300_000].map((each) => new Date(each).toISOString())
    expect(showWindow(start ?? null, end ?? null)).toBe('Apr 14, 08:00 – 08:05 UTC')
  })
})

describe('withoutRoutes', () => {
  test.each([
    [
      'There is no btc market 0xab. GET /v1/btc/markets lists the markets.',
      'There is no btc market 0xab.',
    ],
    [
      'The allowance of 10 requests a minute is used up. Wait 5 s; GET /v1/billing/tiers shows larger ones.',
      'The allowance of 10 requests a minute is used up. Wait 5 s.',
    ],
    ['The server is busy. Try again.', 'The server is busy. Try again.'],
  ])('default: %p is shown without routes', (detail, shown) => {
    expect(withoutRoutes(detail)).toBe(shown)
  })
})

describe('reasons of gaps', () => {
  test('behavior: each reason of the API has words, and a reason to come is legible', () => {
    for (const reason of gapReasons) {
      expect(shortReason(reason)).not.toContain('_')
      expect(describeReason(reason)).toMatch(/^[A-Z]/)
    }
    expect(describeReason('replica_behind')).toBe("The server's copy is behind")
    expect(shortReason('not_yet_known')).toBe('not yet known')
  })
})
