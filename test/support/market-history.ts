/** A history with one market of each kind, and its expected content, computed independently. */
import { type Coin, coins, type Outcome } from '#src/domain/market.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { Trade } from '#src/domain/trade.ts'
import { makeManifests } from '#src/extensions/trust/day-manifest.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { simulate, type SimulateOptions } from '#src/simulator/simulator.ts'

import { NOW_MS } from './harness.ts'

const START_MS = Date.UTC(2026, 0, 1)

/** A market with known rows; `rows` are in the order of acceptance, which is that of their ids. */
export type KnownMarket = { coin: Coin; conditionId: string; path: string; rows: Snapshot[] }

export const pathOf = (coin: string, conditionId: string): string =>
  `/v1/${coin}/markets/${conditionId}/snapshots`

/** Names a market that no simulation creates. */
export const conditionIdOf = (digit: string): string => `0x${digit.repeat(64)}`

/**
 * Fills a history: `both` is closed and has both outcomes in several chunks, `single` is closed and
 * has one, `open` has a chunk and an unfinished run, `edge` has rare values, `empty` has nothing.
 */
export async function createMarketHistory(history: MarketHistory = openHistory(':memory:')) {
  const both = await addSimulated(history, { coins: ['btc'], maxSnapshotsPerMarket: 330 }, true)
  const single = await addSimulated(
    history,
    { coins: ['eth'], outcomes: 'up', maxSnapshotsPerMarket: 120 },
    true,
  )
  const open = await addSimulated(
    history,
    { coins: ['btc'], maxSnapshotsPerMarket: 130, startMs: START_MS + 900_000 },
    false,
  )
  const edge = await addEdges(history)
  const empty = aMarket('sol', conditionIdOf('e'), [])
  await history.putMarket({
    conditionId: empty.conditionId,
    coin: 'sol',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: NOW_MS - 1_000,
    windowEndMs: NOW_MS + 299_000,
  })
  await history.putTrades({ id: 'trades', conditionId: both.conditionId, trades: someTrades(40) })
  await history.putSpot(coins.flatMap((coin) => someTicks(coin, 40)))
  // Manifests of the day, made some days later, and of a day without data.
  for await (const _ of makeManifests(history, NOW_MS + 10 * DAY_MS));
  await history.manifests.add({ day: '2025-12-31', madeMs: NOW_MS, series: [], files: [] })
  return { history, both, single, open, edge, empty }
}

/** Trades, three per millisecond. */
const someTrades = (count: number): Trade[] =>
  Array.from({ length: count }, (_, index) => ({
    timestampMs: START_MS + Math.floor(index / 3),
    price: 500_000 + index * 1000,
    outcome: index % 2 === 0 ? 'up' : 'down',
    size: 1_500_000 + index,
    side: 'buy',
  }))

/** Prices of a coin, one per second, of two averages. */
export const someTicks = (coin: Coin, count: number): SpotTick[] =>
  Array.from({ length: count }, (_, index) => ({
    coin,
    source: 'chainlink',
    windowSeconds: index % 2 === 0 ? 0 : 60,
    timestampMs: START_MS + index * 1000,
    receivedMs: START_MS + index * 1000 + 80,
    price: `64000.${String(index).padStart(3, '0')}50`,
    sequence: index + 1,
  }))

/** Adds rows like a recorder, and keeps a record of them. */
export async function appendRows(
  history: MarketHistory,
  market: KnownMarket,
  rows: Snapshot[],
): Promise<void> {
  const id = `${market.conditionId}-${market.rows.length}`
  await history.append({ id, source: sourceOf(history, market), snapshots: rows })
  market.rows.push(...rows)
}

/** Creates rows that follow a market's last: one per state, at the given times. */
export function rowsAt(market: KnownMarket, times: readonly number[]): Snapshot[] {
  const last = market.rows.at(-1)
  if (last === undefined) throw new Error('The market has a row to follow on.')
  return times.map((timestampMs, index) => ({
    ...last,
    timestampMs,
    bids: { prices: [10_000], sizes: [(market.rows.length + index + 1) * 10_000] },
    asks: { prices: [], sizes: [] },
    sourceHash: undefined,
  }))
}

