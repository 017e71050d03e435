/** Reads trades of a market, once it is known that none is missing. */
import { createCache } from '#src/lib/cache.ts'
import { assertSound } from '#src/sqlite/checksum.ts'
import { readConsistently } from '#src/sqlite/database.ts'

import type { HistoryStore } from '../history.ts'
import type { Tables } from '../tables/tables.ts'
import type { ReadMarket } from './market-read.ts'

/** Markets of which it is remembered; one takes some 100 bytes. */
const MARKETS_MAX = 50_000

/** Makes the verb. */
export function createTradeRead(
  { db, markets, trades }: Tables,
  read: ReadMarket,
): HistoryStore['trades'] {
  /** By market, the sum under which all were found to be there. */
  const whole = createCache<number, number>(MARKETS_MAX)

  function assertWhole(conditionId: string): void {
    const market = markets.find(conditionId)
    if (market === undefined) return
    assertSound(trades.sum(market.id) === market.tradeSum, `the trades of market ${market.id}`)
    whole.set(market.id, market.tradeSum, { size: 1 })
  }

  return (query) =>
    read(query.market, ({ market }) => {
      // What is kept of a market may be late, so it is read again.
      if (whole.get(market.id) !== market.tradeSum)
        readConsistently(db, () => assertWhole(market.conditionId))
      return trades.list(query)
    })
}
