import { describe, expect, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'
import { findPublishedStrike } from '#src/history/reads/settlement-read.ts'

import { conditionIdOf, START_MS } from './books.ts'

describe('findPublishedStrike', async () => {
  const history = openHistory(':memory:', { lagMs: 0 })
  await history.putMarket({
    conditionId: conditionIdOf(1),
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: START_MS,
    windowEndMs: START_MS + 300_000,
    settlementRule: 'twap60',
  })
  const tick = (afterMs: number, price: string, source = 'chainlink', windowSeconds = 60) =>
    ({ coin: 'btc', source, windowSeconds, timestampMs: START_MS + afterMs, price }) as const
  const find = () => {
    const market = history.findMarket(conditionIdOf(1))
    return market && findPublishedStrike(history, market)
  }

  test('behavior: the first at or after the start decides; no price and no other source does', async () => {
    await history.putSpot([
      tick(-1, '1'),
      tick(0, '2', 'pyth'),
      tick(0, '3', 'chainlink', 0),
      tick(0, '4', 'chainlink', 30),
      tick(5000, '5'),
    ])
    expect(find()).toBeUndefined()
    await history.putSpot([tick(1000, '6')])
    expect(find()).toBe('6')
    await history.putSpot([tick(0, '7')])
    expect(find()).toBe('7')
  })
})
