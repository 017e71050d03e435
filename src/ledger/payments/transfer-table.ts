/** Rows of the tables of unmatched transfers and of scanned blocks. */
import { scannedBlock, unmatchedTransfer } from '#db/ledger/schema.ts'
import type { PaymentProof } from '#src/selling/payment.ts'
import { sqlOf } from '#src/sqlite/columns.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { UnmatchedTransfer } from '../payments.ts'
import { createRows } from '../rows.ts'

/** Finds, lists and writes transfers that no payment explains. */
export function createTransferTable(db: Database) {
  const rows = createRows(db, unmatchedTransfer, {
    what: 'transfer',
    parse: ({ fromAddress, amount, ...row }): UnmatchedTransfer => ({
      ...row,
      from: fromAddress,
      amount: BigInt(amount),
    }),
  })
  const byLog = rows.one<{ network: string; txHash: string; logIndex: number }>(
    'WHERE network = $network AND tx_hash = $txHash AND log_index = $logIndex',
  )
  // One that a payment explains after all needs nobody any more.
  const list = rows.list<{ isResolved: boolean }>(
    `WHERE (resolution IS NOT NULL) = $isResolved
     AND NOT EXISTS (SELECT 1 FROM payment AS p WHERE p.network = unmatched_transfer.network
       AND p.proof_tx_hash = unmatched_transfer.tx_hash AND p.log_index = unmatched_transfer.log_index)
     ORDER BY block_number, log_index, id`,
  )
  return {
    find: rows.find,
    findByLog: (network: string, { txHash, logIndex }: PaymentProof) =>
      byLog({ network, txHash, logIndex }),
    list: (isResolved: boolean): UnmatchedTransfer[] => list({ isResolved }),
    insert: ({ from, amount, ...transfer }: UnmatchedTransfer): void =>
      rows.insert({ ...transfer, fromAddress: from, amount: String(amount) }),
    resolve: rows.update('resolution'),
  }
}

type ScannedBlock = typeof scannedBlock.$inferSelect

/** Remembers how far each chain was looked through. */
export function createScanTable(db: Database) {
  const sql = sqlOf(scannedBlock)
  const find = db.prepare<ScannedBlock, [{ network: string }]>(
    `SELECT ${sql.columns()} FROM scanned_block WHERE network = $network`,
  )
  const upsert = db.prepare<unknown, [ScannedBlock]>(
    `${sql.insert()} ON CONFLICT (network) DO UPDATE SET ${sql.setExcluded(['blockNumber'])}`,
  )
  return {
    find: (network: string): number | undefined => find.get({ network })?.blockNumber,
    put: (network: string, blockNumber: number): void => void upsert.run({ network, blockNumber }),
  }
}
