import { describe, expect, test } from 'bun:test'

import type { MarketFacts, Outcome } from '#src/domain/market.ts'
import type { Ladder } from '#src/domain/snapshot.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'

import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  createBookMaker,
  NO_LEVELS,
} from '../history/books.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { walk, withParams } from '../support/page-client.ts'
import { PANEL_PATH, readPanel } from '../support/panel-client.ts'

const WINDOW_MS = 300_000
const START_MS = Date.UTC(2026, 0, 1)
const iso = (timeMs: number): string => new Date(timeMs).toISOString()

const factsOf = (
  number: number,
  startMs: number,
  facts: Partial<MarketFacts> = {},
): MarketFacts => ({
  conditionId: conditionIdOf(number),
  ...({ coin: 'btc', timeframe: '5m', source: 'simulated' } as const),
  windowStartMs: startMs,
  windowEndMs: startMs + WINDOW_MS,
  ...facts,
})

const ladder = (...levels: [price: number, size: number][]): Ladder => ({
  prices: levels.map(([price]) => price),
  sizes: levels.map(([, size]) => size),
})

type Sides = { bids?: Ladder; asks?: Ladder }
const book = (outcome: Outcome, timestampMs: number, { bids, asks }: Sides) =>
  aSnapshot({ outcome, timestampMs, bids: bids ?? NO_LEVELS, asks: asks ?? NO_LEVELS })

/** One market with every fact; both books at 0 s, that of up also at 240 s, a trade at 100 s. */
async function createOne() {
  const history = openHistory(':memory:')
  await history.putMarket(
    factsOf(1, START_MS, {
      slug: 'btc-updown-5m-1767225600',
      strike: '76211.80016560019',
      finalPrice: '76198.42',
      winner: 'down',
      winnerSource: 'venue',
    }),
  )
  const asks = ladder([540_000, 96_500_000], [550_000, 1_743_200_000])
  await appendAll(history, [
    book('up', START_MS, { bids: ladder([530_000, 12_480_060_000], [520_000, 310_000_000]), asks }),
    book('down', START_MS, { asks }),
    book('up', START_MS + 240_000, { bids: ladder([120_001, 1]) }),
  ])
  const trades = [{ timestampMs: START_MS + 100_000, price: 531_000 }]
  await history.putTrades({ id: 'trades', conditionId: conditionIdOf(1), trades })
  await history.close(conditionIdOf(1))
  return { history, ...createHarness({ history }) }
}

