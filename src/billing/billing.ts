/** The contract of selling tiers, for the billing routes and the command line. */

import type { Caller } from '#src/domain/selling/caller.ts'
import type { ChainView } from '#src/domain/selling/chain-view.ts'
import type { Credit } from '#src/domain/selling/credit.ts'
import type { Facilitator } from '#src/domain/selling/facilitator.ts'
import type { PaymentChain, PaymentToken } from '#src/domain/selling/payment-chain.ts'
import type {
  Offer,
  Payment,
  PaymentRequirements,
  SignedPayment,
} from '#src/domain/selling/payment.ts'
import type { Screen } from '#src/domain/selling/screening.ts'
import type { Subscription } from '#src/domain/selling/subscription.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { PaymentPage } from '#src/ledger/payments.ts'
import type { Log } from '#src/platform/log.ts'

export type BillingOptions = {
  ledger: Ledger
  listTiers: () => readonly Tier[]
  chains: readonly SoldChain[]
  /** The recipient of payments; empty if none is configured. */
  payTo: string
  screen: Screen
  clock: Clock
  createId: () => string
  /** Waits; tests inject a function that does not. */
  sleep: (ms: number) => Promise<void>
  origin: () => string
  log: Log
  /** The duration of a lease and the interval of its renewal; tests pass their own. */
  lease?: { ms: number; renewMs: number } | undefined
}

/** A chain that is sold on, with a node and a facilitator if they are configured. */
export type SoldChain = {
  chain: PaymentChain
  view: ChainView | undefined
  facilitator: Facilitator | undefined
}

/** `reason` explains why the token is currently unavailable; undefined if it is available. */
export type ChainStatus = {
  chain: PaymentChain
  tokens: readonly { token: PaymentToken; reason: string | undefined }[]
}

/** The x402 v2 challenge: the body of a 402, which stock clients sign. */
export type PaymentRequired = {
  x402Version: 2
  error?: string
  resource: { url: string; description: string; mimeType: string; serviceName: string }
  accepts: readonly PaymentRequirements[]
  extensions?: Readonly<Record<string, object>>
}

/**
 * The availability of purchases, as reported by `/readyz`, `bookfeed doctor`, the operator's page
 * and the list of tiers.
 */
export type SalesState = {
  /**
   * `failing`: no payment method passed the last check, which may be a coincidence. `paused`: the
   * check after it failed too. `closed`: nothing to sell with is configured.
   */
  state: 'open' | 'failing' | 'paused' | 'closed'
  /** The time of the first failed check; undefined while `open` or `closed`. */
  sinceMs: number | undefined
  /** All faults, including those that leave other tokens available. */
  faults: readonly SalesFault[]
}

/** A broken dependency of payments, for the operator. */
export type SalesFault = {
  part: 'node' | 'token' | 'facilitator' | 'configuration'
  /** One sentence, including the address of a node or facilitator, without credentials. */
  text: string
  /** The time of the first failed check; undefined for a fault of the configuration. */
  sinceMs: number | undefined
  /** The affected payment methods, such as `USDC on Polygon`. */
  tokens: readonly string[]
  /** The action to take, if it is more specific than what to check. */
  todo?: string | undefined
}

export type Quote = {
  offer: Offer
  paymentRequired: PaymentRequired
  /** The start of the period if it were paid now. */
  startMs: number
  /**
   * A payment of the account that may still complete, or that has just completed for the same tier
   * and token. In that case `offer` is the offer of that payment, and no other is created for the
   * tier and token.
   */
  inFlight?: Payment | undefined
}

export type Settlement = {
  payment: Payment
  offer: Offer
  /** The purchase after `provisioned`: a period, or requests. */
  subscription: Subscription | undefined
  credit?: Credit | undefined
}

