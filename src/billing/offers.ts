/** Offers, which are reused until they are paid. */
import { AppError } from '#src/domain/errors.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { ChainView } from '#src/domain/selling/chain-view.ts'
import { networkError } from '#src/domain/selling/payload.ts'
import type { Network, PaymentToken } from '#src/domain/selling/payment-chain.ts'
import {
  ANOTHER_PERIOD,
  isForAnotherPeriod,
  isUndecided,
  type Offer,
  OFFER_LIFE_MS,
  type Payment,
  type PaymentRequirements,
} from '#src/domain/selling/payment.ts'
import { bookPeriod, paidPeriods } from '#src/domain/selling/subscription.ts'
import { termsOf } from '#src/domain/selling/tier.ts'

import { type createAvailability, missingPart } from './availability.ts'
import type { Billing, BillingOptions, Quote } from './billing.ts'
import {
  expiredOfferError,
  heldOfferError,
  toPaymentRequired,
  unavailableError,
  unknownOfferError,
  usedOfferError,
} from './payment-errors.ts'

/** The chain of a payment. Throws `payment_invalid`, `billing_unavailable`. */
export function requireView(options: BillingOptions, network: string): ChainView {
  const sold = options.chains.find(({ chain }) => chain.network === network)
  if (!sold) throw networkError()
  const missing = missingPart(options, sold)
  if (missing !== undefined || !sold.view) {
    throw unavailableError(missing ?? 'Nothing is sold here.')
  }
  return sold.view
}

/** Seconds from signing for which wallets are asked to make the payment valid. */
const PAYMENT_TIMEOUT_SECONDS = 600
/** The reservation of an offer's amount: until it is signed, then paid, and ten minutes more. */
const RESERVED_MS = OFFER_LIFE_MS + PAYMENT_TIMEOUT_SECONDS * 1000 + 10 * 60_000
/** The remaining time to sign that lets an open offer be reused. */
const OFFER_LEFT_MS_MIN = 3 * 60_000
/** The maximum number of reserved unpaid offers of an account, and of those with unique amounts. */
const OFFERS_MAX = 20
const UNIQUE_OFFERS_MAX = 5
/**
 * Failed payments of an offer, and of an account within an hour, after which no other is accepted.
 */
const FAILED_OF_OFFER_MAX = 5
const FAILED_OF_ACCOUNT_MAX = 20
const FAILED_WITHIN_MS = 3_600_000
/** Amounts in the catalogue are millionths. */
const CATALOGUE_DECIMALS = 6

/**
 * The period after a payment in which an order for the same tier and token counts as the same
 * order.
 */
const SAME_PURCHASE_MS = 3_600_000

type Order = { accountId: string; tierId: string; network: Network; asset: string }

/** The payment that paying the offer would repeat. */
export function findSame(options: BillingOptions, offer: Offer): Payment | undefined {
  const { accountId, terms, requirements } = offer
  // A deliberate second period waits only for its own payment.
  if (isForAnotherPeriod(offer)) {
    return options.ledger.payments.findUndecidedPayment({ accountId, offerId: offer.id })
  }
  const { network, asset } = requirements
  const order = { accountId, tierId: terms.tierId, network, asset }
  return options.ledger.payments.findSamePurchase(order, options.clock() - SAME_PURCHASE_MS)
}

