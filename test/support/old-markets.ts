import { DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { appendAll, aSnapshot, conditionIdOf } from '../history/books.ts'
import { NOW_MS } from './harness.ts'

/** Puts in a closed market a day before now, the first yesterday. */
export function addOldMarkets(history: MarketHistory, days: number): void {
  for (let day = days; day > 0; day--) {
    const windowStartMs = NOW_MS - day * DAY_MS
    const about = { conditionId: conditionIdOf(day), coin: 'btc', timeframe: '5m' } as const
    history.putMarket({ ...about, source: 'simulated', windowStartMs })
    appendAll(history, [aSnapshot({ ...about, assetId: `${day}`, timestampMs: windowStartMs + 1 })])
    history.close(about.conditionId)
  }
}
