import { describe, expect, test } from 'bun:test'

import type { Timeframe } from '#src/domain/market.ts'
import { readSettlementRule, settlementRuleOf } from '#src/venue/polymarket/settlement.ts'

const CHAINLINK = 'https://data.chain.link/streams/btc-usd'
const BINANCE = 'https://www.binance.com/en/trade/BTC_USDT'

const ruleOf = (timeframe: Timeframe, end: string, resolutionSource?: string) =>
  readSettlementRule({ resolutionSource }, undefined, timeframe, Date.parse(end))

describe('readSettlementRule', () => {
  test('default: is what the object of the market, or of its event, says', () => {
    const about = ['5m', Date.parse('2026-08-10T00:00:00Z')] as const
    const twap = (twapLookbackSeconds: number) => ({
      cryptoMarketConfig: { id: 'btc-5m', twapEnabled: true, twapLookbackSeconds },
      resolutionSource: CHAINLINK,
    })
    expect(readSettlementRule(twap(60), undefined, ...about)).toBe('twap60')
    expect(readSettlementRule({}, twap(30), ...about)).toBe('twap30')
    expect(readSettlementRule(twap(45), undefined, ...about)).toBeUndefined()
    const spot = { cryptoMarketConfig: { twapEnabled: false } }
    expect(readSettlementRule(spot, undefined, ...about)).toBe('spot')
  })

  test.each([
    ['5m', '2026-07-24T10:00:00Z', 'spot'],
    ['15m', '2026-08-05T10:00:00Z', 'spot'],
    ['5m', '2026-08-10T10:00:00Z', 'twap30'],
    ['15m', '2026-08-10T10:00:00Z', 'twap60'],
    ['5m', '2026-08-16T10:00:00Z', 'twap60'],
    ['4h', '2026-11-22T09:00:00Z', 'twap60'],
  ] as const)(
    'behavior: a window of %s that ended %s was settled by %s',
    (timeframe, end, rule) => {
      expect(ruleOf(timeframe, end, CHAINLINK)).toBe(rule)
    },
  )

  test.each([
    ['5m', '2026-08-06T12:00:00Z'],
    ['15m', '2026-08-08T12:00:00Z'],
    ['5m', '2026-08-14T12:00:00Z'],
    ['4h', '2026-10-31T12:00:00Z'],
  ] as const)('behavior: nothing is claimed of %s around %s, when it changed', (timeframe, end) => {
    expect(ruleOf(timeframe, end, CHAINLINK)).toBeUndefined()
  })

  test('behavior: hours and days are settled by Binance where their object says so', () => {
    expect(ruleOf('1h', '2026-11-22T10:00:00Z', BINANCE)).toBe('binance-1h')
    expect(ruleOf('1d', '2026-11-22T17:00:00Z', BINANCE)).toBe('binance-1d')
    expect(ruleOf('1h', '2026-11-22T10:00:00Z', CHAINLINK)).toBeUndefined()
    expect(ruleOf('1d', '2026-11-22T17:00:00Z')).toBeUndefined()
  })

  test('behavior: an object that names no source, or another, claims nothing', () => {
    expect(ruleOf('5m', '2026-11-22T10:00:00Z')).toBeUndefined()
    expect(ruleOf('5m', '2026-11-22T10:00:00Z', BINANCE)).toBeUndefined()
  })
})

describe('settlementRuleOf', () => {
  test.each([
    ['5m', '2026-11-22T10:00:00Z', 'twap60'],
    ['5m', '2026-08-10T10:00:00Z', 'twap30'],
    ['15m', '2026-07-24T10:00:00Z', 'spot'],
    ['1h', '2026-11-22T10:00:00Z', 'binance-1h'],
    ['5m', '2026-08-14T12:00:00Z', undefined],
  ] as const)(
    'default: the venue settles a window of %s that ends %s by %s',
    (timeframe, end, rule) => {
      expect(settlementRuleOf({ timeframe, endMs: Date.parse(end) })).toBe(rule)
    },
  )
})
