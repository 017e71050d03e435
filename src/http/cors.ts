/**
 * Browsers may call from any page: a key travels in a header that only the page's own code can set,
 * and there are no cookies that a foreign page could ride on.
 */

const exposed = [
  'Content-Disposition',
  'Content-Encoding',
  'ETag',
  'Idempotent-Replayed',
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Coverage',
  'X-Export-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'X-Resume-Cursor',
].join(', ')

const allowed = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'PAYMENT-SIGNATURE',
  'X-Request-Id',
].join(', ')

const MAX_AGE_SECONDS = '86400'

/** Lets a page of any origin read a response and our headers; without an `Origin` nobody asks. */
export function writeCorsHeaders(request: Request, headers: Headers): void {
  if (!request.headers.has('origin')) return
  headers.set('Access-Control-Allow-Origin', '*')
  headers.set('Access-Control-Expose-Headers', exposed)
  // What may be kept says so to everybody, so that no cache gives a page the answer to somebody
  // else.
  if (!headers.has('vary')) headers.set('Vary', 'Origin')
}

/** True for the question that a browser asks before a request; it never carries a key. */
export const isPreflight = ({ method, headers }: Request): boolean =>
  method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')

/** Adds to the answer of OPTIONS what a browser may send. */
export function writePreflightHeaders(headers: Headers, methods: string): void {
  headers.set('Access-Control-Allow-Methods', methods)
  headers.set('Access-Control-Allow-Headers', allowed)
  headers.set('Access-Control-Max-Age', MAX_AGE_SECONDS)
}
