/**
 * What is held of each coin, in a few rows that triggers keep with every write to `market`. Only which markets
 * are open depends on the time too; those that can be are in an index of their own.
 */
import type { Coin, Source, Timeframe } from '#src/core/market.ts'

import type { Database } from './database.ts'
import type { CoinTotals } from './history.ts'

type Identity = { coin: Coin; timeframe: Timeframe; source: Source }
type TotalsRow = Identity & {
  markets: number
  snapshots: number
  first_ms: number | null
  last_ms: number | null
}
type OpenRow = Identity & { markets: number }

/** Makes the verb `coinTotals` of a file. */
export function createCoinTotals(db: Database): (nowMs: number) => CoinTotals[] {
  const held = db.prepare<TotalsRow, []>(
    'SELECT * FROM coin_total ORDER BY coin, timeframe, source',
  )
  // `statusOf` of core/market.ts. Left to itself SQLite takes an index of every market, in the order of the groups.
  const open = db.prepare<OpenRow, [number]>(
    `SELECT coin, timeframe, source, count(*) AS markets FROM market
     INDEXED BY market_live_order WHERE winner IS NULL AND is_closed = 0 AND ifnull(window_start_ms, 0) <= ?1
       AND (window_end_ms IS NULL OR window_end_ms > ?1)
     GROUP BY coin, timeframe, source`,
  )

  return (nowMs) => {
    const counts = new Map(open.all(nowMs).map((row) => [nameOf(row), row.markets]))
    return held.all().map((row) => ({
      coin: row.coin,
      timeframe: row.timeframe,
      source: row.source,
      markets: row.markets,
      openMarkets: counts.get(nameOf(row)) ?? 0,
      snapshots: row.snapshots,
      firstSnapshotMs: row.first_ms ?? undefined,
      lastSnapshotMs: row.last_ms ?? undefined,
    }))
  }
}

const nameOf = ({ coin, timeframe, source }: Identity): string => `${coin} ${timeframe} ${source}`
