/**
 * Headers of every response: its id, the caller's window, and leave for pages of other origins.
 * Browsers may call from any page: a key travels in a header that only the page's own code can set,
 * and there are no cookies that a foreign page could ride on.
 */
import { KEY_PREFIX } from '#src/domain/selling/api-key.ts'
import type { RateState } from '#src/domain/selling/caller.ts'

export const REQUEST_ID_HEADER = 'X-Request-Id'
/** Every header is sent with every page. */
const ID_LENGTH = 16

/** The caller's id if it is harmless in a log and a header, and no key; otherwise a new one. */
export function requestIdOf(request: Request, createId: () => string): string {
  const sent = request.headers.get('x-request-id')
  const isTaken = sent !== null && /^[\w.-]{1,64}$/.test(sent) && !sent.includes(KEY_PREFIX)
  return isTaken ? sent : `req_${createId().slice(0, ID_LENGTH)}`
}

export const TRACE_HEADER = 'traceparent'
/** W3C Trace Context: version, trace, span, flags; a later version may have more. */
const trace =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[\w-]*)?$/
const TRACE_LENGTH_MAX = 128
const TRACE_LENGTH = 55

/** What a request is part of, as its caller says; undefined for what is not valid. */
export function traceOf({ headers }: Request): string | undefined {
  const sent = headers.get(TRACE_HEADER)
  if (sent === null || sent.length > TRACE_LENGTH_MAX || !trace.test(sent)) return undefined
  // Only later versions have more.
  return sent.startsWith('00') && sent.length > TRACE_LENGTH ? undefined : sent
}

const TRACE_AT = 3
const SPAN_AT = 36
const FLAGS_AT = 53
const SPAN_BYTES = 8

/**
 * What a call of ours is part of: the caller's trace, of which the call is a span of its own.
 * Undefined without a valid trace. `randomBytes` returns so many.
 */
export function continueTrace(
  request: Request,
  randomBytes: (length: number) => Uint8Array,
): string | undefined {
  const trace = traceOf(request)
  if (trace === undefined) return undefined
  const span = randomBytes(SPAN_BYTES).toHex()
  // A client that does not know a later version continues in this one.
  return `00-${trace.slice(TRACE_AT, SPAN_AT)}${span}-${trace.slice(FLAGS_AT, TRACE_LENGTH)}`
}

export const RATE_WINDOW_MS = 60_000
const MS_PER_SECOND = 1000
const WINDOW_SECONDS = { minute: 60, day: 86_400 }

/**
 * Reports a window of which `leftMs` are left at `nowMs` on the wall clock: three headers of the
 * specification, and one of the IETF's draft (draft-ietf-httpapi-ratelimit-headers), which says the
 * same.
 */
export function writeRateHeaders(
  headers: Headers,
  { limit, remaining, window = 'minute' }: RateState,
  { leftMs, nowMs }: { leftMs: number; nowMs: number },
): void {
  headers.set('X-RateLimit-Limit', String(limit))
  headers.set('X-RateLimit-Remaining', String(remaining))
  headers.set('X-RateLimit-Reset', String(Math.ceil((nowMs + leftMs) / MS_PER_SECOND)))
  headers.set('RateLimit', `"${window}";r=${remaining};t=${toSeconds(leftMs)}`)
}

/** The draft's other header, on refusals only: every page would carry it otherwise. */
export function writeRatePolicy(headers: Headers, { limit, window = 'minute' }: RateState): void {
  headers.set('RateLimit-Policy', `"${window}";q=${limit};w=${WINDOW_SECONDS[window]}`)
}

/** Whole seconds after which the window is over: waiting exactly so long is enough. */
export const toSeconds = (leftMs: number): number => Math.max(1, Math.ceil(leftMs / MS_PER_SECOND))

const exposed =
  'Accept-Ranges, Bookfeed-Mode, Content-Disposition, Content-Encoding, Content-Range, ETag, Idempotent-Replayed, Location, PAYMENT-REQUIRED, PAYMENT-RESPONSE, RateLimit, RateLimit-Policy, Repr-Digest, Retry-After, WWW-Authenticate, X-Coverage, X-Export-Id, X-Next-Cursor, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Resume-Cursor, traceparent'
/** What a 402 has of them: its headers must be short. */
const exposedOfDemand =
  'PAYMENT-REQUIRED, PAYMENT-RESPONSE, RateLimit, RateLimit-Policy, WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, traceparent'
/** Clients of x402 send `Access-Control-Expose-Headers` with a payment; X-PAYMENT is of its v1. */
const allowed =
  'Access-Control-Expose-Headers, Authorization, Bookfeed-Fault, Content-Type, Idempotency-Key, If-None-Match, If-Range, Last-Event-ID, MCP-Protocol-Version, PAYMENT-SIGNATURE, Range, X-PAYMENT, X-Request-Id, traceparent'
const PREFLIGHT_SECONDS = '86400'

/** Lets a page of any origin read a response and our headers; requests without an `Origin` need nothing. */
export function writeCorsHeaders(
  request: Request,
  { status, headers }: Pick<Response, 'status' | 'headers'>,
): void {
  if (!request.headers.has('origin')) return
  headers.set('Access-Control-Allow-Origin', '*')
  headers.set('Access-Control-Expose-Headers', status === 402 ? exposedOfDemand : exposed)
  // Sent on every answer that may be kept, so that no cache gives a page another origin's answer.
  if (!headers.has('vary')) headers.set('Vary', 'Origin')
}

/** True for the question that a browser asks before a request; it never carries a key. */
export const isPreflight = ({ method, headers }: Request): boolean =>
  method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')

export function writePreflightHeaders(headers: Headers, methods: string): void {
  headers.set('Access-Control-Allow-Methods', methods)
  headers.set('Access-Control-Allow-Headers', allowed)
  headers.set('Access-Control-Max-Age', PREFLIGHT_SECONDS)
}
