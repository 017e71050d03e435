/** The strike of an open window, from the average that a price feed publishes. */
import { describe, expect, test } from 'bun:test'

import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { startRig } from './rig.ts'

const LIMIT_MS = 600_000

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
