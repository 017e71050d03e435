import { describe, expect, test } from 'bun:test'

import { until } from '../until.ts'
import { START_MS, startGround } from './ground.ts'
import { connect } from './plain-client.ts'
import { createVenueClock } from './venue.ts'

type Live = {
  op?: string
  rid?: string
  seq: number
  snapshot?: boolean
  dropped?: number
  payload: { symbol: string; source: string; full_accuracy_value: string; data: object[] }
}

/** A clock at twenty times the real speed. */
const quick = () => createVenueClock(START_MS, 20)

const auth = { apiKey: 'key', secret: 'secret', passphrase: 'passphrase' }
const price = { channel: 'price.crypto.twap', filter: { symbol: 'btcusd', window_seconds: 60 } }

describe('openLive', () => {
  test('default: authenticates, sends two minutes of prices, then one per second', async () => {
    await using venue = await startGround({
      clock: quick(),
      stepsPerSecond: 1,
      spotFaults: { dropEvery: 3 },
    })
    using client = await connect(venue.liveUrl, { op: 'auth', rid: 'a1', auth })
    client.send({ op: 'subscribe', rid: 's1', subscriptions: [price] })
    await until(() => client.texts.length > 8)
    const messages = client.texts.map((text) => JSON.parse(text) as Live)
    expect(messages[0]).toEqual({ op: 'authed', rid: 'a1' } as Live)
    const [snapshot, ...updates] = messages.filter(({ op }) => op === undefined)
    expect(snapshot).toMatchObject({ seq: 1, snapshot: true, payload: { symbol: 'btcusd' } })
    expect(snapshot?.payload.data).toHaveLength(120)
    expect(updates[0]?.payload.full_accuracy_value).toMatch(/^\d{5}\.\d{8}$/)
    expect(updates.slice(0, 4).map(({ seq, dropped }) => [seq, dropped])).toEqual([
      [2, undefined],
      [3, undefined],
      [5, 1],
      [6, undefined],
    ])
  })

  test.each([
    { op: 'subscribe', rid: 's1', subscriptions: [price] },
    { op: 'auth', rid: 'a1', auth: {} },
  ])('error: closes 4001 without credentials: %j', async (message) => {
    await using venue = await startGround()
    using client = await connect(venue.liveUrl, message)
    await until(() => client.closes.length > 0)
    expect(client.closes).toEqual([4001])
  })
})

describe('openRtds', () => {
  test('default: a batch of past prices, then integers with 18 decimals', async () => {
    await using venue = await startGround({ clock: quick(), stepsPerSecond: 1 })
    using client = await connect(venue.rtdsUrl, {
      action: 'subscribe',
      subscriptions: [
        { topic: 'crypto_prices_chainlink', type: '*', filters: '{"symbol":"btc/usd"}' },
      ],
    })
    await until(() => client.texts.length > 2)
    const [first, second] = client.texts.map((text) => JSON.parse(text))
    expect(first).toMatchObject({ topic: 'crypto_prices', payload: { symbol: 'btc/usd' } })
    expect(second).toMatchObject({ topic: 'crypto_prices_chainlink', type: 'update' })
    const { full_accuracy_value, value } = second.payload
    expect(Number(full_accuracy_value) / 1e18).toBeCloseTo(value, 6)
    client.socket.send('PING')
    await until(() => client.texts.includes('PONG'))
  })
})
