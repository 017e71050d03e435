import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import type { Outcome } from '#src/domain/market.ts'
import type { Ladder } from '#src/domain/snapshot.ts'
import { FillBody } from '#src/features/fill/schema.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, conditionIdOf, NO_LEVELS, START_MS } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import { readProblem, withParams } from '../support/page-client.ts'

const ladder = (...levels: [price: number, size: number][]): Ladder => ({
  prices: levels.map(([price]) => price),
  sizes: levels.map(([, size]) => size),
})

const conditionId = conditionIdOf(1)
const path = `/v1/btc/markets/${conditionId}/fill`

type Sides = { bids?: Ladder; asks?: Ladder }
const book = (outcome: Outcome, afterMs: number, { bids, asks }: Sides) =>
  aSnapshot({
    outcome,
    timestampMs: START_MS + afterMs,
    bids: bids ?? NO_LEVELS,
    asks: asks ?? NO_LEVELS,
  })

/**
 * Up is recorded at 0 and 10,000 ms, down at 400 ms: it agrees on 0.54, has another size at 0.55,
 * and a level more. A market without states stands beside it.
 */
function createServer() {
  const history = openHistory(':memory:')
  const snapshots = [
    book('up', 0, {
      bids: ladder([530_000, 100_000_000]),
      asks: ladder([540_000, 96_500_000], [550_000, 1_000_000_000]),
    }),
    book('down', 400, {
      bids: ladder([460_000, 96_500_000], [450_000, 50_000_000], [440_000, 7_000_000]),
      asks: ladder([470_000, 100_000_000]),
    }),
    book('up', 10_000, { bids: ladder([10_000, 5_000_000]) }),
  ]
  history.append({ id: 'fill', source: 'simulated', snapshots })
  history.putMarket({
    conditionId: conditionIdOf(2),
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
  })
  return { history, ...createHarness({ history }) }
}

const server = createServer()
const sound = { ts: START_MS + 900, outcome: 'up', side: 'buy', size: '120' }

async function ask(params: Record<string, string | number | undefined>) {
  const sent = Object.entries({ ...sound, ...params }).filter(([, value]) => value !== undefined)
  const response = await server.send(withParams(path, Object.fromEntries(sent)))
  const text = await response.text()
  const body: unknown = JSON.parse(text)
  expect([response.status, ...Value.Errors(FillBody, body)]).toEqual([200])
  return { text, body: body as Record<string, unknown>, headers: response.headers }
}

async function refusal(params: Record<string, string | number | undefined>) {
  const sent = Object.entries({ ...sound, ...params }).filter(([, value]) => value !== undefined)
  const response = await server.send(withParams(path, Object.fromEntries(sent)))
  return readProblem(response)
}

