/** Offers and payments in the ledger's file: each verb is one transaction with its audit rows. */

import { mayAnswer } from '#src/domain/selling/credit.ts'
import type { Offer, Payment, PaymentProof, PaymentState } from '#src/domain/selling/payment.ts'
import { bookPeriod, paidPeriods, type Period } from '#src/domain/selling/subscription.ts'
import { assert } from '#src/platform/assert.ts'
import { Fault } from '#src/platform/fault.ts'

import type { AuditContext } from '../ledger.ts'
import type { PaymentChange, PaymentStore } from '../payments.ts'
import type { Tables } from '../sqlite-ledger.ts'
import { createScans, createTransferTable, type PaymentTable } from './payment-tables.ts'

export function createPayments(tables: Tables): PaymentStore {
  const { atomically, note, offers, payments, subscriptions, credits } = tables
  const moves = createMoves(tables)
  return {
    ...offers.reads,
    ...payments.reads,
    findSamePurchase: ({ accountId, tierId, network, asset }, sinceMs) =>
      payments
        .listRepeatable({ accountId, network, asset: asset.toLowerCase(), sinceMs })
        .find(({ offerId }) => offers.get(offerId).terms.tierId === tierId),
    listPurchases: ({ accountId, productId, sinceMs }) =>
      payments
        .listMade({ accountId, sinceMs })
        .filter(({ offerId }) => offers.get(offerId).terms.tierId === productId),
    openOffer: createOpenOffer(tables),
    releaseOffer: (id, by) =>
      atomically(() => {
        const isReleased = offers.release({ id, nowMs: by.nowMs })
        if (isReleased) note(by, 'offer.released', id)
        return isReleased
      }),
    ...moves,
    claimUnquoted: createClaimUnquoted(tables, moves.claim),
    findSubscriptionOf: subscriptions.findOfPayment,
    findCredit: credits.find,
    listCredits: credits.listLeft,
    useCredit: (id) => atomically(() => credits.use(id)),
    returnCredit: (id) => atomically(() => void credits.giveBack(id)),
    ...createPaidAnswers(tables),
    ...createReview(tables),
    ...createScans(tables),
  }
}

const createOpenOffer =
  ({ atomically, note, accounts, offers }: Tables): PaymentStore['openOffer'] =>
  (draft, rules, by) =>
    atomically(() => {
      const { nowMs } = by
      accounts.get(draft.accountId)
      const found = offers.findAmount(draft, rules, nowMs)
      if (found.kind !== 'free') return found
      const requirements = { ...draft.requirements, amount: String(found.amount) }
      const offer: Offer = { ...draft, requirements, createdMs: nowMs }
      offers.insert(offer, rules.reservedUntilMs)
      note(by, 'offer.opened', offer.id)
      return { kind: 'opened', offer: offers.get(offer.id) }
    })

function createClaimUnquoted(
  { atomically, note, record, accounts, keys, offers, payments }: Tables,
  claim: PaymentStore['claim'],
): PaymentStore['claimUnquoted'] {
  function accountOf(address: string, draft: Offer, nowMs: number): string {
    const known = accounts.findByAddress(address)
    if (known !== undefined) return known.id
    const { accountId: id } = draft
    accounts.insert({ id, address, createdMs: nowMs })
    record({ actor: `account:${id}`, nowMs }, 'account.created', id)
    return id
  }

  /** Without a secret, and never valid: it has no other use than its name. */
  function addUsageKey(id: string, accountId: string, by: AuditContext): void {
    if (keys.list(accountId).length > 0) return
    const { nowMs } = by
    const digest = new Bun.CryptoHasher('sha256').update(id).digest()
    const key = { id, accountId, digest, hint: '', familyId: id, createdMs: nowMs }
    keys.insert({ ...key, label: 'Paid requests', expiresMs: nowMs })
    record(by, 'key.created', id)
  }

  return ({ id, keyId, identifier, offer: draft, signed }, { nowMs }) =>
    atomically(() => {
      const existing = payments.reads.findPaymentByNonce(signed)
      if (existing !== undefined) return { kind: 'existing', payment: existing }
      const other = identifier && payments.findNamed({ payer: signed.payer, identifier })
      if (other) return { kind: 'identifier_taken', payment: other }
      const offer: Offer = { ...draft, createdMs: nowMs }
      const accountId = accountOf(draft.payer, offer, nowMs)
      const by: AuditContext = { actor: `account:${accountId}`, nowMs }
      addUsageKey(keyId, accountId, by)
      // Reserves nothing: only a payment of its own ever looks for it.
      offers.insert({ ...offer, accountId }, 0)
      note(by, 'offer.opened', offer.id)
      const { payment } = claim({ id, offer, signed, identifier }, by)
      return { kind: 'claimed', payment }
    })
}

