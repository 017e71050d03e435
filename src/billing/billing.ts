/** Selling tiers: what the routes of billing and the command line may ask for. */

import { AppError } from '#src/domain/errors.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { ChainView } from '#src/domain/selling/chain-view.ts'
import type { Credit } from '#src/domain/selling/credit.ts'
import type { Facilitator } from '#src/domain/selling/facilitator.ts'
import {
  homeChain,
  type PaymentChain,
  type PaymentToken,
} from '#src/domain/selling/payment-chain.ts'
import type { Offer, Payment, PaymentRequirements } from '#src/domain/selling/payment.ts'
import type { Screen } from '#src/domain/selling/screening.ts'
import type { Subscription } from '#src/domain/selling/subscription.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { PaymentPage } from '#src/ledger/payments.ts'
import type { Log } from '#src/platform/log.ts'

import { admit } from './admission.ts'
import { closedSales, createAvailability, type SalesState, toChainStatus } from './availability.ts'
import { admitUnquoted, createDemand } from './keyless.ts'
import { createQuotes, findOwnOffer, findSame, toUnpaidQuote } from './offers.ts'
import {
  allowanceError,
  rejectedError,
  reviewError,
  unavailableError,
  usedOfferError,
} from './payment-errors.ts'
import {
  advance,
  findContext,
  findOfferOf,
  type PaymentWithOffer,
  reread,
  waitForFinality,
} from './payment-machine.ts'
import { createReconciler } from './reconciler.ts'

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
   * `origin.onAdmitted` is awaited with the payer's address, in lower case, once the payment is
   * known to be the payer's and before it is taken: what that throws is thrown, and nothing is
   * settled. `isKnown` is true of a payment that was taken before.
   */
  settleUnquoted(product: Tier, payload: unknown, origin?: UnquotedOrigin): Promise<Settlement>

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

export type UnquotedOrigin = Origin & {
  onAdmitted?: ((payer: string, isKnown: boolean) => Promise<void>) | undefined
}

/** It does nothing by itself: `refresh`, `reconcile` and `watch` want a timer. */
export function createBilling(options: BillingOptions): Billing {
  const { ledger } = options
  const availability = createAvailability(options)
  const { poll, work, reconcile, watch } = createReconciler(options)
  const listeners: (() => void)[] = []
  const describe = (payment: Payment) =>
    toSettlement(options, payment, findOfferOf(options, payment))
  /** Takes a payment as far as it goes now. Throws why it is neither made nor in flight. */
  async function settle({ payment, offer }: PaymentWithOffer, origin?: Origin) {
    if (payment.state === 'provisioned') return toSettlement(options, payment, offer)
    const { id, accountId, signed } = payment
    const context = findContext(options, signed.network, `account:${accountId}`)
    if (!context) throw unavailableError('No node of the chain is configured any more.')
    const traced = { ...context, ...origin }
    const settled = await work(id, async () => {
      const advanced = await advance(traced, reread(context, id), offer)
      return waitForFinality(traced, advanced, offer)
    })
    assertAlive(options, settled, offer)
    return toSettlement(options, settled, offer)
  }
  const notify = (): void => {
    for (const listener of listeners) listener()
  }
  const findOwn = ({ accountId }: Pick<Caller, 'accountId'>, id: string): Payment => {
    const payment = ledger.payments.findPayment(id)
    if (payment?.accountId === accountId) return payment
    throw new AppError(
      'unknown_payment',
      'You have no such payment. GET /v1/billing/payments lists those you have.',
      { param: 'id' },
    )
  }
  /** The payment as it is then; undefined once it is proved that it was not made. */
  async function followSame({ id, accountId }: Payment, origin?: Origin) {
    try {
      const payment = findOwn({ accountId }, id)
      await settle({ payment, offer: findOfferOf(options, payment) }, origin)
    } catch (error) {
      // The state says why it is not further; only an approval has a call to make in its words.
      if (!(error instanceof AppError) || error.code === 'allowance_required') throw error
    }
    const settlement = describe(findOwn({ accountId }, id))
    const { state, reason } = settlement.payment
    if (state === 'review') throw reviewError(reason)
    return state === 'void' ? undefined : settlement
  }
  return {
    isOpen: true,
    chains: availability.chains,
    sales: availability.sales,
    warnings: availability.warnings,
    refresh: availability.refresh,
    quote: createQuotes(options, availability, poll),
    async challenge(caller, offerId, origin) {
      const offer = findOwnOffer(options, caller, offerId)
      const same = findSame(options, offer)
      const settlement = same && (await followSame(same, origin))
      if (settlement) return { kind: 'same', settlement }
      return { kind: 'unpaid', quote: toUnpaidQuote(options, offer) }
    },
    async payment(caller, id) {
      await poll(findOwn(caller, id))
      return describe(findOwn(caller, id))
    },
    payments: ({ accountId }, page) =>
      ledger.payments.listPayments({ accountId, ...page }).map(describe),
    subscriptions: ({ accountId }) => ledger.listSubscriptions(accountId),
    settle: async (caller, payload, origin) =>
      settle(await admit(options, caller, payload), origin).finally(notify),
    demand: createDemand(options, availability),
    settleUnquoted: async (product, payload, { onAdmitted, ...origin } = {}) =>
      settle(await admitUnquoted(options, product, payload, onAdmitted), origin).finally(notify),
    resume: async (payment, origin) => followSame(payment, origin).finally(notify),
    onSubmitted: (listener) => void listeners.push(listener),
    reconcile,
    watch,
  }
}

/** Throws why a payment is neither made nor in flight, and what the payer should do next. */
function assertAlive(options: BillingOptions, payment: Payment, offer: Offer): void {
  const { state, signed, reason } = payment
  if (state === 'received' || state === 'screened') {
    throw unavailableError(
      'The payment is not known to be sent yet. Submit the same payment again, and sign no other.',
    )
  }
  if (state === 'review') throw reviewError(reason)
  if (state !== 'rejected' && state !== 'void') return
  // No second payment is asked for what another one is paying.
  const isTaken = options.ledger.payments.isOfferTaken(offer.id)
  if (reason === 'offer_used' || isTaken) throw usedOfferError()
  if (reason === 'allowance_required' && state === 'rejected') throw allowanceError(payment, offer)
  throw rejectedError(options, { reason: reason ?? 'rejected', signed, offer })
}

const toSettlement = ({ ledger }: BillingOptions, payment: Payment, offer: Offer): Settlement => ({
  payment,
  offer,
  subscription: ledger.payments.findSubscriptionOf(payment.id),
  credit: ledger.payments.findCredit(payment.id),
})

export function closedBilling(
  reason: string,
  chains: readonly PaymentChain[] = [homeChain],
): Billing {
  const refuse = (): never => {
    throw new AppError('billing_unavailable', reason, { retryAction: 'ask_operator' })
  }
  const statuses = chains.map((chain) => toChainStatus(chain, () => reason))
  return {
    isOpen: false,
    chains: () => statuses,
    sales: () => closedSales(statuses, `Nothing is sold: ${reason}`),
    warnings: () => [],
    quote: async () => refuse(),
    challenge: async () => refuse(),
    settle: async () => refuse(),
    demand: async () => refuse(),
    settleUnquoted: async () => refuse(),
    resume: async () => refuse(),
    payment: async () => refuse(),
    // Not an empty list: there may be payments from before.
    payments: refuse,
    subscriptions: () => [],
    onSubmitted: () => undefined,
    reconcile: async () => 0,
    watch: async () => undefined,
    refresh: async () => undefined,
  }
}
