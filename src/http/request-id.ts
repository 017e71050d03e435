import { KEY_PREFIX } from '#src/selling/api-key.ts'

export const REQUEST_ID_HEADER = 'X-Request-Id'

const acceptable = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Takes over the caller's id if it is harmless in a log and a header,
 * and no key; otherwise mints one.
 */
export function requestIdOf(request: Request, mint: () => string): string {
  const sent = request.headers.get('x-request-id')
  return sent !== null && acceptable.test(sent) && !sent.includes(KEY_PREFIX)
    ? sent
    : `req_${mint()}`
}
