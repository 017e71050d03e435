/** The strike of an open window, from the average that a price feed publishes. */
import { describe, expect, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'
import { findPublishedStrike } from '#src/recorder/published-strike.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { conditionIdOf, START_MS } from '../history/books.ts'
import { startRig } from './rig.ts'

const LIMIT_MS = 240_000

describe('startRecorder with a feed of averages', () => {
  test(
    'default: a window has the strike that was published for its start, until the catalogue has it',
    async () => {
      const startMs = Date.UTC(2026, 10, 22, 10, 4, 50)
      const { live } = polymarket.spotFeeds
      await using rig = await startRig({
        startMs,
        stepMs: 50,
        generated: { stepsPerSecond: 2 },
        // Without a page that has strikes.
        catalogueOf: (ports) => polymarket.createCatalogue({ ...ports, pricesUrl: undefined }),
        spotOf: ({ liveUrl }) => [{ name: 'live', feed: live, url: liveUrl, key: 'a:b:c' }],
      })
      await rig.advance(15_000)
      const [market] = rig.openMarkets()
      if (market === undefined) throw new Error('no market')
      const body = await rig.ask(`/v1/btc/markets/${market.conditionId}`)
      expect(body).toMatchObject({ strike: Number(market.strike), strikeSource: 'feed' })
      const board = await rig.ask('/v1/board')
      expect(board).toMatchObject({
        data: [{ average: { source: 'chainlink', isSettlement: false } }],
      })
    },
    LIMIT_MS,
  )
})

describe('findPublishedStrike', () => {
  const history = openHistory(':memory:', { lagMs: 0 })
  history.putMarket({
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

  test('behavior: the first at or after the start decides; no price and no other source does', () => {
    history.putSpot([
      tick(-1, '1'),
      tick(0, '2', 'pyth'),
      tick(0, '3', 'chainlink', 0),
      tick(0, '4', 'chainlink', 30),
      tick(5000, '5'),
    ])
    expect(find()).toBeUndefined()
    history.putSpot([tick(1000, '6')])
    expect(find()).toBe('6')
    history.putSpot([tick(0, '7')])
    expect(find()).toBe('7')
  })
})
