/**
 * Chains, offers and payments as the payer sees them, without the payload, which holds a signature.
 */
import type { Static } from '@sinclair/typebox'

import type { ChainStatus, Quote, SalesState, Settlement } from '#src/billing/billing.ts'
import { formatMillionths } from '#src/domain/decimal.ts'
import type { RetryAction } from '#src/domain/errors.ts'
import type { Credit } from '#src/domain/selling/credit.ts'
import {
  findPaidChain,
  type PaymentChain,
  type PaymentToken,
} from '#src/domain/selling/payment-chain.ts'
import {
  isUndecided,
  type Offer,
  type Payment,
  type PaymentState,
} from '#src/domain/selling/payment.ts'
import type { Subscription } from '#src/domain/selling/subscription.ts'
import { type Pack, streamsMaxOf, type Tier } from '#src/domain/selling/tier.ts'
import { toIso, toIsoOrNull } from '#src/domain/time.ts'
import { assert } from '#src/platform/assert.ts'

import type {
  ActiveBody,
  BoughtBody,
  ChainBody,
  CreditBody,
  PackBody,
  PaymentBody,
  PendingBody,
  PeriodBody,
  QuoteBody,
  ReceiptBody,
  TierBody,
} from './schema.ts'

type Status = ReceiptBody['status']

/** A tier that is for sale cannot be bought while sales are paused. */
export const toTierBody = (tier: Tier, { state, sinceMs }: SalesState): TierBody => ({
  id: tier.tierId,
  tierId: tier.tierId,
  name: tier.name,
  coins: [...tier.coins],
  routes: [...tier.routes],
  requestsPerMinute: tier.requestsPerMinute,
  concurrentStreams: streamsMaxOf(tier),
  priceUsdc: tier.amountMillionths === undefined ? null : formatMillionths(tier.amountMillionths),
  periodDays: tier.periodDays ?? null,
  isForSale: tier.isForSale,
  contact: tier.contact ?? null,
  pausedSince: tier.isForSale && state === 'paused' ? toIsoOrNull(sinceMs) : null,
})

const toChainFacts = ({ network, name, chainId, explorer, finality }: PaymentChain) => {
  return { network, name, chainId, explorer, finality }
}

const toTokenFacts = ({ symbol, name, address, decimals, method, domain }: PaymentToken) => ({
  symbol,
  name,
  address,
  decimals,
  transferMethod: method,
  eip712Domain: domain === undefined ? null : { name: domain.name, version: domain.version },
})

export const toChainBody = ({ chain, tokens }: ChainStatus): ChainBody => ({
  ...toChainFacts(chain),
  tokens: tokens.map(({ token, reason }) => ({
    ...toTokenFacts(token),
    enabled: reason === undefined,
    reason: reason ?? null,
  })),
})

export function toQuoteBody({ offer, paymentRequired, startMs, inFlight }: Quote): QuoteBody {
  const { requirements, terms, periodDays, symbol } = offer
  const { network } = requirements
  return {
    quoteId: offer.id,
    expiresAt: toIso(offer.expiresMs),
    paymentRequirements: requirements,
    paymentRequired: { ...paymentRequired, accepts: [...paymentRequired.accepts] },
    payer: offer.payer ?? null,
    tier: { tierId: terms.tierId, name: terms.name, periodDays },
    startsAt: toIso(startMs),
    chain: toChainFacts(requireChain(network)),
    token: toTokenFacts(requireToken(network, symbol)),
    ...(inFlight ? { paymentInFlight: toInFlight(inFlight) } : {}),
  }
}

const meanings: Record<PaymentState, { status: Status; retryAction?: RetryAction }> = {
  received: { status: 'pending', retryAction: 'retry_same_payment' },
  screened: { status: 'pending', retryAction: 'retry_same_payment' },
  settling: { status: 'pending', retryAction: 'poll' },
  pending: { status: 'pending', retryAction: 'poll' },
  unknown: { status: 'pending', retryAction: 'poll' },
  settled: { status: 'pending', retryAction: 'poll' },
  provisioned: { status: 'active' },
  rejected: { status: 'failed', retryAction: 'wait_and_retry' },
  void: { status: 'failed', retryAction: 'sign_anew' },
  review: { status: 'review', retryAction: 'ask_operator' },
}

