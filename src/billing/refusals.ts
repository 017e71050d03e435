/** What a payer is told when a payment is not taken, and what to do next. */
import { AppError, type RetryAction } from '#src/core/errors.ts'
import type { Offer } from '#src/core/offer.ts'
import { findChain } from '#src/core/payment-chain.ts'
import type { Payment, SignedPayment } from '#src/core/payment.ts'

import type { PaymentRequired } from './billing.ts'

const RETRY_SECONDS = 10
const SCREENING_RETRY_SECONDS = 60

/** Nothing was sent, or nothing more will be: the same payment may be handed in again. */
export const refuseUnavailable = (
  message: string,
  retryAction: RetryAction = 'retry_same_payment',
): AppError =>
  new AppError('billing_unavailable', message, {
    retryAfterSeconds: RETRY_SECONDS,
    reason: 'unavailable',
    retryAction,
  })

export const refuseUnscreened = (): AppError =>
  new AppError(
    'screening_unavailable',
    'The paying address could not be screened. Nothing was sent; hand in the same payment again.',
    {
      retryAfterSeconds: SCREENING_RETRY_SECONDS,
      reason: 'screening_unavailable',
      retryAction: 'retry_same_payment',
    },
  )

/** The payment is somebody else's, or its nonce was used for another one. */
export const refuseConflict = (message: string): AppError =>
  new AppError('payment_conflict', message, { reason: 'conflict', retryAction: 'abandon' })

export const refuseExpiredOffer = (): AppError =>
  new AppError(
    'offer_expired',
    'The offer has expired and nothing was sent. Ask for a new one: POST /v1/billing/x402/quote.',
    { reason: 'offer_expired', retryAction: 'sign_anew' },
  )

export const refuseUsedOffer = (): AppError =>
  new AppError(
    'offer_used',
    'Another payment for this offer is on its way or was made. This one was not sent.',
    { reason: 'offer_used', retryAction: 'abandon' },
  )

type Refusal = { message: string; retryAction: RetryAction }

const refusals: Readonly<Record<string, Refusal>> = {
  recipient_mismatch: {
    message: 'The payment is signed for another recipient than the offer has.',
    retryAction: 'sign_anew',
  },
  expires_too_soon: {
    message: 'The payment ends in less than 30 seconds or has ended. Nothing was sent.',
    retryAction: 'sign_anew',
  },
  expires_too_late: {
    message: 'The payment would stay valid for more than 24 hours. Nothing was sent.',
    retryAction: 'sign_anew',
  },
  not_yet_valid: {
    message: 'The payment is not valid yet: its validAfter lies ahead of the clock of this server.',
    retryAction: 'wait_and_retry',
  },
  signature_invalid: {
    message: 'The signature is not one of this payment by the account that pays. Nothing was sent.',
    retryAction: 'sign_anew',
  },
  insufficient_balance: {
    message: 'The account that pays holds less than the amount. Nothing was sent.',
    retryAction: 'wait_and_retry',
  },
  payer_blocked: {
    message: 'The issuer of the token does not let this account pay. Nothing was sent.',
    retryAction: 'abandon',
  },
  canceled: {
    message: 'The payer canceled the payment on the chain before it was made.',
    retryAction: 'sign_anew',
  },
  expired: {
    message: 'The payment ended before it was made; no money moved and none can any more.',
    retryAction: 'sign_anew',
  },
}

const unknownRefusal: Refusal = {
  message: 'The payment cannot be made; no money moved.',
  retryAction: 'sign_anew',
}

/** A payment that is certain not to arrive; `paymentRequired` is what may be signed instead. */
export function refusePayment(
  reason: string,
  paymentRequired: PaymentRequired | undefined,
): AppError {
  const { message, retryAction } = refusals[reason] ?? unknownRefusal
  const next = paymentRequired === undefined ? {} : { paymentRequired }
  return new AppError('payment_rejected', message, { reason, retryAction, ...next })
}

/** Names the call that the payer has to make, ready to be sent. */
export function refuseAllowance({ signed }: Payment, offer: Offer): AppError {
  const { data, spender } = toApproval(signed)
  return new AppError(
    'allowance_required',
    `Permit2 may not spend ${offer.symbol} of ${signed.payer} yet. Nothing was sent. Approve it once: from that account call approve(${spender}, ${signed.amount}) of ${offer.requirements.asset} (data ${data}), then hand in the same payment again.`,
    { reason: 'allowance_required', retryAction: 'approve_then_retry' },
  )
}

const APPROVE_SELECTOR = '0x095ea7b3'
const WORD_DIGITS = 64

function toApproval({ network, amount, nonceContract }: SignedPayment) {
  const spender = findChain(network)?.permit2 ?? nonceContract
  const words = [spender.slice(2).toLowerCase(), amount.toString(16)]
  const data = APPROVE_SELECTOR + words.map((word) => word.padStart(WORD_DIGITS, '0')).join('')
  return { data, spender }
}

/** What stands in the way of a payment that only the operator can judge. */
export const refuseReview = (reason: string | undefined): AppError =>
  reason === 'sanctioned'
    ? new AppError(
        'sanctioned',
        'The address that pays is on a sanctions list. The payment is not taken.',
        { reason, retryAction: 'ask_operator' },
      )
    : new AppError(
        'payment_in_review',
        'The payment needs the eye of the operator. Do not pay again.',
        { reason: reason ?? 'review', retryAction: 'ask_operator' },
      )
