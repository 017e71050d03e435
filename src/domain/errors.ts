/** Stable, documented codes (docs/errors.md). Rename one and clients break: this is public API. */
export const errorCodes = {
  invalid_parameter: { status: 400, title: 'Invalid parameter' },
  invalid_request: { status: 400, title: 'Invalid request' },
  challenge_invalid: { status: 400, title: 'Sign-in message not valid' },
  signature_invalid: { status: 400, title: 'Signature not valid' },
  cursor_invalid: { status: 400, title: 'Cursor not valid' },
  cursor_mismatch: { status: 400, title: 'Cursor belongs to another query' },
  payment_invalid: { status: 400, title: 'Payment payload not valid' },
  unauthenticated: { status: 401, title: 'API key missing or not valid' },
  payment_required: { status: 402, title: 'Payment required' },
  payment_rejected: { status: 402, title: 'Payment not possible' },
  tier_coin: { status: 403, title: 'Coin not in your tier' },
  tier_route: { status: 403, title: 'Route not in your tier' },
  operator_only: { status: 403, title: 'For the operator alone' },
  not_found: { status: 404, title: 'Not found' },
  unknown_coin: { status: 404, title: 'Unknown coin' },
  unknown_market: { status: 404, title: 'Unknown market' },
  no_snapshot: { status: 404, title: 'Nothing recorded by then' },
  stale: { status: 404, title: 'Nothing recent enough' },
  unknown_tier: { status: 404, title: 'Unknown tier' },
  unknown_network: { status: 404, title: 'Unknown network' },
  unknown_token: { status: 404, title: 'Unknown token' },
  unknown_offer: { status: 404, title: 'Unknown offer' },
  unknown_payment: { status: 404, title: 'Unknown payment' },
  unknown_file: { status: 404, title: 'Unknown file' },
  unknown_key: { status: 404, title: 'Unknown key' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  market_conflict: { status: 409, title: 'Snapshot contradicts its market' },
  challenge_used: { status: 409, title: 'Sign-in message already used' },
  tier_not_for_sale: { status: 409, title: 'Tier not for sale' },
  offer_limit: { status: 409, title: 'Too many open offers' },
  payment_limit: { status: 409, title: 'Too many failed payments' },
  offer_used: { status: 409, title: 'Offer already in use' },
  payment_conflict: { status: 409, title: 'Payment belongs elsewhere' },
  payment_in_review: { status: 409, title: 'Payment is being looked at' },
  key_replaced: { status: 409, title: 'Key already replaced' },
  key_limit: { status: 409, title: 'Too many keys' },
  offer_expired: { status: 410, title: 'Offer expired' },
  allowance_required: { status: 412, title: 'Allowance required' },
  challenge_expired: { status: 410, title: 'Sign-in message expired' },
  payload_too_large: { status: 413, title: 'Body too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  range_not_satisfiable: { status: 416, title: 'Range beyond the end' },
  idempotency_mismatch: { status: 422, title: 'Idempotency-Key used for another request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  too_many_streams: { status: 429, title: 'Too many streams at once' },
  sanctioned: { status: 451, title: 'Unavailable for legal reasons' },
  internal: { status: 500, title: 'Internal error' },
  damaged: { status: 503, title: 'Stored data is damaged' },
  signup_closed: { status: 503, title: 'Signup is closed' },
  billing_unavailable: { status: 503, title: 'Billing unavailable' },
  screening_unavailable: { status: 503, title: 'Screening temporarily unavailable' },
  storage_unavailable: { status: 503, title: 'Storage unavailable' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
} as const
export type ErrorCode = keyof typeof errorCodes

export type ErrorExtras = {
  param?: string
  retryAfterSeconds?: number
  requiredTier?: string
  /** Why a payment is not possible; a code of docs/payments.md. */
  reason?: string
  retryAction?: RetryAction
  paymentRequired?: unknown
  paymentResponse?: PaymentFailure
  /** Of a header, not of the body: the same to be signed, as a challenge of `WWW-Authenticate`. */
  authenticate?: string | undefined
  /** Of a header, not of the body: how long the file is (RFC 9110, 15.5.17). */
  contentRange?: string
}

/** The SettleResponse of x402 v2 where nothing was settled. */
export type PaymentFailure = {
  success: false
  errorReason: string
  payer?: string
  transaction: ''
  network: string
}

export const retryActions = [
  'sign_anew',
  'retry_same_payment',
  'poll',
  'approve_then_retry',
  'wait_and_retry',
  'abandon',
  'ask_operator',
] as const
export type RetryAction = (typeof retryActions)[number]

/** Of a payment that cannot be understood: the same one will never be taken. */
export const unsoundPayment = { reason: 'payload_invalid', retryAction: 'sign_anew' } as const

/** A failure that the caller can act on. `message` is shown to the caller as it is. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly extras: ErrorExtras

  constructor(code: ErrorCode, message: string, options: ErrorOptions & ErrorExtras = {}) {
    const { cause, ...extras } = options
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AppError'
    this.code = code
    this.extras = extras
  }
}

export const parameterError = (param: string, message: string): AppError =>
  new AppError('invalid_parameter', message, { param })

/** `Retry-After` of what another machine may answer soon. */
export const SOON_SECONDS = 2

/** Whether another try in a moment may succeed, although nothing was changed meanwhile. */
export const isPassing = (error: unknown): boolean =>
  error instanceof AppError && error.extras.retryAfterSeconds === SOON_SECONDS

export const isDamaged = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'damaged'

/** What a read returns; undefined where it meets damage, which is served as such elsewhere. */
export function ifSound<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (isDamaged(error)) return undefined
    throw error
  }
}

/** What a read returns; undefined where it fails with an error for callers. */
export function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}
