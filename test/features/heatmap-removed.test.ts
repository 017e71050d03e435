import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import type { Outcome } from '#src/domain/market.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { addKey, createHarness } from '../support/harness.ts'
import { conditionIdOf } from '../support/market-history.ts'
import { hasPython, runPython } from '../support/python.ts'

const START_MS = Date.UTC(2026, 0, 1)
const conditionId = conditionIdOf('a')
const path = `/v1/btc/markets/${conditionId}/heatmap`

/** Prices in cents and sizes in shares. */
const ladder = (...levels: [cents: number, shares: number][]): Ladder => ({
  prices: levels.map(([cents]) => Math.round(cents * 10_000)),
  sizes: levels.map(([, shares]) => Math.round(shares * 1_000_000)),
})

const stateOf = (outcome: Outcome, ms: number, bids: Ladder, asks: Ladder): Snapshot => ({
  coin: 'btc',
  conditionId,
  timeframe: '5m',
  assetId: outcome === 'up' ? '1' : '2',
  outcome,
  timestampMs: START_MS + ms,
  bids,
  asks,
})

const tradeOf = (
  ms: number,
  outcome: Outcome,
  side: 'buy' | 'sell',
  cents: number,
  shares: number,
) => ({
  timestampMs: START_MS + ms,
  outcome,
  side,
  price: Math.round(cents * 10_000),
  size: Math.round(shares * 1_000_000),
})

async function createGround(snapshots: readonly Snapshot[], trades: readonly Trade[]) {
  const history = openHistory(':memory:')
  await history.putMarket({
    conditionId,
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: START_MS,
    windowEndMs: START_MS + 300_000,
  })
  await history.append({ id: 'all', source: 'recorded', snapshots })
  await history.putTrades({ id: 'trades', conditionId, trades })
  await history.close(conditionId)
  return createHarness({ history })
}

type Sizes = { from: number; sizes: number[] }
type Removed = { bids: Sizes; asks: Sizes } | null
type Body = {
  trades?: { from: string; to: string } | null
  columns: ({ pulled?: Removed; traded?: Removed } | null)[]
}

const none = { from: 0, sizes: [] }
/** Four seconds in which 30 shares of 100 go at 40 ¢, and 7 at 60 ¢. */
const snapshots = [
  stateOf('up', 0, ladder([40, 100], [39, 5]), ladder([60, 7])),
  stateOf('up', 1_500, ladder([40, 70], [39, 5]), ladder([60, 7])),
  stateOf('up', 2_500, ladder([40, 70], [39, 5]), ladder([61, 1])),
  stateOf('up', 4_000, ladder([40, 70], [39, 5]), ladder([61, 1])),
]
/** Trades that bound the time in which they are recorded, and take nothing. */
const bounds = [tradeOf(0, 'up', 'buy', 99, 1), tradeOf(4_000, 'up', 'buy', 99, 1)]

async function removedIn(
  trades: readonly Trade[],
  query = `from=${START_MS}&to=${START_MS + 4_000}&timeBins=4&include=removed`,
): Promise<Body> {
  const answer = await (await createGround(snapshots, trades)).send(`${path}?${query}`)
  expect(answer.status).toBe(200)
  return (await answer.json()) as Body
}
const both = ({ columns }: Body) => columns.map((column) => [column?.pulled, column?.traded])