describe('GET /v1/{coin}/panel', async () => {
  const one = await createOne()

  test('default: a row says what was in force at the moment before the close, and who won', async () => {
    const { data, text } = await readPanel(one.send, { offsets: '-60001ms' })
    expect(data).toEqual([
      {
        conditionId: conditionIdOf(1),
        slug: 'btc-updown-5m-1767225600',
        timeframe: '5m',
        source: 'simulated',
        windowStart: iso(START_MS),
        windowEnd: iso(START_MS + WINDOW_MS),
        strike: expect.any(Number),
        finalPrice: 76198.42,
        winner: 'down',
        winnerSource: 'venue',
        offset: '-60001ms',
        offsetMs: -60001,
        ts: iso(START_MS + 239_999),
        lastTrade: { price: 0.531, outcome: null, timestamp: iso(START_MS + 100_000) },
        spot: null,
        covered: expect.any(Object),
        up: {
          timestamp: iso(START_MS),
          ageMs: 239_999,
          bid: 0.53,
          bidSize: 12480.06,
          ask: 0.54,
          askSize: 96.5,
          // (12480.06 - 96.5) / (12480.06 + 96.5) = 0.98465399…
          mid: 0.535,
          spread: 0.01,
          imbalance: 0.984654,
          bids: { levels: 2, size: 12790.06, usdc: 6775.6318 },
          // 96.5 × 0.54 + 1743.2 × 0.55
          asks: { levels: 2, size: 1839.7, usdc: 1010.87 },
        },
        down: {
          timestamp: iso(START_MS),
          ageMs: 239_999,
          bid: null,
          bidSize: null,
          ask: 0.54,
          askSize: 96.5,
          mid: null,
          spread: null,
          imbalance: null,
          bids: { levels: 0, size: 0, usdc: 0 },
          asks: { levels: 2, size: 1839.7, usdc: 1010.87 },
        },
      },
    ])
    // More digits than a float holds.
    expect(text).toContain('"strike":76211.80016560019,')
  })

  test('behavior: the price of the coin is that of the moment, of the shortest average, and none of another kind', async () => {
    const { history, send } = await createOne()
    const ticks = [
      { source: 'simulated', windowSeconds: 0, timestampMs: START_MS + 1000, price: '76211.50' },
      { source: 'simulated', windowSeconds: 60, timestampMs: START_MS + 2000, price: '76212' },
      { source: 'chainlink', windowSeconds: 0, timestampMs: START_MS + 2000, price: '76213' },
    ]
    await history.putSpot(ticks.map((tick) => ({ coin: 'btc', ...tick })))
    const spot = { price: 76211.5, source: 'simulated', windowSeconds: 0, ageMs: 2000 }
    const { data } = await readPanel(send, { offsets: '-299001ms,-299s,-297s' })
    expect(data.map((row) => row.spot)).toEqual([null, { ...spot, ageMs: 0 }, spot])
    const young = await readPanel(send, { offsets: '-297s', maxAgeMs: '1999' })
    expect(young.data.map((row) => row.spot)).toEqual([null])
  })

  test('behavior: a state at the very moment is in force, one a millisecond later is not', async () => {
    const { data } = await readPanel(one.send, { offsets: '-60001ms,-60s' })
    expect(data.map(({ up }) => up)).toMatchObject([{ ageMs: 239_999 }, { ageMs: 0 }])
    expect(data[1]?.up).toMatchObject({ bid: 0.120001, bidSize: 0.000001, ask: null })
    expect(data[1]?.up).toMatchObject({ bids: { levels: 1, size: 0.000001, usdc: 0 } })
  })

  test('behavior: rows of a market are in the order that was asked for', async () => {
    const offsets = ['-5s', '-4m', '-0s', '-300s', '-1ms']
    const { data } = await readPanel(one.send, { offsets: offsets.join(',') })
    expect(data.map((row) => row.offset)).toEqual(offsets)
    expect(data.map((row) => row.ts)).toEqual(
      [295_000, 60_000, 300_000, 0, 299_999].map((afterMs) => iso(START_MS + afterMs)),
    )
    expect(data.map(({ offsetMs }) => offsetMs)).toEqual([-5000, -240_000, 0, -300_000, -1])
  })

  test('behavior: there is no trade before the first one', async () => {
    const { data } = await readPanel(one.send, { offsets: '-200001ms,-200s' })
    expect(data.map(({ lastTrade }) => lastTrade)).toMatchObject([null, { price: 0.531 }])
  })

  test('behavior: a state older than `maxAgeMs` is null', async () => {
    const { data } = await readPanel(one.send, { offsets: '-50s', maxAgeMs: 10_000 })
    expect(data).toMatchObject([{ up: { ageMs: 10_000 }, down: null }])
    const none = await readPanel(one.send, { offsets: '-50s', maxAgeMs: 9_999 })
    expect(none.data).toMatchObject([{ up: null, down: null }])
  })

  test('behavior: a moment in a gap is not covered, and the header counts it', async () => {
    const { data, headers } = await readPanel(one.send, { offsets: '-120s,-60s' })
    // Between its states at 0 and 240 s nothing of up was recorded, nothing of down after 0 s.
    expect(data.map(({ covered }) => covered)).toEqual([
      { up: false, down: false },
      { up: true, down: false },
    ])
    expect(headers.get('x-coverage')).toMatch(/^partial;covered=0\.25;gaps=3;reasons="/)
  })

  test('behavior: closed markets may be kept for a while, and 304 and HEAD work', async () => {
    const whole = { offsets: '-60s', to: START_MS + 1 }
    const { headers } = await readPanel(one.send, whole)
    expect(headers.get('cache-control')).toBe('private, max-age=60, immutable')
    const open = await readPanel(one.send, {})
    expect(open.headers.get('cache-control')).toBe('private, no-cache')
    const address = withParams(PANEL_PATH, { timeframe: '5m', ...whole })
    const etag = headers.get('etag') ?? ''
    const again = await one.send(address, { headers: { 'if-none-match': etag } })
    expect([again.status, await again.text()]).toEqual([304, ''])
    const head = await one.send(address, { method: 'HEAD' })
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, ''])
  })
})

describe('a large page', async () => {
  const many = await createMany()

  test('behavior: compressed it is the same text, with a tag of its own', async () => {
    const address = withParams(PANEL_PATH, { timeframe: '5m', offsets: '-240s,-5s' })
    const plain = await many.send(address)
    const zipped = await many.send(address, { headers: { 'accept-encoding': 'gzip' } })
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    const text = new TextDecoder().decode(Bun.gunzipSync(await zipped.arrayBuffer()))
    expect(text).toBe(await plain.text())
    expect(zipped.headers.get('etag')).not.toBe(plain.headers.get('etag'))
  })
})