/** States that are nobody's unless somebody has leased them. */
const leasable: readonly PaymentState[] = ['settling', 'pending', 'unknown']
/** States in which an offer is free for another payment. */
const spent: readonly PaymentState[] = ['rejected', 'void']
/** As `spent`; money under review may have come on top of another payment of the same offer. */
const beside: readonly PaymentState[] = [...spent, 'review']

function createMoves(tables: Tables) {
  const { atomically, note, offers, payments, subscriptions, credits } = tables

  function write(payment: Payment, by: AuditContext): Payment {
    payments.update(payment)
    note(by, `payment.${payment.state}`, payment.id)
    return payment
  }

  return {
    claim: ({ id, offer, signed, identifier, proof }, by) =>
      atomically(() => {
        const existing = payments.reads.findPaymentByNonce(signed)
        if (existing !== undefined) return { kind: 'existing', payment: existing }
        const { requirements, accountId } = offers.get(offer.id)
        const other = payments.listOfOffer(offer.id).find(({ state }) => !spent.includes(state))
        if (other !== undefined && !proof) return { kind: 'offer_taken', payment: other }
        assert(BigInt(requirements.amount) === signed.amount, 'a payment is of its offer’s amount')
        assert(requirements.network === signed.network, 'a payment is on its offer’s chain')
        const times = { createdMs: by.nowMs, updatedMs: by.nowMs }
        const state: PaymentState = other === undefined ? 'received' : 'review'
        const named = { id, offerId: offer.id, accountId, identifier }
        payments.insert({ ...named, state, signed, attempts: 0, ...times })
        note(by, 'payment.received', id)
        const claimed = payments.get(id)
        if (state === 'received') return { kind: 'claimed', payment: claimed }
        const where = { txHash: proof?.txHash, proof: unlessTaken(payments, signed.network, proof) }
        const payment = write({ ...claimed, reason: 'paid_twice', ...where }, by)
        return { kind: 'claimed', payment }
      }),

    move: (id, change, by) =>
      atomically(() => {
        // These two states mean more than a word in a column.
        assert(change.to !== 'settling', 'only a lease makes a payment settling')
        assert(change.to !== 'provisioned', 'only provision makes a payment provisioned')
        const before = payments.find(id)
        if (before === undefined || !change.from.includes(before.state)) return undefined
        const after = changed(before, change, by)
        assertAlone(payments, after)
        return write(after, by)
      }),

    lease: (id, untilMs, by) =>
      atomically(() => {
        const payment = payments.find(id)
        if (payment === undefined || !isLeasable(payment, by.nowMs)) return undefined
        const attempts = payment.attempts + 1
        const lease = { leaseUntilMs: untilMs, updatedMs: by.nowMs, reason: undefined }
        return write({ ...payment, state: 'settling', attempts, ...lease }, by)
      }),

    renewLease: (id, { attempts, untilMs }) =>
      atomically(() => {
        const payment = payments.find(id)
        if (payment?.state !== 'settling' || payment.attempts !== attempts) return false
        const leaseUntilMs = Math.max(payment.leaseUntilMs ?? untilMs, untilMs)
        payments.update({ ...payment, leaseUntilMs })
        return true
      }),

    provision: (id, ids, by) =>
      atomically(() => {
        const existing = subscriptions.findOfPayment(id) ?? credits.find(id)
        if (existing !== undefined) return existing
        const payment = payments.get(id)
        if (payment.state !== 'settled') {
          throw new Error(`Payment ${id} is ${payment.state}, not settled.`)
        }
        const bought = addCredit(tables, payment, by)
        if (bought === undefined) book(tables, { payment, ids }, by)
        write({ ...payment, state: 'provisioned', updatedMs: by.nowMs }, by)
        return bought ?? subscriptions.get(ids.subscriptionId)
      }),
  } satisfies Partial<PaymentStore>
}

function isLeasable({ state, leaseUntilMs }: Payment, nowMs: number): boolean {
  if (state === 'screened') return true
  return leasable.includes(state) && (leaseUntilMs === undefined || leaseUntilMs <= nowMs)
}

/** Whoever had the lease is done with it: it moved the payment, or somebody knew more. */
function changed(before: Payment, change: PaymentChange, by: AuditContext): Payment {
  const { to: state, reason, txHash = before.txHash } = change
  // What will never be paid has no place where it was.
  const proof = change.proof ?? (spent.includes(state) ? undefined : before.proof)
  assert(state !== 'settled' || proof !== undefined, 'a settled payment has its proof')
  return { ...before, state, reason, txHash, proof, leaseUntilMs: undefined, updatedMs: by.nowMs }
}

/** The proof, unless it is that of another payment. */
const unlessTaken = (payments: PaymentTable, network: string, proof?: PaymentProof) =>
  proof && payments.findByProof(network, proof) === undefined ? proof : undefined

