/** The errors of refused payments, with the reason and what the payer should do next. */
import { AppError, type RetryAction } from '#src/domain/errors.ts'
import { findPaidChain } from '#src/domain/selling/payment-chain.ts'
import {
  isReleasedOffer,
  type Offer,
  type Payment,
  type SignedPayment,
} from '#src/domain/selling/payment.ts'
import { count } from '#src/platform/count.ts'

import type { BillingOptions, PaymentRequired } from './billing.ts'
import type { Moment } from './chain-clock.ts'
import { SEAL } from './sealed-offer.ts'

const RETRY_SECONDS = 10
const SCREENING_RETRY_SECONDS = 60

const retrySame = (reason: string) => ({ reason, retryAction: 'retry_same_payment' }) as const

/** Nothing was sent, or nothing more will be: the same payment may be submitted again. */
export function unavailableError(message: string, action?: RetryAction): AppError {
  const { reason, retryAction } = retrySame('unavailable')
  const extras = { retryAfterSeconds: RETRY_SECONDS, reason, retryAction: action ?? retryAction }
  return new AppError('billing_unavailable', message, extras)
}

/** The error before the chain was asked, while it is unknown if the payment succeeded. */
export const unaskedError = (): AppError =>
  unavailableError(
    'The chain does not answer just now. Submit the same payment again, and sign no other.',
  )

/**
 * The error of a payment that is no longer sent; if the payer has submitted it, it may be mined
 * until its time is over. `drift` describes a difference between the clocks of server and chain.
 */
export function tooLateError(
  { validBefore }: Pick<SignedPayment, 'validBefore'>,
  { moment, offer, drift }: { moment: Moment; offer: Offer; drift: string | undefined },
): AppError {
  const seconds = Math.max(0, Math.ceil(Number(validBefore) - moment.chainMs / 1000))
  const isReleased = isReleasedOffer(offer)
  const why = isReleased
    ? 'The operator has released the quote of this payment, so it is not sent.'
    : 'It is too late to send this payment.'
  const sentences = [
    why,
    'Someone else may have sent it, and it is void only when the chain says so. Submit the same payment again, and sign no other.',
    ...(drift === undefined ? [] : [drift]),
  ]
  return new AppError('billing_unavailable', sentences.join(' '), {
    retryAfterSeconds: seconds + RETRY_SECONDS,
    ...retrySame(isReleased ? 'offer_released' : 'expires_too_soon'),
  })
}

export const unscreenedError = (): AppError =>
  new AppError(
    'screening_unavailable',
    'The paying address could not be screened. Submit the same payment again, and sign no other.',
    { retryAfterSeconds: SCREENING_RETRY_SECONDS, ...retrySame('screening_unavailable') },
  )

export const conflictError = (message: string): AppError =>
  new AppError('payment_conflict', message, { reason: 'conflict', retryAction: 'abandon' })

export const expiredOfferError = (): AppError =>
  new AppError(
    'offer_expired',
    'The offer has expired. Request a new one with POST /v1/billing/x402/quote. If you have sent a payment for it yourself, submit that again once it is mined.',
    { reason: 'offer_expired', retryAction: 'sign_anew' },
  )

export const usedOfferError = (): AppError =>
  new AppError(
    'offer_used',
    'Another payment for this offer is on its way or was made, so this one was not accepted. Do not pay again: GET /v1/billing/payments shows it.',
    { reason: 'offer_used', retryAction: 'abandon' },
  )

/** The error of an offer with a payment that was not sent, and that its payer may still submit. */
export const heldOfferError = (): AppError =>
  new AppError(
    'offer_used',
    'A payment for this offer was rejected, but it can still be made. Submit that one again, and sign no other for this offer. GET /v1/billing/payments shows it.',
    retrySame('offer_used'),
  )

export const unknownOfferError = (message: string, retryAction: RetryAction = 'sign_anew') =>
  new AppError('unknown_offer', message, { reason: 'unknown_offer', retryAction })

/** `x402` is the reason in x402 v2. Without an action, the payer should sign another payment. */
type Refusal = { message: string; retryAction?: RetryAction; x402: string }

const VALID_BEFORE = 'invalid_exact_evm_payload_authorization_valid_before'
const INVALID_STATE = 'invalid_transaction_state'