/** The action for the payer in place of signing again, which would fail or pay twice. */
const actionsByReason: Readonly<Record<string, RetryAction>> = {
  offer_used: 'abandon',
  payer_blocked: 'abandon',
  insufficient_balance: 'wait_and_retry',
  allowance_required: 'approve_then_retry',
  // A forged signature cannot move money, so signing again is safe.
  signature_invalid: 'sign_anew',
}

/**
 * Reasons that the payer can act on: not those of a facilitator, nor those that pass by themselves.
 */
const isOfPayer = (reason: string | undefined): reason is string =>
  reason !== undefined && Object.hasOwn(actionsByReason, reason)

/** The next step for the payer of a payment that did not succeed. */
function findNextAction({ state, reason = '' }: Payment): RetryAction | undefined {
  const { status, retryAction } = meanings[state]
  return status === 'failed' ? (actionsByReason[reason] ?? retryAction) : retryAction
}

export const toStatus = ({ payment }: Settlement): Status => meanings[payment.state].status

/** Path of the payment, without a host: the server may be reached under several names. */
export const toPollUrl = ({ id }: Payment): string => `/v1/billing/x402/payments/${id}`

export function toActive(settled: Settlement): ActiveBody {
  const { subscription } = settled
  assert(subscription !== undefined, 'A provisioned payment has a period.')
  return { status: 'active', subscription: toPeriod(subscription), settlement: toProof(settled) }
}

/** Body of a payment that may still succeed. */
export function toPending({ payment }: Settlement): PendingBody {
  assert(isUndecided(payment), 'A pending payment may still succeed.')
  return {
    status: 'pending',
    paymentId: payment.id,
    paymentState: payment.state,
    ...(isOfPayer(payment.reason) ? { reason: payment.reason } : {}),
    retryAction: findNextAction(payment) ?? 'poll',
    pollUrl: toPollUrl(payment),
    authorizationExpiresAt: toIso(Number(payment.signed.validBefore) * 1000),
  }
}

export const toPackBody = (pack: Pack): Static<typeof PackBody> => ({
  id: pack.tierId,
  name: pack.name,
  requests: pack.requests,
  coins: [...pack.coins],
  routes: [...pack.routes],
  requestsPerMinute: pack.requestsPerMinute,
  priceUsdc: formatMillionths(pack.amountMillionths ?? 0),
  isForSale: pack.isForSale,
})

export const toCreditBody = ({
  id,
  terms,
  requests,
  used,
  createdMs,
}: Credit): Static<typeof CreditBody> => ({
  paymentId: id,
  packId: terms.tierId,
  name: terms.name,
  requests,
  used,
  boughtAt: toIso(createdMs),
})

/** The account may belong to another wallet: only its owner sees more than the purchase. */
export function toBoughtBody(
  settled: Settlement,
  { key, isOwn }: { key: string | undefined; isOwn: boolean },
): Static<typeof BoughtBody> {
  const { payment, offer, subscription, credit } = settled
  const { payer } = payment.signed
  const { terms, periodDays, requests } = offer
  return {
    status: 'active',
    product: {
      id: terms.tierId,
      name: terms.name,
      ...(requests === undefined ? { periodDays } : { requests }),
    },
    subscription: isOwn && subscription ? toPeriod(subscription) : null,
    requests: isOwn && credit ? toCreditBody(credit) : null,
    key: key ?? null,
    howToGetKey: isOwn
      ? null
      : `The purchase belongs to the account of the wallet ${payer}. Its owner gets a key for free by signing a message: POST /v1/keys/challenge with {"address":"${payer}"} returns the message.`,
    settlement: toProof(settled),
  }
}

