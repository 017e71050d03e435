import { describe, expect, test } from 'bun:test'

import { coins, coinTable } from '#src/domain/market.ts'
import type { CoinBody, CoinList } from '#src/features/markets/schema.ts'
import { openHistory } from '#src/history/open.ts'

import { createHarness, NOW_MS } from '../support/harness.ts'
import {
  appendRows,
  createMarketHistory,
  type KnownMarket,
  rowsAt,
} from '../support/market-history.ts'
import { readProblem, type Send } from '../support/page-client.ts'

const { history, both, single, open, edge } = await createMarketHistory()
const { send, sendAs } = createHarness({ history })

async function read(sender: Send): Promise<CoinBody[]> {
  const response = await sender('/v1/coins')
  expect(response.status).toBe(200)
  return ((await response.json()) as CoinList).data
}

const timesOf = (...markets: KnownMarket[]) => {
  const times = markets.flatMap(({ rows }) => rows.map(({ timestampMs }) => timestampMs))
  return {
    firstSnapshot: new Date(Math.min(...times)).toISOString(),
    lastSnapshot: new Date(Math.max(...times)).toISOString(),
  }
}

describe('GET /v1/coins', () => {
  test('default: every coin with what is held of it, without a key', async () => {
    const data = await read((path) => sendAs(undefined, path))
    const names = Object.entries(coinTable).map(([coin, { name }]) => [coin, name])
    expect(data.map(({ symbol, name }) => [symbol, name])).toEqual(names)
    const held = {
      markets: 2,
      openMarkets: 0,
      snapshots: both.rows.length + open.rows.length,
      ...timesOf(both, open),
    }
    expect(data[0]).toEqual({
      symbol: 'btc',
      name: 'Bitcoin',
      sources: ['simulated'],
      ...held,
      timeframes: [{ timeframe: '5m', ...held }],
    })
    expect(data[1]).toMatchObject({ markets: 1, ...timesOf(single) })
    expect(data[2]).toMatchObject({
      sources: ['recorded'],
      openMarkets: 1,
      snapshots: 0,
      firstSnapshot: null,
      lastSnapshot: null,
    })
    // A market without a known window is open until it is closed.
    expect(data[3]).toMatchObject({ openMarkets: 1, snapshots: edge.rows.length })
    expect(data[3]?.timeframes.map(({ timeframe }) => timeframe)).toEqual(['15m'])
  })

  test('behavior: timeframes and sources are told apart and added up', async () => {
    const own = openHistory(':memory:')
    const facts = { coin: 'eth', source: 'recorded' } as const
    const idOf = (digit: string) => `0x${digit.repeat(64)}`
    await own.putMarket({
      ...facts,
      conditionId: idOf('1'),
      timeframe: '1d',
      windowStartMs: NOW_MS + 1,
    })
    await own.putMarket({
      ...facts,
      conditionId: idOf('2'),
      timeframe: '5m',
      windowStartMs: NOW_MS,
    })
    await own.putMarket({ ...facts, conditionId: idOf('3'), timeframe: '5m', windowEndMs: NOW_MS })
    await own.putMarket({
      conditionId: idOf('4'),
      coin: 'eth',
      timeframe: '5m',
      source: 'simulated',
      winner: 'up',
      winnerSource: 'simulated',
    })
    const [, eth] = await read(createHarness({ history: own }).send)
    expect([eth?.sources, eth?.markets, eth?.openMarkets]).toEqual([
      ['recorded', 'simulated'],
      4,
      1,
    ])
    expect(
      eth?.timeframes.map(({ timeframe, markets, openMarkets }) => [
        timeframe,
        markets,
        openMarkets,
      ]),
    ).toEqual([
      ['5m', 3, 1],
      ['1d', 1, 0],
    ])
  })

  test('behavior: with nothing held every coin is still there', async () => {
    const data = await read(createHarness({ history: openHistory(':memory:') }).send)
    expect(data.map(({ symbol, markets, timeframes }) => [symbol, markets, timeframes])).toEqual(
      coins.map((coin) => [coin, 0, []]),
    )
  })

  test('behavior: is what is held at the moment', async () => {
    const { history: live, open: market } = await createMarketHistory()
    const { send: sendLive } = createHarness({ history: live })
    const snapshots = async () => (await read(sendLive))[0]?.snapshots
    const before = (await snapshots()) ?? 0
    await appendRows(live, market, rowsAt(market, [NOW_MS]))
    expect(await snapshots()).toBe(before + 1)
  })

  test('behavior: answers 304 while nothing has changed', async () => {
    const response = await send('/v1/coins')
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
    const headers = { 'if-none-match': response.headers.get('etag') ?? '' }
    expect((await send('/v1/coins', { headers })).status).toBe(304)
  })

  test.each(['x=1', 'limit=5', 'symbol=btc'])('error: %s is refused', async (query) => {
    const { status, code } = await readProblem(await send(`/v1/coins?${query}`))
    expect([status, code]).toEqual([400, 'invalid_parameter'])
  })
})
