import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import type { MarketFacts } from '#src/domain/market.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import { SettlementBody, type SettlementList } from '#src/features/settlement/schema.ts'
import { openHistory } from '#src/history/open.ts'

import { conditionIdOf } from '../history/books.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem, type Send, withParams } from '../support/page-client.ts'

const LENGTH_MS = 300_000
/** Start of the first window; all are over. */
const START_MS = NOW_MS - (NOW_MS % LENGTH_MS) - 20 * LENGTH_MS
const iso = (timeMs: number): string => new Date(timeMs).toISOString()
const startOf = (window: number): number => START_MS + window * LENGTH_MS

/** A window that settles on the average of a minute, won by Up. */
const aWindow = (window: number, facts: Partial<MarketFacts> = {}): MarketFacts => ({
  conditionId: conditionIdOf(window + 1),
  coin: 'btc',
  timeframe: '5m',
  source: 'recorded',
  windowStartMs: startOf(window),
  windowEndMs: startOf(window + 1),
  settlementRule: 'twap60',
  winner: 'up',
  winnerSource: 'venue',
  ...facts,
})

const aTick = (timestampMs: number, price: string, tick: Partial<SpotTick> = {}): SpotTick => ({
  coin: 'btc',
  source: 'chainlink',
  windowSeconds: 60,
  timestampMs,
  receivedMs: timestampMs + 80,
  price,
  ...tick,
})

async function createServer(markets: readonly MarketFacts[], ticks: readonly SpotTick[]) {
  const history = openHistory(':memory:')
  for (const market of markets) await history.putMarket(market)
  await history.putSpot(ticks)
  return { history, ...createHarness({ history }) }
}

async function read(send: Send, window = 0): Promise<SettlementBody> {
  const response = await send(`/v1/btc/markets/${conditionIdOf(window + 1)}/settlement`)
  const body: unknown = await response.json()
  expect([response.status, ...Value.Errors(SettlementBody, body)]).toEqual([200])
  return body as SettlementBody
}

/** What is said of one window with these prices. */
async function settlementOf(facts: Partial<MarketFacts>, ticks: readonly SpotTick[]) {
  const { send } = await createServer([aWindow(0, facts)], ticks)
  const { agreement, reason, proof, estimate } = await read(send)
  return { agreement, reason, proof, estimate }
}

async function list(send: Send, params: Record<string, string | number> = {}) {
  const response = await send(withParams('/v1/btc/settlements', params))
  expect(response.status).toBe(200)
  return (await response.json()) as SettlementList
}

const [beginMs, endMs] = [startOf(0), startOf(1)]
const bothEnds = [aTick(beginMs, '64000.50'), aTick(endMs, '64000.75')]

