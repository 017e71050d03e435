/**
 * What is held of each coin, in a few rows that triggers keep with every write to `market`. Only which markets
 * are open depends on the time too; those that can be are in an index of their own.
 */
import { type Coin, coins, type Source, type Timeframe, timeframeMs } from '#src/core/market.ts'
import { assertSound } from '#src/sqlite/checksum.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { CoinTotals } from '../history.ts'

type Identity = { coin: Coin; timeframe: Timeframe; source: Source }
type TotalsRow = Identity & {
  is_sound: number
  markets: number
  snapshots: number
  first_ms: number | null
  last_ms: number | null
}
type OpenRow = Identity & { markets: number }

/** As the triggers have it: db/history/migrations/0010_coin_total_seals.sql. */
export const IS_SOUND =
  '(checksum IS (markets * 1000003 + snapshots * 7919 + ifnull(first_ms, 1) * 31 + ifnull(last_ms, 1) * 17) & 281474976710655)'

/** Makes the verb `coinTotals` of a file. It throws `Damage` where a row is not as the triggers left it. */
export function createCoinTotals(db: Database): (nowMs: number) => CoinTotals[] {
  const held = db.prepare<TotalsRow, []>(
    `SELECT *, ${IS_SOUND} AS is_sound FROM coin_total ORDER BY coin, timeframe, source`,
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
    const rows = held.all()
    assertSound(
      rows.every(({ is_sound }) => is_sound === 1) && areKnown(rows),
      'the totals of coins',
    )
    return rows.map((row) => ({
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

/** Names have no checksum: a damaged one is none of ours. */
const areKnown = (rows: readonly Identity[]): boolean =>
  rows.every(
    ({ coin, timeframe, source }) =>
      coins.includes(coin) && timeframe in timeframeMs && /^(recorded|simulated)$/.test(source),
  )

const nameOf = ({ coin, timeframe, source }: Identity): string => `${coin} ${timeframe} ${source}`
