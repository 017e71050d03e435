/** Rows of the trade table. */
import { outcomes } from '#src/core/market.ts'
import type { Trade } from '#src/core/trade.ts'
import { assertSealed, checksumOf, SUM_END, SUM_MASK } from '#src/sqlite/checksum.ts'
import type { Database } from '#src/sqlite/database.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import type { TradeQuery } from '../history.ts'

type TradeRow = {
  id: number
  market_id: number
  time_ms: number
  price: number
  outcome: number | null
  size: number | null
  side: number | null
  checksum: number | null
}

const RANGE = 'market_id = ? AND time_ms >= ? AND time_ms < ?'
const sides = ['buy', 'sell'] as const

/** Reads and writes trades. */
export function createTradeTable(db: Database) {
  const insert = db.prepare(
    `INSERT INTO trade SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS (
       SELECT 1 FROM trade WHERE market_id = ?2 AND time_ms = ?3 AND price = ?4
         AND outcome IS ?5 AND size IS ?6 AND side IS ?7)`,
  )
  const lastId = db.prepare<{ id: number }, []>('SELECT ifnull(max(id), 0) AS id FROM trade')
  const addToSum = db.prepare(
    `UPDATE market SET trade_sum = (trade_sum + ?) & ${SUM_MASK} WHERE id = ?`,
  )
  // Of all that its index holds, so that it is sound where the sum is.
  const sum = db.prepare<{ sum: number }, [number]>(
    `SELECT ifnull(sum(checksum + time_ms + id), 0) & ${SUM_MASK} AS sum FROM trade WHERE market_id = ?`,
  )
  const ascending = db.prepare<TradeRow, [number, number, number]>(
    `SELECT * FROM trade WHERE ${RANGE} ORDER BY time_ms, id`,
  )
  const descending = db.prepare<TradeRow, [number, number, number, number]>(
    `SELECT * FROM trade WHERE ${RANGE} ORDER BY time_ms DESC, id DESC LIMIT ?`,
  )

  return {
    /** Adds trades that are not held yet; returns how many. */
    insert(marketId: number, trades: readonly Trade[]): number {
      let id = (lastId.get()?.id ?? 0) + 1
      let [added, sum] = [0, 0]
      for (const { timestampMs, price, outcome, size, side } of trades) {
        const columns = {
          id,
          market_id: marketId,
          time_ms: timestampMs,
          price,
          outcome: outcome === undefined ? null : outcomeCodes[outcome],
          size: size ?? null,
          side: side === undefined ? null : sides.indexOf(side),
        }
        const checksum = checksumOf(columns)
        if (insert.run(...Object.values(columns), checksum).changes === 0) continue
        added++
        sum += checksum + timestampMs + id++
      }
      addToSum.run(sum % SUM_END, marketId)
      return added
    },

    /** What `tradeSum` of a market should be. */
    sum: (marketId: number): number => sum.get(marketId)?.sum ?? 0,

    /** Ascending by time; those of one moment in the order of acceptance. Throws `Damage`. */
    list({ market, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, last }: TradeQuery): Trade[] {
      if (last === undefined) return ascending.all(market.id, fromMs, toMs).map(toTrade)
      return descending.all(market.id, fromMs, toMs, last).reverse().map(toTrade)
    },
  }
}

export type TradeTable = ReturnType<typeof createTradeTable>

function toTrade(row: TradeRow): Trade {
  assertSealed(row, `trade ${row.id} of market ${row.market_id}`)
  const { time_ms, price, outcome, size, side } = row
  return {
    timestampMs: time_ms,
    price,
    outcome: outcome === null ? undefined : outcomes[outcome],
    size: size ?? undefined,
    side: side === null ? undefined : sides[side],
  }
}