/** Closed and other markets whose states are known, in a random order of acceptance. */
async function createMany() {
  const history = openHistory(':memory:')
  const random = createRandom('panel')
  const make = createBookMaker(random)
  const closed = Array.from({ length: 23 }, (_, index) =>
    factsOf(index + 1, START_MS + index * WINDOW_MS),
  )
  const others = [
    factsOf(50, NOW_MS - 1_000),
    factsOf(51, NOW_MS - WINDOW_MS + 1),
    factsOf(52, START_MS, { windowStartMs: undefined, windowEndMs: undefined }),
    factsOf(53, START_MS, { windowEndMs: undefined }),
    factsOf(54, START_MS, { timeframe: '15m', windowEndMs: START_MS + 900_000 }),
    factsOf(55, START_MS, { coin: 'eth' }),
  ]
  for (const facts of [...closed, ...others]) await history.putMarket(facts)
  const snapshots = closed.flatMap(({ conditionId, windowStartMs = 0 }) =>
    Array.from({ length: 20 }, () =>
      aSnapshot({
        conditionId,
        ...make(),
        outcome: random.pick(['up', 'down']),
        timestampMs: windowStartMs + random.integer(WINDOW_MS),
      }),
    ),
  )
  await appendAll(history, [
    ...snapshots,
    aSnapshot({ conditionId: conditionIdOf(52), timestampMs: START_MS }),
  ])
  return { history, closed, snapshots, ...createHarness({ history }) }
}

describe('the markets of a panel', async () => {
  const many = await createMany()
  const ids = many.closed.map(({ conditionId }) => conditionId)

  test('default: those whose window is known and over, by its start', async () => {
    const { data, nextCursor } = await readPanel(many.send, {})
    expect(data.map(({ conditionId }) => conditionId)).toEqual(ids)
    expect(nextCursor).toBeNull()
  })

  test('behavior: a walk at any limits is the one big page', async () => {
    const params = { timeframe: '5m', offsets: '-240s,-5s' }
    const { data } = await readPanel(many.send, params)
    for (const limits of [[1], [2, 5], [22], [23], [24]]) {
      const pages = await walk(many.send, PANEL_PATH, { params, limits })
      expect(pages.flatMap((page): unknown[] => page.body.data)).toEqual(data)
      expect(pages.every((page) => page.body.data.length > 0)).toBe(true)
    }
  })

  test('behavior: a market is there from its close on, and the last cursor goes on to it', async () => {
    const server = createHarness({ history: many.history })
    const first = await readPanel(server.send, {})
    const cursor = first.headers.get('x-resume-cursor') ?? ''
    const later = () => readPanel(server.send, { cursor })
    expect((await later()).data).toEqual([])
    server.advance(1)
    const next = await later()
    expect(next.data.map(({ conditionId }) => conditionId)).toEqual([conditionIdOf(51)])
    expect(next.data).toMatchObject([{ up: null, down: null, covered: { up: false, down: false } }])
  })

  test('behavior: `from` is inclusive and `to` exclusive, on the start of the window', async () => {
    const from = START_MS + 3 * WINDOW_MS
    const { data } = await readPanel(many.send, { from, to: from + 2 * WINDOW_MS })
    expect(data.map(({ conditionId }) => conditionId)).toEqual(ids.slice(3, 5))
    const none = await readPanel(many.send, { from: 1_000, to: 2_000 })
    expect([none.data, none.nextCursor]).toEqual([[], null])
    // Nobody shall take it for markets without states.
    expect(none.headers.get('x-coverage')).toMatch(/^none;/)
  })

  test('behavior: each state is the last one at or before its moment', async () => {
    const offsets = ['-240s', '-60s', '-5s', '-0s']
    const { data } = await readPanel(many.send, { offsets: offsets.join(',') })
    expect(data.length).toBe(ids.length * offsets.length)
    for (const row of data) {
      for (const outcome of ['up', 'down'] as const) {
        const expected = stateOf(many.snapshots, { ...row, outcome })
        expect(row[outcome]).toEqual(
          expected === undefined ? null : expect.objectContaining(expected),
        )
      }
    }
  })
})

function stateOf(
  snapshots: readonly ReturnType<typeof aSnapshot>[],
  { conditionId, ts, outcome }: { conditionId: string; ts: string; outcome: Outcome },
) {
  const known = snapshots
    .filter((snapshot) => snapshot.conditionId === conditionId && snapshot.outcome === outcome)
    .filter(({ timestampMs }) => timestampMs <= Date.parse(ts))
    .toSorted((a, b) => a.timestampMs - b.timestampMs)
  const last = known.at(-1)
  if (last === undefined) return undefined
  return {
    timestamp: iso(last.timestampMs),
    ageMs: Date.parse(ts) - last.timestampMs,
    bids: expect.objectContaining({ levels: last.bids.prices.length }),
    asks: expect.objectContaining({ levels: last.asks.prices.length }),
  }
}
