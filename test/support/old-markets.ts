import { DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { appendAll, aSnapshot, conditionIdOf } from '../history/books.ts'
import { NOW_MS } from './harness.ts'

/** Stores a closed market per day before now, the first yesterday. */
export async function addOldMarkets(history: MarketHistory, days: number): Promise<void> {
  for (let day = days; day > 0; day--) {
    const windowStartMs = NOW_MS - day * DAY_MS
    const about = { conditionId: conditionIdOf(day), coin: 'btc', timeframe: '5m' } as const
    await history.putMarket({ ...about, source: 'simulated', windowStartMs })
    await appendAll(history, [
      aSnapshot({ ...about, assetId: `${day}`, timestampMs: windowStartMs + 1 }),
    ])
    await history.close(about.conditionId)
  }
}
