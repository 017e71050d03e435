/** Stable, documented codes (docs/errors.md). They are public API: renaming one breaks clients. */
export const errorCodes = {
  invalid_parameter: { status: 400, title: 'Invalid parameter' },
  invalid_request: { status: 400, title: 'Invalid request' },
  challenge_invalid: { status: 400, title: 'Invalid sign-in message' },
  signature_invalid: { status: 400, title: 'Invalid signature' },
  cursor_invalid: { status: 400, title: 'Invalid cursor' },
  cursor_mismatch: { status: 400, title: 'Cursor belongs to another query' },
  payment_invalid: { status: 400, title: 'Invalid payment payload' },
  unauthenticated: { status: 401, title: 'Missing or invalid API key' },
  payment_required: { status: 402, title: 'Payment required' },
  payment_rejected: { status: 402, title: 'Payment rejected' },
  tier_coin: { status: 403, title: 'Coin not in your tier' },
  tier_route: { status: 403, title: 'Route not in your tier' },
  link_invalid: { status: 403, title: 'Link not valid' },
  operator_only: { status: 403, title: 'Operator only' },
  not_found: { status: 404, title: 'Not found' },
  unknown_coin: { status: 404, title: 'Unknown coin' },
  unknown_market: { status: 404, title: 'Unknown market' },
  no_snapshot: { status: 404, title: 'No snapshot at that time' },
  stale: { status: 404, title: 'Snapshot too old' },
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
  payment_conflict: { status: 409, title: 'Payment belongs to another offer' },
  payment_in_review: { status: 409, title: 'Payment under review' },
  key_replaced: { status: 409, title: 'Key already replaced' },
  key_limit: { status: 409, title: 'Too many keys' },
  offer_expired: { status: 410, title: 'Offer expired' },
  allowance_required: { status: 412, title: 'Allowance required' },
  file_replaced: { status: 410, title: 'File replaced by a revision' },
  challenge_expired: { status: 410, title: 'Sign-in message expired' },
  payload_too_large: { status: 413, title: 'Body too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  range_not_satisfiable: { status: 416, title: 'Range not satisfiable' },
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
  /** Where the successor of a replaced file is. */
  replacedBy?: string
  /** The reason why a payment is not possible; a code of docs/payments.md. */
  reason?: string
  retryAction?: RetryAction
  paymentRequired?: unknown
  paymentResponse?: PaymentFailure
  /** Sent as a `WWW-Authenticate` header, not in the body: the payment to sign, as a challenge. */
  authenticate?: string | undefined
  /** Sent as a `Content-Range` header, not in the body: the file's length (RFC 9110, 15.5.17). */
  contentRange?: string
}

/** The SettleResponse of x402 v2 for a payment that was not settled. */
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

/** Reason and action for a payment that cannot be parsed: it will never be accepted. */
export const unsoundPayment = { reason: 'payload_invalid', retryAction: 'sign_anew' } as const

/** A failure that the caller can act on. `message` is sent to the caller unchanged. */
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

/** `Retry-After` for a dependency that may recover soon. */
export const SOON_SECONDS = 2

/** True if a retry may succeed soon without any change by the caller. */
export const isPassing = (error: unknown): boolean =>
  error instanceof AppError && error.extras.retryAfterSeconds === SOON_SECONDS

export const isDamaged = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'damaged'

/** Returns the result of a read, or undefined if the data is damaged, which others report. */
export function ifSound<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (isDamaged(error)) return undefined
    throw error
  }
}

/** Returns the result of a read, or undefined if it fails with an error meant for callers. */
export function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}
