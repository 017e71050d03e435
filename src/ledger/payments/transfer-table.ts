/** Rows of the tables of unmatched transfers and of scanned blocks. */
import type { PaymentProof } from '#src/selling/payment.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { UnmatchedTransfer } from '../payments.ts'

type TransferRow = {
  id: string
  network: string
  asset: string
  from_address: string
  amount: string
  tx_hash: string
  block_number: number
  log_index: number
  found_ms: number
  resolution: string | null
}

/** Finds, lists and writes transfers that no payment explains. */
export function createTransferTable(db: Database) {
  const byId = db.prepare<TransferRow, [string]>('SELECT * FROM unmatched_transfer WHERE id = ?')
  const byLog = db.prepare<TransferRow, [string, string, number]>(
    'SELECT * FROM unmatched_transfer WHERE network = ? AND tx_hash = ? AND log_index = ?',
  )
  const list = db.prepare<TransferRow, [boolean]>(
    // One that a payment explains after all needs nobody any more.
    `SELECT * FROM unmatched_transfer AS t WHERE (resolution IS NOT NULL) = ?
     AND NOT EXISTS (SELECT 1 FROM payment AS p WHERE p.network = t.network
       AND p.proof_tx_hash = t.tx_hash AND p.log_index = t.log_index)
     ORDER BY block_number, log_index, id`,
  )
  const insert = db.prepare(
    `INSERT INTO unmatched_transfer (id, network, asset, from_address, amount, tx_hash,
       block_number, log_index, found_ms, resolution)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const resolve = db.prepare('UPDATE unmatched_transfer SET resolution = ? WHERE id = ?')
  return {
    find: (id: string): UnmatchedTransfer | undefined => toTransfer(byId.get(id)),

    findByLog: (network: string, { txHash, logIndex }: PaymentProof) =>
      toTransfer(byLog.get(network, txHash, logIndex)),

    list: (isResolved: boolean): UnmatchedTransfer[] =>
      list.all(isResolved).flatMap((row) => toTransfer(row) ?? []),

    insert(transfer: UnmatchedTransfer): void {
      insert.run(
        ...[transfer.id, transfer.network, transfer.asset, transfer.from, String(transfer.amount)],
        ...[transfer.txHash, transfer.blockNumber, transfer.logIndex, transfer.foundMs],
        transfer.resolution ?? null,
      )
    },

    resolve(id: string, resolution: string): void {
      resolve.run(resolution, id)
    },
  }
}

export type TransferTable = ReturnType<typeof createTransferTable>

/** Remembers how far each chain was looked through. */
export function createScanTable(db: Database) {
  const find = db.prepare<{ block_number: number }, [string]>(
    'SELECT block_number FROM scanned_block WHERE network = ?',
  )
  const upsert = db.prepare(
    `INSERT INTO scanned_block (network, block_number) VALUES (?, ?)
     ON CONFLICT (network) DO UPDATE SET block_number = excluded.block_number`,
  )
  return {
    find: (network: string): number | undefined => find.get(network)?.block_number,

    put(network: string, blockNumber: number): void {
      upsert.run(network, blockNumber)
    },
  }
}

function toTransfer(row: TransferRow | null): UnmatchedTransfer | undefined {
  if (row === null) return undefined
  return {
    id: row.id,
    network: row.network,
    asset: row.asset,
    from: row.from_address,
    amount: BigInt(row.amount),
    txHash: row.tx_hash,
    blockNumber: row.block_number,
    logIndex: row.log_index,
    foundMs: row.found_ms,
    resolution: row.resolution ?? undefined,
  }
}