/** Throws a `ledger_rule` fault if the transfer or the offer belongs to another payment. */
function assertAlone(payments: PaymentTable, { id, state, offerId, signed, proof }: Payment): void {
  const paid = proof && payments.findByProof(signed.network, proof)
  if (paid !== undefined && paid.id !== id) {
    throw new Fault(`The transfer of payment ${id} has paid payment ${paid.id} already.`, {
      kind: 'ledger_rule',
    })
  }
  if (beside.includes(state)) return
  const holder = payments
    .listOfOffer(offerId)
    .find((other) => other.id !== id && !beside.includes(other.state))
  if (holder === undefined) return
  throw new Fault(`Payment ${holder.id} has the offer of payment ${id}.`, { kind: 'ledger_rule' })
}

/** Turns money into requests, where that is what was offered. */
function addCredit({ note, credits, offers }: Tables, payment: Payment, by: AuditContext) {
  const { id, accountId } = payment
  const { terms, requests } = offers.get(payment.offerId)
  if (requests === undefined) return undefined
  credits.insert({ id, accountId, terms, requests, used: 0, createdMs: by.nowMs })
  note(by, 'credit.added', id)
  return credits.find(id)
}

/** Turns money into time: the only place where paid periods are made and moved. */
function book(
  { record, subscriptions, offers }: Tables,
  { payment, ids }: { payment: Payment; ids: Parameters<PaymentStore['provision']>[1] },
  by: AuditContext,
): void {
  const { accountId } = payment
  const { terms, periodDays: days } = offers.get(payment.offerId)
  const periods = paidPeriods(subscriptions.list(accountId))
  const { startMs, endMs, moved, rest } = bookPeriod(periods, { terms, days, nowMs: by.nowMs })
  const add = (period: Period, paymentId?: string): void => {
    subscriptions.insert({ ...period, accountId, paymentId, createdMs: by.nowMs })
    record(by, 'subscription.added', period.id)
  }
  for (const period of moved) {
    subscriptions.move(period)
    record(by, 'subscription.moved', period.id)
  }
  // What was cut off carries no payment: that has one subscription, which goes on being its.
  if (rest !== undefined) add({ ...rest, id: ids.restId })
  add({ id: ids.subscriptionId, tierId: terms.tierId, terms, startMs, endMs }, payment.id)
}

function createPaidAnswers({ atomically, credits, paidAnswers }: Tables) {
  return {
    findPaidAnswer: paidAnswers.find,
    listUndelivered: paidAnswers.listUndelivered,

    aimPaidAnswer: (id, address) =>
      atomically(() => {
        const known = paidAnswers.find(id)
        if (known === undefined || known.answers === 0) {
          paidAnswers.put({ id, address, answers: 0 })
        }
      }),

    beginPaidAnswer: (id, { address, nowMs }) =>
      atomically(() => {
        const credit = credits.find(id)
        if (credit === undefined) return false
        const isUsed = credit.used >= credit.requests
        const known = paidAnswers.find(id)
        if (!mayAnswer(known, { address, isUsed, nowMs })) return false
        const { answers = 0, deliveredMs } = known ?? {}
        paidAnswers.put({ id, address, answers: answers + 1, deliveredMs })
        return true
      }),

    deliverPaidAnswer: (id, nowMs) =>
      atomically(() => {
        const known = paidAnswers.find(id)
        if (known === undefined || known.deliveredMs !== undefined) return
        paidAnswers.put({ ...known, deliveredMs: nowMs })
        credits.use(id)
      }),

    deliverPurchase: (id, { address, nowMs }) =>
      atomically(() => {
        if (paidAnswers.find(id)?.deliveredMs !== undefined) return
        paidAnswers.put({ id, address, answers: 1, deliveredMs: nowMs })
      }),
  } satisfies Partial<PaymentStore>
}

function createReview({ db, atomically, note, payments }: Tables) {
  const transfers = createTransferTable(db)

  return {
    addUnmatchedTransfer: (transfer, by) =>
      atomically(() => {
        const { id, network, txHash, logIndex } = transfer
        if (transfers.find(id) !== undefined) return false
        if (transfers.hasLog({ network, txHash, logIndex })) return false
        if (payments.findByProof(network, transfer) !== undefined) return false
        transfers.insert(transfer)
        note(by, 'transfer.unmatched', id)
        return true
      }),

    listUnmatchedTransfers: (isResolved) => transfers.list(isResolved ? 1 : 0),

    resolveReview: (id, resolution, by) =>
      atomically(() => {
        const payment = payments.find(id)
        const item = payment ?? transfers.find(id)
        const isOpen = item !== undefined && item.resolution === undefined
        if (!isOpen || (payment && payment.state !== 'review')) return false
        if (payment) payments.update({ ...payment, resolution })
        else transfers.resolve({ id, resolution })
        note(by, 'review.resolved', id)
        return true
      }),
  } satisfies Partial<PaymentStore>
}
