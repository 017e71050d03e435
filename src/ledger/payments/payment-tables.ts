/**
 * Rows of payments, of transfers without one, and of the blocks that were looked through. What was
 * signed never changes; what became of it does. Amounts and seconds are decimal digits in the file.
 */
import { payment as payments, scannedBlock, unmatchedTransfer } from '#db/ledger/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import type { TransferMethod } from '#src/domain/selling/payment-chain.ts'
import {
  openStates,
  type Payment,
  type PaymentProof,
  type PaymentState,
  type SignedPayment,
} from '#src/domain/selling/payment.ts'

import type { PaymentStore, UnmatchedTransfer } from '../payments.ts'
import { change, createRows, exists, type Row } from '../rows.ts'
import type { Tables } from '../sqlite-ledger.ts'

type Place = { createdMs: number; id: string; limit: number }

const HAS_FAILED = "state IN ('rejected', 'void')"
export const namesOf = (states: readonly PaymentState[]): string =>
  states.map((state) => `'${state}'`).join(', ')
const NEWEST_FIRST = 'ORDER BY created_ms DESC, id DESC LIMIT $limit'
const BEFORE = '(created_ms, id) < ($createdMs, $id)'
/** Later than any payment: where the first page begins. */
const pageStart = { createdMs: Number.MAX_SAFE_INTEGER, id: '' }

export function createPaymentTable(db: Database) {
  const rows = createRows(db, payments, { what: 'payment', parse: toPayment })
  const findByProof = rows.one<[network: string, txHash: string, logIndex: number]>(
    'WHERE network = $1 AND proof_tx_hash = $2 AND log_index = $3',
  )
  const update = rows.update(
    ...(['state', 'attempts', 'leaseUntilMs', 'txHash', 'proofTxHash', 'blockNumber'] as const),
    ...(['logIndex', 'reason', 'resolution', 'updatedMs'] as const),
  )
  return {
    find: rows.find,
    get: rows.get,
    listOfOffer: rows.list<[offerId: string]>('WHERE offer_id = $1 ORDER BY created_ms, id'),
    findByProof: (network: string, { txHash, logIndex }: PaymentProof): Payment | undefined =>
      findByProof(network, txHash, logIndex),
    reads: createReads(db, rows),
    /**
     * Payments that an order for the same token may repeat, in the order of `findSamePurchase`. The
     * tier is in the JSON of their offers' terms, and is compared by the caller.
     */
    listRepeatable: rows.list<
      [{ accountId: string; network: string; asset: string; sinceMs: number }]
    >(
      `WHERE account_id = $accountId AND network = $network AND asset = $asset
       AND (state IN (${namesOf(openStates)})
         OR (state = 'provisioned' AND updated_ms > $sinceMs)
         OR (state = 'rejected' AND coalesce(reason, '') <> 'signature_invalid'))
       ORDER BY CASE state WHEN 'rejected' THEN 2 WHEN 'provisioned' THEN 1 ELSE 0 END,
         created_ms DESC, id DESC`,
    ),
    /** As `listPurchases`, for all that an account buys. */
    listMade: rows.list<[{ accountId: string; sinceMs: number }]>(
      `WHERE account_id = $accountId AND (state IN (${namesOf(openStates)})
         OR (state = 'provisioned' AND updated_ms > $sinceMs))
       ORDER BY created_ms, id`,
    ),
    /** One that may still be made, or was. */
    findNamed: rows.one<[{ payer: string; identifier: string }]>(
      `WHERE payer = $payer AND identifier = $identifier AND state NOT IN ('rejected', 'void')`,
    ),

    insert: ({ signed, proof, ...payment }: Payment): void =>
      rows.insert({
        ...signed,
        ...payment,
        amount: String(signed.amount),
        validAfter: String(signed.validAfter),
        validBefore: String(signed.validBefore),
      }),

    update({ proof, ...payment }: Payment): void {
      const { txHash: proofTxHash, blockNumber, logIndex } = proof ?? {}
      update({ ...payment, proofTxHash, blockNumber, logIndex })
    },
  }
}

export type PaymentTable = ReturnType<typeof createPaymentTable>
type Payments = ReturnType<typeof createRows<typeof payments, Payment>>