export type Billing = {
  /** False if nothing can be sold, nor payments be looked up. */
  isOpen: boolean
  chains(): readonly ChainStatus[]
  /** The availability of purchases as of the last `refresh`. */
  sales(): SalesState
  /** Problems that do not prevent payments, as of the last `refresh`, for the operator. */
  warnings(): readonly string[]

  /**
   * Creates an offer, or returns the open one with the same terms. `payer` is the address that will
   * sign, 0x and 40 hex digits; by default the wallet of the account. `anotherPeriod` allows a
   * second period beside a payment of the same tier and token (see `inFlight`). Throws
   * `unknown_tier`, `tier_not_for_sale`, `unknown_network`, `unknown_token`, `billing_unavailable`,
   * `offer_limit`.
   */
  quote(
    caller: Caller,
    request: {
      tierId: string
      network: string
      token: string
      payer?: string | undefined
      anotherPeriod?: boolean | undefined
    },
  ): Promise<Quote>

  /**
   * The challenge of an unpaid offer. If a payment of the account for the same tier and token is in
   * flight or has just completed, returns that payment instead, advanced as far as possible, as if
   * it were submitted again. Throws `unknown_offer`, `offer_expired`, `offer_used`,
   * `payment_in_review`, `sanctioned`.
   */
  challenge(
    caller: Caller,
    offerId: string,
    origin?: Origin,
  ): Promise<{ kind: 'unpaid'; quote: Quote } | { kind: 'same'; settlement: Settlement }>

  /**
   * Advances a signed payment as far as possible: to `provisioned`, or in flight. Submitting the
   * same payment again returns the same payment; `origin` describes the request. Throws
   * `payment_invalid`, `payment_rejected`, `unknown_offer`, `offer_expired`, `offer_used`,
   * `payment_conflict`, `payment_in_review`, `payment_limit`, `allowance_required`, `sanctioned`,
   * `screening_unavailable`, `billing_unavailable`.
   */
  settle(caller: Caller, payload: unknown, origin?: Origin): Promise<Settlement>

  /**
   * The challenge for a tier or a pack without a key, in every available token. Nothing is stored.
   * Throws `billing_unavailable`.
   */
  demand(product: Tier): Promise<PaymentRequired>
  /**
   * Settles a payment of `demand`: the purchase belongs to the payer, whose account is created if
   * there is none. A payment that cannot succeed is not stored. Throws the errors of `settle`.
   * `origin.onAdmitted` is awaited with the signed payment, after it is known to be the payer's and
   * before it is stored; if it throws, nothing is settled. `isKnown` is true if the payment was
   * admitted before.
   */
  settleUnquoted(
    product: Tier,
    payload: unknown,
    origin?: UnquotedOrigin,
  ): Promise<UnquotedSettlement>

  /**
   * Advances a payment as far as possible, as if it were submitted again; undefined once it is
   * proved void. Throws `payment_in_review`, `allowance_required`.
   */
  resume(payment: Payment, origin?: Origin): Promise<Settlement | undefined>

  /**
   * A payment, updated from the chain alone, at most once in 3 s and for at most 2 s. Throws
   * `unknown_payment`.
   */
  payment(caller: Caller, id: string): Promise<Settlement>
  /** Payments of the account, newest first. */
  payments(caller: Caller, page: PaymentPage): Settlement[]
  /** Paid and granted periods by start. */
  subscriptions(caller: Caller): readonly Subscription[]

  /** Calls a listener whenever a submitted payment may still be open. */
  onSubmitted(listener: () => void): void
  /**
   * Checks all open payments, and once a minute some rejected ones; returns the number of open
   * ones. Never rejects.
   */
  reconcile(): Promise<number>
  /** Searches for money that no payment explains. Never rejects. */
  watch(): Promise<void>
  /** Checks chains, tokens and facilitator, and marks failing ones unavailable. Never rejects. */
  refresh(): Promise<void>
}

/** The request that submitted a payment. */
export type Origin = {
  /** The W3C `traceparent` for the facilitator. */
  trace?: string | undefined
  /** The request id in lines of the log. */
  requestId?: string | undefined
}

/**
 * `isProved` is true if the payer is proved to have sent the payment: it arrived for the first
 * time, or again with its first identifier, or the answer is an earlier payment and this one was
 * signed after it. An older signature may be public although it is unspent: a reverted transaction
 * reveals it.
 */
export type UnquotedSettlement = Settlement & { isProved: boolean }

export type UnquotedOrigin = Origin & {
  /** The account of the key that was sent with the payment, if any. */
  accountId?: string | undefined
  /**
   * The time since which another payment of the account for the same product replaces this one; if
   * absent, none does.
   */
  repeatsSinceMs?: number | undefined
  onAdmitted?:
    | ((signed: Pick<SignedPayment, 'payer' | 'validBefore'>, isKnown: boolean) => Promise<void>)
    | undefined
}
