/** Stable, documented codes (docs/errors.md). Rename one and clients break: this is public API. */
export const errorCodes = {
  invalid_parameter: { status: 400, title: 'Invalid parameter' },
  invalid_request: { status: 400, title: 'Invalid request' },
  cursor_invalid: { status: 400, title: 'Cursor not valid' },
  cursor_mismatch: { status: 400, title: 'Cursor belongs to another query' },
  not_found: { status: 404, title: 'Not found' },
  unknown_coin: { status: 404, title: 'Unknown coin' },
  unknown_market: { status: 404, title: 'Unknown market' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  market_conflict: { status: 409, title: 'Snapshot contradicts its market' },
  internal: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
} as const
export type ErrorCode = keyof typeof errorCodes

/** Documented members that a code may add to its problem document. */
export type ErrorExtras = { param?: string; retryAfterSeconds?: number }

/** A failure that the caller can understand and act on. `message` is shown to the caller as it is. */
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
