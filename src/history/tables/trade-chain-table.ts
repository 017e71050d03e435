/** Rows of the trade_chain table: final receipts of the transactions of trades. */
import { tradeChain } from '#db/history/schema.ts'
import { checksumOf } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import type { TradeReceipt, UncheckedQuery, UncheckedTrade } from '#src/domain/trade-chain.ts'

import type { LogMeta } from './meta-table.ts'

type ChainRow = typeof tradeChain.$inferSelect

/** Creates the table; the verbs that write need the transaction of the change. */
export function createTradeChainTable(db: Database, meta: LogMeta) {
  const sql = sqlOf(tradeChain)
  // The trade may have been deleted since its receipt was asked for.
  const insert = db.prepare<unknown, [ChainRow]>(
    `INSERT INTO trade_chain (${sql.names()}) SELECT ${sql.parameters()}
     WHERE EXISTS (SELECT 1 FROM trade WHERE id = $tradeId) ON CONFLICT (trade_id) DO NOTHING`,
  )
  const find = db.prepare<ChainRow, [Pick<ChainRow, 'tradeId'>]>(
    `SELECT ${sql.columns()} FROM trade_chain WHERE trade_id = $tradeId`,
  )
  const all = db.prepare<ChainRow, []>(`SELECT ${sql.columns()} FROM trade_chain`)
  const unchecked = db.prepare<UncheckedTrade, [UncheckedQuery]>(
    `SELECT id, time_ms AS "timestampMs", transaction_hash AS "transactionHash" FROM trade
     WHERE id > $afterId AND id <= $upToId AND time_ms > $sinceMs
       AND transaction_hash IS NOT NULL AND replaced_by IS NULL
       AND NOT EXISTS (SELECT 1 FROM trade_chain WHERE trade_id = trade.id)
     ORDER BY id`,
  )
  const isSound = (row: ChainRow): boolean => row.checksum === checksumOf(row)

  return {
    put(receipts: readonly TradeReceipt[], nextId: number): void {
      for (const { tradeId, isSuccess } of receipts) {
        // In the order of the columns.
        const row = { tradeId, isSuccess: Number(isSuccess) }
        insert.run({ ...row, checksum: checksumOf(row) })
      }
      if (meta.nextCheckedId() !== nextId) meta.putNextCheckedId(nextId)
    },

    /** A damaged row is ignored: the trade is then as without a receipt. */
    find(tradeId: number): TradeReceipt | undefined {
      const row = find.get({ tradeId })
      return row !== null && isSound(row) ? { tradeId, isSuccess: row.isSuccess === 1 } : undefined
    },

    unchecked: (query: UncheckedQuery): UncheckedTrade[] => unchecked.all(query),

    verify(): string[] {
      for (const row of all.iterate())
        if (!isSound(row)) return ['trade_chain table: it is not as it was written']
      return []
    },
  }
}
