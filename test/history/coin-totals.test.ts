import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type Coin, statusOf } from '#src/domain/market.ts'
import type { CoinTotals, MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { appendAll, aSnapshot, assetIdOf, conditionIdOf, START_MS } from './books.ts'

/** The totals of markets one by one. */
function countAll(history: MarketHistory, coin: Coin, nowMs: number): CoinTotals[] {
  const totals = new Map<string, CoinTotals>()
  for (const market of history.listMarkets({ coin, limit: 1000 })) {
    const { timeframe, source, snapshotCounts, firstSnapshotMs, lastSnapshotMs } = market
    const name = `${timeframe} ${source}`
    const fresh = { coin, timeframe, source, markets: 0, openMarkets: 0, snapshots: 0 }
    const sum: CoinTotals = totals.get(name) ?? fresh
    totals.set(name, {
      ...sum,
      markets: sum.markets + 1,
      openMarkets: sum.openMarkets + Number(statusOf(market, nowMs) === 'open'),
      snapshots: sum.snapshots + snapshotCounts.up + snapshotCounts.down,
      firstSnapshotMs: pick(Math.min, sum.firstSnapshotMs, firstSnapshotMs),
      lastSnapshotMs: pick(Math.max, sum.lastSnapshotMs, lastSnapshotMs),
    })
  }
  return [...totals.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}

function pick(choose: typeof Math.min, a: number | undefined, b: number | undefined) {
  const known = [a, b].filter((time) => time !== undefined)
  return known.length === 0 ? undefined : choose(...known)
}

/** Adds a row to one of thirty markets, or reports a fact of it; some are closed. */
async function writeSomething(history: MarketHistory, random: Random, step: number): Promise<void> {
  const number = random.integer(30)
  const conditionId = conditionIdOf(number)
  const coin = number % 2 === 0 ? 'btc' : 'eth'
  const timeframe = number % 3 === 0 ? '15m' : '5m'
  const startMs = START_MS + random.integer(600_000)
  if (step % 3 === 0) {
    const facts = { conditionId, coin, timeframe, source: 'simulated' } as const
    const windowStartMs = START_MS + number * 20_000
    await history.putMarket({ ...facts, windowStartMs, windowEndMs: windowStartMs + 300_000 })
  } else {
    const outcome = random.integer(2) === 0 ? 'up' : 'down'
    const assetId = assetIdOf(conditionId, outcome)
    const row = { conditionId, coin, timeframe, outcome, assetId, timestampMs: startMs } as const
    await appendAll(history, [aSnapshot(row, step + 1)])
  }
  if (step % 10 === 0) await history.close(conditionId)
}

describe('coinTotals', () => {
  test('default: is what the markets add up to, whatever was written in whatever order', async () => {
    const history = openHistory(':memory:')
    const random = createRandom('totals')
    for (let step = 0; step < 200; step++) {
      await writeSomething(history, random, step)
      const nowMs = START_MS + random.integer(900_000)
      expect(history.coinTotals(nowMs)).toEqual([
        ...countAll(history, 'btc', nowMs),
        ...countAll(history, 'eth', nowMs),
      ])
    }
  })

  test.each(['markets = 7', 'snapshots = 7', 'first_ms = 7', 'last_ms = 7', "coin = 'nocoin'"])(
    'error: %s in the file is damage, and serves no totals',
    async (change) => {
      const folder = mkdtempSync(join(tmpdir(), 'bookfeed-totals-'))
      const path = join(folder, 'history.db')
      const history = openHistory(path)
      await appendAll(history, [aSnapshot()])
      const db = new Database(path)
      db.run('DROP TRIGGER coin_total_seal_update')
      expect(db.run(`UPDATE coin_total SET ${change}`).changes).toBe(1)
      db.close()
      expect(() => history.coinTotals(START_MS)).toThrow(
        expect.objectContaining({ code: 'damaged' }),
      )
      history.dispose()
      rmSync(folder, { recursive: true })
    },
  )
})
