import { describe, expect, test } from 'bun:test'

import type { MarketFacts, Source } from '#src/domain/market.ts'
import { defaultTiers } from '#src/domain/selling/tier.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import { openHistory } from '#src/history/open.ts'

import { conditionIdOf } from '../history/books.ts'
import { addKey, createHarness, NOW_MS } from '../support/harness.ts'

type Body = { conditionId: string; spot: { price: number } | null }

function createServer() {
  const history = openHistory(':memory:')
  const put = (number: number, facts: Partial<MarketFacts> = {}) =>
    history.putMarket({
      conditionId: conditionIdOf(number),
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      windowStartMs: NOW_MS - 100_000,
      windowEndMs: NOW_MS + 200_000,
      ...facts,
    })
  const putPrice = (price: string, beforeMs: number, series: Partial<SpotTick> = {}) =>
    history.putSpot([
      {
        coin: 'btc',
        source: 'chainlink',
        windowSeconds: 60,
        timestampMs: NOW_MS - beforeMs,
        price,
        ...series,
      },
    ])
  let lookups = 0
  const spot = (query: Parameters<typeof history.spot>[0]) => {
    lookups++
    return history.spot(query)
  }
  const server = createHarness({ history: { ...history, spot } })
  const read = async (path: string) => (await server.send(`/v1/btc/${path}`)).json()
  const list = async () => ((await read('markets')) as { data: Body[] }).data
  const one = async (number: number) => (await read(`markets/${conditionIdOf(number)}`)) as Body
  return { ...server, put, putPrice, read, list, one, lookups: () => lookups }
}

describe('spot of a market', () => {
  test('default: an open market has the newest price as `prices` shows it, by itself and in the list', async () => {
    const { put, putPrice, read, list, one } = createServer()
    await put(1)
    await putPrice('64126.50', 900)
    await putPrice('64130.25', 400, { source: 'pyth', windowSeconds: 0 })
    await putPrice('1', -1)
    const spot = {
      price: 64_130.25,
      source: 'pyth',
      windowSeconds: 0,
      timestamp: new Date(NOW_MS - 400).toISOString(),
    }
    expect((await one(1)).spot).toEqual(spot)
    expect((await list()).map((market) => market.spot)).toEqual([spot])
    expect(((await read('prices')) as Body).spot).toEqual(spot)
  })

  test('behavior: is null for a tier without the route of prices, beside one that has it', async () => {
    const { put, putPrice, list, one, ledger, sendAs } = createServer()
    await put(1)
    await putPrice('64126.50', 900)
    const pro = defaultTiers.find(({ tierId }) => tierId === 'pro')
    if (pro === undefined) throw new Error('There is no Pro tier.')
    const key = addKey(ledger, {
      ...pro,
      tierId: 'books',
      name: 'Books',
      rank: 10,
      routes: ['markets', 'snapshots'],
    })
    for (let count = 0; count < 3; count++) {
      expect((await one(1)).spot?.price).toBe(64_126.5)
      const listed = (await (await sendAs(key, '/v1/btc/markets')).json()) as { data: Body[] }
      const found = (await (
        await sendAs(key, `/v1/btc/markets/${conditionIdOf(1)}`)
      ).json()) as Body
      expect([listed.data[0]?.spot, found.spot]).toEqual([null, null])
      expect((await list())[0]?.spot?.price).toBe(64_126.5)
    }
  })

  test.each([
    ['binance', 'chainlink', 'coinbase'],
    ['coinbase', 'chainlink', 'binance'],
    ['chainlink', 'coinbase', 'binance'],
  ])(
    'behavior: of several sources at one millisecond it is the first by name (%s, %s, %s)',
    async (first, second, third) => {
      const { put, putPrice, one } = createServer()
      await put(1)
      // Three series a second: the newest eight prices end within a millisecond.
      for (const beforeMs of [3000, 2000, 1000])
        for (const source of [first, second, third])
          await putPrice(String(60_000 + beforeMs), beforeMs, { source })
      expect((await one(1)).spot).toMatchObject({ source: 'binance', price: 61_000 })
    },
  )

  test('behavior: is null before and after the window, and where nothing is recorded', async () => {
    const { put, putPrice, list, one, advance } = createServer()
    await put(1)
    await put(2, { windowStartMs: NOW_MS + 200_000, windowEndMs: NOW_MS + 500_000 })
    await put(3, { windowStartMs: NOW_MS - 400_000, windowEndMs: NOW_MS - 100_000 })
    expect((await list()).map(({ spot }) => spot)).toEqual([null, null, null])
    await putPrice('64126.50', 0)
    const prices = (await list()).map(({ spot }) => spot?.price)
    expect(prices).toEqual([undefined, 64_126.5, undefined])
    advance(200_000)
    expect((await one(1)).spot).toBeNull()
    expect((await one(2)).spot?.price).toBe(64_126.5)
  })

  test.each([
    ['recorded', 64_126.5],
    ['simulated', 2],
  ] as const)(
    'behavior: a %s market has no price of the other kind',
    async (source: Source, price: number) => {
      const { put, putPrice, one } = createServer()
      await put(1, { source })
      await putPrice('64126.50', 900)
      await putPrice('2', 0, { source: 'simulated' })
      expect((await one(1)).spot?.price).toBe(price)
    },
  )

  test.each([false, true])(
    'behavior: a list looks it up once, however many are open; recorded at all: %p',
    async (isRecorded) => {
      const { put, putPrice, list, lookups } = createServer()
      for (let number = 1; number <= 60; number++) await put(number)
      if (isRecorded) await putPrice('64126.50', 0)
      expect((await list()).filter(({ spot }) => spot !== null)).toHaveLength(isRecorded ? 60 : 0)
      expect(lookups()).toBe(1)
    },
  )
})
