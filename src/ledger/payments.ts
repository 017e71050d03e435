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

/**
 * Offers and payments behind verbs, in the ledger's file and its transactions. Every change of a
 * payment's state is a row of the audit chain (without the payload, which holds a signature).
 * `test/ledger/payment-conformance.ts` is the contract as tests.
 */
export type PaymentStore = {
  /**
   * Makes an offer. With a `payer`: at the price (less an atomic unit where this wallet has an open
   * offer of something else at it). Without: at an amount below the price that no other offer has
   * whose payment could still arrive; `no_amount` if none was found. `open`: the account has the
   * same offer already, usable and not begun to be paid. `limit`: it has as many as it may.
   */
  openOffer(
    draft: OfferDraft,
    rules: OfferRules,
    by: AuditContext,
  ): { kind: 'opened' | 'open'; offer: Offer } | { kind: 'limit' } | { kind: 'no_amount' }
  findOffer(id: string): Offer | undefined
  /**
   * The offer that a signed payment is for. First the offers to its payer at that amount: of those
   * that it may have been signed for the newest that is not paid. Then the holder of the unique
   * amount, of any account; then an ended one of `accountId`. `aheadMs`: by how much `nowMs`, which
   * offers are dated by, is ahead of the time that payments end by.
   */
  findOfferFor(
    signed: Pick<SignedPayment, 'network' | 'asset' | 'payer' | 'amount' | 'validBefore'>,
    at: { accountId: string; nowMs: number; aheadMs?: number },
  ): Offer | undefined
  /** True if a payment of the offer is on its way, was made, or is in review. */
  isOfferTaken(id: string): boolean
  /** Offers that hold a unique amount at `nowMs`, those that were paid left out, oldest first. */
  listReservedOffers(nowMs: number): ReservedOffer[]
  /** Ends an offer and frees its unique amount; false if it has none or is being paid. */
  releaseOffer(id: string, by: AuditContext): boolean
  /** Offers of an account of an amount, newest first, expired or not; the newest 20. */
  listOffersOf(query: TokenAmount & { accountId: string }): Offer[]

  /**
   * Takes a signed payment for an offer, in state `received`. `existing`: this very nonce was taken
   * before, by any account. `offer_taken`: another payment of this offer is open or was provisioned;
   * with `proof`, where the money has moved, it is kept all the same: in `review`, `paid_twice`.
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
  /** Payments of an offer, and those of its account since a moment, that were rejected or void. */
  countFailedPayments(
    offer: Pick<Offer, 'id' | 'accountId'>,
    sinceMs: number,
  ): { ofOffer: number; ofAccount: number }

  findPayment(id: string): Payment | undefined
  /**
   * The newest payment of an account, or for one of its offers, that may still be made: also a
   * rejected one, which its payer can submit, until the chain proves it void.
   */
  findUndecidedPayment(of: { accountId: string; offerId?: string }): Payment | undefined
  /**
   * The payment of an account that a new order for the same tier and token would repeat: one that
   * may still be made, also a rejected one, or one that was provisioned after `sinceMs`. Of several
   * one in flight comes first, then one that was provisioned.
   */
  findSamePurchase(
    order: { accountId: string; tierId: string; network: string; asset: string },
    sinceMs: number,
  ): Payment | undefined
  /**
   * Payments of an account for a tier or pack, in any token, oldest first: those that may still be
   * made, but for rejected ones, and those that were made after `sinceMs`.
   */
  listPurchases(of: { accountId: string; productId: string; sinceMs: number }): Payment[]
  /** By what makes it unique on its chain. */
  findPaymentByNonce(
    signed: Pick<SignedPayment, 'network' | 'nonceContract' | 'payer' | 'nonce'>,
  ): Payment | undefined
  /** Payments of an account, or all, newest first. */
  listPayments(query: PaymentPage & { accountId?: string }): Payment[]
  /**
   * Newest first: payments of which the id, quote, account, payer, transaction or identifier holds
   * `search`, or the label of the account, or whose tier has that id or name.
   */
  searchPayments(page: { search: string; limit: number }): Payment[]
  /** Payments in any of some states, oldest first. */
  listPaymentsIn(states: readonly PaymentState[], page?: PaymentPage): Payment[]
  /** How many are in each state; in `review` only those without a decision. */
  countPayments(): Partial<Record<PaymentState, number>>
  /**
   * Payments by what became of them, and by the step of some length in which it did, since a moment
   * (inclusive): how many, and of how much.
   */
  sumPayments(since: { sinceMs: number; stepMs: number }): PaymentSum[]
  /** Quotes that were made since a moment (inclusive). */
  countOffers(sinceMs: number): number
  listPaymentsLike(transfer: TokenAmount & { from: string }): Payment[]
  /** Provisioned payments whose money is in blocks of a range, both inclusive, by block. */
  listPaidIn(network: string, blocks: { from: number; to: number }): Payment[]

  /**
   * Moves a payment from one of some states to another, with what was learned; undefined, and
   * nothing changed, if it is in none of them (another caller was faster). Throws a `ledger_rule`
   * fault if the transfer has paid another payment, or another payment has the offer.
   */
  move(
    id: string,
    change: PaymentChange & { from: readonly PaymentState[] },
    by: AuditContext,
  ): Payment | undefined

  /**
   * Takes the right to call the facilitator until `untilMs`, if the payment is `screened`, or its
   * `settling`, `pending` or `unknown` is not leased. Moves it to `settling` and counts the attempt.
   */
  lease(id: string, untilMs: number, by: AuditContext): Payment | undefined
  /**
   * Holds the lease of an attempt for longer, never for shorter; false if the attempt is over. The
   * state stays, so there is no audit row.
   */
  renewLease(id: string, lease: { attempts: number; untilMs: number }): boolean

  /**
   * Turns a `settled` payment into what it bought, once: its requests, or its period, which moves
   * those that it displaces (`bookPeriod`). Returns the same on every call.
   */
  provision(
    id: string,
    ids: { subscriptionId: string; restId: string },
    by: AuditContext,
  ): Subscription | Credit

  findSubscriptionOf(paymentId: string): Subscription | undefined

  /**
   * Takes a payment for an offer that was not written down before: with its offer, the account of
   * its payer and a key without a secret, under which usage is counted, where there are none. If the
   * account begins with this payment, and `isUnseen` says that the payment was on no chain, the id
   * of that key is `firstKeyIdOf` the payment. `identifier_taken`: the payer has named another one
   * so, which may be made or was. `repeated`: a payment of the account for the same product is open,
   * or was made after `repeatsSinceMs`; where it is not given, none counts.
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

  /** Requests that a payment has bought. */
  findCredit(paymentId: string): Credit | undefined
  /** Those with requests left, oldest first. */
  listCredits(accountId: string): Credit[]
  /** The pack that an account bought last, used up or not; never a single request. */
  findPack(accountId: string): Credit | undefined
  /** Counts one request of a credit as answered; false if none is left. */
  useCredit(paymentId: string): boolean
  /** Takes back that one was answered. */
  returnCredit(paymentId: string): void

  /** What a payment for a single request has read; undefined before its first answer. */
  findPaidAnswer(paymentId: string): PaidAnswer | undefined
  /** Says what a payment for a single request is meant for, until its first answer. */
  aimPaidAnswer(paymentId: string, address: string): void
  /** What payments of an account since a moment are to read at an address, and did not deliver. */
  listUndelivered(at: { accountId: string; address: string; sinceMs: number }): PaidAnswer[]
  /**
   * Binds the payment of a single request to an address, and counts an answer there; false where it
   * may not be answered there (`mayAnswer`).
   */
  beginPaidAnswer(paymentId: string, at: { address: string; nowMs: number }): boolean
  /** Notes that the whole body was handed to a connection: the request is spent. */
  deliverPaidAnswer(paymentId: string, nowMs: number): void
  /**
   * Notes that the answer to a payment for a tier or a pack was handed to a connection, under the
   * SHA-256 of what was asked.
   */
  deliverPurchase(paymentId: string, at: { address: string; nowMs: number }): void

  /** Money that arrived without a payment of ours; kept once per log. */
  addUnmatchedTransfer(transfer: UnmatchedTransfer, by: AuditContext): boolean
  listUnmatchedTransfers(isResolved: boolean): UnmatchedTransfer[]
  /** Notes what the operator decided about an unmatched transfer or a payment in `review`. */
  resolveReview(id: string, note: string, by: AuditContext): boolean

  /** Up to which block (inclusive) transfers were looked at. */
  scannedBlock(network: string): number | undefined
  setScannedBlock(network: string, blockNumber: number): void
}