export function createQuotes(
  options: BillingOptions,
  { findReason }: ReturnType<typeof createAvailability>,
  /** Updates a payment from its chain, at most every few seconds. */
  poll: (payment: Payment) => Promise<void>,
): Billing['quote'] {
  const { ledger, clock, createId } = options
  const { payments } = ledger
  /** The payment that the order would repeat, updated from its chain. */
  async function findCurrent(order: Order): Promise<Payment | undefined> {
    const find = () =>
      ledger.atomically((transaction) =>
        transaction.payments.findSamePurchase(order, clock() - SAME_PURCHASE_MS),
      )
    const found = await find()
    if (found === undefined || !isUndecided(found)) return found
    await poll(found)
    return find()
  }

  return async ({ accountId }, { anotherPeriod = false, ...ask }) => {
    const { terms, amountMillionths, periodDays } = findProduct(options, ask.tierId)
    const { sold, token } = findToken(options, ask)
    const order = {
      accountId,
      tierId: ask.tierId,
      network: sold.chain.network,
      asset: token.address,
    }
    const same = anotherPeriod ? undefined : await findCurrent(order)
    // The offer of that payment would be refused if it were signed again, so nothing else is there
    // to pay.
    const paying = same && payments.findOffer(same.offerId)
    if (paying) return toQuote(options, paying, same)
    const reason = findReason(sold, token)
    if (reason !== undefined) {
      throw unavailableError(
        `${ask.token} cannot be paid with at the moment: ${reason} Nothing was charged. Try again in a few minutes.`,
        'wait_and_retry',
      )
    }
    const head = await sold.view?.head(0)
    if (!head) {
      throw unavailableError('The chain does not answer just now. Try again.', 'wait_and_retry')
    }
    // The wallet of the account, if it will pay: its address identifies the offer.
    const address = ledger.findAccount(accountId)?.address
    const isOwn = ask.payer === undefined || ask.payer.toLowerCase() === address
    const nowMs = clock()
    const id = `quote_${createId()}`
    const extra: Record<string, string> = { quoteId: id }
    if (anotherPeriod) extra[ANOTHER_PERIOD] = 'true'
    const opened = await payments.openOffer(
      {
        id,
        accountId,
        payer: isOwn ? address : undefined,
        terms,
        periodDays,
        symbol: token.symbol,
        method: token.method,
        requirements: toRequirements(options, sold.chain.network, token, extra),
        // The newest block: transfers in it or before it did not pay this offer.
        fromBlock: head.latestNumber,
        expiresMs: nowMs + OFFER_LIFE_MS,
      },
      {
        atomic: toAtomic(amountMillionths, token),
        reservedUntilMs: nowMs + RESERVED_MS,
        offersMax: OFFERS_MAX,
        uniqueMax: UNIQUE_OFFERS_MAX,
        usableUntilMs: nowMs + OFFER_LEFT_MS_MIN,
      },
      { actor: `account:${accountId}`, nowMs },
    )
    if (opened.kind === 'limit') {
      throw new AppError(
        'offer_limit',
        `An account may have ${OFFERS_MAX} unpaid offers of the last half hour, ${UNIQUE_OFFERS_MAX} of them to other wallets than its own. Pay one that has not expired, or wait.`,
        { reason: 'offer_limit', retryAction: 'wait_and_retry' },
      )
    }
    if (opened.kind === 'no_amount') {
      throw unavailableError(
        'Too many offers of this tier to other wallets are open. Try again later, or pay with the wallet of your account.',
        'wait_and_retry',
      )
    }
    const other = anotherPeriod ? undefined : payments.findUndecidedPayment({ accountId })
    return toQuote(options, opened.offer, other)
  }
}

function toQuote(options: BillingOptions, offer: Offer, inFlight?: Payment): Quote {
  const { accountId, terms, periodDays: days } = offer
  const periods = paidPeriods(options.ledger.listSubscriptions(accountId))
  return {
    offer,
    paymentRequired: toPaymentRequired(options, offer),
    startMs: bookPeriod(periods, { terms, days, nowMs: options.clock() }).startMs,
    inFlight,
  }
}

/** An offer of the account, whichever server has made it; throws `unknown_offer`. */
export async function findOwnOffer(
  { ledger }: BillingOptions,
  { accountId }: Pick<Caller, 'accountId'>,
  id: string,
): Promise<Offer> {
  const offer = await ledger.atomically(({ payments }) => payments.findOffer(id))
  if (offer?.accountId === accountId) return offer
  throw unknownOfferError('You have no such offer. Request one with POST /v1/billing/x402/quote.')
}

