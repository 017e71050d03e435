import type { Database } from '#src/sqlite/database.ts'

/** What can be said of a whole file by SQL alone; functions that return a sentence a fault. */
import { IS_SOUND } from './tables/coin-totals.ts'

/** Pages, rows and indexes, as SQLite understands them. */
export function checkPages(db: Database): string[] {
  const answers = db.prepare<unknown, []>('PRAGMA integrity_check').values().flat()
  return answers.filter((answer) => answer !== 'ok').map((answer) => `SQLite: ${answer}`)
}

/** Totals against the markets, which also shows when a market is missing. */
export function checkCoinTotals(db: Database): string[] {
  const groups = db
    .prepare<unknown, []>(
      `SELECT DISTINCT coin FROM (
         SELECT coin, timeframe, source, markets, snapshots, first_ms, last_ms FROM coin_total
         WHERE ${IS_SOUND} UNION ALL
         SELECT coin, timeframe, source, count(*), sum(up_count + down_count), min(first_ms), max(last_ms)
         FROM market GROUP BY coin, timeframe, source
       ) GROUP BY coin, timeframe, source, markets, snapshots, first_ms, last_ms HAVING count(*) <> 2`,
    )
    .values()
  return groups.map(([coin]) => `coin_total table: the totals of ${coin} differ from its markets`)
}
