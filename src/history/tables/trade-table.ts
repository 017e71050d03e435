import { trade } from '#db/history/schema.ts'
import { outcomes } from '#src/core/market.ts'
import type { StoredTrade, Trade, TradeQuery } from '#src/core/trade.ts'
import { assertSealed, checksumOf, SUM_END, SUM_MASK } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import type { Moments } from './revision-table.ts'

type TradeRow = typeof trade.$inferSelect
type Range = { marketId: number; fromMs: number; toMs: number; outcome: number | null }

const NO_LIMIT = Number.MAX_SAFE_INTEGER

const sides = ['buy', 'sell'] as const

export function createTradeTable(db: Database, moments: Moments) {
  const sql = sqlOf(trade)
  const inRange = `SELECT ${sql.columns()} FROM trade
    WHERE market_id = $marketId AND time_ms >= $fromMs AND time_ms < $toMs
      AND (CAST($outcome AS BIGINT) IS NULL OR outcome = $outcome)`
  const insert = db.prepare<unknown, [TradeRow]>(
    `INSERT INTO trade (${sql.names()}) SELECT ${sql.parameters()} WHERE NOT EXISTS (
       SELECT 1 FROM trade WHERE market_id = $marketId AND time_ms = $timeMs AND price = $price
         AND outcome IS NOT DISTINCT FROM $outcome AND size IS NOT DISTINCT FROM $size
         AND side IS NOT DISTINCT FROM $side)`,
  )
  const lastId = db.prepare<{ id: number | null }, []>('SELECT max(id) AS id FROM trade')
  const addToSum = db.prepare<unknown, [{ sum: number; marketId: number }]>(
    `UPDATE market SET trade_sum = (trade_sum + $sum) & ${SUM_MASK} WHERE id = $marketId`,
  )
  // Of all that its index holds, so that it is sound where the sum is.
  const sum = db.prepare<{ sum: number }, [{ marketId: number }]>(
    `SELECT CAST(coalesce(sum(checksum + time_ms + id), 0) AS BIGINT) & ${SUM_MASK} AS sum FROM trade
     WHERE market_id = $marketId`,
  )
  const select = (order: '' | 'DESC') =>
    db.prepare<TradeRow, [Range & { limit: number }]>(
      `${inRange} ORDER BY time_ms ${order}, id ${order} LIMIT $limit`,
    )
  const [ascending, descending] = [select(''), select('DESC')]

  const putChecksum = db.prepare<unknown, [TradeRow]>(
    'UPDATE trade SET checksum = $checksum WHERE id = $id',
  )

  return {
    sealAll(marketId: number): void {
      const range = { marketId, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, outcome: null }
      for (const row of ascending.all({ ...range, limit: NO_LIMIT }))
        putChecksum.run({ ...row, checksum: checksumOf(row) })
    },

    /** Adds trades that are not held yet; returns how many. */
    insert(marketId: number, trades: readonly Trade[]): number {
      let id = Math.max((lastId.get()?.id ?? 0) + 1, moments.leastId())
      if (trades.length > 0) moments.noteIds(id)
      let [added, sumAdded] = [0, 0]
      for (const { timestampMs, price, outcome, size = null, side } of trades) {
        const row = {
          id,
          marketId,
          timeMs: timestampMs,
          price,
          outcome: outcome === undefined ? null : outcomeCodes[outcome],
          size,
          side: side === undefined ? null : sides.indexOf(side),
          checksum: 0,
        }
        row.checksum = checksumOf(row)
        if (insert.run(row).changes === 0) continue
        added++
        sumAdded += row.checksum + timestampMs + id++
      }
      addToSum.run({ sum: sumAdded % SUM_END, marketId })
      return added
    },

    /** What `tradeSum` of a market should be. */
    sum: (marketId: number): number => sum.get({ marketId })?.sum ?? 0,

    /** Ascending by time; those of one moment in the order of acceptance. Throws `Damage`. */
    list(query: TradeQuery) {
      const { market, outcome, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, first, last } = query
      const code = outcome === undefined ? null : outcomeCodes[outcome]
      const range = { marketId: market.id, fromMs, toMs, outcome: code }
      const rows =
        last === undefined
          ? ascending.all({ ...range, limit: first ?? NO_LIMIT })
          : descending.all({ ...range, limit: last }).reverse()
      return rows.map(toTrade)
    },
  }
}

function toTrade(row: TradeRow): StoredTrade {
  assertSealed(row, `trade ${row.id} of market ${row.marketId}`)
  const { id, timeMs, price, outcome, size, side } = row
  return {
    id,
    timestampMs: timeMs,
    price,
    outcome: outcome === null ? undefined : outcomes[outcome],
    size: size ?? undefined,
    side: side === null ? undefined : sides[side],
  }
}