describe('GET /v1/{coin}/markets/{conditionId}/fill', () => {
  test('default: a buy walks the ladder of both books, newer sizes first', async () => {
    const { body } = await ask({})
    // 96.5 × 0.54 + 23.5 × 0.55 = 52.11 + 12.925
    expect(body).toEqual({
      conditionId,
      outcome: 'up',
      side: 'buy',
      view: 'consolidated',
      ts: new Date(START_MS + 900).toISOString(),
      timestamp: new Date(START_MS + 400).toISOString(),
      ageMs: 500,
      sources: {
        own: { id: '1', timestamp: new Date(START_MS).toISOString() },
        mirror: { id: '2', timestamp: new Date(START_MS + 400).toISOString() },
        skewMs: 400,
      },
      asked: { size: 120 },
      filled: 120,
      notional: 65.035,
      fee: 0,
      total: 65.035,
      averagePrice: 0.541958333,
      bestPrice: 0.54,
      worstPrice: 0.55,
      slippage: 0.001958333,
      levelsUsed: 2,
      unfilled: 0,
      levels: [
        { price: 0.54, size: 96.5, source: 'both', cost: 52.11 },
        { price: 0.55, size: 23.5, source: 'mirror', cost: 12.925 },
      ],
    })
  })

  test('behavior: the own view takes nothing from the other book', async () => {
    const own = await ask({ view: 'own', size: '2000' })
    expect(own.body).toMatchObject({
      view: 'own',
      ageMs: 900,
      sources: { mirror: null, skewMs: null },
      filled: 1096.5,
      unfilled: 903.5,
    })
    const both = await ask({ size: '2000' })
    // The newer state has 50 at 0.55 and 7 at 0.56; the older one's 1,000 are gone.
    expect(both.body).toMatchObject({ filled: 153.5, unfilled: 1846.5, worstPrice: 0.56 })
  })

  test('behavior: a sell takes bids and is less its fee', async () => {
    const { body } = await ask({ side: 'sell', size: '50', feeBps: '12.5' })
    expect(body).toMatchObject({ notional: 26.5, fee: 0.033125, total: 26.466875, slippage: 0 })
    const rated = await ask({ side: 'sell', size: '50', feeRate: '0.07' })
    // 50 × 0.07 × 0.53 × 0.47
    expect(rated.body).toMatchObject({ fee: 0.87185, total: 25.62815 })
  })

  test('behavior: USDC is spent to the last millionth of a share', async () => {
    const { body } = await ask({ size: undefined, usdc: '10' })
    // 10 / 0.54 = 18.5185185…
    expect(body).toMatchObject({
      asked: { usdc: 10 },
      filled: 18.518518,
      notional: 10,
      averagePrice: 0.54,
      unfilled: 0,
    })
  })

  test('behavior: numbers are printed from exact decimals', async () => {
    const { text } = await ask({ size: '0.000001', limitPrice: '0.54' })
    expect(text).toContain('"asked":{"size":0.000001},"filled":0.000001,"notional":0.000001,')
    const { text: large } = await ask({ size: '9000000000.000000' })
    expect(large).toContain('"asked":{"size":9000000000}')
    expect(large).toContain('"unfilled":8999999846.5')
  })

  test('behavior: a limit leaves worse levels alone, and what it leaves is told', async () => {
    const { body } = await ask({ limitPrice: '0.54' })
    expect(body).toMatchObject({ filled: 96.5, unfilled: 23.5, levelsUsed: 1 })
    const nothing = await ask({ limitPrice: '0.1' })
    expect(nothing.body).toMatchObject({
      filled: 0,
      averagePrice: null,
      worstPrice: null,
      slippage: null,
      bestPrice: 0.54,
      total: 0,
      unfilled: 120,
      levels: [],
    })
  })

  test('behavior: an empty side fills nothing and has no best price', async () => {
    const { body } = await ask({ ts: START_MS + 10_000 })
    expect(body).toMatchObject({ bestPrice: null, filled: 0, unfilled: 120, ageMs: 0 })
    // The state of down is 9.6 s older: it does not count.
    expect(body).toMatchObject({ sources: { mirror: null, skewMs: null } })
  })

  test('behavior: the state in force is at or before the moment, never after', async () => {
    const before = await ask({ ts: START_MS + 399 })
    expect(before.body).toMatchObject({ ageMs: 399, sources: { mirror: null } })
    const at = await ask({ ts: START_MS + 400 })
    expect(at.body).toMatchObject({ ageMs: 0, sources: { mirror: { id: '2' } } })
  })

  test('behavior: says how the moment is covered, and answers 304 and HEAD', async () => {
    const { headers } = await ask({ view: 'own' })
    expect(headers.get('x-coverage')).toMatch(/^(full|partial;|none;)/)
    const address = withParams(path, sound)
    const first = await server.send(address)
    const etag = first.headers.get('etag') ?? ''
    const again = await server.send(address, { headers: { 'if-none-match': etag } })
    expect([again.status, await again.text()]).toEqual([304, ''])
    const head = await server.send(address, { method: 'HEAD' })
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, ''])
  })

  test('error: nothing by then is `no_snapshot` and says when the first state is', async () => {
    expect(await refusal({ ts: START_MS - 1 })).toMatchObject({
      code: 'no_snapshot',
      param: 'ts',
      detail: expect.stringContaining(new Date(START_MS).toISOString()),
    })
    expect(await refusal({ ts: START_MS + 399, outcome: 'down', view: 'own' })).toMatchObject({
      code: 'no_snapshot',
      detail: expect.stringContaining(new Date(START_MS + 400).toISOString()),
    })
    const empty = `/v1/btc/markets/${conditionIdOf(2)}/fill`
    const response = await server.send(withParams(empty, sound))
    expect(await readProblem(response)).toMatchObject({ status: 404, code: 'no_snapshot' })
  })

  test('error: a state older than `maxAgeMs` is `stale` and says how old it is', async () => {
    expect(await refusal({ maxAgeMs: 499 })).toMatchObject({
      status: 404,
      code: 'stale',
      param: 'maxAgeMs',
      detail: expect.stringContaining('500 ms'),
    })
    await ask({ maxAgeMs: 500 })
    expect(await refusal({ view: 'own', maxAgeMs: 500 })).toMatchObject({ code: 'stale' })
  })

  const badAmounts = ['0', '0.0000', '-1', '+1', '1e3', '0x10', 'NaN', 'Infinity', '', '.', '1,5']
  test.each([
    ...badAmounts.flatMap((text) => [
      ['size', { size: text }],
      ['usdc', { size: undefined, usdc: text }],
    ]),
    ['size', { size: '0.0000001' }],
    ['size', { size: '9000000000.000001' }],
    ['size', { size: '99999999999999999999' }],
    ['size', { size: undefined }],
    ['usdc', { usdc: '5' }],
    ['feeBps', { feeBps: '-1' }],
    ['feeBps', { feeBps: '10000.0001' }],
    ['feeBps', { feeBps: '1.00001' }],
    ['feeRate', { feeRate: '1.000001' }],
    ['feeRate', { feeBps: '1', feeRate: '0.07' }],
    ['limitPrice', { limitPrice: '0' }],
    ['limitPrice', { limitPrice: '1' }],
    ['side', { side: 'BUY' }],
    ['side', { side: undefined }],
    ['outcome', { outcome: 'yes' }],
    ['outcome', { outcome: undefined }],
    ['ts', { ts: undefined }],
    ['ts', { ts: -1 }],
    ['ts', { ts: '9007199254740991' }],
    ['view', { view: 'raw' }],
    ['maxAgeMs', { maxAgeMs: '1.5' }],
    ['amount', { amount: '1' }],
  ] as [string, Record<string, string | undefined>][])(
    'error: names %p, of %p',
    async (param, params) => {
      const problem = await refusal(params)
      expect(problem).toMatchObject({ status: 400, code: 'invalid_parameter', param })
      expect(problem.detail).toContain(`\`${param}\``)
    },
  )
})
