import type { components } from './api.ts'

/** The problem document of the server (RFC 9457); what each code means is in docs/errors.md. */
export type Problem = components['schemas']['Problem']
/** What a server answers. New ones may be added. */
export type ServerCode = Problem['code']
/**
 * What the client says itself: the server did not answer (`no_answer`), or not as documented
 * (`unexpected_answer`); a stream broke too often (`connection_lost`); this runtime has no
 * WebSocket (`no_websocket`); a download is not what was sent (`digest_mismatch`); a payment ended
 * unpaid, or may still arrive and must not be signed again (`payment_failed`, `payment_unknown`).
 */
export type ClientCode =
  | 'no_answer'
  | 'unexpected_answer'
  | 'connection_lost'
  | 'no_websocket'
  | 'digest_mismatch'
  | 'payment_failed'
  | 'payment_unknown'
export type ErrorCode = ServerCode | ClientCode

type Facts = Omit<Partial<Problem>, 'code' | 'detail'> & { cause?: unknown }

/** Every failure of this client but an abort by your own signal. Branch on `code`. */
export class BookfeedError extends Error {
  override readonly name = 'BookfeedError'
  readonly code: ErrorCode
  /** Of the answer; 0 where there was none. */
  readonly status: number
  /** The problem document, or as much of one as there was: `retryAction`, `paymentRequired`, … */
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

  /** To be quoted when you report something. */
  get requestId(): string | undefined {
    return this.problem.requestId
  }

  /** Seconds, where the server said when to come back. */
  get retryAfterSeconds(): number | undefined {
    return this.problem.retryAfterSeconds
  }

  /** The lowest tier that includes what was asked for. */
  get requiredTier(): string | undefined {
    return this.problem.requiredTier
  }

  /** Whether the same request may succeed later: no answer, 429, and 5xx that pass. */
  get isPassing(): boolean {
    if (this.code === 'damaged' || this.code === 'signup_closed') return false
    return this.code === 'no_answer' || this.status === 429 || this.status >= 500
  }
}

/** Reads the failure that a response states. */
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
