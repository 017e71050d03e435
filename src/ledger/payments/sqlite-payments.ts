/**
 * Payments in the ledger's file: each verb is a transaction with its audit rows. Signed data never
 * changes; states do. Amounts and seconds are decimal digits in the file.
 */
import { payment as payments } from '#db/ledger/schema.ts'
import type { TransferMethod } from '#src/domain/selling/payment-chain.ts'
import {
  firstKeyIdOf,
  type Offer,
  openStates,
  type Payment,
  type PaymentProof,
  type PaymentState,
  type SignedPayment,
} from '#src/domain/selling/payment.ts'
import {
  bookPeriod,
  paidPeriods,
  type Period,
  type Subscription,
} from '#src/domain/selling/subscription.ts'
import { assert } from '#src/platform/assert.ts'
import { Fault } from '#src/platform/fault.ts'

import { type Accounts, contains, isOfTier } from '../accounts.ts'
import type { AuditContext } from '../actor.ts'
import type { LedgerCore } from '../core.ts'
import type { Keys } from '../keys.ts'
import type { PaymentReads, PaymentSum, PaymentVerbs } from '../payments.ts'
import { createRows, type Row } from '../rows.ts'
import { createCredits } from './credits.ts'
import { createOffers, printStates } from './offers.ts'
import { createTransfers } from './transfers.ts'

/** States in which a payment can be leased, unless a lease is active. */
const leasable: readonly PaymentState[] = ['settling', 'pending', 'unknown']
/** States in which an offer is free for another payment. */
const spent: readonly PaymentState[] = ['rejected', 'void']
/** Like `spent`; money in review may have arrived on top of another payment of the same offer. */
const beside: readonly PaymentState[] = [...spent, 'review']

const IS_OPEN = `state IN (${printStates(openStates)})`
const HAS_FAILED = "state IN ('rejected', 'void')"
// A forged signature can never become a transfer.
const MAY_BE_MADE = `(${IS_OPEN}
  OR (state = 'rejected' AND coalesce(reason, '') <> 'signature_invalid'))`
const NEWEST_FIRST = 'ORDER BY created_ms DESC, id DESC LIMIT $limit'
const BEFORE = '(created_ms, id) < ($createdMs, $id)'
/** Later than any payment: the start of the first page. */
const pageStart = { createdMs: Number.MAX_SAFE_INTEGER, id: '' }

type Page = { createdMs: number; id: string; limit: number }

