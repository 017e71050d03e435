/** How payments come to be and change their state; the rules are those of selling/payment.ts. */
import { assert } from '#src/lib/assert.ts'
import type { Payment, PaymentProof, PaymentState } from '#src/selling/payment.ts'

import type { Deed } from '../ledger.ts'
import { LedgerRuleError, type PaymentStore } from '../payments.ts'
import type { PaymentTable } from './payment-table.ts'
import type { PaymentParts } from './sqlite-payments.ts'

type Change = Parameters<PaymentStore['move']>[1]

/** States that are nobody's unless somebody has leased them. */
const leasable: readonly PaymentState[] = ['settling', 'pending', 'unknown']
/** States in which an offer is free for another payment. */
const spent: readonly PaymentState[] = ['rejected', 'void']
/** As `spent`; money under review may have come on top of another payment of the same offer. */
const beside: readonly PaymentState[] = [...spent, 'review']

export function createMoves({ atomically, note, offers, payments }: PaymentParts) {
  /** Writes and audits a payment whose state has changed. */
  function write(payment: Payment, by: Deed): Payment {
    payments.update(payment)
    note(by, `payment.${payment.state}`, payment.id)
    return payment
  }

  return {
    write,

    claim: ({ id, offer, signed, proof }, by) =>
      atomically(() => {
        const existing = payments.findByNonce(signed)
        if (existing !== undefined) return { kind: 'existing', payment: existing }
        const { requirements, accountId } = offers.get(offer.id)
        const other = payments.listOfOffer(offer.id).find(({ state }) => !spent.includes(state))
        if (other !== undefined && !proof) return { kind: 'offer_taken', payment: other }
        assert(BigInt(requirements.amount) === signed.amount, 'a payment is of its offer’s amount')
        assert(requirements.network === signed.network, 'a payment is on its offer’s chain')
        const times = { createdMs: by.nowMs, updatedMs: by.nowMs }
        const state: PaymentState = other === undefined ? 'received' : 'review'
        payments.insert({ id, offerId: offer.id, accountId, state, signed, attempts: 0, ...times })
        note(by, 'payment.received', id)
        const claimed = payments.get(id)
        if (state === 'received') return { kind: 'claimed', payment: claimed }
        const where = { txHash: proof?.txHash, proof: unlessTaken(payments, claimed, proof) }
        return {
          kind: 'claimed',
          payment: write({ ...claimed, reason: 'paid_twice', ...where }, by),
        }
      }),

    move: (id, change, by) =>
      atomically(() => {
        assertMovable(change.to)
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
  } satisfies Partial<PaymentStore> & { write: unknown }
}

export type Moves = ReturnType<typeof createMoves>

function isLeasable({ state, leaseUntilMs }: Payment, nowMs: number): boolean {
  if (state === 'screened') return true
  return leasable.includes(state) && (leaseUntilMs === undefined || leaseUntilMs <= nowMs)
}

/** These two states mean more than a word in a column. */
function assertMovable(to: PaymentState): void {
  assert(to !== 'settling', 'only a lease makes a payment settling')
  assert(to !== 'provisioned', 'only provision makes a payment provisioned')
}

/** Whoever had the lease is done with it: it moved the payment, or somebody knew more. */
function changed(before: Payment, change: Change, by: Deed): Payment {
  const { to: state, reason, txHash = before.txHash } = change
  const proof = change.proof ?? proofKept(before, state)
  assert(state !== 'settled' || proof !== undefined, 'a settled payment has its proof')
  return { ...before, state, reason, txHash, proof, leaseUntilMs: undefined, updatedMs: by.nowMs }
}

/** What will never be paid has no place where it was. */
const proofKept = ({ proof }: Payment, state: PaymentState): PaymentProof | undefined =>
  spent.includes(state) ? undefined : proof

/** The proof, unless it is that of another payment. */
const unlessTaken = (payments: PaymentTable, { signed }: Payment, proof?: PaymentProof) =>
  proof && payments.findByProof(signed.network, proof) === undefined ? proof : undefined

/** Throws `LedgerRuleError` if the transfer or the offer belongs to another payment. */
function assertAlone(payments: PaymentTable, { id, state, offerId, signed, proof }: Payment): void {
  const paid = proof && payments.findByProof(signed.network, proof)
  if (paid !== undefined && paid.id !== id) {
    throw new LedgerRuleError(`The transfer of payment ${id} has paid payment ${paid.id} already.`)
  }
  if (beside.includes(state)) return
  const holder = payments
    .listOfOffer(offerId)
    .find((other) => other.id !== id && !beside.includes(other.state))
  if (holder === undefined) return
  throw new LedgerRuleError(`Payment ${holder.id} has the offer of payment ${id}.`)
}