/** The quote of an unpaid offer. Throws `offer_used`, `offer_expired`. */
export function toUnpaidQuote(options: BillingOptions, offer: Offer): Quote {
  const { payments } = options.ledger
  const { id: offerId, accountId } = offer
  if (payments.isOfferTaken(offerId)) throw usedOfferError()
  if (payments.findUndecidedPayment({ accountId, offerId })) throw heldOfferError()
  if (options.clock() >= offer.expiresMs) throw expiredOfferError()
  return toQuote(options, offer)
}

/**
 * Throws `payment_limit`. Not called for a payment that the chain has accepted, which must be
 * honoured.
 */
export function assertFewFailed({ ledger, clock }: BillingOptions, offer: Offer): void {
  const failed = ledger.payments.countFailedPayments(offer, clock() - FAILED_WITHIN_MS)
  if (failed.ofOffer >= FAILED_OF_OFFER_MAX) {
    const { id: offerId, accountId } = offer
    const held = ledger.payments.findUndecidedPayment({ accountId, offerId })
    const next = held
      ? 'Find out why, then submit one of those again: they may still be made. Sign no other.'
      : 'Find out why, then request a new offer with POST /v1/billing/x402/quote.'
    throw new AppError(
      'payment_limit',
      `${FAILED_OF_OFFER_MAX} payments for this offer have failed. This one was not sent. ${next}`,
      { reason: 'offer_payments', retryAction: held ? 'wait_and_retry' : 'sign_anew' },
    )
  }
  if (failed.ofAccount < FAILED_OF_ACCOUNT_MAX) return
  throw new AppError(
    'payment_limit',
    `${FAILED_OF_ACCOUNT_MAX} payments of your account have failed within an hour. This one was not sent. Find out why, and submit it later.`,
    { reason: 'account_payments', retryAction: 'wait_and_retry' },
  )
}

function findProduct({ listTiers }: BillingOptions, tierId: string) {
  const tier = listTiers().find((candidate) => candidate.tierId === tierId)
  if (!tier) {
    throw new AppError('unknown_tier', 'There is no such tier. GET /v1/billing/tiers lists them.', {
      param: 'tierId',
    })
  }
  const { isForSale, amountMillionths = 0, periodDays } = tier
  if (isForSale && amountMillionths > 0 && periodDays !== undefined) {
    return { terms: termsOf(tier), amountMillionths, periodDays }
  }
  throw new AppError(
    'tier_not_for_sale',
    `The tier ${tier.name} is not for sale here.${tier.contact === undefined ? '' : ` ${tier.contact}`}`,
    { param: 'tierId' },
  )
}

function findToken(
  { chains }: BillingOptions,
  { network, token: symbol }: { network: string; token: string },
) {
  const sold = chains.find(({ chain }) => chain.network === network)
  const token = sold?.chain.tokens.find((candidate) => candidate.symbol === symbol)
  if (sold && token) return { sold, token }
  const param = sold ? 'token' : 'network'
  throw new AppError(
    `unknown_${param}`,
    `This ${param} is not accepted. GET /v1/billing/x402/chains lists what is.`,
    { param },
  )
}

/**
 * The requirements that a wallet signs, without the amount; `extra` is returned with the payment.
 */
export const toRequirements = (
  { payTo }: Pick<BillingOptions, 'payTo'>,
  network: Network,
  token: PaymentToken,
  extra: Record<string, string>,
): Omit<PaymentRequirements, 'amount'> => ({
  scheme: 'exact',
  network,
  asset: token.address,
  payTo,
  maxTimeoutSeconds: PAYMENT_TIMEOUT_SECONDS,
  // Without a domain none is named: a client that sees one would sign a permit in a form that the
  // token does not support. The payment is settled before the response is sent.
  extra: {
    ...(token.domain ?? { assetTransferMethod: 'permit2' }),
    paymentFlow: 'upfront',
    ...extra,
  },
})

/** Converts a price of the catalogue to atomic units of a token. */
export const toAtomic = (millionths: number, { decimals }: PaymentToken): bigint =>
  BigInt(millionths) * 10n ** BigInt(decimals - CATALOGUE_DECIMALS)
