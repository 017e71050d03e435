import { describe, expect, test } from 'bun:test'

import type { Trade } from '#src/domain/trade.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, conditionIdOf, getMarket, START_MS } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'

type Row = Record<string, unknown>
type Page = { data: Row[]; nextCursor: string | null }

const trade = (offset: number, price: number, more: Partial<Trade> = {}): Trade => ({
  timestampMs: START_MS + offset,
  price,
  outcome: 'up',
  size: 25_500_000,
  side: 'buy',
  ...more,
})
const HASH = `0x${'ab'.repeat(32)}`

/** Several share a millisecond. */
const trades = [
  trade(1, 510_000),
  trade(7, 520_000, { outcome: 'down', side: 'sell', transactionHash: HASH }),
  trade(7, 530_000),
  trade(7, 540_000),
  trade(9, 550_000, { outcome: undefined, side: undefined }),
]
/** They are no trades. */
const lastPrices = [0, 7, 8, 12].map((offset) => ({
  timestampMs: START_MS + offset,
  price: 560_000 + offset,
}))

async function serve() {
  const history = openHistory(':memory:')
  const conditionId = conditionIdOf(1)
  await history.putMarket({
    conditionId,
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: START_MS,
    windowEndMs: START_MS + 300_000,
  })
  await history.putTrades({ id: 'trades', conditionId, trades: [...trades, ...lastPrices] })
  const { send } = createHarness({ history })
  const path = `/v1/btc/markets/${conditionId}/trades`
  const get = async (query = '') => (await (await send(`${path}?${query}`)).json()) as Page
  const walk = async (query: string) => {
    const rows: Row[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await get(cursor === '' ? query : `${query}&cursor=${cursor}`)
      rows.push(...page.data)
      cursor = page.nextCursor
    }
    return rows
  }
  return { history, send, path, get, walk }
}

describe('GET /v1/{coin}/markets/{conditionId}/trades', () => {
  test('default: every trade by time, as it was announced', async () => {
    const { data, nextCursor } = await (await serve()).get()
    expect(data.map(({ price }) => price)).toEqual([0.51, 0.53, 0.54, 0.52, 0.55])
    expect(data[3]).toEqual({
      timestamp: new Date(START_MS + 7).toISOString(),
      outcome: 'down',
      price: 0.52,
      size: 25.5,
      side: 'sell',
      transactionHash: HASH,
    })
    expect(data[4]).toMatchObject({ outcome: null, size: 25.5, side: null, transactionHash: null })
    expect(nextCursor).toBeNull()
  })

  test('behavior: imported last trade prices are the last trade of prices, and nowhere a trade', async () => {
    const { history, send, path, get } = await serve()
    await history.append({
      id: 'books',
      source: 'recorded',
      snapshots: [20, 1020].map((ms) => aSnapshot({ timestampMs: START_MS + ms })),
    })
    const market = path.replace('/trades', '')
    expect((await get()).data).toHaveLength(trades.length)
    const prices = (await (await send(`${market}/prices`)).json()) as Page
    expect(prices.data[0]).toMatchObject({ lastTrade: 0.560012, lastTradeOutcome: null })
    const heat = await (await send(`${market}/heatmap?include=removed`)).json()
    expect(heat).toMatchObject({
      trades: {
        from: new Date(START_MS + 1).toISOString(),
        to: new Date(START_MS + 9).toISOString(),
      },
    })
  })

  test('behavior: pages of any size give each once, in both directions and for an outcome', async () => {
    const { get, walk } = await serve()
    const { data } = await get()
    const up = data.filter(({ outcome }) => outcome === 'up')
    for (const limit of [1, 2, 3, 5]) {
      expect(await walk(`limit=${limit}`)).toEqual(data)
      expect(await walk(`limit=${limit}&order=desc`)).toEqual(data.toReversed())
      expect(await walk(`limit=${limit}&outcome=up`)).toEqual(up)
    }
    const range = `from=${START_MS + 2}&to=${START_MS + 9}`
    expect(await walk(`limit=2&${range}`)).toEqual(data.slice(1, 4))
    expect(await walk(`limit=2&order=desc&${range}`)).toEqual(data.slice(1, 4).toReversed())
  })

  test('behavior: what was not recorded is said, and a cursor is bound to its filters', async () => {
    const { send, path, get } = await serve()
    expect((await send(path)).headers.get('x-coverage')).toStartWith('none')
    const { nextCursor } = await get('limit=1')
    const other = await send(`${path}?limit=1&outcome=up&cursor=${nextCursor}`)
    expect(await other.json()).toMatchObject({ code: 'cursor_mismatch' })
  })

  test('behavior: once nodes are asked each has a state, and a page that may change is not kept', async () => {
    const { history, send, path, get } = await serve()
    await history.append({ id: 'books', source: 'recorded', snapshots: [aSnapshot()] })
    await history.close(conditionIdOf(1))
    const before = await send(path)
    expect(before.headers.get('cache-control')).toContain('immutable')
    expect(await before.text()).not.toContain('chain')

    await history.putReceipts([], 1)
    const open = await send(path)
    expect(open.headers.get('cache-control')).toBe('private, no-cache')
    const unknown = 'unknown'
    const { data } = (await open.json()) as Page
    expect(data.map(({ chain }) => chain)).toEqual([unknown, unknown, unknown, 'pending', unknown])
    const first = await send(`${path}?limit=1`)
    expect(first.headers.get('cache-control')).toContain('immutable')

    const { id: tradeId = 0 } =
      history
        .trades({ market: getMarket(history) })
        .find(({ transactionHash }) => transactionHash === HASH) ?? {}
    const { revision } = getMarket(history)
    await history.putReceipts([{ tradeId, isSuccess: false }], 1)
    expect(getMarket(history).revision).toBe(revision)
    expect((await get()).data[3]).toMatchObject({ transactionHash: HASH, chain: 'failed' })
    const headers = { 'if-none-match': open.headers.get('etag') ?? '' }
    const decided = await send(path, { headers })
    expect(decided.status).toBe(200)
    expect(decided.headers.get('cache-control')).toContain('immutable')
    const csv = await (await send(`${path}?format=csv&outcome=down`)).text()
    expect(csv).toBe(
      `timestamp,outcome,price,size,side,transaction_hash,chain\n${new Date(START_MS + 7).toISOString()},down,0.52,25.5,sell,${HASH},failed\n`,
    )
  })
})