describe('GET /v1/{coin}/markets/{conditionId}/heatmap?include=removed', () => {
  test('default: what no trade took was pulled, and the first column says nothing', async () => {
    const body = await removedIn(bounds)
    expect(body.trades).toEqual({
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-01T00:00:04.000Z',
    })
    const nothing = { bids: none, asks: none }
    expect(both(body)).toEqual([
      [null, null],
      [{ bids: { from: 40, sizes: [30] }, asks: none }, nothing],
      [{ bids: none, asks: { from: 60, sizes: [7] } }, nothing],
      [nothing, nothing],
    ])
  })

  test('behavior: trades of either outcome take from the side that they met, up to the fall', async () => {
    const body = await removedIn([
      ...bounds,
      // A sale of up and a purchase of down meet bids of up.
      tradeOf(1_200, 'up', 'sell', 40, 10.5),
      tradeOf(1_300, 'down', 'buy', 60, 4),
      // These met asks, and this one another price.
      tradeOf(1_400, 'up', 'buy', 40, 50),
      tradeOf(1_400, 'up', 'sell', 39, 50),
      // More than is gone at the end of the column.
      tradeOf(2_100, 'down', 'sell', 40, 9),
    ])
    expect(both(body).slice(1, 3)).toEqual([
      [
        { bids: { from: 40, sizes: [15.5] }, asks: none },
        { bids: { from: 40, sizes: [14.5] }, asks: none },
      ],
      [
        { bids: none, asks: none },
        { bids: none, asks: { from: 60, sizes: [7] } },
      ],
    ])
  })

  test('behavior: nothing is said where trades are not known', async () => {
    expect((await removedIn([])).trades).toBeNull()
    expect(both(await removedIn([])).flat()).toEqual(Array.from({ length: 8 }, () => null))
    const known = async (...trades: Trade[]) =>
      both(await removedIn(trades)).map(([pulled]) => pulled !== null)
    // Between the first and the last trade only.
    const inner = [tradeOf(1_100, 'up', 'buy', 99, 1), tradeOf(2_999, 'up', 'buy', 99, 1)]
    expect(await known(...inner)).toEqual([false, false, true, false])
    for (const lacking of ['outcome', 'side', 'size'] as const) {
      const trade: Trade = { ...tradeOf(2_000, 'up', 'buy', 60, 7), [lacking]: undefined }
      expect(await known(...bounds, trade)).toEqual([false, true, false, true])
    }
  })

  test('behavior: a tier without prices, and who does not ask, gets the same as ever', async () => {
    const { send, sendAs, ledger } = await createGround(snapshots, bounds)
    const range = `from=${START_MS}&to=${START_MS + 4_000}&timeBins=4`
    const plain = await (await send(`${path}?${range}`)).text()
    const key = addKey(ledger, {
      tierId: 'books',
      name: 'Books',
      rank: 98,
      coins: ['btc'],
      routes: ['markets', 'snapshots'],
      requestsPerMinute: 1_000,
      isForSale: false,
    })
    const asked = await send(`${path}?${range}&include=removed`)
    expect(await asked.text()).not.toBe(plain)
    expect(await (await sendAs(key, `${path}?${range}&include=removed`)).text()).toBe(plain)
    const again = { headers: { 'if-none-match': asked.headers.get('etag') ?? '' } }
    expect((await send(`${path}?${range}&include=removed`, again)).status).toBe(304)
    expect((await send(`${path}?${range}`, again)).status).toBe(200)
  })

  test('behavior: a trade that comes later changes the tag', async () => {
    const { parts, send } = await createGround(snapshots, bounds)
    const asked = `${path}?from=${START_MS}&to=${START_MS + 4_000}&include=removed`
    const first = await send(asked)
    await first.text()
    await parts.history.putTrades({
      id: 'late',
      conditionId,
      trades: [tradeOf(1_200, 'up', 'sell', 40, 10)],
    })
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
    expect((await send(asked, { headers })).status).toBe(200)
  })
})

/** Two minutes of both outcomes with pauses, trades at random, some of which lack a part. */
function createRandomGround() {
  const random = createRandom('removed')
  const states: Snapshot[] = []
  const trades: Trade[] = []
  const books = new Map<Outcome, Map<number, number>>()
  const cents = () => 1 + random.integer(98) + random.pick([0, 0, 0, 0.1, 0.5])
  for (let ms = 0; ms < 120_000;) {
    const outcome = random.pick(['up', 'up', 'down'] as const)
    const book = books.get(outcome) ?? new Map<number, number>()
    books.set(outcome, book)
    for (let change = 0; change < 6; change++)
      book.set(cents(), random.integer(3) * (random.integer(100_000) / 100))
    const levels = [...book].filter(([, size]) => size > 0)
    const middle = 30 + random.integer(40)
    const bids = levels.filter(([price]) => price < middle).toSorted(([a], [b]) => b - a)
    const asks = levels.filter(([price]) => price >= middle).toSorted(([a], [b]) => a - b)
    states.push(stateOf(outcome, ms, ladder(...bids), ladder(...asks)))
    const at = ms
    ms += random.integer(400)
    // A pause that is a gap ends where a column begins.
    if (random.integer(90) === 0) ms = Math.ceil((ms + 6_000) / 2_000) * 2_000
    const isKnown = random.integer(12) > 0
    if (at < 10_000 || at > 110_000) continue
    for (let trade = random.integer(4); trade > 0; trade--) {
      const [price, size] = random.pick([...bids, ...asks, [50, 10] as const])
      const side = random.pick(['buy', 'sell'] as const)
      const taken = tradeOf(at + random.integer(300), outcome, side, price, size * 0.4)
      const lacking = random.pick(['outcome', 'side', 'size'] as const)
      trades.push(isKnown ? taken : { ...taken, [lacking]: undefined })
    }
  }
  return createGround(states, trades)
}

test.skipIf(!hasPython)(
  'default: Python computes the same from states, trades and coverage',
  async () => {
    const { app, key } = await createRandomGround()
    await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
    const range = (from: number, to: number) => `from=${START_MS + from}&to=${START_MS + to}`
    const queries = [
      'outcome=up&timeBins=150',
      'outcome=down&timeBins=300&agg=last',
      `outcome=up&priceBins=200&timeBins=230&${range(3_137, 61_000)}`,
      `outcome=up&priceBins=10&timeBins=97&agg=time-weighted&${range(40_000, 119_999)}`,
    ]
    const script = join(import.meta.dir, '../support/removed_sizes.py')
    const printed = await runPython(script, [server.url.origin, key, conditionId, ...queries])
    const { columns, known, pulled, traded } = JSON.parse(printed)
    expect(columns).toBeGreaterThan(700)
    expect(known).toBeGreaterThan(150)
    expect(pulled).toBeGreaterThan(500)
    expect(traded).toBeGreaterThan(40)
  },
  300_000,
)