const toInFlight = (payment: Payment) => ({
  paymentId: payment.id,
  paymentState: payment.state,
  pollUrl: toPollUrl(payment),
})

export function toPaymentBody(settlement: Settlement): PaymentBody {
  const { payment } = settlement
  const { state, reason } = payment
  const { status } = meanings[state]
  const common = { paymentId: payment.id, paymentState: state, ...(reason ? { reason } : {}) }
  if (status === 'active' && settlement.credit) {
    const requests = toCreditBody(settlement.credit)
    return { ...common, status, requests, settlement: toProof(settlement) }
  }
  if (status === 'active') return { ...common, ...toActive(settlement) }
  if (status === 'pending') return { ...common, ...toPending(settlement) }
  const action = findNextAction(payment)
  return { ...common, status, ...(action ? { retryAction: action } : {}) }
}

export function toSettleResponse({ payment }: Settlement) {
  const { payer, network, amount } = payment.signed
  const transaction = findTransaction(payment) ?? ''
  return { success: true, payer, transaction, network, amount: amount.toString() }
}

export function toReceipt(settlement: Settlement): ReceiptBody {
  const { payment, offer, subscription } = settlement
  const transaction = findTransaction(payment)
  return {
    paymentId: payment.id,
    quoteId: offer.id,
    status: toStatus(settlement),
    paymentState: payment.state,
    reason: payment.reason ?? null,
    tier: toSold(offer),
    subscription: subscription ? toPeriod(subscription) : null,
    ...toAmounts(settlement),
    token: offer.symbol,
    network: payment.signed.network,
    payer: payment.signed.payer,
    transaction: transaction ?? null,
    explorerUrl: transaction ? toExplorerUrl(payment, transaction) : null,
    createdAt: toIso(payment.createdMs),
    updatedAt: toIso(payment.updatedMs),
  }
}

function toSold({ terms, periodDays, requests }: Offer): ReceiptBody['tier'] {
  const { tierId, name } = terms
  return { tierId, name, periodDays, ...(requests === undefined ? {} : { requests }) }
}

export const toPeriod = ({ id, tierId, startMs, endMs, paymentId }: Subscription): PeriodBody => ({
  id,
  tierId,
  startsAt: toIso(startMs),
  endsAt: toIsoOrNull(endMs),
  paymentId: paymentId ?? null,
})

function toProof(settlement: Settlement): ActiveBody['settlement'] {
  const { payment, offer } = settlement
  const transaction = findTransaction(payment)
  assert(transaction !== undefined, 'A provisioned payment is on the chain.')
  const { network, payer } = payment.signed
  const explorerUrl = toExplorerUrl(payment, transaction)
  const paid = { token: offer.symbol, ...toAmounts(settlement) }
  return { paymentId: payment.id, transaction, network, ...paid, payer, explorerUrl }
}

/** The transaction that paid; before it is confirmed, the one expected to. */
const findTransaction = ({ proof, txHash }: Payment): string | undefined => proof?.txHash ?? txHash

const toExplorerUrl = ({ signed }: Payment, transaction: string): string =>
  `${requireChain(signed.network).explorer}/tx/${transaction}`

function toAmounts({ payment, offer }: Settlement): { amount: string; amountUsd: string } {
  const { network, amount } = payment.signed
  const { decimals } = requireToken(network, offer.symbol)
  return { amount: amount.toString(), amountUsd: formatAtomic(amount, decimals) }
}

function requireChain(network: string) {
  const chain = findPaidChain(network)
  assert(chain !== undefined, 'Offers are made on known chains only.')
  return chain
}

function requireToken(network: string, symbol: string): PaymentToken {
  const token = requireChain(network).tokens.find((each) => each.symbol === symbol)
  assert(token !== undefined, 'Offers are made in known tokens only.')
  return token
}

function formatAtomic(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, '0')
  const split = digits.length - decimals
  const fraction = digits.slice(split).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, split) : `${digits.slice(0, split)}.${fraction}`
}