/** The rows that a query should find, in its order. */
export function expectedRows(
  { rows }: KnownMarket,
  query: { fromMs?: number; toMs?: number; outcome?: Outcome; order?: 'asc' | 'desc' } = {},
): Snapshot[] {
  const { fromMs = 0, toMs = Number.POSITIVE_INFINITY, outcome, order } = query
  // Sorting is stable: rows of one moment stay in the order of acceptance.
  const sorted = rows.toSorted((a, b) => a.timestampMs - b.timestampMs)
  const found = sorted.filter(
    (row) =>
      row.timestampMs >= fromMs &&
      row.timestampMs < toMs &&
      (outcome === undefined || row.outcome === outcome),
  )
  return order === 'desc' ? found.reverse() : found
}

/** The JSON text of a row as served, with the given id. */
export function toText(row: Snapshot, id: string): string {
  const texts = { id, assetId: row.assetId, conditionId: row.conditionId, symbol: row.coin }
  const more = { outcome: row.outcome, timeframe: row.timeframe }
  const timestamp = new Date(row.timestampMs).toISOString()
  const head = JSON.stringify({ ...texts, ...more, timestamp })
  return `${head.slice(0, -1)},"bids":${toLevels(row.bids)},"asks":${toLevels(row.asks)}}`
}

function toLevels({ prices, sizes }: Ladder): string {
  const levels = prices.map(
    (price, index) => `{"price":${toDecimal(price)},"size":${toDecimal(sizes[index] ?? 0)}}`,
  )
  return `[${levels.join(',')}]`
}

/** Long division: no value becomes a float. */
function toDecimal(millionths: number): string {
  const whole = BigInt(millionths) / 1_000_000n
  const rest = BigInt(millionths) % 1_000_000n
  return `${whole}.${String(rest).padStart(6, '0')}`.replace(/\.?0+$/, '')
}

const aMarket = (coin: Coin, conditionId: string, rows: Snapshot[]): KnownMarket => ({
  coin,
  conditionId,
  path: pathOf(coin, conditionId),
  rows,
})

async function addSimulated(
  history: MarketHistory,
  options: Partial<SimulateOptions> & { coins: [Coin] },
  isClosed: boolean,
): Promise<KnownMarket> {
  const shared = { seed: 'front door', timeframes: ['5m'], markets: 1, startMs: START_MS } as const
  const batches = [...simulate({ ...shared, statesPerSecond: 2, ...options })]
  const rows = batches.flatMap(({ snapshots }) => snapshots)
  const facts = batches.flatMap((batch) => batch.facts).filter(({ winner }) => isClosed || !winner)
  for (const fact of facts) await history.putMarket(fact)
  const conditionId = rows[0]?.conditionId ?? ''
  await history.append({ id: conditionId, source: 'simulated', snapshots: rows })
  if (isClosed) await history.close(conditionId)
  return aMarket(options.coins[0], conditionId, rows)
}

/** Empty sides, the smallest and largest numbers, and four rows at one moment. */
async function addEdges(history: MarketHistory): Promise<KnownMarket> {
  const sides: [bids: Ladder, asks: Ladder][] = [
    [ladder([], []), ladder([], [])],
    [ladder([], []), ladder([100_001, 999_999], [Number.MAX_SAFE_INTEGER, 1_000_000])],
    [ladder([100_000, 1], [100_000, 1]), ladder([], [])],
    [ladder([300_000], [10_000_000]), ladder([700_000], [300_000])],
    [ladder([530_000, 520_010], [12_480_060_000, 100_000_000_000_000]), ladder([], [])],
  ]
  const rows = sides.map(([bids, asks], index): Snapshot => ({
    coin: 'xrp',
    conditionId: conditionIdOf('d'),
    timeframe: '15m',
    assetId: index % 4 < 2 ? '7' : '9'.repeat(77),
    outcome: index % 4 < 2 ? 'up' : 'down',
    timestampMs: START_MS + (index === 4 ? 1 : 0),
    // In the order of their source, including rows of one moment.
    sequence: index % 2,
    bids,
    asks,
  }))
  await history.append({ id: 'edges', source: 'recorded', snapshots: rows })
  return aMarket('xrp', conditionIdOf('d'), rows)
}

const ladder = (prices: number[], sizes: number[]): Ladder => ({ prices, sizes })

const sourceOf = (history: MarketHistory, { conditionId }: KnownMarket) =>
  history.findMarket(conditionId)?.source ?? 'recorded'