export type PaymentChange = { to: PaymentState } & Pick<Payment, 'reason' | 'txHash' | 'proof'>

type TokenAmount = { network: string; asset: string; amount: bigint }

/** `after` is exclusive. */
export type PaymentPage = { limit: number; after?: Pick<Payment, 'createdMs' | 'id'> | undefined }

export type PaymentSum = Pick<Payment, 'state' | 'reason'> & {
  stepMs: number
  network: string
  /** Token contract, lower case. */
  asset: string
  count: number
  /** Atomic units. */
  amount: number
}

export type OfferDraft = Omit<Offer, 'requirements' | 'createdMs'> & {
  requirements: Omit<Offer['requirements'], 'amount'>
}

export type OfferRules = {
  /** The price, in atomic units of the token. */
  atomic: bigint
  reservedUntilMs: number
  /** Exclusive bounds of an account's reserved, unpaid offers: of all, and of unique amounts. */
  offersMax: number
  uniqueMax: number
  /** An offer that ends sooner is not shown again. */
  usableUntilMs: number
}

export type ReservedOffer = Offer & { reservedUntilMs: number }

export type UnmatchedTransfer = PaymentProof &
  TokenAmount & {
    /** `transfer_` and the log's place. */
    id: string
    from: string
    foundMs: number
    resolution?: string | undefined
  }
