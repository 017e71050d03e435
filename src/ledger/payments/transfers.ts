/** Transfers without a payment, and how far each chain was searched for them. */
import { scannedBlock, unmatchedTransfer } from '#db/ledger/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { PaymentProof } from '#src/domain/selling/payment.ts'

import type { LedgerCore } from '../core.ts'
import type { PaymentReads, PaymentVerbs, UnmatchedTransfer } from '../payments.ts'
import { change, createRows, exists } from '../rows.ts'

export function createTransfers(
  { db, note }: LedgerCore,
  /** True if a transfer has paid a payment. */
  isPayment: (network: string, transfer: PaymentProof) => boolean,
) {
  const rows = createRows(db, unmatchedTransfer, {
    what: 'transfer',
    parse: ({ fromAddress, amount, ...row }): UnmatchedTransfer => ({
      ...row,
      from: fromAddress,
      amount: BigInt(amount),
    }),
  })
  // A transfer that is explained by a payment later needs no decision.
  const list = rows.list<[isResolved: 0 | 1]>(
    `WHERE CASE WHEN resolution IS NULL THEN 0 ELSE 1 END = $1
     AND NOT EXISTS (SELECT 1 FROM payment AS p WHERE p.network = unmatched_transfer.network
       AND p.proof_tx_hash = unmatched_transfer.tx_hash AND p.log_index = unmatched_transfer.log_index)
     ORDER BY block_number, log_index, id`,
  )
  const hasLog = exists<[{ network: string; txHash: string; logIndex: number }]>(
    db,
    `SELECT 1 FROM unmatched_transfer
     WHERE network = $network AND tx_hash = $txHash AND log_index = $logIndex`,
  )
  const sql = sqlOf(scannedBlock)
  const findScanned = db.prepare<{ blockNumber: number }, [network: string]>(
    `SELECT ${sql.columns(['blockNumber'])} FROM scanned_block WHERE network = $1`,
  )
  const putScanned = change<[typeof scannedBlock.$inferSelect]>(
    db,
    `${sql.insert()} ON CONFLICT (network) DO UPDATE SET ${sql.setExcluded(['blockNumber'])}`,
  )

  return {
    find: rows.find,
    resolve: rows.update('resolution'),

    reads: {
      listUnmatchedTransfers: (isResolved) => list(isResolved ? 1 : 0),
      scannedBlock: (network) => findScanned.get(network)?.blockNumber,
    } satisfies Partial<PaymentReads>,

    verbs: {
      addUnmatchedTransfer({ from, amount, ...transfer }, by) {
        const { id, network, txHash, logIndex } = transfer
        if (rows.find(id) !== undefined) return false
        if (hasLog({ network, txHash, logIndex })) return false
        if (isPayment(network, transfer)) return false
        rows.insert({ ...transfer, fromAddress: from, amount: String(amount) })
        note(by, 'transfer.unmatched', id)
        return true
      },

      setScannedBlock: (network, blockNumber) => void putScanned({ network, blockNumber }),
    } satisfies Partial<PaymentVerbs>,
  }
}