describe('GET /v1/{coin}/markets/{conditionId}/settlement', () => {
  test('default: the rule, the prices of both ends with their times, both winners', async () => {
    const facts = { strike: '64000.5', strikeSource: 'catalogue', slug: 'btc-window' } as const
    const { send } = await createServer([aWindow(0, facts)], bothEnds)
    expect(await read(send)).toEqual({
      conditionId: conditionIdOf(1),
      symbol: 'btc',
      timeframe: '5m',
      source: 'recorded',
      slug: 'btc-window',
      windowStart: iso(beginMs),
      windowEnd: iso(endMs),
      settlementRule: 'twap60',
      agreement: 'agrees',
      reason: null,
      proof: {
        strike: 64000.5,
        finalPrice: 64000.75,
        winner: 'up',
        ticks: [
          {
            source: 'chainlink',
            windowSeconds: 60,
            timestamp: iso(beginMs),
            price: 64000.5,
            receivedAt: iso(beginMs + 80),
            lateMs: 0,
          },
          {
            source: 'chainlink',
            windowSeconds: 60,
            timestamp: iso(endMs),
            price: 64000.75,
            receivedAt: iso(endMs + 80),
            lateMs: 0,
          },
        ],
      },
      estimate: null,
      strike: 64000.5,
      strikeSource: 'catalogue',
      finalPrice: null,
      finalPriceSource: null,
      result: 'up',
      winnerSource: 'venue',
    })
  })

  test('behavior: the first price at an end or after it decides, never one before it', async () => {
    const { proof } = await settlementOf({}, [
      aTick(beginMs - 1, '1'),
      aTick(beginMs + 4999, '64000.1'),
      aTick(endMs - 1, '99999'),
      aTick(endMs + 1000, '64000.2'),
      aTick(endMs + 2000, '1'),
    ])
    expect(proof).toMatchObject({ strike: 64000.1, finalPrice: 64000.2, winner: 'up' })
    expect(proof?.ticks.map(({ lateMs }) => lateMs)).toEqual([4999, 1000])
  })

  test('behavior: a later price of one second replaces the earlier', async () => {
    const { proof } = await settlementOf({}, [
      aTick(beginMs, '64000.1'),
      aTick(beginMs + 400, '64000.4'),
      aTick(beginMs + 999, '64000.9'),
      aTick(beginMs + 1000, '5'),
      aTick(endMs + 1500, '64000.7'),
      aTick(endMs + 1900, '64000.8'),
      aTick(endMs + 2000, '6'),
    ])
    expect(proof).toMatchObject({ strike: 64000.9, finalPrice: 64000.8, winner: 'down' })
  })

  test('behavior: a tie is Up', async () => {
    const tie = [aTick(beginMs, '64000.50'), aTick(endMs, '64000.5')]
    expect(await settlementOf({}, tie)).toMatchObject({ agreement: 'agrees', reason: null })
    expect(await settlementOf({ winner: 'down' }, tie)).toMatchObject({
      agreement: 'disagrees',
      reason: 'winner_differs',
      proof: { winner: 'up' },
    })
  })

  test('behavior: each rule has its series, and no other takes its place', async () => {
    const others = [
      aTick(beginMs, '1', { windowSeconds: 30 }),
      aTick(beginMs, '2', { windowSeconds: 0 }),
      aTick(beginMs, '3', { source: 'pyth' }),
      aTick(endMs, '4', { source: 'pyth' }),
    ]
    const strikeBy = async (settlementRule: MarketFacts['settlementRule']) => {
      const ends = [30, 0].map((windowSeconds) => aTick(endMs, '9', { windowSeconds }))
      return (await settlementOf({ settlementRule }, [...others, ...ends])).proof?.strike
    }
    expect(await strikeBy('twap30')).toBe(1)
    expect(await strikeBy('spot')).toBe(2)
    expect(await strikeBy('twap60')).toBeUndefined()
  })

  test('behavior: the average of the page counts where the feed has none', async () => {
    const page = { source: 'price_page' }
    const pages = [aTick(beginMs, '7', page), aTick(endMs, '5', page)]
    expect((await settlementOf({}, pages)).proof).toMatchObject({ strike: 7, finalPrice: 5 })
    const both = [...pages, aTick(endMs, '8')]
    expect((await settlementOf({}, both)).proof).toMatchObject({ strike: 7, finalPrice: 8 })
  })

  test('behavior: our own average of the prices of the moment is an estimate, and proves nothing', async () => {
    const seconds = Array.from({ length: 361 }, (_, second) =>
      aTick(beginMs + (second - 60) * 1000, second < 60 ? '100.0' : '99.0', { windowSeconds: 0 }),
    )
    expect(await settlementOf({}, seconds)).toEqual({
      agreement: 'unknown',
      reason: 'no_tick_at_start',
      proof: null,
      estimate: { strike: 100, finalPrice: 99, winner: 'down', source: 'chainlink' },
    })
    const published = [...seconds, aTick(beginMs, '98.5')]
    expect(await settlementOf({}, published)).toMatchObject({
      reason: 'no_tick_at_end',
      proof: null,
      estimate: { strike: 98.5, finalPrice: 99, winner: 'up' },
    })
  })

  test.each<[reason: SettlementBody['reason'], facts: Partial<MarketFacts>, ticks: SpotTick[]]>([
    ['no_tick_at_start', {}, [aTick(beginMs + 5000, '1'), aTick(endMs, '1')]],
    ['no_tick_at_end', {}, [aTick(beginMs, '1')]],
    ['candle', { settlementRule: 'binance-1h' }, bothEnds],
    ['rule_unknown', { settlementRule: undefined, timeframe: '4h' }, bothEnds],
    ['window_unknown', { windowStartMs: undefined, windowEndMs: undefined }, bothEnds],
    ['not_over', { windowEndMs: NOW_MS + 1 }, bothEnds],
  ])('behavior: there is no proof, and the reason is %s', async (reason, facts, ticks) => {
    const without = { agreement: 'unknown', reason, proof: null, estimate: null }
    expect(await settlementOf(facts, ticks)).toEqual(without as never)
  })

  test('behavior: without its catalogue entry, a market has the rule of its time', async () => {
    const spots = [beginMs, endMs].map((atMs) => aTick(atMs, '64000', { windowSeconds: 0 }))
    const { send } = await createServer([aWindow(0, { settlementRule: undefined })], spots)
    expect(await read(send)).toMatchObject({
      settlementRule: 'spot',
      agreement: 'agrees',
      proof: { winner: 'up' },
    })
  })

  test('behavior: what the venue has not decided, or has paid half, does not agree', async () => {
    const undecided = { winner: undefined, winnerSource: undefined }
    expect(await settlementOf(undecided, bothEnds)).toMatchObject({
      agreement: 'unknown',
      reason: 'no_winner',
      proof: { winner: 'up' },
    })
    expect(await settlementOf({ winner: 'void' }, bothEnds)).toMatchObject({
      agreement: 'disagrees',
      reason: 'void',
    })
  })
})