const refusals: Readonly<Record<string, Refusal>> = {
  recipient_mismatch: {
    message: 'The recipient of the payment is not that of the offer.',
    x402: 'invalid_exact_evm_payload_recipient_mismatch',
  },
  expires_too_soon: {
    message:
      'The payment expired before it could be sent. No money moved, and none can move any more.',
    x402: VALID_BEFORE,
  },
  expires_too_late: {
    message:
      'The payment stays valid for more than 24 hours, so it was not sent, but it can still be made. Cancel its nonce on the chain, then submit it again: it is then void, and you can sign another. Sign no other until then.',
    retryAction: 'wait_and_retry',
    x402: VALID_BEFORE,
  },
  not_yet_valid: {
    message:
      'The payment is not valid yet: its validAfter is after the clock of this server. Submit it again then, and sign no other.',
    retryAction: 'wait_and_retry',
    x402: 'invalid_exact_evm_payload_authorization_valid_after',
  },
  signature_invalid: {
    message: 'The signature does not match this payment and its payer. Nothing was sent.',
    x402: 'invalid_exact_evm_payload_signature',
  },
  insufficient_balance: {
    message: 'The paying account holds less than the amount. Nothing was sent.',
    retryAction: 'wait_and_retry',
    x402: 'insufficient_funds',
  },
  payer_blocked: {
    message: 'The issuer of the token has blocked this account. Nothing was sent.',
    retryAction: 'abandon',
    x402: INVALID_STATE,
  },
  canceled: {
    message: 'The payer canceled the payment on the chain before it was made.',
    x402: INVALID_STATE,
  },
  expired: {
    message: 'The payment expired before it was made. No money moved, and none can move any more.',
    x402: VALID_BEFORE,
  },
}

const unknownRefusal: Refusal = {
  message: 'The payment cannot be made; no money moved.',
  x402: 'unexpected_settle_error',
}

/**
 * The error of a payment that will not arrive. It includes a challenge only if signing again helps.
 */
export function rejectedError(
  deps: Pick<BillingOptions, 'origin' | 'clock' | 'ledger'>,
  { reason, signed, offer }: { reason: string; signed: SignedPayment; offer: Offer },
): AppError {
  const { message, x402: errorReason, ...refusal } = refusals[reason] ?? unknownRefusal
  const { id: offerId, accountId } = offer
  // No other payment is requested while one for the offer may still succeed.
  const held = deps.ledger.payments.findUndecidedPayment({ accountId, offerId })
  const retryAction = refusal.retryAction ?? (held ? 'wait_and_retry' : 'sign_anew')
  const maySign = retryAction === 'sign_anew' && deps.clock() < offer.expiresMs
  const next = maySign ? { paymentRequired: toPaymentRequired(deps, offer, errorReason) } : {}
  const { payer, network } = signed
  const paymentResponse = { success: false, errorReason, payer, transaction: '', network } as const
  const extras = { reason, retryAction, paymentResponse, ...next }
  return new AppError('payment_rejected', message, extras)
}

const APPROVE_SELECTOR = '0x095ea7b3'

export function allowanceError({ signed }: Pick<Payment, 'signed'>, offer: Offer): AppError {
  const spender = findPaidChain(signed.network)?.permit2 ?? signed.nonceContract
  const words = [spender.slice(2).toLowerCase(), signed.amount.toString(16)]
  const data = APPROVE_SELECTOR + words.map((word) => word.padStart(64, '0')).join('')
  return new AppError(
    'allowance_required',
    `Permit2 may not spend ${offer.symbol} of ${signed.payer} yet. Nothing was sent. Approve it once: from that account call approve(${spender}, ${signed.amount}) of ${offer.requirements.asset} (data ${data}), then submit the same payment again.`,
    { reason: 'allowance_required', retryAction: 'approve_then_retry' },
  )
}

export function reviewError(reason = 'review'): AppError {
  const extras = { reason, retryAction: 'ask_operator' } as const
  if (reason === 'sanctioned') {
    const message = 'The paying address is on a sanctions list. The payment is not accepted.'
    return new AppError('sanctioned', message, extras)
  }
  const message = 'The operator has to review this payment. Do not pay again.'
  return new AppError('payment_in_review', message, extras)
}

/** The challenge of an offer; `error` explains why the submitted payment does not pay it. */
export const toPaymentRequired = (
  { origin }: Pick<BillingOptions, 'origin'>,
  offer: Offer,
  error?: string,
): PaymentRequired => ({
  x402Version: 2,
  ...(error === undefined ? {} : { error }),
  resource: {
    url: `${origin()}${toPath(offer)}`,
    description: describe(offer),
    mimeType: 'application/json',
    serviceName: SERVICE_NAME,
  },
  accepts: [offer.requirements],
})

export const SERVICE_NAME = 'Bookfeed'

/** The purchase, in words for people. */
export const describe = ({
  terms,
  periodDays,
  requests,
}: Pick<Offer, 'terms' | 'periodDays' | 'requests'>): string => {
  if (requests === undefined) return `${count(periodDays, 'day')} of the tier ${terms.name}`
  return requests === 1 ? terms.name : count(requests, 'request')
}

/** The path at which an offer is paid. */
function toPath({ requirements, requests, terms: { tierId } }: Offer): string {
  if (!Object.hasOwn(requirements.extra, SEAL)) return '/v1/billing/x402/settle'
  if (requests === 1) return '/v1/btc/markets'
  return `/v1/billing/${requests === undefined ? 'buy' : 'packs'}/${tierId}`
}
