import { describe, expect, test } from 'bun:test'

import type { MarketFacts } from '#src/domain/market.ts'
import { openHistory } from '#src/history/open.ts'

import { appendAll, aSnapshot, assetIdOf, conditionIdOf, NO_LEVELS } from '../history/books.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'

const PATH = '/v1/btc/prices'
const iso = (timeMs: number): string => new Date(timeMs).toISOString()

type Body = { data: Record<string, unknown>[]; nextCursor: null; spot: null }

const factsOf = (number: number, facts: Partial<MarketFacts>): MarketFacts => ({
  conditionId: conditionIdOf(number),
  ...({ coin: 'btc', timeframe: '5m', source: 'simulated' } as const),
  windowStartMs: NOW_MS - 100_000,
  windowEndMs: NOW_MS + 200_000,
  ...facts,
})

async function createServer(markets: MarketFacts[]) {
  const history = openHistory(':memory:')
  for (const facts of markets) await history.putMarket(facts)
  const server = createHarness({ history })
  const read = async (path = PATH) => {
    const response = await server.send(path)
    expect(response.status).toBe(200)
    return { text: await response.clone().text(), body: (await response.json()) as Body, response }
  }
  const listed = async (path?: string) => (await read(path)).body.data.map((row) => row.conditionId)
  return { history, ...server, read, listed }
}

describe('GET /v1/{coin}/prices', () => {
  test('default: is every open market with the last state of both outcomes', async () => {
    const { history, read } = await createServer([factsOf(1, { slug: 'btc-updown-5m-1' })])
    const conditionId = conditionIdOf(1)
    const bids = { prices: [530_000], sizes: [1] }
    const asks = { prices: [540_001], sizes: [1] }
    await appendAll(history, [
      aSnapshot({ timestampMs: NOW_MS - 9_000 }),
      aSnapshot({ timestampMs: NOW_MS - 328, bids, asks }),
      aSnapshot({ timestampMs: NOW_MS - 400, bids, asks: NO_LEVELS, outcome: 'down' }),
    ])
    const trades = [{ timestampMs: NOW_MS - 5_000, price: 531_000, outcome: 'down' } as const]
    await history.putTrades({ id: 'trades', conditionId, trades })
    const { text, response } = await read()
    const up = `{"bid":0.53,"ask":0.540001,"mid":0.5350005,"timestamp":"${iso(NOW_MS - 328)}"}`
    const down = `{"bid":0.53,"ask":null,"mid":null,"timestamp":"${iso(NOW_MS - 400)}"}`
    const window = `"windowStart":"${iso(NOW_MS - 100_000)}","windowEnd":"${iso(NOW_MS + 200_000)}"`
    const trade = `{"price":0.531,"outcome":"down","timestamp":"${iso(NOW_MS - 5_000)}"}`
    expect(text).toBe(
      `{"data":[{"conditionId":"${conditionId}","timeframe":"5m","source":"simulated","slug":"btc-updown-5m-1",${window},"up":${up},"down":${down},"lastTrade":${trade}}],"nextCursor":null,"spot":null}`,
    )
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
  })

  test('behavior: an outcome without a state, and a market without a trade, are null', async () => {
    const { read } = await createServer([factsOf(1, {})])
    const { data } = (await read()).body
    expect(data).toEqual([
      expect.objectContaining({ up: null, down: null, lastTrade: null, slug: null }),
    ])
  })

  test('behavior: a window that is over, or has not begun, is not there', async () => {
    const { listed, advance } = await createServer([
      factsOf(1, { windowEndMs: NOW_MS }),
      factsOf(2, { windowEndMs: NOW_MS + 1 }),
      factsOf(3, { windowStartMs: NOW_MS + 1 }),
      factsOf(4, { windowStartMs: NOW_MS }),
      factsOf(5, { winner: 'up', winnerSource: 'venue' }),
    ])
    // Newest window first.
    expect(await listed()).toEqual([conditionIdOf(4), conditionIdOf(2)])
    advance(1)
    expect(await listed()).toEqual([conditionIdOf(3), conditionIdOf(4)])
  })

  test('behavior: is of one coin, and of one timeframe where that is asked for', async () => {
    const { listed, history } = await createServer([
      factsOf(1, {}),
      factsOf(2, { timeframe: '15m' }),
      factsOf(3, { coin: 'eth' }),
    ])
    expect((await listed()).toSorted()).toEqual([conditionIdOf(1), conditionIdOf(2)])
    expect(await listed(`${PATH}?timeframe=15m`)).toEqual([conditionIdOf(2)])
    expect(await listed(`${PATH}?timeframe=1d`)).toEqual([])
    expect(await listed('/v1/ETH/prices')).toEqual([conditionIdOf(3)])
    await history.close(conditionIdOf(1))
    expect(await listed()).toEqual([conditionIdOf(2)])
  })

  test('behavior: hundreds of open markets are all there, once', async () => {
    const numbers = Array.from({ length: 401 }, (_, index) => index + 1)
    const { listed } = await createServer(numbers.map((number) => factsOf(number, {})))
    const ids = await listed()
    expect(new Set(ids).size).toBe(401)
    expect(ids).toHaveLength(401)
  })

  test('behavior: a state ahead of our clock is not of now', async () => {
    const { history, read } = await createServer([factsOf(1, {})])
    await appendAll(history, [
      aSnapshot({ timestampMs: NOW_MS + 50, assetId: assetIdOf(conditionIdOf(1), 'up') }),
    ])
    expect((await read()).body.data[0]?.up).toBeNull()
  })

  test('behavior: what did not change is a 304 however much later; a state, a trade or a close is none', async () => {
    const { send, history, advance } = await createServer([factsOf(1, {}), factsOf(2, {})])
    await appendAll(history, [aSnapshot({ timestampMs: NOW_MS - 50 })])
    let etag = ''
    const ask = async () => {
      const response = await send(PATH, { headers: { 'if-none-match': etag } })
      etag = response.headers.get('etag') ?? ''
      return response.status
    }
    expect([await ask(), await ask()]).toEqual([200, 304])
    advance(90_000)
    expect(await ask()).toBe(304)
    await appendAll(history, [aSnapshot({ timestampMs: NOW_MS + 80_000 })])
    expect([await ask(), await ask()]).toEqual([200, 304])
    const trades = [{ timestampMs: NOW_MS, price: 531_000 }]
    await history.putTrades({ id: 'trades', conditionId: conditionIdOf(1), trades })
    expect([await ask(), await ask()]).toEqual([200, 304])
    advance(110_000)
    expect([await ask(), await ask()]).toEqual([200, 304])
  })

  test.each([
    ['timeframe=7m', 'timeframe'],
    ['timeframe=', 'timeframe'],
    ['limit=5', 'limit'],
    ['cursor=x', 'cursor'],
  ])('error: %s is refused, naming what to change', async (query, param) => {
    const { send } = await createServer([])
    const problem = await readProblem(await send(`${PATH}?${query}`))
    expect([problem.code, problem.param]).toEqual(['invalid_parameter', param])
  })
})
