/**
 * A complete market of 5 minutes: 3,500 states of up, each of 99 levels of which four change, and
 * 2,500 trades, as many as a busy market has.
 */

import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom } from '#src/platform/random.ts'

import { conditionIdOf } from '../support/market-history.ts'

const STATES = 3_500
const TICKS = 99
const TICK = 10_000
export const START_MS = Date.UTC(2026, 0, 1)
export const WINDOW_MS = 300_000
const CHANGES = 4
const SIZE_MAX = 5_000

const conditionId = conditionIdOf('a')
function* states(): Generator<Snapshot> {
  const { uniform: random } = createRandom('heatmap')
  const cents = () => Math.floor(random() * SIZE_MAX * 100) * 10_000
  const sizes = Array.from({ length: TICKS }, cents)
  let best = 50
  for (let index = 0; index < STATES; index++) {
    if (random() < 0.1) best = Math.min(90, Math.max(10, best + (random() < 0.5 ? 1 : -1)))
    for (let change = 0; change < CHANGES; change++) {
      sizes[Math.floor(random() * TICKS)] = cents()
    }
    const side = (ticks: number[]) => ({
      prices: ticks.map((tick) => tick * TICK),
      sizes: ticks.map((tick) => sizes[tick - 1] ?? 0),
    })
    const bids = Array.from({ length: best }, (_, at) => best - at)
    const asks = Array.from({ length: TICKS - best }, (_, at) => best + 1 + at)
    yield {
      coin: 'btc',
      conditionId,
      timeframe: '5m',
      assetId: '1',
      outcome: 'up',
      timestampMs: START_MS + Math.floor((index * WINDOW_MS) / STATES),
      bids: side(bids),
      asks: side(asks),
    }
  }
}

const TRADES = 2_500

function* trades(): Generator<Trade> {
  const { uniform: random } = createRandom('trades')
  for (let index = 0; index < TRADES; index++) {
    const size = Math.floor(random() ** 3 * 2_000 * 100) * 10_000 + 10_000
    yield {
      timestampMs: START_MS + Math.floor((index * WINDOW_MS) / TRADES),
      price: (20 + Math.floor(random() * 60)) * TICK,
      outcome: random() < 0.5 ? 'up' : 'down',
      side: random() < 0.5 ? 'buy' : 'sell',
      size,
    }
  }
}

/** Adds it, closed; returns its conditionId. */
export async function addHeatMarket(history: MarketHistory): Promise<string> {
  await history.putMarket({
    conditionId,
    coin: 'btc',
    timeframe: '5m',
    source: 'simulated',
    windowStartMs: START_MS,
    windowEndMs: START_MS + WINDOW_MS,
  })
  await history.append({ id: 'all', source: 'simulated', snapshots: [...states()] })
  await history.putTrades({ id: 'trades', conditionId, trades: [...trades()] })
  await history.close(conditionId)
  return conditionId
}
