/**
 * What is held of each coin, in a few rows that triggers keep with every write to `market`. Which
 * markets are open depends on the time too; those that can be are in an index of their own.
 */
import { coinTotal } from '#db/history/schema.ts'
import { coins, type Market, timeframeMs } from '#src/core/market.ts'
import { assertSound } from '#src/sqlite/checksum.ts'
import { sqlOf } from '#src/sqlite/columns.ts'
import { type Database, indexedBy } from '#src/sqlite/database.ts'

import type { CoinTotals } from '../history.ts'

type Identity = Pick<Market, 'coin' | 'timeframe' | 'source'>
type TotalsRow = Omit<typeof coinTotal.$inferSelect, keyof Identity> &
  Identity & { isSound: number }
type OpenRow = Identity & { markets: number }

/** As the triggers have it: db/history/migrations/0010_coin_total_seals.sql. */
const IS_SOUND =
  '(checksum IS NOT DISTINCT FROM (markets * 1000003 + snapshots * 7919 + coalesce(first_ms, 1) * 31 + coalesce(last_ms, 1) * 17) & 281474976710655)'

/** Throws `Damage` where a row is not as the triggers left it. */
export function createCoinTotals(db: Database): (nowMs: number) => CoinTotals[] {
  const held = db.prepare<TotalsRow, []>(
    `SELECT ${sqlOf(coinTotal).columns()}, ${IS_SOUND} AS "isSound" FROM coin_total
     ORDER BY coin, timeframe, source`,
  )
  // `statusOf` of core/market.ts. Left to itself SQLite takes an index of every market, in the
  // order of the groups.
  const open = db.prepare<OpenRow, [{ now: number }]>(
    `SELECT coin, timeframe, source, count(*) AS markets FROM market
     ${indexedBy('market_live_order')} WHERE winner IS NULL AND is_closed = 0
       AND coalesce(window_start_ms, 0) <= $now AND (window_end_ms IS NULL OR window_end_ms > $now)
     GROUP BY coin, timeframe, source`,
  )

  return (now) => {
    const counts = new Map(open.all({ now }).map((row) => [nameOf(row), row.markets]))
    const rows = held.all()
    assertSound(rows.every(({ isSound }) => isSound === 1) && areKnown(rows), 'the totals of coins')
    return rows.map((row) => ({
      coin: row.coin,
      timeframe: row.timeframe,
      source: row.source,
      markets: row.markets,
      openMarkets: counts.get(nameOf(row)) ?? 0,
      snapshots: row.snapshots,
      firstSnapshotMs: row.firstMs ?? undefined,
      lastSnapshotMs: row.lastMs ?? undefined,
    }))
  }
}

/** Names have no checksum: a damaged one is not one of ours. */
const areKnown = (rows: readonly Identity[]): boolean =>
  rows.every(
    ({ coin, timeframe, source }) =>
      coins.includes(coin) && timeframe in timeframeMs && /^(recorded|simulated)$/.test(source),
  )

const nameOf = ({ coin, timeframe, source }: Identity): string => `${coin} ${timeframe} ${source}`

/** Totals against the markets, which also shows when a market is missing. */
export function checkCoinTotals(db: Database): string[] {
  const groups = db
    .prepare<unknown, []>(
      `SELECT DISTINCT coin FROM (
         SELECT coin, timeframe, source, markets, snapshots, first_ms, last_ms FROM coin_total
         WHERE ${IS_SOUND} UNION ALL
         SELECT coin, timeframe, source, count(*), sum(up_count + down_count), min(first_ms), max(last_ms)
         FROM market GROUP BY coin, timeframe, source
       ) AS totals GROUP BY coin, timeframe, source, markets, snapshots, first_ms, last_ms HAVING count(*) <> 2`,
    )
    .values()
  return groups.map(([coin]) => `coin_total table: the totals of ${coin} differ from its markets`)
}