describe('GET /v1/{coin}/settlements', () => {
  /** Prices rise but for the fourth window, of which the venue says Down too, and the fifth. */
  const prices = ['1', '2', '3', '4', '3', '2', '5']
  const ticks = prices.map((price, window) => aTick(startOf(window), price))
  const windows = [0, 1, 2, 3, 4, 5, 7].map((window) =>
    aWindow(window, window === 3 ? { winner: 'down' } : {}),
  )
  const open = aWindow(30, { winner: undefined, winnerSource: undefined })

  test('default: every window that is over, newest first, each as its own route has it', async () => {
    const { send } = await createServer([...windows, open], ticks)
    const { data, nextCursor } = await list(send)
    expect(nextCursor).toBeNull()
    expect(data.map(({ agreement, reason }) => reason ?? agreement)).toEqual([
      'no_tick_at_start',
      'agrees',
      'winner_differs',
      'agrees',
      'agrees',
      'agrees',
      'agrees',
    ])
    expect(data.at(-1)).toEqual(await read(send, 0))
  })

  test('behavior: every disagreement is found, on pages of any length and in both orders', async () => {
    const wrong = Array.from({ length: 240 }, (_, at) =>
      aWindow(at - 230, {
        conditionId: conditionIdOf(1000 + at),
        winner: at % 7 === 0 ? 'down' : 'up',
      }),
    )
    const flat = Array.from({ length: 241 }, (_, at) => aTick(startOf(at - 230), '5'))
    const { send } = await createServer(wrong, flat)
    for (const order of ['asc', 'desc']) {
      const found: string[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const more = cursor === undefined ? {} : { cursor }
        const page = await list(send, { agreement: 'disagrees', order, limit: 3, ...more })
        found.push(...page.data.map(({ conditionId }) => conditionId))
        cursor = page.nextCursor
      }
      const expected = wrong.filter((_, at) => at % 7 === 0).map(({ conditionId }) => conditionId)
      expect(found).toEqual(order === 'asc' ? expected : expected.toReversed())
    }
  })

  test('behavior: `from`, `to`, `timeframe` and `source` choose windows', async () => {
    const hour = aWindow(0, { conditionId: conditionIdOf(99), timeframe: '1h' })
    const { send } = await createServer([...windows, hour], ticks)
    const namesOf = async (params: Record<string, string | number>) =>
      (await list(send, { order: 'asc', ...params })).data.map(({ conditionId }) => conditionId)
    const range = { from: startOf(1), to: startOf(3) }
    expect(await namesOf(range)).toEqual([2, 3].map(conditionIdOf))
    expect(await namesOf({ timeframe: '1h' })).toEqual([conditionIdOf(99)])
    expect(await namesOf({ source: 'simulated' })).toEqual([])
  })

  test.each([
    ['agreement', 'maybe'],
    ['timeframe', '7m'],
    ['limit', '1001'],
    ['order', 'up'],
    ['cursor', 'x'],
  ])('error: %s=%s names the parameter', async (name, value) => {
    const { send } = await createServer([], [])
    const problem = await readProblem(
      await send(withParams('/v1/btc/settlements', { [name]: value })),
    )
    expect(problem.param).toBe(name)
  })

  test('error: a range that ends before it begins', async () => {
    const { send } = await createServer([], [])
    const path = withParams('/v1/btc/settlements', { from: NOW_MS, to: NOW_MS })
    expect((await readProblem(await send(path))).param).toBe('to')
  })
})
