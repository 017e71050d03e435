import { trade } from '#db/history/schema.ts'
import { assertSealed, checksumOf, SUM_END, SUM_MASK } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import { outcomes } from '#src/domain/market.ts'
import { sortMoments, type StoredTrade, type Trade, type TradeQuery } from '#src/domain/trade.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import type { MetaTable } from './meta-table.ts'

type TradeRow = typeof trade.$inferSelect
type Range = Record<'marketId' | 'fromMs' | 'toMs' | 'belowId' | 'isAll', number> & {
  outcome: number | null
}

const NO_LIMIT = Number.MAX_SAFE_INTEGER

const sides = ['buy', 'sell'] as const

export function createTradeTable(db: Database, meta: MetaTable) {
  const sql = sqlOf(trade)
  const inRange = `SELECT ${sql.columns()} FROM trade
    WHERE market_id = $marketId AND time_ms >= $fromMs AND time_ms < $toMs
      AND ($outcome IS NULL OR outcome = $outcome)
      AND ($isAll = 1 OR outcome IS NOT NULL OR size IS NOT NULL OR side IS NOT NULL)
      AND id < $belowId AND (replaced_by IS NULL OR replaced_by >= $belowId)`
  const isEqual = `market_id = $marketId AND time_ms = $timeMs AND price = $price
         AND outcome IS NOT DISTINCT FROM $outcome AND size IS NOT DISTINCT FROM $size
         AND side IS NOT DISTINCT FROM $side`
  const insert = db.prepare<unknown, [TradeRow]>(
    `INSERT INTO trade (${sql.names()}) SELECT ${sql.parameters()} WHERE NOT EXISTS (
       SELECT 1 FROM trade WHERE ${isEqual}
         AND ($transactionHash IS NULL OR transaction_hash = $transactionHash))`,
  )
  const unnamed = db.prepare<TradeRow, [TradeRow]>(
    `SELECT ${sql.columns()} FROM trade WHERE ${isEqual}
       AND transaction_hash IS NULL AND replaced_by IS NULL`,
  )
  const replace = db.prepare<unknown, [Pick<TradeRow, 'id' | 'replacedBy' | 'checksum'>]>(
    'UPDATE trade SET replaced_by = $replacedBy, checksum = $checksum WHERE id = $id',
  )
  const greatestId = db.prepare<{ id: number | null }, []>('SELECT max(id) AS id FROM trade')
  const addToSum = db.prepare<unknown, [{ sum: number; marketId: number }]>(
    `UPDATE market SET trade_sum = (trade_sum + $sum) & ${SUM_MASK} WHERE id = $marketId`,
  )
  // Over all columns of its index, so that the index is sound if the sum is.
  const sum = db.prepare<{ sum: number }, [{ marketId: number }]>(
    `SELECT coalesce(sum(checksum + time_ms + id), 0) & ${SUM_MASK} AS sum FROM trade
     WHERE market_id = $marketId`,
  )
  const select = (order: '' | 'DESC') =>
    db.prepare<TradeRow, [Range & { limit: number }]>(
      `${inRange} ORDER BY time_ms ${order}, id ${order} LIMIT $limit`,
    )
  const newer = db.prepare<TradeRow, [Range & Record<'limit' | 'aboveId', number>]>(
    `${inRange} AND id > $aboveId AND NOT EXISTS (
       SELECT 1 FROM trade AS held WHERE held.market_id = $marketId
         AND held.time_ms = trade.time_ms AND held.replaced_by = trade.id)
     ORDER BY time_ms, id LIMIT $limit`,
  )
  const ascending = select('')
  const descending = select('DESC')

  const all = db.prepare<TradeRow, [Pick<TradeRow, 'marketId'>]>(
    `SELECT ${sql.columns()} FROM trade WHERE market_id = $marketId ORDER BY id`,
  )

  const lastId = (): number => greatestId.get()?.id ?? 0

  /**
   * Replaces a trade without a transaction by the same trade with one. The trade keeps its id,
   * which was served. Returns the change of the sum.
   */
  function replaceUnnamed(held: TradeRow, replacedBy: number): number {
    const replaced = { ...held, replacedBy }
    const checksum = checksumOf(replaced)
    replace.run({ ...replaced, checksum })
    return checksum - (held.checksum ?? 0)
  }

  /** Reads rows, including the whole millisecond at which the limit cuts. */
  function readFrom(range: Range, limit: number, read: typeof ascending): TradeRow[] {
    // One more row shows if the millisecond continues.
    const rows = read.all({ ...range, limit: Math.min(limit + 1, NO_LIMIT) })
    if (rows.length <= limit) return rows
    const next = rows.pop()
    const lastMs = rows.at(-1)?.timeMs
    if (next === undefined || lastMs !== next.timeMs) return rows
    const moment = { ...range, fromMs: lastMs, toMs: lastMs + 1, limit: NO_LIMIT }
    return [...rows.filter(({ timeMs }) => timeMs !== lastMs), ...read.all(moment)]
  }

  return {
    /**
     * Adds new trades and returns them. A trade without a transaction is a duplicate of an
     * otherwise equal one with a transaction. The id of a duplicate stays unused.
     */
    insert(found: readonly { marketId: number; trade: Trade }[]): ReadonlySet<Trade> {
      const added = new Set<Trade>()
      if (found.length === 0) return added
      const firstId = meta.takeTradeIds(found.length, lastId() + 1)
      const sums = new Map<number, number>()
      for (const [at, { marketId, trade }] of found.entries()) {
        const row = toRow(firstId + at, marketId, trade)
        if (insert.run(row).changes === 0) continue
        added.add(trade)
        let sum = (sums.get(row.marketId) ?? 0) + (row.checksum ?? 0) + row.timeMs + row.id
        const equal = row.transactionHash === null ? null : unnamed.get(row)
        if (equal !== null) sum += replaceUnnamed(equal, row.id)
        // The sum of thousands would exceed the exact range of a number.
        sums.set(row.marketId, sum % SUM_END)
      }
      for (const [marketId, sum] of sums) addToSum.run({ sum, marketId })
      return added
    },

    /** The greatest id of a trade of any market; 0 without trades. */
    lastId,

    /** The expected `tradeSum` of a market. */
    sum: (marketId: number): number => sum.get({ marketId })?.sum ?? 0,

    /** Throws a `damage` fault if a trade does not match its checksum. */
    assertAll(marketId: number): void {
      for (const row of all.all({ marketId })) toTrade(row)
    },

    /** Trades in the order of `compareTrades`. Throws a `damage` fault. */
    list(query: TradeQuery): StoredTrade[] {
      const {
        market,
        outcome,
        fromMs = 0,
        toMs = NO_LIMIT,
        first,
        last,
        belowId = NO_LIMIT,
        aboveId,
        isTrade = false,
      } = query
      const code = outcome === undefined ? null : outcomeCodes[outcome]
      const isAll = isTrade ? 0 : 1
      const range = { marketId: market.id, fromMs, toMs, outcome: code, belowId, isAll }
      if (aboveId !== undefined)
        return sortMoments(newer.all({ ...range, aboveId, limit: NO_LIMIT }).map(toTrade))
      if (last === undefined)
        return sortMoments(readFrom(range, first ?? NO_LIMIT, ascending).map(toTrade))
      const rows = readFrom(range, last, descending)
      const trades = sortMoments(rows.map(toTrade).reverse())
      return trades.slice(Math.max(0, trades.length - last))
    },
  }
}

function toRow(
  id: number,
  marketId: number,
  { timestampMs, price, outcome, size, side, transactionHash }: Trade,
): TradeRow {
  const row: TradeRow = {
    id,
    marketId,
    timeMs: timestampMs,
    price,
    outcome: outcome === undefined ? null : outcomeCodes[outcome],
    size: size ?? null,
    side: side === undefined ? null : sides.indexOf(side),
    checksum: 0,
    transactionHash: transactionHash ?? null,
    replacedBy: null,
  }
  row.checksum = checksumOf(row)
  return row
}

function toTrade(row: TradeRow): StoredTrade {
  assertSealed(row, `trade ${row.id} of market ${row.marketId}`)
  const { id, timeMs, price, outcome, size, side, transactionHash } = row
  return {
    id,
    timestampMs: timeMs,
    price,
    outcome: outcome === null ? undefined : outcomes[outcome],
    size: size ?? undefined,
    side: side === null ? undefined : sides[side],
    transactionHash: transactionHash ?? undefined,
  }
}