function createReads(db: Database, rows: Payments) {
  const byNonce = rows.one<Parameters<PaymentStore['findPaymentByNonce']>>(
    'WHERE network = $network AND nonce_contract = $nonceContract AND payer = $payer AND nonce = $nonce',
  )
  const pageOf = rows.list<[Place & { accountId: string }]>(
    `WHERE account_id = $accountId AND ${BEFORE} ${NEWEST_FIRST}`,
  )
  const page = rows.list<[Place]>(`WHERE ${BEFORE} ${NEWEST_FIRST}`)
  const lists = new Map<string, (place: Place) => Payment[]>()
  // Literals: with one state the index is in order, and a page reads no more than it has.
  const inStates = (states: readonly PaymentState[]) => {
    const names = namesOf(states) || 'NULL'
    const list =
      lists.get(names) ??
      rows.list<[Place]>(`WHERE state IN (${names}) AND (created_ms, id) > ($createdMs, $id)
        ORDER BY created_ms, id LIMIT $limit`)
    lists.set(names, list)
    return list
  }
  const like = rows.list<[{ network: string; asset: string; from: string; amount: string }]>(
    `WHERE payer = $from AND amount = $amount AND network = $network AND asset = $asset
     ORDER BY created_ms, id`,
  )
  // A forged signature can never be made, whoever submits it.
  const undecided = rows.one<[{ accountId: string; offerId: string | null; limit: number }]>(
    `WHERE account_id = $accountId AND offer_id = coalesce($offerId, offer_id)
     AND (state IN (${namesOf(openStates)})
       OR (state = 'rejected' AND coalesce(reason, '') <> 'signature_invalid')) ${NEWEST_FIRST}`,
  )
  const paidIn = rows.list<[{ network: string; from: number; to: number }]>(
    `WHERE state = 'provisioned' AND network = $network AND block_number >= $from
     AND block_number <= $to ORDER BY block_number, id`,
  )
  const counts = db.prepare<{ state: PaymentState; count: number }, []>(
    `SELECT state, count(*) AS count FROM payment WHERE state <> 'review' OR resolution IS NULL
     GROUP BY state`,
  )
  const failed = db.prepare<
    ReturnType<PaymentStore['countFailedPayments']>,
    [{ id: string; accountId: string; sinceMs: number }]
  >(
    `SELECT (SELECT count(*) FROM payment WHERE offer_id = $id AND ${HAS_FAILED}) AS "ofOffer",
       (SELECT count(*) FROM payment WHERE account_id = $accountId AND created_ms > $sinceMs
         AND ${HAS_FAILED}) AS "ofAccount"`,
  )

  return {
    findPayment: rows.find,
    findPaymentByNonce: ({ network, nonceContract, payer, nonce }) =>
      byNonce({ network, nonceContract, payer, nonce }),
    findUndecidedPayment: ({ accountId, offerId = null }) =>
      undecided({ accountId, offerId, limit: 1 }),

    listPayments({ accountId, limit, after = pageStart }) {
      const { createdMs, id } = after
      const place = { createdMs, id, limit }
      return accountId === undefined ? page(place) : pageOf({ ...place, accountId })
    },

    listPaymentsIn(states, { limit, after } = { limit: Number.MAX_SAFE_INTEGER }) {
      const { createdMs, id } = after ?? { createdMs: 0, id: '' }
      return inStates(states)({ createdMs, id, limit })
    },

    listPaymentsLike: ({ network, asset, from, amount }) =>
      like({
        ...{ network, asset: asset.toLowerCase() },
        ...{ from: from.toLowerCase(), amount: String(amount) },
      }),

    listPaidIn: (network, { from, to }) => paidIn({ network, from, to }),

    countPayments: () =>
      Object.fromEntries(counts.all().map(({ state, count }) => [state, Number(count)])),

    countFailedPayments: ({ id, accountId }, sinceMs) =>
      failed.get({ id, accountId, sinceMs }) ?? { ofOffer: 0, ofAccount: 0 },
  } satisfies Partial<PaymentStore>
}

function toPayment(row: Row<typeof payments>): Payment {
  const { network, method, asset, payer, payTo, nonce, nonceContract, ...unsigned } = row
  const { payloadHash, payload, amount, validAfter, validBefore, ...changing } = unsigned
  const { proofTxHash, blockNumber, logIndex, ...payment } = changing
  const texts = { asset, payer, payTo, nonce, nonceContract, payloadHash, payload }
  const isProven = proofTxHash !== undefined && blockNumber !== undefined && logIndex !== undefined
  return {
    ...payment,
    state: row.state as PaymentState,
    signed: {
      ...texts,
      network: network as SignedPayment['network'],
      method: method as TransferMethod,
      amount: BigInt(amount),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
    proof: isProven ? { txHash: proofTxHash, blockNumber, logIndex } : undefined,
  }
}

export function createTransferTable(db: Database) {
  const rows = createRows(db, unmatchedTransfer, {
    what: 'transfer',
    parse: ({ fromAddress, amount, ...row }): UnmatchedTransfer => ({
      ...row,
      from: fromAddress,
      amount: BigInt(amount),
    }),
  })
  // One that a payment explains after all needs nobody any more.
  const list = rows.list<[isResolved: 0 | 1]>(
    `WHERE CASE WHEN resolution IS NULL THEN 0 ELSE 1 END = $1
     AND NOT EXISTS (SELECT 1 FROM payment AS p WHERE p.network = unmatched_transfer.network
       AND p.proof_tx_hash = unmatched_transfer.tx_hash AND p.log_index = unmatched_transfer.log_index)
     ORDER BY block_number, log_index, id`,
  )
  return {
    find: rows.find,
    hasLog: exists<[{ network: string; txHash: string; logIndex: number }]>(
      db,
      `SELECT 1 FROM unmatched_transfer
       WHERE network = $network AND tx_hash = $txHash AND log_index = $logIndex`,
    ),
    list,
    insert: ({ from, amount, ...transfer }: UnmatchedTransfer): void =>
      rows.insert({ ...transfer, fromAddress: from, amount: String(amount) }),
    resolve: rows.update('resolution'),
  }
}

/** How far each chain was looked through: see `PaymentStore`. */
export function createScans({ db, atomically }: Tables) {
  const sql = sqlOf(scannedBlock)
  const find = db.prepare<{ blockNumber: number }, [network: string]>(
    `SELECT ${sql.columns(['blockNumber'])} FROM scanned_block WHERE network = $1`,
  )
  const put = change<[typeof scannedBlock.$inferSelect]>(
    db,
    `${sql.insert()} ON CONFLICT (network) DO UPDATE SET ${sql.setExcluded(['blockNumber'])}`,
  )
  return {
    scannedBlock: (network) => find.get(network)?.blockNumber,
    setScannedBlock: (network, blockNumber) => atomically(() => void put({ network, blockNumber })),
  } satisfies Partial<PaymentStore>
}
