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
async function createServer() {
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
  await history.append({ id: 'fill', source: 'simulated', snapshots })
  await history.putMarket({
    conditionId: conditionIdOf(2),
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
  })
  return { history, ...createHarness({ history }) }
}

const server = await createServer()
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
      matchedAt: new Date(START_MS + 900).toISOString(),
      delayMs: 0,
      delaySource: 'none',
      fees: { source: 'unknown', rate: null, exponent: null, takerOnly: null, rebateRate: null },
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

describe('costs as they were', () => {
  const schedule = (rate: string, exponent = '1') =>
    JSON.stringify({ rate, exponent, takerOnly: true, rebateRate: '0.2' })
  const facts = { conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' } as const

  /** The rate was 0.072 until a second after the states, and is 0.07 now; the delay was 0. */
  async function serveChanged() {
    let nowMs = START_MS - 60_000
    const history = openHistory(':memory:', { clock: () => nowMs })
    await history.putMarket({ ...facts, feeSchedule: schedule('0.072'), takerDelayMs: 0 })
    const asks = ladder([500_000, 100_000_000])
    const states = [
      book('up', 0, { asks }),
      book('up', 300, { asks: ladder([600_000, 9_000_000]) }),
    ]
    await history.append({ id: 'fill', source: 'recorded', snapshots: states })
    nowMs = START_MS + 1000
    await history.putMarket({ ...facts, feeSchedule: schedule('0.07'), takerDelayMs: 250 })
    const { send } = createHarness({ history })
    return async (params: Record<string, string | number>) => {
      const asked = { ts: START_MS + 100, outcome: 'up', side: 'buy', size: '10', view: 'own' }
      const answer = await send(withParams(path, { ...asked, ...params }))
      return (await answer.json()) as Record<string, unknown>
    }
  }

  test('default: the fees and the delay are those that the market had', async () => {
    const filled = await serveChanged()
    const fees = { exponent: 1, takerOnly: true, rebateRate: 0.2, source: 'market' }
    // 10 × 0.072 × 0.5 × 0.5
    expect(await filled({})).toMatchObject({
      fee: 0.18,
      fees: { ...fees, rate: 0.072 },
      delayMs: 0,
      delaySource: 'market',
      bestPrice: 0.5,
    })
    expect(await filled({ ts: START_MS + 1100 })).toMatchObject({
      fees: { ...fees, rate: 0.07 },
      delayMs: 250,
      delaySource: 'market',
      matchedAt: new Date(START_MS + 1350).toISOString(),
    })
  })

  test('behavior: the order meets the book after latency and delay', async () => {
    const filled = await serveChanged()
    expect(await filled({ latencyMs: 150, delay: 49 })).toMatchObject({ bestPrice: 0.5 })
    expect(await filled({ latencyMs: 150, delay: 50 })).toMatchObject({
      bestPrice: 0.6,
      delaySource: 'request',
      matchedAt: new Date(START_MS + 300).toISOString(),
      ageMs: 0,
      unfilled: 1,
    })
  })

  test('behavior: fees and delay may be left out, or stated', async () => {
    const filled = await serveChanged()
    expect(await filled({ fees: 'none', delay: 0 })).toMatchObject({
      fee: 0,
      fees: { source: 'none', rate: null },
      delayMs: 0,
      delaySource: 'request',
    })
    expect(await filled({ feeBps: '100' })).toMatchObject({
      fee: 0.05,
      fees: { source: 'request' },
    })
    expect(await filled({ fees: 'none', feeBps: '100' })).toMatchObject({ param: 'fees' })
    expect(await filled({ delay: 60_001 })).toMatchObject({ param: 'delay' })
  })

  test('behavior: the exponent of a schedule counts', async () => {
    const history = openHistory(':memory:')
    await history.putMarket({ ...facts, feeSchedule: schedule('0.25', '2') })
    const snapshots = [book('up', 0, { asks: ladder([400_000, 100_000_000]) })]
    await history.append({ id: 'fill', source: 'recorded', snapshots })
    const { send } = createHarness({ history })
    const answer = await send(withParams(path, { ...sound, view: 'own', size: '100' }))
    // 100 × 0.25 × (0.4 × 0.6)²
    expect(await answer.json()).toMatchObject({ fee: 1.44, total: 41.44 })
  })

  test('default: since June 2026 a recorded market that states no delay had 250 ms', async () => {
    const startMs = Date.UTC(2026, 5, 1)
    const history = openHistory(':memory:')
    const state = (timestampMs: number) =>
      aSnapshot({ outcome: 'up', timestampMs, bids: NO_LEVELS, asks: ladder([500_000, 1_000_000]) })
    await history.append({
      id: 'june',
      source: 'recorded',
      snapshots: [state(startMs - 1000), state(startMs)],
    })
    const { send } = createHarness({ history })
    const delayAt = async (ts: number) => {
      const answer = await send(withParams(path, { ...sound, view: 'own', ts }))
      const { delayMs, delaySource } = (await answer.json()) as Record<string, unknown>
      return [delayMs, delaySource]
    }
    expect(await delayAt(startMs - 1)).toEqual([0, 'none'])
    expect(await delayAt(startMs)).toEqual([250, 'venue'])
  })
})
