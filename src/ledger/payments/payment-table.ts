/** Rows of the payment table. What was signed never changes; what became of it does. */
import type { Offer } from '#src/selling/offer.ts'
import {
  openStates,
  type Payment,
  type PaymentProof,
  type PaymentState,
  type SignedPayment,
} from '#src/selling/payment.ts'
import type { Database } from '#src/sqlite/database.ts'

import { type PaymentRow, toPayment } from './payment-row.ts'

export type Nonce = Pick<SignedPayment, 'network' | 'nonceContract' | 'payer' | 'nonce'>
export type PaymentPage = {
  accountId?: string
  limit: number
  after?: { createdMs: number; id: string } | undefined
}

/** Finds, lists and writes payments. */
export function createPaymentTable(db: Database) {
  return { ...createReaders(db), ...createWriters(db) }
}

export type PaymentTable = ReturnType<typeof createPaymentTable>

type Transfer = { network: string; asset: string; from: string; amount: bigint }

const HAS_FAILED = "state IN ('rejected', 'void')"
const NEWEST_FIRST = 'ORDER BY created_ms DESC, id DESC LIMIT ?'
/** Later than any payment: where the first page begins. */
const pageStart = { createdMs: Number.MAX_SAFE_INTEGER, id: '' }

function createReaders(db: Database) {
  const byId = db.prepare<PaymentRow, [string]>('SELECT * FROM payment WHERE id = ?')
  const byNonce = db.prepare<PaymentRow, [string, string, string, string]>(
    'SELECT * FROM payment WHERE network = ? AND nonce_contract = ? AND payer = ? AND nonce = ?',
  )
  const byProof = db.prepare<PaymentRow, [string, string, number]>(
    'SELECT * FROM payment WHERE network = ? AND proof_tx_hash = ? AND log_index = ?',
  )
  const ofOffer = db.prepare<PaymentRow, [string]>(
    'SELECT * FROM payment WHERE offer_id = ? ORDER BY created_ms, id',
  )
  const pageOf = db.prepare<PaymentRow, [string, number, string, number]>(
    `SELECT * FROM payment WHERE account_id = ? AND (created_ms, id) < (?, ?) ${NEWEST_FIRST}`,
  )
  const page = db.prepare<PaymentRow, [number, string, number]>(
    `SELECT * FROM payment WHERE (created_ms, id) < (?, ?) ${NEWEST_FIRST}`,
  )
  // By their own names: with one state the index gives them in order, so that a page reads no more than it has.
  const inStates = (states: readonly PaymentState[]) =>
    db.query<PaymentRow, [...PaymentState[], number, string, number]>(
      `SELECT * FROM payment WHERE state IN (${states.map(() => '?').join(', ')})
         AND (created_ms, id) > (?, ?) ORDER BY created_ms, id LIMIT ?`,
    )
  const like = db.prepare<PaymentRow, [string, string, string, string]>(
    `SELECT * FROM payment WHERE payer = ? AND amount = ? AND network = ? AND asset = ?
     ORDER BY created_ms, id`,
  )
  const newestOpen = db.prepare<PaymentRow, [string, string]>(
    `SELECT * FROM payment WHERE account_id = ? AND state IN (SELECT value FROM json_each(?))
     ORDER BY created_ms DESC, id DESC LIMIT 1`,
  )
  const failed = db.prepare<{ ofOffer: number; ofAccount: number }, [string, string, number]>(
    `SELECT
       (SELECT count(*) FROM payment WHERE offer_id = ? AND ${HAS_FAILED}) AS ofOffer,
       (SELECT count(*) FROM payment WHERE account_id = ? AND created_ms > ? AND ${HAS_FAILED})
         AS ofAccount`,
  )
  const find = (id: string): Payment | undefined => toPayment(byId.get(id))
  return {
    find,

    /** Throws if there is no such payment. */
    get(id: string): Payment {
      const payment = find(id)
      if (payment === undefined) throw new Error(`There is no payment ${id}.`)
      return payment
    },

    findByNonce: ({ network, nonceContract, payer, nonce }: Nonce): Payment | undefined =>
      toPayment(byNonce.get(network, nonceContract, payer, nonce)),

    findByProof: (network: string, { txHash, logIndex }: PaymentProof): Payment | undefined =>
      toPayment(byProof.get(network, txHash, logIndex)),

    findOpen: (accountId: string): Payment | undefined =>
      toPayment(newestOpen.get(accountId, JSON.stringify(openStates))),

    listOfOffer: (offerId: string): Payment[] => toPayments(ofOffer.all(offerId)),

    list({ accountId, limit, after = pageStart }: PaymentPage): Payment[] {
      const { createdMs, id } = after
      if (accountId === undefined) return toPayments(page.all(createdMs, id, limit))
      return toPayments(pageOf.all(accountId, createdMs, id, limit))
    },

    listIn(
      states: readonly PaymentState[],
      { limit, after }: Omit<PaymentPage, 'accountId'> = { limit: Number.MAX_SAFE_INTEGER },
    ): Payment[] {
      const { createdMs, id } = after ?? { createdMs: 0, id: '' }
      return toPayments(inStates(states).all(...states, createdMs, id, limit))
    },

    listLike: ({ network, asset, from, amount }: Transfer): Payment[] =>
      toPayments(like.all(from.toLowerCase(), String(amount), network, asset.toLowerCase())),

    countFailed: ({ id, accountId }: Pick<Offer, 'id' | 'accountId'>, sinceMs: number) =>
      failed.get(id, accountId, sinceMs) ?? { ofOffer: 0, ofAccount: 0 },
  }
}

const toPayments = (rows: PaymentRow[]): Payment[] => rows.flatMap((row) => toPayment(row) ?? [])

function createWriters(db: Database) {
  const insert = db.prepare(
    `INSERT INTO payment (id, offer_id, account_id, state, network, method, asset, payer, pay_to,
       amount, valid_after, valid_before, nonce, nonce_contract, payload_hash, payload, attempts,
       created_ms, updated_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const update = db.prepare(
    `UPDATE payment SET state = ?, attempts = ?, lease_until_ms = ?, tx_hash = ?, proof_tx_hash = ?,
       block_number = ?, log_index = ?, reason = ?, resolution = ?, updated_ms = ?
     WHERE id = ?`,
  )
  return {
    insert({ signed, ...payment }: Payment): void {
      insert.run(
        ...[payment.id, payment.offerId, payment.accountId, payment.state],
        ...[signed.network, signed.method, signed.asset, signed.payer, signed.payTo],
        ...[String(signed.amount), String(signed.validAfter), String(signed.validBefore)],
        ...[signed.nonce, signed.nonceContract, signed.payloadHash, signed.payload],
        ...[payment.attempts, payment.createdMs, payment.updatedMs],
      )
    },

    /** Writes everything that may change of a payment. */
    update({ proof, ...payment }: Payment): void {
      update.run(
        ...[payment.state, payment.attempts, payment.leaseUntilMs ?? null, payment.txHash ?? null],
        ...[proof?.txHash ?? null, proof?.blockNumber ?? null, proof?.logIndex ?? null],
        ...[payment.reason ?? null, payment.resolution ?? null, payment.updatedMs],
        payment.id,
      )
    },
  }
}
