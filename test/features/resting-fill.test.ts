/** Orders that rest: bounds of what they would have got, by hand and by a program of its own. */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import type { MarketFacts, Outcome } from '#src/domain/market.ts'
import type { Trade } from '#src/domain/trade.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { createImportHarness } from '../ingest/import-harness.ts'
import { addKey, createHarness } from '../support/harness.ts'
import { type Params, readProblem, withParams } from '../support/page-client.ts'
import { hasPython, runPython } from '../support/python.ts'

const conditionId = conditionIdOf(1)
const path = `/v1/btc/markets/${conditionId}/fill/resting`

const tradeOf = (
  afterMs: number,
  outcome: Outcome,
  side: 'buy' | 'sell',
  cents: number,
  shares: number,
): Trade => ({
  timestampMs: START_MS + afterMs,
  outcome,
  side,
  price: cents * 10_000,
  size: shares * 1_000_000,
})

/** 60 shares are bid for up at 50 cents, and 40 offered at 52. */
async function serve(trades: readonly Trade[], facts: Partial<MarketFacts> = {}) {
  const history = openHistory(':memory:')
  const named = { conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' } as const
  await history.putMarket({ ...named, ...facts })
  const states = [0, 1000, 2000, 3000].map((afterMs) =>
    aSnapshot({
      outcome: 'up',
      timestampMs: START_MS + afterMs,
      bids: { prices: [500_000, 490_000], sizes: [60_000_000, 5_000_000] },
      // No quote is the same as the one before.
      asks: { prices: [520_000], sizes: [40_000_000 + afterMs] },
    }),
  )
  await history.append({ id: 'books', source: 'recorded', snapshots: states })
  await history.putTrades({ id: 'trades', conditionId, trades })
  return createHarness({ history })
}

const order = {
  outcome: 'up',
  side: 'buy',
  price: '0.5',
  size: '100',
  from: START_MS,
  until: START_MS + 3000,
}
/** Trades around the time, so that all of it is known. */
const around = [tradeOf(0, 'up', 'sell', 99, 1), tradeOf(3000, 'up', 'sell', 99, 1)]

async function boundsOf(trades: readonly Trade[], params: Params = {}) {
  const { send } = await serve([...around, ...trades])
  const answer = await send(withParams(path, { ...order, ...params }))
  expect(answer.status).toBe(200)
  return (await answer.json()) as Record<string, unknown>
}
const at = (afterMs: number) => new Date(START_MS + afterMs).toISOString()
const nothing = { filled: 0, firstAt: null, completeAt: null }

describe('GET /v1/{coin}/markets/{conditionId}/fill/resting', () => {
  test('default: behind the queue at least, in front of it at most', async () => {
    const body = await boundsOf([
      tradeOf(500, 'up', 'sell', 50, 40),
      // A purchase of down at 50 is a sale of up at 50.
      tradeOf(900, 'down', 'buy', 50, 50),
      tradeOf(1200, 'up', 'sell', 50, 80),
    ])
    expect(body).toEqual({
      conditionId,
      outcome: 'up',
      side: 'buy',
      price: 0.5,
      size: 100,
      from: at(0),
      placedAt: at(0),
      until: at(3000),
      queueAhead: 60,
      lower: { filled: 100, firstAt: at(900), completeAt: at(1200) },
      upper: { filled: 100, firstAt: at(500), completeAt: at(1200) },
      tradedThrough: 0,
      tradedAt: 170,
      fees: { source: 'unknown', rate: null, exponent: null, takerOnly: null, rebateRate: null },
      doubts: [],
    })
  })

  test('default: a trade through the price ends the queue, and fills by its size', async () => {
    const body = await boundsOf([
      tradeOf(500, 'up', 'sell', 49, 30),
      tradeOf(600, 'up', 'sell', 50, 20),
    ])
    expect(body).toMatchObject({
      lower: { filled: 50, firstAt: at(500), completeAt: null },
      upper: { filled: 50, firstAt: at(500), completeAt: null },
      tradedThrough: 30,
      tradedAt: 20,
    })
  })

  test('error: an order that the venue would have refused is named, with what to send', async () => {
    const windowEndMs = START_MS + 2000
    const { send } = await serve(around, { tickSize: 10_000, windowEndMs })
    const refusalOf = async (params: Params) => {
      const problem = await readProblem(await send(withParams(path, { ...order, ...params })))
      return [problem.status, problem.param, problem.detail]
    }
    expect(await refusalOf({ price: '0.505' })).toEqual([
      400,
      'price',
      '`price` is 0.505, but orders of this market had to be at multiples of 0.01 then. Send one of them, such as 0.5.',
    ])
    const late = `put the order in the book at ${at(2000)}, but the window ended at ${at(2000)}.`
    expect(await refusalOf({ from: START_MS + 1500, latencyMs: 500 })).toEqual([
      400,
      'from',
      `\`from\` and \`latencyMs\` ${late} Send an earlier \`from\`.`,
    ])
  })

  test('behavior: a book with finer prices than the known increment has finer orders', async () => {
    const { send } = await serve(around, { tickSize: 20_000 })
    const answer = await send(withParams(path, { ...order, price: '0.495' }))
    expect(answer.status).toBe(200)
  })

  test('behavior: nothing fills of other sides and prices, nor of shrinking depth', async () => {
    const body = await boundsOf([
      tradeOf(500, 'up', 'buy', 50, 30),
      tradeOf(600, 'up', 'sell', 51, 30),
      tradeOf(700, 'down', 'sell', 50, 30),
    ])
    expect(body).toMatchObject({ lower: nothing, upper: nothing })
    const sale = await boundsOf([tradeOf(700, 'down', 'sell', 48, 30)], {
      side: 'sell',
      price: '0.52',
    })
    expect(sale).toMatchObject({ queueAhead: 40, lower: nothing, upper: { filled: 30 } })
  })

  test('behavior: a trade of the millisecond of the order counts for the upper bound alone', async () => {
    const trades = [tradeOf(40, 'up', 'sell', 49, 30)]
    const body = await boundsOf(trades, { latencyMs: 40 })
    expect(body).toMatchObject({ placedAt: at(40), lower: nothing, upper: { filled: 30 } })
    expect(await boundsOf(trades, { latencyMs: 41 })).toMatchObject({ upper: nothing })
  })

  test('behavior: what the data cannot tell is said', async () => {
    const doubtsOf = async (trades: readonly Trade[], params: Params = {}) =>
      (await boundsOf(trades, params)).doubts
    const { side: _, ...unclear } = tradeOf(500, 'up', 'sell', 50, 70)
    expect(await doubtsOf([unclear])).toEqual(['unclear_trades'])
    expect(await boundsOf([unclear])).toMatchObject({ lower: nothing, upper: { filled: 70 } })
    const { size: __, ...unsized } = tradeOf(500, 'up', 'sell', 50, 70)
    expect(await boundsOf([unsized])).toMatchObject({ lower: nothing, upper: { filled: 100 } })
    expect(await doubtsOf([], { price: '0.52' })).toEqual(['crossed'])
    const early = { from: START_MS - 9000, until: START_MS - 1000 }
    expect(await doubtsOf([], early)).toEqual(['gap', 'trades_unknown', 'queue_unknown'])
    expect(await doubtsOf([], { until: START_MS + 3001 })).toContain('trades_unknown')
  })

  test('behavior: last trade prices are no trades', async () => {
    const priceOf = (afterMs: number): Trade => ({
      timestampMs: START_MS + afterMs,
      price: 490_000,
    })
    const { send } = await serve([priceOf(0), priceOf(500), priceOf(3000)])
    const answer = await send(withParams(path, order))
    expect(await answer.json()).toMatchObject({ upper: nothing, doubts: ['trades_unknown'] })
  })

  test.each([
    [{ size: '0' }, 'size'],
    [{ size: '-1' }, 'size'],
    [{ size: undefined }, 'size'],
    [{ price: '0' }, 'price'],
    [{ price: '1' }, 'price'],
    [{ until: undefined }, 'until'],
    [{ until: START_MS - 1 }, 'until'],
    [{ until: START_MS }, 'until'],
    [{ until: START_MS + 40, latencyMs: 40 }, 'until'],
    [{ until: START_MS + 7 * 86_400_000 + 1 }, 'until'],
    [{ from: undefined }, 'from'],
    [{ latencyMs: 60_001 }, 'latencyMs'],
    [{ side: 'hold' }, 'side'],
  ])('error: %o is refused, naming `%s`', async (change, param) => {
    const { send } = await serve([])
    const given = Object.entries({ ...order, ...change }).filter(([, value]) => value !== undefined)
    const answer = await send(withParams(path, Object.fromEntries(given) as Params))
    expect([answer.status, (await readProblem(answer)).param]).toEqual([400, param])
  })

  test('error: a tier without prices is refused, as of trades', async () => {
    const { sendAs, ledger } = await serve([])
    const tier = { tierId: 'own', name: 'Own', rank: 77, requestsPerMinute: 10, isForSale: false }
    const key = addKey(ledger, { ...tier, coins: ['btc'], routes: ['snapshots'] })
    const answer = await sendAs(key, withParams(path, order))
    expect((await readProblem(answer)).code).toBe('tier_route')
  })
})

const recordings = '../shared/data/polymarket'
const isAbsent = !existsSync(recordings) || !hasPython
const reason = isAbsent ? ' (skipped: ../shared/data or python3 is not here)' : ''
const RESTING = 200
const FILLS = 500
const DAY = 'snapshots-btc-5m-1hz-20260413-14.jsonl.gz'

describe(`orders over recorded books${reason}`, () => {
  const { pathOf, run } = createImportHarness()

  test.skipIf(isAbsent)(
    'default: Python computes the same from raw rows',
    async () => {
      const random = createRandom('orders')
      const history = openHistory(':memory:')
      const files = [DAY, 'markets-btc-5m-tokens.json'].map((name) => `${recordings}/${name}`)
      await run(files, { history })
      const markets = history
        .listMarkets({ coin: 'btc', limit: 1000, order: 'asc' })
        .filter(({ snapshotCounts: { up, down } }) => up + down > 250 && up * down === 0)
        .slice(0, 12)
      expect(markets).toHaveLength(12)
      const made: string[] = []
      for (const market of markets) {
        const { windowStartMs = 0 } = market
        // No recording has sizes of trades: times, prices around the book, sides and sizes are drawn.
        const trades = Array.from({ length: 400 }, (): Trade => {
          const timestampMs = windowStartMs + random.integer(290_000)
          return {
            timestampMs,
            outcome: random.pick(['up', 'down'] as const),
            side: random.pick(['buy', 'sell'] as const),
            price: (1 + random.integer(9)) * 100_000,
            size: (1 + random.integer(40_000)) * 10_000,
          }
        }).sort((a, b) => a.timestampMs - b.timestampMs)
        const { conditionId: id } = market
        await history.putTrades({ id, conditionId: id, trades })
        for (const trade of history.trades({ market }))
          made.push(JSON.stringify({ conditionId: id, ...trade }))
      }
      const server = createHarness({ history })
      const answers: string[] = []
      async function ask(route: string, market: string, params: Params) {
        const answer = await server.send(withParams(`/v1/btc/markets/${market}/${route}`, params))
        const text = await answer.text()
        expect([answer.status, text]).toEqual([200, text])
        answers.push(`{"asked":${JSON.stringify({ market, ...params })},"answer":${text}}`)
      }
      for (let count = 0; count < RESTING + FILLS; count++) {
        const market = random.pick(markets)
        const { conditionId: id, windowStartMs = 0 } = market
        const outcome = random.pick(['up', 'down'])
        const side = random.pick(['buy', 'sell'])
        const size = String((1 + random.integer(200_000)) / 100)
        const sentMs = windowStartMs + 20_000 + random.integer(200_000)
        const latencyMs = random.integer(400)
        if (count < FILLS) {
          const delay = random.pick([0, 250, 3000])
          const feeRate = '0.07'
          await ask('fill', id, { ts: sentMs, outcome, side, size, latencyMs, delay, feeRate })
        } else {
          const price = String((1 + random.integer(9)) / 10)
          const until = sentMs + 1000 + random.integer(60_000)
          await ask('fill/resting', id, {
            from: sentMs,
            until,
            outcome,
            side,
            size,
            price,
            latencyMs,
          })
        }
      }
      await Bun.write(pathOf('trades.ndjson'), made.join('\n'))
      await Bun.write(pathOf('answers.ndjson'), answers.join('\n'))
      const script = join(import.meta.dir, '../support/orders_again.py')
      const paths = [`${recordings}/${DAY}`, pathOf('trades.ndjson'), pathOf('answers.ndjson')]
      const printed = await runPython(script, paths)
      const counts = JSON.parse(printed) as Record<string, number>
      expect(counts).toMatchObject({ resting: RESTING, fills: FILLS })
      expect(counts.filled).toBeGreaterThan(400)
      expect(counts.restingFilled).toBeGreaterThan(80)
      expect(counts.apart).toBeGreaterThan(10)
    },
    300_000,
  )
})
