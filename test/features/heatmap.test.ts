import { describe, expect, test } from 'bun:test'

import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import { openHistory } from '#src/history/open.ts'

import { createHarness } from '../support/harness.ts'
import { conditionIdOf, createMarketHistory } from '../support/market-history.ts'
import { readProblem } from '../support/page-client.ts'

const START_MS = Date.UTC(2026, 0, 1)
const conditionId = conditionIdOf('a')
const path = `/v1/btc/markets/${conditionId}/heatmap`

/** Prices in cents and sizes in shares. */
const ladder = (...levels: [cents: number, shares: number][]): Ladder => ({
  prices: levels.map(([cents]) => cents * 10_000),
  sizes: levels.map(([, shares]) => Math.round(shares * 1_000_000)),
})

const stateAt = (second: number, bids: Ladder, asks: Ladder): Snapshot => ({
  coin: 'btc',
  conditionId,
  timeframe: '5m',
  assetId: '1',
  outcome: 'up',
  timestampMs: START_MS + second * 1000,
  bids,
  asks,
})

/** Ten seconds of states, then nothing for twenty, then one more second. */
async function createGround() {
  const history = openHistory(':memory:')
  await history.putMarket({
    conditionId,
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: START_MS,
    windowEndMs: START_MS + 300_000,
  })
  const snapshots = [
    stateAt(0, ladder([40, 10], [39, 5.25]), ladder([60, 7])),
    stateAt(2, ladder([40, 100]), ladder([60, 7], [61, 1])),
    stateAt(2.5, ladder([40, 1]), ladder()),
    stateAt(6, ladder([40, 2]), ladder([41, 3])),
    stateAt(10, ladder([40, 2]), ladder([41, 3])),
    stateAt(30, ladder([20, 2]), ladder([21, 3])),
    stateAt(31, ladder([20, 2]), ladder([21, 3])),
  ]
  await history.append({ id: 'all', source: 'recorded', snapshots })
  await history.close(conditionId)
  return createHarness({ history })
}

type Column = {
  covered: number
  bid: number | null
  ask: number | null
  bids: { from: number; sizes: number[] }
  asks: { from: number; sizes: number[] }
}
type Body = { stepMs: number; priceStep: number; columns: (Column | null)[] }
const range = (from: number, to: number) =>
  `from=${START_MS + from * 1000}&to=${START_MS + to * 1000}`

async function ask(query: string): Promise<Body> {
  const answer = await (await createGround()).send(`${path}?${query}`)
  expect(answer.status).toBe(200)
  return (await answer.json()) as Body
}
const sizeAt = ({ from, sizes }: Column['bids'], bin: number) => sizes[bin - from] ?? 0

describe('GET /v1/{coin}/markets/{conditionId}/heatmap', () => {
  test('default: a column a second of the window, sizes exact', async () => {
    const { stepMs, priceStep, columns } = await ask('')
    expect([stepMs, priceStep, columns.length]).toEqual([1000, 0.01, 300])
    expect(columns[0]).toEqual({
      covered: 1,
      bid: 0.4,
      ask: 0.6,
      bids: { from: 39, sizes: [5.25, 10] },
      asks: { from: 60, sizes: [7] },
    })
  })

  test('behavior: what was pulled within a column is in max, not in last, and weighs its time', async () => {
    const at40 = async (agg: string) => {
      const { columns } = await ask(`${range(2, 3)}&timeBins=1&agg=${agg}`)
      return columns.map((column) => column && sizeAt(column.bids, 40))
    }
    expect(await at40('max')).toEqual([100])
    expect(await at40('last')).toEqual([1])
    expect(await at40('time-weighted')).toEqual([50.5])
  })

  test('behavior: the state before the range prevails in it, and an empty side is none', async () => {
    const { columns } = await ask(`${range(4, 5)}&timeBins=1`)
    expect(columns).toEqual([
      {
        covered: 1,
        bid: 0.4,
        ask: null,
        bids: { from: 40, sizes: [1] },
        asks: { from: 0, sizes: [] },
      },
    ])
  })

  test('behavior: a gap is no empty book, and a column that it cuts says how much is known', async () => {
    const { columns } = await ask(`${range(9, 32)}&timeBins=23`)
    expect(columns.map((column) => column?.covered ?? null)).toEqual([
      1,
      0.001,
      ...Array.from({ length: 19 }, () => null),
      1,
      0.001,
    ])
  })

  test('behavior: levels of one bin are added up, and bins may be wider', async () => {
    const { priceStep, columns } = await ask(`${range(0, 1)}&timeBins=1&priceBins=10`)
    expect(priceStep).toBe(0.1)
    expect(columns[0]?.bids).toEqual({ from: 3, sizes: [5.25, 10] })
    const { columns: wide } = await ask(`${range(2, 2.5)}&timeBins=1&priceBins=20`)
    expect(wide[0]?.asks).toEqual({ from: 12, sizes: [8] })
  })

  test('behavior: is known by a tag, and says how much of it was recorded', async () => {
    const { send } = await createGround()
    const first = await send(`${path}?${range(0, 40)}`)
    expect(first.headers.get('x-coverage')).toStartWith('partial;covered=0.')
    expect(first.headers.get('cache-control')).toContain('immutable')
    const again = await send(`${path}?${range(0, 40)}`, {
      headers: { 'if-none-match': first.headers.get('etag') ?? '' },
    })
    expect(again.status).toBe(304)
  })

  test('behavior: a whole market is under 300 kB as it is sent', async () => {
    const { history, both } = await createMarketHistory()
    const { send } = createHarness({ history })
    for (const agg of ['max', 'last', 'time-weighted']) {
      const headers = { 'accept-encoding': 'gzip' }
      const whole = `/v1/btc/markets/${both.conditionId}/heatmap`
      const answer = await send(`${whole}?timeBins=1000&agg=${agg}`, { headers })
      expect((await answer.bytes()).length).toBeWithin(1_000, 300_000)
    }
  })

  test('error: refuses bins that do not divide prices, and too many of time', async () => {
    const { send } = await createGround()
    for (const [query, param] of [
      ['priceBins=7', 'priceBins'],
      ['timeBins=1001', 'timeBins'],
      ['agg=mean', 'agg'],
    ]) {
      const problem = await readProblem(await send(`${path}?${query}`))
      expect([problem.code, problem.param]).toEqual(['invalid_parameter', param])
    }
  })
})