export function createPayments(core: LedgerCore, accounts: Accounts, keys: Keys) {
  const { db, note, record } = core
  const { subscriptions } = accounts
  const offers = createOffers(core, accounts)
  const credits = createCredits(core)
  const rows = createRows(db, payments, { what: 'payment', parse: toPayment })
  const byProof = rows.one<[network: string, txHash: string, logIndex: number]>(
    'WHERE network = $1 AND proof_tx_hash = $2 AND log_index = $3',
  )
  const findByProof = (network: string, { txHash, logIndex }: PaymentProof) =>
    byProof(network, txHash, logIndex)
  const transfers = createTransfers(core, (network, transfer) => {
    return findByProof(network, transfer) !== undefined
  })
  const update = rows.update(
    'state',
    'attempts',
    'leaseUntilMs',
    'txHash',
    'proofTxHash',
    'blockNumber',
    'logIndex',
    'reason',
    'resolution',
    'updatedMs',
  )
  const listOfOffer = rows.list<[offerId: string]>('WHERE offer_id = $1 ORDER BY created_ms, id')
  // The tier is in the JSON of the offer's terms, and compared by the caller.
  const listRepeatable = rows.list<
    [{ accountId: string; network: string; asset: string; sinceMs: number }]
  >(
    `WHERE account_id = $accountId AND network = $network AND asset = $asset
     AND (${IS_OPEN}
       OR (state = 'provisioned' AND updated_ms > $sinceMs)
       OR (state = 'rejected' AND coalesce(reason, '') <> 'signature_invalid'))
     ORDER BY CASE state WHEN 'rejected' THEN 2 WHEN 'provisioned' THEN 1 ELSE 0 END,
       created_ms DESC, id DESC`,
  )
  const listMade = rows.list<[{ accountId: string; sinceMs: number }]>(
    `WHERE account_id = $accountId AND (${IS_OPEN}
       OR (state = 'provisioned' AND updated_ms > $sinceMs))
     ORDER BY created_ms, id`,
  )
  const findNamed = rows.one<[{ payer: string; identifier: string }]>(
    `WHERE payer = $payer AND identifier = $identifier AND state NOT IN ('rejected', 'void')`,
  )
  const byNonce = rows.one<Parameters<PaymentReads['findPaymentByNonce']>>(
    'WHERE network = $network AND nonce_contract = $nonceContract AND payer = $payer AND nonce = $nonce',
  )
  const listOfAccount = rows.list<[Page & { accountId: string }]>(
    `WHERE account_id = $accountId AND ${BEFORE} ${NEWEST_FIRST}`,
  )
  const listAll = rows.list<[Page]>(`WHERE ${BEFORE} ${NEWEST_FIRST}`)
  const search = rows.list<[{ search: string; limit: number }]>(
    `WHERE ${[
      'id',
      'offer_id',
      'account_id',
      'payer',
      "coalesce(tx_hash, '')",
      "coalesce(proof_tx_hash, '')",
      "lower(coalesce(identifier, ''))",
    ]
      .map(contains)
      .join(' OR ')}
       OR account_id IN (SELECT id FROM account WHERE ${contains('lower(label)')})
       OR offer_id IN (SELECT offer.id FROM offer WHERE ${isOfTier('terms')})
     ${NEWEST_FIRST}`,
  )
  const listsByState = new Map<string, (page: Page) => Payment[]>()
  // Literals: with a single state the index is in order, and a page reads only its own rows.
  const listIn = (states: readonly PaymentState[], page: Page): Payment[] => {
    const names = printStates(states) || 'NULL'
    const list =
      listsByState.get(names) ??
      rows.list<[Page]>(`WHERE state IN (${names}) AND (created_ms, id) > ($createdMs, $id)
        ORDER BY created_ms, id LIMIT $limit`)
    listsByState.set(names, list)
    return list(page)
  }
  const listLike = rows.list<[{ network: string; asset: string; from: string; amount: string }]>(
    `WHERE payer = $from AND amount = $amount AND network = $network AND asset = $asset
     ORDER BY created_ms, id`,
  )
  const findUndecided = rows.one<[{ accountId: string; offerId: string | null; limit: number }]>(
    `WHERE account_id = $accountId AND offer_id = coalesce($offerId, offer_id)
     AND ${MAY_BE_MADE} ${NEWEST_FIRST}`,
  )
  const listPaid = rows.list<[{ network: string; from: number; to: number }]>(
    `WHERE state = 'provisioned' AND network = $network AND block_number >= $from
     AND block_number <= $to ORDER BY block_number, id`,
  )
  const counts = db.prepare<{ state: PaymentState; count: number }, []>(
    `SELECT state, count(*) AS count FROM payment WHERE state <> 'review' OR resolution IS NULL
     GROUP BY state`,
  )
  const sums = db.prepare<
    Omit<PaymentSum, 'reason'> & { reason: string | null },
    [{ sinceMs: number; stepMs: number }]
  >(
    `SELECT updated_ms / $stepMs * $stepMs AS "stepMs", state, reason, network, asset,
       count(*) AS count, sum(CAST(amount AS INTEGER)) AS amount
     FROM payment WHERE updated_ms >= $sinceMs GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`,
  )
  const failed = db.prepare<
    { ofOffer: number; ofAccount: number },
    [{ id: string; accountId: string; sinceMs: number }]
  >(
    `SELECT (SELECT count(*) FROM payment WHERE offer_id = $id AND ${HAS_FAILED}) AS "ofOffer",
       (SELECT count(*) FROM payment WHERE account_id = $accountId AND created_ms > $sinceMs
         AND ${HAS_FAILED}) AS "ofAccount"`,
  )

  const findPaymentByNonce: PaymentReads['findPaymentByNonce'] = (signed) =>
    byNonce(nonceOf(signed))

  function write({ proof, ...payment }: Payment): void {
    const { txHash: proofTxHash, blockNumber, logIndex } = proof ?? {}
    update({ ...payment, proofTxHash, blockNumber, logIndex })
  }

  function move(payment: Payment, by: AuditContext): Payment {
    write(payment)
    note(by, `payment.${payment.state}`, payment.id)
    return payment
  }

  /** Throws a `ledger_rule` fault if the transfer, or the offer, belongs to another payment. */
  function assertAlone({ id, state, offerId, signed }: Payment, transfer?: PaymentProof): void {
    const payer = transfer && findByProof(signed.network, transfer)
    // The payment may keep its own proof.
    if (payer !== undefined && payer.id !== id) {
      throw new Fault(`The transfer of payment ${id} has paid payment ${payer.id} already.`, {
        kind: 'ledger_rule',
      })
    }
    if (beside.includes(state)) return
    const holder = listOfOffer(offerId).find(
      (other) => other.id !== id && !beside.includes(other.state),
    )
    if (holder === undefined) return
    throw new Fault(`Payment ${holder.id} has the offer of payment ${id}.`, { kind: 'ledger_rule' })
  }

  const claim: PaymentVerbs['claim'] = ({ id, offer, signed, identifier, proof }, by) => {
    const existing = findPaymentByNonce(signed)
    if (existing !== undefined) return { kind: 'existing', payment: existing }
    const { requirements, accountId } = offers.get(offer.id)
    const other = listOfOffer(offer.id).find(({ state }) => !spent.includes(state))
    if (other !== undefined && !proof) return { kind: 'offer_taken', payment: other }
    assert(BigInt(requirements.amount) === signed.amount, 'a payment is of its offer’s amount')
    assert(requirements.network === signed.network, 'a payment is on its offer’s chain')
    const state: PaymentState = other === undefined ? 'received' : 'review'
    rows.insert({
      ...signed,
      id,
      offerId: offer.id,
      accountId,
      identifier,
      state,
      attempts: 0,
      createdMs: by.nowMs,
      updatedMs: by.nowMs,
      amount: String(signed.amount),
      validAfter: String(signed.validAfter),
      validBefore: String(signed.validBefore),
    })
    note(by, 'payment.received', id)
    const claimed = rows.get(id)
    if (state === 'received') return { kind: 'claimed', payment: claimed }
    // The proof, unless it belongs to another payment.
    const isTaken = proof && findByProof(signed.network, proof) !== undefined
    const review: Payment = {
      ...claimed,
      reason: 'paid_twice',
      txHash: proof?.txHash,
      proof: isTaken ? undefined : proof,
    }
    return { kind: 'claimed', payment: move(review, by) }
  }

  /** Converts money to time: the only place where paid periods are created and moved. */
  function book(
    payment: Payment,
    { terms, periodDays: days }: Offer,
    held: readonly Subscription[],
    ids: { subscriptionId: string; restId: string },
    by: AuditContext,
  ): void {
    const { accountId } = payment
    const periods = paidPeriods(held)
    const { startMs, endMs, moved, rest } = bookPeriod(periods, { terms, days, nowMs: by.nowMs })
    const add = (period: Period, paymentId?: string): void => {
      subscriptions.insert({ ...period, accountId, paymentId, createdMs: by.nowMs })
      record(by, 'subscription.added', period.id)
    }
    for (const period of moved) {
      subscriptions.move(period)
      record(by, 'subscription.moved', period.id)
    }
    // The cut-off part has no payment: a payment keeps exactly one subscription.
    if (rest !== undefined) add({ ...rest, id: ids.restId })
    add({ id: ids.subscriptionId, tierId: terms.tierId, terms, startMs, endMs }, payment.id)
  }

  const listPurchases: PaymentReads['listPurchases'] = ({ accountId, productId, sinceMs }) =>
    listMade({ accountId, sinceMs }).filter(
      ({ offerId }) => offers.get(offerId).terms.tierId === productId,
    )

  return {
    reads: {
      ...offers.reads,
      ...credits.reads,
      ...transfers.reads,

      findPayment: rows.find,
      findPaymentByNonce,
      findUndecidedPayment: ({ accountId, offerId = null }) =>
        findUndecided({ accountId, offerId, limit: 1 }),

      findSamePurchase: ({ accountId, tierId, network, asset }, sinceMs) =>
        listRepeatable({ accountId, network, asset: asset.toLowerCase(), sinceMs }).find(
          ({ offerId }) => offers.get(offerId).terms.tierId === tierId,
        ),

      listPurchases,

      listPayments({ accountId, limit, after = pageStart }) {
        const page = { createdMs: after.createdMs, id: after.id, limit }
        return accountId === undefined ? listAll(page) : listOfAccount({ ...page, accountId })
      },

      searchPayments: search,

      listPaymentsIn(states, { limit, after } = { limit: Number.MAX_SAFE_INTEGER }) {
        const { createdMs, id } = after ?? { createdMs: 0, id: '' }
        return listIn(states, { createdMs, id, limit })
      },

      listPaymentsLike: ({ network, asset, from, amount }) =>
        listLike({
          network,
          asset: asset.toLowerCase(),
          from: from.toLowerCase(),
          amount: String(amount),
        }),

      listPaidIn: (network, { from, to }) => listPaid({ network, from, to }),

      countPayments: () =>
        Object.fromEntries(counts.all().map(({ state, count }) => [state, Number(count)])),

      sumPayments: (since) =>
        sums.all(since).map(({ reason, ...sum }) => ({ ...sum, reason: reason ?? undefined })),

      countFailedPayments: ({ id, accountId }, sinceMs) =>
        failed.get({ id, accountId, sinceMs }) ?? { ofOffer: 0, ofAccount: 0 },

      findSubscriptionOf: subscriptions.findOfPayment,
    } satisfies PaymentReads,

    verbs: {
      ...offers.verbs,
      ...credits.verbs,
      ...transfers.verbs,

      claim,

      move(id, { from, to, reason, txHash, proof }, by) {
        // These two states have conditions beyond the column.
        assert(to !== 'settling', 'only a lease makes a payment settling')
        assert(to !== 'provisioned', 'only provision makes a payment provisioned')
        const before = rows.find(id)
        if (before === undefined || !from.includes(before.state)) return undefined
        const after: Payment = {
          ...before,
          state: to,
          reason,
          txHash: txHash ?? before.txHash,
          // A payment that will never succeed has no proof.
          proof: proof ?? (spent.includes(to) ? undefined : before.proof),
          // The holder of the lease has moved the payment, or another process knew more.
          leaseUntilMs: undefined,
          updatedMs: by.nowMs,
        }
        assert(to !== 'settled' || after.proof !== undefined, 'a settled payment has its proof')
        assertAlone(after, proof)
        return move(after, by)
      },

      lease(id, untilMs, by) {
        const payment = rows.find(id)
        if (payment === undefined || !isLeasable(payment, by.nowMs)) return undefined
        const leased: Payment = {
          ...payment,
          state: 'settling',
          attempts: payment.attempts + 1,
          leaseUntilMs: untilMs,
          updatedMs: by.nowMs,
          reason: undefined,
        }
        return move(leased, by)
      },

      renewLease(id, { attempts, untilMs }) {
        const payment = rows.find(id)
        if (payment?.state !== 'settling' || payment.attempts !== attempts) return false
        write({ ...payment, leaseUntilMs: Math.max(payment.leaseUntilMs ?? untilMs, untilMs) })
        return true
      },

      provision(id, ids, by) {
        const existing = subscriptions.findOfPayment(id) ?? credits.find(id)
        if (existing !== undefined) return existing
        const payment = rows.get(id)
        if (payment.state !== 'settled') {
          throw new Error(`Payment ${id} is ${payment.state}, not settled.`)
        }
        const offer = offers.get(payment.offerId)
        const { terms, requests } = offer
        const { accountId } = payment
        if (requests === undefined) book(payment, offer, subscriptions.list(accountId), ids, by)
        else {
          credits.insert({ id, accountId, terms, requests, used: 0, createdMs: by.nowMs })
          note(by, 'credit.added', id)
        }
        move({ ...payment, state: 'provisioned', updatedMs: by.nowMs }, by)
        const made = credits.find(id) ?? subscriptions.find(ids.subscriptionId)
        assert(made !== undefined, 'what was bought is there')
        return made
      },

      claimUnquoted: (
        { id, keyId, identifier, offer: draft, signed, isUnseen, repeatsSinceMs: sinceMs },
        { nowMs },
      ) => {
        const existing = findPaymentByNonce(signed)
        if (existing !== undefined) return { kind: 'existing', payment: existing }
        const account = accounts.findByAddress(draft.payer)
        const accountId = account?.id ?? draft.accountId
        const productId = draft.terms.tierId
        const [repeated] =
          sinceMs === undefined ? [] : listPurchases({ accountId, productId, sinceMs })
        if (repeated !== undefined) return { kind: 'repeated', payment: repeated }
        const other = identifier && findNamed({ payer: signed.payer, identifier })
        if (other) return { kind: 'identifier_taken', payment: other }
        const by: AuditContext = { actor: `account:${accountId}`, nowMs }
        if (account === undefined) {
          accounts.insert({ id: accountId, address: draft.payer, createdMs: nowMs })
          record(by, 'account.created', accountId)
        }
        if (keys.list(accountId).length === 0) {
          // A key without a secret, never valid: usage is counted under its name.
          const ownId = account === undefined && isUnseen ? firstKeyIdOf(id) : keyId
          const digest = new Bun.CryptoHasher('sha256').update(keyId).digest()
          keys.insert({
            id: ownId,
            accountId,
            digest,
            hint: '',
            familyId: ownId,
            label: 'Paid requests',
            createdMs: nowMs,
            expiresMs: nowMs,
          })
          record(by, 'key.created', ownId)
        }
        const offer = { ...draft, createdMs: nowMs }
        // Reserves nothing: only its own payment ever looks the offer up.
        offers.insert({ ...offer, accountId }, 0)
        note(by, 'offer.opened', offer.id)
        const { payment } = claim({ id, offer, signed, identifier }, by)
        return { kind: 'claimed', payment }
      },

      resolveReview(id, resolution, by) {
        const payment = rows.find(id)
        const item = payment ?? transfers.find(id)
        const isOpen = item !== undefined && item.resolution === undefined
        if (!isOpen || (payment && payment.state !== 'review')) return false
        if (payment) write({ ...payment, resolution })
        else transfers.resolve({ id, resolution })
        note(by, 'review.resolved', id)
        return true
      },
    } satisfies PaymentVerbs,
  }
}

