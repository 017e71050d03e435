import { describe, expect, test } from 'bun:test'

import { followLifecycle } from '#src/recorder/lifecycle.ts'
import { createReporter, type LiveMarket } from '#src/recorder/ports.ts'
import type { FeedEvent } from '#src/venue/feed.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { conditionIdOf } from '../history/books.ts'
import { createWorld } from './fake-world.ts'

const START_MS = Date.UTC(2026, 10, 22, 10)
const market: LiveMarket = {
  conditionId: conditionIdOf(1),
  slug: 'btc-updown-5m-1',
  coin: 'btc',
  timeframe: '5m',
  windowStartMs: START_MS,
  windowEndMs: START_MS + 300_000,
  assetIds: { up: '11', down: '12' },
}
const announced = JSON.stringify({ event_type: 'new_market', slug: 'btc-updown-5m-2' })

function start() {
  const world = createWorld(START_MS)
  const lines: string[] = []
  const events: FeedEvent[] = []
  const live: LiveMarket[] = []
  const lifecycle = followLifecycle({
    ...world,
    url: 'ws://venue',
    feed: polymarket.feed,
    live: () => live,
    onEvent: (event) => events.push(event),
    onFault: ({ reason }) => lines.push(reason),
    reporter: createReporter((line) => lines.push(line)),
  })
  return { ...world, lifecycle, lines, events, live }
}

describe('followLifecycle', () => {
  test('default: one connection, for the tokens of one market, hands on what is announced', async () => {
    const { advance, sockets, live, events, lifecycle } = start()
    await advance(3000)
    expect(sockets).toEqual([])
    live.push(market)
    await advance(3000)
    expect(sockets).toHaveLength(1)
    sockets[0]?.events.opened()
    expect(JSON.parse(sockets[0]?.sent[0] ?? '')).toMatchObject({
      assets_ids: ['11', '12'],
      custom_feature_enabled: true,
    })
    sockets[0]?.events.message(announced)
    sockets[0]?.events.message('not JSON')
    expect(events).toEqual([{ kind: 'announced', slug: 'btc-updown-5m-2' }])
    expect(lifecycle.status()).toEqual({ events: 1, isConnected: true })
    lifecycle.dispose()
    expect(sockets[0]?.isClosed).toBe(true)
  })

  test('error: one that ends is said once, and opened again, ever later', async () => {
    const { advance, sockets, live, lines } = start()
    live.push(market)
    await advance(1000)
    sockets[0]?.events.closed('closed with code 1006')
    await advance(1500)
    sockets[1]?.events.closed('closed with code 1006')
    await advance(1500)
    expect(sockets).toHaveLength(2)
    await advance(2000)
    expect(sockets).toHaveLength(3)
    sockets[2]?.events.opened()
    sockets[2]?.events.message(announced)
    expect(lines).toEqual([
      'The venue announces no markets: closed with code 1006. The recorder asks for them.',
      'The venue announces markets again.',
    ])
  })
})
