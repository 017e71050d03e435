/** Rows of the trade table. */
import { outcomes } from '#src/core/market.ts'
import type { Trade } from '#src/core/trade.ts'

import { outcomeCodes } from './codec/chunk.ts'
import type { Database } from './database.ts'
import type { TradeQuery } from './history.ts'

type TradeRow = {
  time_ms: number
  price: number
  outcome: number | null
  size: number | null
  side: number | null
}

const COLUMNS = 'time_ms, price, outcome, size, side'
const RANGE = 'market_id = ? AND time_ms >= ? AND time_ms < ?'
const sides = ['buy', 'sell'] as const

/** Reads and writes trades. */
export function createTradeTable(db: Database) {
  const insert = db.prepare(
    `INSERT INTO trade (market_id, ${COLUMNS}) SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE NOT EXISTS (
       SELECT 1 FROM trade WHERE market_id = ?1 AND time_ms = ?2 AND price = ?3
         AND outcome IS ?4 AND size IS ?5 AND side IS ?6)`,
  )
  const ascending = db.prepare<TradeRow, [number, number, number]>(
    `SELECT ${COLUMNS} FROM trade WHERE ${RANGE} ORDER BY time_ms, id`,
  )
  const descending = db.prepare<TradeRow, [number, number, number, number]>(
    `SELECT ${COLUMNS} FROM trade WHERE ${RANGE} ORDER BY time_ms DESC, id DESC LIMIT ?`,
  )

  return {
    /** Adds trades that are not held yet; returns how many. */
    insert(marketId: number, trades: readonly Trade[]): number {
      let added = 0
      for (const { timestampMs, price, outcome, size, side } of trades) {
        added += insert.run(
          ...[marketId, timestampMs, price],
          ...[outcome === undefined ? null : outcomeCodes[outcome], size ?? null],
          side === undefined ? null : sides.indexOf(side),
        ).changes
      }
      return added
    },

    /** Ascending by time; those of one moment in the order of acceptance. */
    list({ market, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, last }: TradeQuery): Trade[] {
      if (last === undefined) return ascending.all(market.id, fromMs, toMs).map(toTrade)
      return descending.all(market.id, fromMs, toMs, last).reverse().map(toTrade)
    },
  }
}

export type TradeTable = ReturnType<typeof createTradeTable>

const toTrade = ({ time_ms, price, outcome, size, side }: TradeRow): Trade => ({
  timestampMs: time_ms,
  price,
  outcome: outcome === null ? undefined : outcomes[outcome],
  size: size ?? undefined,
  side: side === null ? undefined : sides[side],
})