/** The values that make a payment unique on its chain. */
const nonceOf = ({
  network,
  nonceContract,
  payer,
  nonce,
}: Parameters<PaymentReads['findPaymentByNonce']>[0]) => ({ network, nonceContract, payer, nonce })

function isLeasable({ state, leaseUntilMs }: Payment, nowMs: number): boolean {
  if (state === 'screened') return true
  return leasable.includes(state) && (leaseUntilMs === undefined || leaseUntilMs <= nowMs)
}

function toPayment(row: Row<typeof payments>): Payment {
  const {
    network,
    method,
    asset,
    payer,
    payTo,
    nonce,
    nonceContract,
    payloadHash,
    payload,
    amount,
    validAfter,
    validBefore,
    proofTxHash,
    blockNumber,
    logIndex,
    ...payment
  } = row
  const isProven = proofTxHash !== undefined && blockNumber !== undefined && logIndex !== undefined
  return {
    ...payment,
    state: row.state as PaymentState,
    signed: {
      asset,
      payer,
      payTo,
      nonce,
      nonceContract,
      payloadHash,
      payload,
      network: network as SignedPayment['network'],
      method: method as TransferMethod,
      amount: BigInt(amount),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
    proof: isProven ? { txHash: proofTxHash, blockNumber, logIndex } : undefined,
  }
}
