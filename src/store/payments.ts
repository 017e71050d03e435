import type { Offer } from '#src/core/offer.ts'
import type { Payment, PaymentProof, PaymentState, SignedPayment } from '#src/core/payment.ts'
import type { Subscription } from '#src/core/subscription.ts'

import type { Deed, LedgerStore } from './ledger.ts'

/**
 * Offers and payments behind verbs, in the ledger's file and its transactions (`atomically`). Every
 * change of a payment's state is a row of the audit chain (without the payload, which holds a
 * signature). `test/store/payment-conformance.ts` is the contract as tests.
 */
export type PaymentStore = {
  /**
   * Makes an offer whose amount no other offer has whose payment could still arrive: `priceAtomic`, less
   * the smallest free number of atomic units below `AMOUNT_SLOTS`. Undefined if none is free.
   */
  openOffer(
    draft: Omit<Offer, 'requirements' | 'createdMs'> & {
      requirements: Omit<Offer['requirements'], 'amount'>
    },
    price: { atomic: bigint; reservedUntilMs: number },
    by: Deed,
  ): Offer | undefined
  findOffer(id: string): Offer | undefined
  /** The offer that an amount names, among those whose payment could still arrive at `nowMs`. */
  findOfferByAmount(query: {
    network: string
    asset: string
    amount: bigint
    nowMs: number
  }): Offer | undefined
  /** Offers of an account of an amount, newest first, expired or not; the newest 20. */
  listOffersOf(query: {
    accountId: string
    network: string
    asset: string
    amount: bigint
  }): Offer[]
  /** Offers of an account whose amount is still reserved at `nowMs`, those that were paid left out. */
  countReservedOffers(accountId: string, nowMs: number): number

  /**
   * Takes a signed payment for an offer, in state `received`. `existing`: this very nonce was taken before,
   * by whomever. `offer_taken`: another payment of this offer is open or was provisioned. Where `isPaid`, the money
   * has moved already, so it is kept all the same: in `review`, as `paid_twice`.
   */
  claim(
    draft: { id: string; offer: Offer; signed: SignedPayment; isPaid?: boolean },
    by: Deed,
  ): { kind: 'claimed' | 'existing' | 'offer_taken'; payment: Payment }

  findPayment(id: string): Payment | undefined
  /** Payments of an offer, oldest first. */
  listPaymentsOfOffer(offerId: string): Payment[]
  /** The newest payment of an account that may still be made. */
  findOpenPayment(accountId: string): Payment | undefined
  /** By what makes it unique on its chain. */
  findPaymentByNonce(
    signed: Pick<SignedPayment, 'network' | 'nonceContract' | 'payer' | 'nonce'>,
  ): Payment | undefined
  /** Payments of an account, newest first; `after` is exclusive. */
  listPayments(query: {
    accountId?: string
    limit: number
    after?: { createdMs: number; id: string } | undefined
  }): Payment[]
  /** Payments in any of some states, oldest first. */
  listPaymentsIn(states: readonly PaymentState[]): Payment[]

  /**
   * Moves a payment from one of some states to another, with what was learned; undefined, and nothing
   * changed, if it is in none of them (somebody else was quicker). Throws `LedgerRuleError` if the transfer has paid
   * another payment, or another payment has the offer.
   */
  move(
    id: string,
    change: {
      from: readonly PaymentState[]
      to: PaymentState
      reason?: string | undefined
      txHash?: string | undefined
      proof?: PaymentProof | undefined
    },
    by: Deed,
  ): Payment | undefined

  /**
   * Takes the right to call the facilitator until `untilMs`: the payment is `screened`, or its `settling`,
   * `pending` or `unknown` is nobody's. Moves it to `settling` and counts the attempt. Undefined if not.
   */
  lease(id: string, untilMs: number, by: Deed): Payment | undefined

  /**
   * Turns a `settled` payment into its period, once: adds the subscription and moves those that it displaces
   * (core/period.ts) in one transaction. Returns the subscription, the same on every call.
   */
  provision(id: string, ids: { subscriptionId: string; restId: string }, by: Deed): Subscription

  /** The subscription that a payment made. */
  findSubscriptionOf(paymentId: string): Subscription | undefined

  /** Money that arrived without a payment of ours; kept once per log. */
  addUnmatchedTransfer(transfer: UnmatchedTransfer, by: Deed): boolean
  listUnmatchedTransfers(isResolved: boolean): UnmatchedTransfer[]
  /** Notes what the operator decided about an unmatched transfer or a payment in `review`. */
  resolveReview(id: string, note: string, by: Deed): boolean

  /** Up to which block (inclusive) transfers were looked at. */
  scannedBlock(network: string): number | undefined
  setScannedBlock(network: string, blockNumber: number): void
}

export type UnmatchedTransfer = PaymentProof & {
  /** `transfer_` and the log's place. */
  id: string
  network: string
  asset: string
  from: string
  amount: bigint
  foundMs: number
  resolution?: string | undefined
}

/**
 * A rule of the ledger forbids a change: one transfer for two payments, or two payments of one offer. The only
 * error that means more money than was asked for; all others, failed assertions too, are faults of ours.
 */
export class LedgerRuleError extends Error {
  override readonly name = 'LedgerRuleError'
}

/** The ledger with what is paid: one file, one transaction. */
export type Ledger = LedgerStore & { readonly payments: PaymentStore }
