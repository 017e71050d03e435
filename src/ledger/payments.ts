import type { Credit, PaidAnswer } from '#src/domain/selling/credit.ts'
import type {
  Offer,
  Payment,
  PaymentProof,
  PaymentState,
  SignedPayment,
} from '#src/domain/selling/payment.ts'
import type { Subscription } from '#src/domain/selling/subscription.ts'

import type { AuditContext } from './actor.ts'
import type { Promised } from './promised.ts'

/** Reads of offers and payments, all synchronous. */
export type PaymentReads = {
  findOffer(id: string): Offer | undefined

  /**
   * The offer that a signed payment is for. Candidates, in order: the newest unpaid offer to its
   * payer at that amount that it may have been signed for; the offer of any account with that
   * unique amount; an ended offer of `accountId`. `aheadMs` is the lead of `nowMs`, which dates
   * offers, over the clock that ends payments.
   */
  findOfferFor(
    signed: Pick<SignedPayment, 'network' | 'asset' | 'payer' | 'amount' | 'validBefore'>,
    at: { accountId: string; nowMs: number; aheadMs?: number },
  ): Offer | undefined
  /** True if a payment of the offer is on its way, was completed, or is in review. */
  isOfferTaken(id: string): boolean
  /** Unpaid offers that reserve a unique amount at `nowMs`, oldest first. */
  listReservedOffers(nowMs: number): ReservedOffer[]
  /** The newest 20 offers of an account at an amount, newest first, including expired ones. */
  listOffersOf(query: TokenAmount & { accountId: string }): Offer[]
  /** Counts rejected or void payments of an offer, and of its account since a moment. */
  countFailedPayments(
    offer: Pick<Offer, 'id' | 'accountId'>,
    sinceMs: number,
  ): { ofOffer: number; ofAccount: number }
  findPayment(id: string): Payment | undefined

  /**
   * The newest payment of an account, or for one of its offers, that may still succeed. Includes a
   * rejected one, which its payer can submit until the chain proves it void.
   */
  findUndecidedPayment(of: { accountId: string; offerId?: string }): Payment | undefined

  /**
   * The payment of an account that a new order for the same tier and token would repeat: one that
   * may still succeed, including a rejected one, or one that was provisioned after `sinceMs`. A
   * payment in flight is preferred, then a provisioned one.
   */
  findSamePurchase(
    order: { accountId: string; tierId: string; network: string; asset: string },
    sinceMs: number,
  ): Payment | undefined

  /**
   * Payments of an account for a tier or pack, in any token, oldest first: those that may still
   * succeed, except rejected ones, and those completed after `sinceMs`.
   */
  listPurchases(of: { accountId: string; productId: string; sinceMs: number }): Payment[]
  /** Finds a payment by the values that make it unique on its chain. */
  findPaymentByNonce(
    signed: Pick<SignedPayment, 'network' | 'nonceContract' | 'payer' | 'nonce'>,
  ): Payment | undefined
  /** Payments of an account, or of all, newest first. */
  listPayments(query: PaymentPage & { accountId?: string }): Payment[]

  /**
   * Payments, newest first, whose id, quote, account, payer, transaction, identifier or account
   * label contains `search`, or whose tier has that id or name.
   */
  searchPayments(page: { search: string; limit: number }): Payment[]
  /** Payments in some states, oldest first. */
  listPaymentsIn(states: readonly PaymentState[], page?: PaymentPage): Payment[]
  /** Counts payments by state; in `review` only those without a decision. */
  countPayments(): Partial<Record<PaymentState, number>>

  /**
   * Number and amount of payments since a moment (inclusive), by outcome and by the step in which
   * it occurred.
   */
  sumPayments(since: { sinceMs: number; stepMs: number }): PaymentSum[]
  /** Quotes created since a moment (inclusive). */
  countOffers(sinceMs: number): number
  listPaymentsLike(transfer: TokenAmount & { from: string }): Payment[]
  /** Provisioned payments whose money is in a range of blocks, both inclusive, by block. */
  listPaidIn(network: string, blocks: { from: number; to: number }): Payment[]
  findSubscriptionOf(paymentId: string): Subscription | undefined
  /** Requests bought by a payment. */
  findCredit(paymentId: string): Credit | undefined
  /** Credits with requests left, oldest first. */
  listCredits(accountId: string): Credit[]
  /** The last pack bought by an account, used up or not; never a single request. */
  findPack(accountId: string): Credit | undefined
  /** The response bought by a payment for a single request; undefined before its first response. */
  findPaidAnswer(paymentId: string): PaidAnswer | undefined
  /** Undelivered responses at an address, bought by payments of an account since a moment. */
  listUndelivered(at: { accountId: string; address: string; sinceMs: number }): PaidAnswer[]
  listUnmatchedTransfers(isResolved: boolean): UnmatchedTransfer[]
  /** The last block (inclusive) that was searched for transfers. */
  scannedBlock(network: string): number | undefined
}

