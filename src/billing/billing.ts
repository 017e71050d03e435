/** Selling tiers: what the routes of billing and the command line may ask for. */

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
  /** The address that is paid to; empty where none is configured. */
  payTo: string
  screen: Screen
  clock: Clock
  createId: () => string
  /** Waits. Injected, so that tests need not. */
  sleep: (ms: number) => Promise<void>
  origin: () => string
  log: Log
  /** How long a lease lasts, and how often it is renewed; tests pass their own. */
  lease?: { ms: number; renewMs: number } | undefined
}

/** A chain that is sold on: with a node and a relay of payments, where these are configured. */
export type SoldChain = {
  chain: PaymentChain
  view: ChainView | undefined
  facilitator: Facilitator | undefined
}

/** `reason`: why the token cannot be paid with just now; undefined if it can. */
export type ChainStatus = {
  chain: PaymentChain
  tokens: readonly { token: PaymentToken; reason: string | undefined }[]
}

/** The x402 v2 challenge: what a 402 carries, and stock clients sign. */
export type PaymentRequired = {
  x402Version: 2
  error?: string
  resource: { url: string; description: string; mimeType: string; serviceName: string }
  accepts: readonly PaymentRequirements[]
  extensions?: Readonly<Record<string, object>>
}

/**
 * Whether anything can be bought: what `/readyz`, `bookfeed doctor`, the operator's page and the list
 * of tiers say of it.
 */
export type SalesState = {
  /**
   * `failing`: nothing can be paid with since the last check, which may have failed by chance.
   * `paused`: the check after it failed too. `closed`: nothing to sell with is configured.
   */
  state: 'open' | 'failing' | 'paused' | 'closed'
  /** When the check was that failed first; undefined while `open` or `closed`. */
  sinceMs: number | undefined
  /** Also where other tokens can be paid with. */
  faults: readonly SalesFault[]
}

/** Something that payments need and that does not work, for the operator. */
export type SalesFault = {
  part: 'node' | 'token' | 'facilitator' | 'configuration'
  /** One sentence, with the address of a node or facilitator, without credentials. */
  text: string
  /** When the check was that failed first; undefined for the configuration. */
  sinceMs: number | undefined
  /** What cannot be paid with, such as `USDC on Polygon`. */
  tokens: readonly string[]
  /** What the operator has to do, where more is known than what to check. */
  todo?: string | undefined
}

export type Quote = {
  offer: Offer
  paymentRequired: PaymentRequired
  /** When the period would begin if it were paid now. */
  startMs: number
  /**
   * A payment of the account that may still be made, or that was just made for the same tier and
   * token. For the same tier and token, `offer` is the offer of that payment, and no other is made.
   */
  inFlight?: Payment | undefined
}

export type Settlement = {
  payment: Payment
  offer: Offer
  /** What it bought, once it is provisioned: a period, or requests. */
  subscription: Subscription | undefined
  credit?: Credit | undefined
}

export type Billing = {
  /** False where nothing can be sold, nor asked about. */
  isOpen: boolean
  chains(): readonly ChainStatus[]
  /** Whether anything can be bought, as of the last `refresh`. */
  sales(): SalesState
  /** What is wrong although payments are taken, as of the last `refresh`, for the operator. */
  warnings(): readonly string[]

  /**
   * Makes an offer, or shows again the open one of the same. `payer` is the address that will sign,
   * 0x and 40 hex digits; by default the account's wallet. `anotherPeriod`: also beside a payment of
   * the same tier and token (see `inFlight`). Throws `unknown_tier`, `tier_not_for_sale`,
   * `unknown_network`, `unknown_token`, `billing_unavailable`, `offer_limit`.
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
   * What an unpaid offer asks to be signed. Where a payment of the account for the same tier and
   * token is in flight, or was just made, that payment instead, taken as far as it goes now, as if
   * it were submitted again. Throws `unknown_offer`, `offer_expired`, `offer_used`,
   * `payment_in_review`, `sanctioned`.
   */
  challenge(
    caller: Caller,
    offerId: string,
    origin?: Origin,
  ): Promise<{ kind: 'unpaid'; quote: Quote } | { kind: 'same'; settlement: Settlement }>

  /**
   * Takes a signed payment through all its states as far as they go now: `provisioned`, or one in
   * flight. The same payment again finds the same payment; `origin` says what it is of. Throws
   * `payment_invalid`, `payment_rejected`, `unknown_offer`, `offer_expired`, `offer_used`,
   * `payment_conflict`, `payment_in_review`, `payment_limit`, `allowance_required`, `sanctioned`,
   * `screening_unavailable`, `billing_unavailable`.
   */
  settle(caller: Caller, payload: unknown, origin?: Origin): Promise<Settlement>

  /**
   * What to sign for a tier or a pack without a key, in every token that can be paid with now.
   * Nothing is written down. Throws `billing_unavailable`.
   */
  demand(product: Tier): Promise<PaymentRequired>
  /**
   * As `settle`, of a payment of `demand`: what it buys is the payer's, whose account is made where
   * there is none. A payment that cannot be made is not written down. Throws what `settle` throws.
   * `origin.onAdmitted` is awaited with what was signed, once the payment is known to be the payer's
   * and before it is taken: what that throws is thrown, and nothing is settled. `isKnown` is true of
   * a payment that was taken before.
   */
  settleUnquoted(
    product: Tier,
    payload: unknown,
    origin?: UnquotedOrigin,
  ): Promise<UnquotedSettlement>

  /**
   * Takes a payment as far as it goes now, as if it were submitted again; undefined once it is
   * proved that it was not made. Throws `payment_in_review`, `allowance_required`.
   */
  resume(payment: Payment, origin?: Origin): Promise<Settlement | undefined>

  /** From the chain alone, once in 3 s at most, for 2 s at most. Throws `unknown_payment`. */
  payment(caller: Caller, id: string): Promise<Settlement>
  /** Newest first. */
  payments(caller: Caller, page: PaymentPage): Settlement[]
  /** Paid and granted periods by start. */
  subscriptions(caller: Caller): readonly Subscription[]

  /** Calls a listener whenever a payment was submitted that may still be open. */
  onSubmitted(listener: () => void): void
  /** Looks at all open ones, once a minute at some rejected; how many are open. Never rejects. */
  reconcile(): Promise<number>
  /** Looks for money that no payment explains. Never rejects. */
  watch(): Promise<void>
  /** Checks chain, tokens and facilitator: what fails is unavailable. Never rejects. */
  refresh(): Promise<void>
}

/** The request that a payment came with. */
export type Origin = {
  /** The W3C `traceparent` that is sent to the facilitator. */
  trace?: string | undefined
  /** Names it in lines of the log. */
  requestId?: string | undefined
}

/**
 * `isProved`: true if its payer sent it, as far as a payment can prove that: it came for the first
 * time, or again with the identifier of the first time, or the answer is an earlier payment and this
 * one was signed after that. An older signature may be public although it is unspent: a transaction
 * that was reverted shows it to everyone.
 */
export type UnquotedSettlement = Settlement & { isProved: boolean }

export type UnquotedOrigin = Origin & {
  /** The account of the key that came with the payment, if one did. */
  accountId?: string | undefined
  /**
   * From when on another payment of the account for the same product takes the place of this one;
   * where it is not given, none does.
   */
  repeatsSinceMs?: number | undefined
  onAdmitted?:
    | ((signed: Pick<SignedPayment, 'payer' | 'validBefore'>, isKnown: boolean) => Promise<void>)
    | undefined
}
