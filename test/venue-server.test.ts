import { describe, expect, test } from 'bun:test'

import { until } from './support/until.ts'
import { type GeneratedOptions, generatedPlaybook } from './support/venue/generated.ts'
import { connect, replay } from './support/venue/plain-client.ts'
import type { VenueMarket } from './support/venue/playbook.ts'
import {
  createVenueClock,
  startVenue,
  type Venue,
  type VenueOptions,
} from './support/venue/venue.ts'

/** 2026-11-22T10:02:00Z: two minutes into a window of five. */
const START_MS = 1_795_341_720_000

type Setup = Partial<GeneratedOptions> & Partial<VenueOptions> & { speed?: number }

const start = ({ speed = 1, ...options }: Setup = {}): Promise<Venue> =>
  startVenue({
    playbook: generatedPlaybook({
      seed: 'test',
      startMs: START_MS,
      stepsPerSecond: 200,
      ...options,
    }),
    pace: { by: 'clock', clock: createVenueClock(START_MS, speed) },
    ...options,
  })

/** The market in whose window the venue starts. */
function openMarket(venue: Venue): VenueMarket {
  const isOpen = ({ startMs, endMs }: VenueMarket) => startMs <= START_MS && endMs > START_MS
  const market = venue.markets().find(isOpen)
  if (market === undefined) throw new Error('no open market')
  return market
}
const subscription = (assetIds: readonly string[], rest: object = {}) => ({
  assets_ids: assetIds,
  type: 'market',
  ...rest,
})

describe('startVenue', () => {
  test('default: an array of both books, then changes whose hashes come out', async () => {
    await using venue = await start()
    const market = openMarket(venue)
    using client = await connect(venue.marketUrl, subscription(market.assetIds))
    await until(() => client.texts.length > 300)
    expect(client.texts[0]).toStartWith('[{"market":"0x')
    expect(client.texts[0]).toEndWith('}]\n')
    const messages = client.messages()
    expect(messages.slice(0, 2).map(({ asset_id }) => asset_id)).toEqual([...market.assetIds])
    const { wrong, checked } = replay(messages)
    expect(wrong).toEqual([])
    expect(checked).toBeGreaterThan(40)
    const types = new Set(messages.map(({ event_type }) => event_type))
    expect([...types].sort()).toEqual(['book', 'last_trade_price', 'price_change'])
  })

  test('behavior: the command prints its addresses and plays', async () => {
    const program = new URL('./support/venue/main.ts', import.meta.url).pathname
    const child = Bun.spawn([process.execPath, program, '--seconds', '1', '--coins', 'btc'])
    const urls = JSON.parse(await new Response(child.stdout).text())
    expect(Object.keys(urls).sort()).toEqual(
      ['clobUrl', 'cryptoPriceUrl', 'gammaUrl', 'liveUrl', 'marketUrl', 'rtdsUrl'].sort(),
    )
    expect(await child.exited).toBe(0)
  })
})
