import type { components } from './api.ts'

/** The server's problem document (RFC 9457); docs/errors.md describes each code. */
export type Problem = components['schemas']['Problem']
/** Error codes of the server. New ones may be added. */
export type ServerCode = Problem['code']
/**
 * Error codes of the client: the server did not answer (`no_answer`), or not as documented
 * (`unexpected_answer`); a stream broke too often (`connection_lost`); the runtime has no WebSocket
 * (`no_websocket`); a row does not fit the book (`book_broken`); a download differs from what was sent (`digest_mismatch`); a payment was not
 * made (`payment_failed`), or may still be made and must not be signed again (`payment_unknown`).
 */
export type ClientCode =
  | 'no_answer'
  | 'unexpected_answer'
  | 'connection_lost'
  | 'no_websocket'
  | 'book_broken'
  | 'digest_mismatch'
  | 'payment_failed'
  | 'payment_unknown'
export type ErrorCode = ServerCode | ClientCode

type Facts = Omit<Partial<Problem>, 'code' | 'detail'> & { cause?: unknown }

/** Any failure of this client, except an abort by your own signal. Branch on `code`. */
export class BookfeedError extends Error {
  override readonly name = 'BookfeedError'
  readonly code: ErrorCode
  /** HTTP status of the response; 0 if there was none. */
  readonly status: number
  /** The problem document, or as much of it as was received: `retryAction`, `paymentRequired`, … */
  readonly problem: Facts

  constructor(code: ErrorCode, detail: string, { cause, ...problem }: Facts = {}) {
    super(detail, { cause })
    this.code = code
    this.status = problem.status ?? 0
    this.problem = problem
  }

  /** The parameter that was refused. */
  get param(): string | undefined {
    return this.problem.param
  }

  /** Quote it when you report a problem. */
  get requestId(): string | undefined {
    return this.problem.requestId
  }

  /** Seconds after which the server asks to retry, if it does. */
  get retryAfterSeconds(): number | undefined {
    return this.problem.retryAfterSeconds
  }

  /** The lowest tier that includes the request. */
  get requiredTier(): string | undefined {
    return this.problem.requiredTier
  }

  /** True if the same request may succeed later: no answer, 429, or a temporary 5xx. */
  get isPassing(): boolean {
    if (this.code === 'damaged' || this.code === 'signup_closed') return false
    return this.code === 'no_answer' || this.status === 429 || this.status >= 500
  }
}

/** Reads the error in a response. */
export async function errorOf(response: Response): Promise<BookfeedError> {
  const { status, headers } = response
  const text = await response.text()
  if (headers.get('content-type')?.startsWith('application/problem+json')) {
    const { code, detail, ...facts } = JSON.parse(text) as Problem
    return new BookfeedError(code, detail, facts)
  }
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const wait = Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}
  const detail = `The server answered ${status}: ${text.slice(0, 200)}`
  return new BookfeedError('unexpected_answer', detail, { status, ...wait })
}