/** The verbs of payments that write. */
export type PaymentVerbs = {
  /**
   * Creates an offer. With a `payer`, the amount is the price, less an atomic unit if this wallet
   * has an open offer for something else at that amount. Without a payer, it is an amount below the
   * price that belongs to no other offer whose payment could still arrive; `no_amount` if none was
   * found. `open`: the account has the same offer already, usable and without a payment. `limit`:
   * the account has the maximum number of offers.
   */
  openOffer(
    draft: OfferDraft,
    rules: OfferRules,
    by: AuditContext,
  ): { kind: 'opened' | 'open'; offer: Offer } | { kind: 'limit' } | { kind: 'no_amount' }
  /** Ends an offer and frees its unique amount; false if it has none or is being paid. */
  releaseOffer(id: string, by: AuditContext): boolean

  /**
   * Stores a signed payment for an offer in state `received`. `existing`: this nonce was stored
   * before, by any account. `offer_taken`: another payment of this offer is open or provisioned;
   * with `proof`, if the money has moved, the payment is still stored: in `review`, `paid_twice`.
   */
  claim(
    draft: {
      id: string
      offer: Offer
      signed: SignedPayment
      identifier?: string | undefined
      proof?: PaymentProof | undefined
    },
    by: AuditContext,
  ): { kind: 'claimed' | 'existing' | 'offer_taken'; payment: Payment }

  /**
   * Moves a payment that is in one of the given states to another one, with new facts. Returns
   * undefined, and changes nothing, if it is in none of them (another caller was faster). Throws a
   * `ledger_rule` fault if the transfer has paid another payment, or another payment has the offer.
   */
  move(
    id: string,
    change: PaymentChange & { from: readonly PaymentState[] },
    by: AuditContext,
  ): Payment | undefined

  /**
   * Acquires the right to call the facilitator until `untilMs` if the payment is `screened`, or is
   * `settling`, `pending` or `unknown` without a lease. Moves it to `settling` and counts the
   * attempt.
   */
  lease(id: string, untilMs: number, by: AuditContext): Payment | undefined

  /**
   * Extends the lease of an attempt, never shortens it; false if the attempt has ended. The state
   * stays, so there is no audit row.
   */
  renewLease(id: string, lease: { attempts: number; untilMs: number }): boolean

  /**
   * Converts a `settled` payment to its purchase, once: its requests, or its period, which moves
   * the periods that it displaces (`bookPeriod`). Returns the same on every call.
   */
  provision(
    id: string,
    ids: { subscriptionId: string; restId: string },
    by: AuditContext,
  ): Subscription | Credit

  /**
   * Stores a payment for an offer that was not stored before, and creates, if missing, its offer,
   * the account of its payer and a key without a secret, under which usage is counted. If the
   * account begins with this payment, and `isUnseen` states that the payment was on no chain, the
   * id of that key is `firstKeyIdOf` the payment. `identifier_taken`: another payment of the payer
   * with this identifier succeeded or may succeed. `repeated`: a payment of the account for the
   * same product is open, or was completed after `repeatsSinceMs`; if that is absent, none counts.
   */
  claimUnquoted(
    draft: {
      id: string
      keyId: string
      identifier?: string | undefined
      offer: Omit<Offer, 'createdMs'> & { payer: string }
      signed: SignedPayment
      isUnseen: boolean
      repeatsSinceMs?: number | undefined
    },
    by: Omit<AuditContext, 'actor'>,
  ): { kind: 'claimed' | 'existing' | 'identifier_taken' | 'repeated'; payment: Payment }
  /** Counts one used request of a credit; false if none is left. */
  useCredit(paymentId: string): boolean
  /** Returns one request to a credit. */
  returnCredit(paymentId: string): void
  /**
   * Sets the address that a payment for a single request is meant for, until its first response.
   */
  aimPaidAnswer(paymentId: string, address: string): void

  /**
   * Binds the payment of a single request to an address, and counts a response there; false if the
   * address may not be served (`mayAnswer`).
   */
  beginPaidAnswer(paymentId: string, at: { address: string; nowMs: number }): boolean
  /** Notes that the whole body was sent: the request is spent. */
  deliverPaidAnswer(paymentId: string, nowMs: number): void

  /**
   * Notes that the response to a purchase of a tier or a pack was sent; `address` is the SHA-256 of
   * the request.
   */
  deliverPurchase(paymentId: string, at: { address: string; nowMs: number }): void
  /** Stores money that arrived without a payment of ours; once per log. */
  addUnmatchedTransfer(transfer: UnmatchedTransfer, by: AuditContext): boolean
  /** Stores the operator's decision about an unmatched transfer or a payment in `review`. */
  resolveReview(id: string, note: string, by: AuditContext): boolean
  setScannedBlock(network: string, blockNumber: number): void
}

/**
 * Offers and payments behind verbs, in the ledger's file and its transactions. Every change of a
 * payment's state is a row of the audit chain (without the payload, which contains a signature).
 * `test/ledger/payment-conformance.ts` is the contract as tests.
 */
export type PaymentStore = PaymentReads & Promised<PaymentVerbs>

export type PaymentChange = { to: PaymentState } & Pick<Payment, 'reason' | 'txHash' | 'proof'>

type TokenAmount = { network: string; asset: string; amount: bigint }

/** `after` is exclusive. */
export type PaymentPage = { limit: number; after?: Pick<Payment, 'createdMs' | 'id'> | undefined }

export type PaymentSum = Pick<Payment, 'state' | 'reason'> & {
  stepMs: number
  network: string
  /** The token contract in lower case. */
  asset: string
  count: number
  /** The amount in atomic units. */
  amount: number
}

export type OfferDraft = Omit<Offer, 'requirements' | 'createdMs'> & {
  requirements: Omit<Offer['requirements'], 'amount'>
}

export type OfferRules = {
  /** The price in atomic units of the token. */
  atomic: bigint
  reservedUntilMs: number
  /**
   * Exclusive limits of an account's reserved, unpaid offers: of all, and of those with unique
   * amounts.
   */
  offersMax: number
  uniqueMax: number
  /** An offer that ends sooner is not reused. */
  usableUntilMs: number
}

export type ReservedOffer = Offer & { reservedUntilMs: number }

export type UnmatchedTransfer = PaymentProof &
  TokenAmount & {
    /** `transfer_` followed by the position of the log. */
    id: string
    from: string
    foundMs: number
    resolution?: string | undefined
  }
