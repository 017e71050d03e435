import { describe, expect, test } from 'bun:test'

import { live, rtds } from '#src/venue/polymarket/spot.ts'

const AT_MS = 1_777_381_686_000

const sourcesOf = (channel: string, payload: object) =>
  live
    .decode(JSON.stringify({ v: 1, channel, seq: 2, ts: AT_MS, payload }), AT_MS)
    ?.map(({ source, windowSeconds }) => `${source} ${windowSeconds}`)

describe('live', () => {
  const payload = { symbol: 'btcusd', full_accuracy_value: '64126.5' }

  test.each([
    ['price.crypto.twap', {}, 'chainlink 60'],
    ['price.crypto', {}, 'pyth 0'],
    ['price.crypto.twap', { source: 'Pyth' }, 'pyth 60'],
    ['price.crypto', { source: 'chainlink' }, 'chainlink 0'],
    ['price.crypto.twap', { window_seconds: 30 }, 'chainlink 30'],
  ])('default: a price of %s with %j is of %s', (channel, own, said) => {
    expect(sourcesOf(channel, { ...payload, ...own })).toEqual([said])
  })
})

describe('rtds', () => {
  const [hello = ''] = rtds.hello(['btc', 'eth'], '')
  const message = (topic: string, payload: object) => JSON.stringify({ topic, payload })
  const values = { symbol: 'btc/usd', timestamp: AT_MS, full_accuracy_value: `7${'0'.repeat(22)}` }

  test('default: it asks for the prices and the averages of a minute of each coin', () => {
    const { subscriptions } = JSON.parse(hello) as { subscriptions: Record<string, string>[] }
    expect(subscriptions.map(({ topic, filters }) => `${topic} ${filters}`)).toEqual(
      ['crypto_prices_chainlink', 'crypto_prices_twap_sixty'].flatMap((topic) =>
        ['btc', 'eth'].map((coin) => `${topic} {"symbol":"${coin}/usd"}`),
      ),
    )
  })

  test.each([
    ['crypto_prices_chainlink', values, 0],
    ['crypto_prices_twap_sixty', { ...values, window_s: 60 }, 60],
    ['crypto_prices_twap_sixty', values, 60],
    ['crypto_prices', { symbol: 'btc/usd', data: [{ timestamp: AT_MS, value: 70_000 }] }, 0],
    [
      'crypto_prices',
      { symbol: 'btc/usd', window_s: 60, data: [{ timestamp: AT_MS, value: 70_000 }] },
      60,
    ],
  ])('default: a price of %s %j is of %i seconds', (topic, payload, windowSeconds) => {
    expect(rtds.decode(message(topic, payload), AT_MS)).toMatchObject([
      { coin: 'btc', source: 'chainlink', windowSeconds, price: '70000' },
    ])
  })
})
