/** Makes offers, and shows again those that nobody has begun to pay. */
import type { Caller } from '#src/core/caller.ts'
import { AppError } from '#src/core/errors.ts'
import { type Offer, OFFER_LIFE_MS, VALID_BEFORE_MS_MAX } from '#src/core/offer.ts'
import { findChain, type PaymentChain, type PaymentToken } from '#src/core/payment-chain.ts'
import { type Terms, termsOf } from '#src/core/tier.ts'

import type { Availability } from './availability.ts'
import type { Billing, BillingDeps, Quote } from './billing.ts'
import { refuseExpiredOffer, refuseUnavailable, refuseUsedOffer } from './refusals.ts'
import { toPaymentRequired, toRequirements } from './requirements.ts'
import { paymentInFlight } from './settlement.ts'

/** Each offer keeps an amount of its price from everybody else for a day. */
export const OFFERS_MAX = 20
/** More than an account can hand in while one offer may be signed. */
const PAYMENTS_LOOKED_AT = 500
/** Of the amounts in the catalogue: millionths. */
const CATALOGUE_DECIMALS = 6

type Wish = { tierId: string; network: string; token: string }
type Sale = { terms: Terms; amountMicros: number; periodDays: number }
type Where = { chain: PaymentChain; token: PaymentToken }

/** Creates what sells: see `Billing`. */
export function createOffers(
  deps: BillingDeps,
  availability: Availability,
): Pick<Billing, 'quote' | 'challenge'> {
  const toQuote = (offer: Offer): Quote => ({
    offer,
    paymentRequired: toPaymentRequired(deps, offer),
    inFlight: paymentInFlight(deps, offer.accountId),
  })
  return {
    async quote(caller, wish) {
      const sale = findSale(deps, wish.tierId)
      const where = findToken(wish)
      const reason = availability.reasonOf(where.chain, where.token)
      if (reason !== undefined)
        throw refuseUnavailable(`${wish.token} cannot be paid with: ${reason}`, 'wait_and_retry')
      const head = await deps.chain?.head(0)
      if (!head)
        throw refuseUnavailable('The chain does not answer just now. Try again.', 'wait_and_retry')
      // The newest block: what is in it or before it was not paid for this offer.
      return toQuote(makeOffer(deps, caller, { ...where, sale, fromBlock: head.latestNumber }))
    },

    challenge(caller, offerId) {
      const offer = deps.ledger.payments.findOffer(offerId)
      if (offer?.accountId !== caller.accountId) throw refuseUnknownOffer()
      if (isPaid(deps, offer)) throw refuseUsedOffer()
      if (deps.clock() >= offer.expiresMs) throw refuseExpiredOffer()
      return toQuote(offer)
    },
  }
}

const refuseUnknownOffer = (): AppError =>
  new AppError(
    'unknown_offer',
    'You have no such offer. Ask for one: POST /v1/billing/x402/quote.',
    { reason: 'unknown_offer', retryAction: 'sign_anew' },
  )

/** True if a payment of the offer is on its way, made, or being looked at. */
export function isPaid({ ledger }: Pick<BillingDeps, 'ledger'>, { id, accountId }: Offer): boolean {
  return ledger.payments
    .listPayments({ accountId, limit: PAYMENTS_LOOKED_AT })
    .some(({ offerId, state }) => offerId === id && state !== 'rejected' && state !== 'void')
}

function findSale({ listTiers }: BillingDeps, tierId: string): Sale {
  const tier = listTiers().find((candidate) => candidate.tierId === tierId)
  if (!tier) {
    throw new AppError('unknown_tier', 'There is no such tier. GET /v1/billing/tiers lists them.', {
      param: 'tierId',
    })
  }
  const { isForSale, amountMicros = 0, periodDays } = tier
  if (isForSale && amountMicros > 0 && periodDays !== undefined) {
    return { terms: termsOf(tier), amountMicros, periodDays }
  }
  throw new AppError(
    'tier_not_for_sale',
    `The tier ${tier.name} is not for sale here.${tier.contact === undefined ? '' : ` ${tier.contact}`}`,
    { param: 'tierId' },
  )
}

function findToken({ network, token: symbol }: Wish): Where {
  const chain = findChain(network)
  if (!chain) throw refuseUnknown('unknown_network', 'network')
  const token = chain.tokens.find((candidate) => candidate.symbol === symbol)
  if (!token) throw refuseUnknown('unknown_token', 'token')
  return { chain, token }
}

const refuseUnknown = (code: 'unknown_network' | 'unknown_token', param: string) =>
  new AppError(
    code,
    `This ${param} is not one of those that can be paid with. GET /v1/billing/x402/chains lists them.`,
    { param },
  )

/** Synchronous from the count on, so that parallel calls cannot exceed the limit. */
function makeOffer(
  { ledger, clock, mint, payTo }: BillingDeps,
  { accountId }: Caller,
  { chain, token, sale, fromBlock }: Where & { sale: Sale; fromBlock: number },
): Offer {
  const nowMs = clock()
  if (ledger.payments.countReservedOffers(accountId, nowMs) >= OFFERS_MAX) throw refuseMore()
  const id = `quote_${mint()}`
  const expiresMs = nowMs + OFFER_LIFE_MS
  const { terms, periodDays, amountMicros } = sale
  const requirements = toRequirements({ chain, token }, { payTo, quoteId: id })
  const { symbol, method, decimals } = token
  const offer = ledger.payments.openOffer(
    { id, accountId, terms, periodDays, symbol, method, requirements, fromBlock, expiresMs },
    {
      atomic: BigInt(amountMicros) * 10n ** BigInt(decimals - CATALOGUE_DECIMALS),
      reservedUntilMs: expiresMs + VALID_BEFORE_MS_MAX,
    },
    { actor: `account:${accountId}`, nowMs },
  )
  if (!offer) {
    const message = 'Too many offers of this tier are open just now. Try later.'
    throw refuseUnavailable(message, 'wait_and_retry')
  }
  return offer
}

const refuseMore = () =>
  new AppError(
    'offer_limit',
    `You have ${OFFERS_MAX} unpaid offers, each of which keeps its amount for a day. Pay one that has not expired, or wait.`,
    { reason: 'offer_limit', retryAction: 'wait_and_retry' },
  )
