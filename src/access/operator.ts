/**
 * Identifies the operator, by the operator's token or by a direct request from this machine. A
 * browser on this machine also runs pages of other sites, so cross-origin and proxied requests from
 * loopback need the token.
 */

import { timingSafeEqual } from 'node:crypto'

import { AppError } from '#src/domain/errors.ts'
import { digestOf, tokenOf } from '#src/domain/selling/api-key.ts'
import type { Clock } from '#src/domain/time.ts'
import type { PeerSource } from '#src/http/call.ts'
import type { AssertOperator } from '#src/http/rights.ts'
import { isLoopbackAddress } from '#src/platform/network.ts'
import { createRateWindows } from '#src/platform/rate-windows.ts'

import { RATE_WINDOW_MS, toSeconds } from './limits.ts'

export type OperatorAccess = {
  /** The operator's token; empty if there is none. */
  token: string
  trustsLoopback: boolean
}

/** Wrong tokens per address and minute after which even the right one is refused. */
const FAILURES_MAX = 10
const ADDRESSES_MAX = 20_000
const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i
/**
 * Headers added by proxies and content networks: `Via` and `CDN-Loop`, any form of `Forwarded`, the
 * address of the client (`X-Real-IP`, `Fly-Client-IP`, `X-Azure-ClientIP`,
 * `X-Envoy-External-Address`), the original request (`X-Original-URL`, `X-Rewrite-URL`), and
 * headers that begin with one of these names. No browser or command line tool sends one by itself.
 */
const proxyHeader =
  /^(via|x-varnish|x-cloud-trace-context)$|^(cdn|cf|fly|fastly|cloudfront|akamai|tailscale|x-(original|rewrite|envoy|amzn|arr|azure|akamai|vercel|nf|appengine|appgw))-|forwarded|(client|connecting|external|real|remote|source|user|originating|socket|connection)-?(ip(v[46])?|addr(ess)?)$/

/** Creates the check; it throws `operator_only`, and `rate_limited` after many wrong tokens. */
export function createOperatorCheck({
  token,
  trustsLoopback,
  addressOf,
  timer,
}: OperatorAccess & {
  addressOf: (request: Request, peers: PeerSource | undefined) => string
  timer: Clock
}): AssertOperator {
  const failures = createRateWindows(RATE_WINDOW_MS, ADDRESSES_MAX)
  const expected = digestOf(token)

  function assertToken(sent: string, address: string): void {
    const nowMs = timer()
    const window = failures.find(address, nowMs)
    if (window !== undefined && window.used >= FAILURES_MAX) {
      const retryAfterSeconds = toSeconds(window.endMs - nowMs)
      const text = `Too many wrong tokens from this address. Wait ${retryAfterSeconds} s.`
      throw new AppError('rate_limited', text, { retryAfterSeconds })
    }
    // Digests have equal length, so the time of the comparison reveals nothing about the token.
    if (token !== '' && timingSafeEqual(digestOf(sent), expected)) return
    failures.take(address, FAILURES_MAX, nowMs)
    throw refusal('This is not the token of the operator.')
  }

  return (request, { peers }) => {
    const sent = tokenOf(request.headers.get('authorization'))
    if (sent !== undefined) {
      assertToken(sent, addressOf(request, peers))
      return
    }
    const reason = trustsLoopback
      ? strangerReason(request, peers)
      : 'This server accepts only the token.'
    if (reason !== undefined) throw refusal(reason)
  }
}

const refusal = (reason: string) =>
  new AppError(
    'operator_only',
    `${reason} Only the operator may do this: send the request from this machine, to its loopback address, or send \`Authorization: Bearer\` with the token of BOOKFEED_ADMIN_TOKEN.`,
  )

/**
 * Explains why a request does not come directly from a person at this machine; undefined if it
 * does.
 */
function strangerReason(request: Request, peers: PeerSource | undefined): string | undefined {
  const { headers } = request
  if (!isLoopbackAddress(peers?.requestIP(request)?.address ?? '')) {
    return 'The request comes from another machine.'
  }
  const host = headers.get('host') ?? ''
  // Another domain may resolve to this machine (DNS rebinding).
  if (!loopbackHost.test(host)) return 'The request names another host than this machine.'
  if ([...headers.keys()].some((name) => proxyHeader.test(name)))
    return 'A proxy has forwarded the request.'
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site') ?? 'none'
  const isOwnPage = origin === null || origin.toLowerCase() === `http://${host.toLowerCase()}`
  if (isOwnPage && (site === 'same-origin' || site === 'none')) return undefined
  return 'The request comes from a page of another origin.'
}
