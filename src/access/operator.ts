/**
 * The operator sends the operator's token, or sits at this machine. A browser on this machine shows
 * pages of other sites, too, so cross-origin and proxied requests from loopback need the token.
 */

import { timingSafeEqual } from 'node:crypto'

import { AppError } from '#src/domain/errors.ts'
import { digestOf, tokenOf } from '#src/domain/selling/api-key.ts'
import type { Clock } from '#src/domain/time.ts'
import { RATE_WINDOW_MS, toSeconds } from '#src/http/common-headers.ts'
import type { AssertOperator } from '#src/http/gate.ts'
import type { PeerSource } from '#src/http/visit.ts'
import { isLoopbackAddress } from '#src/platform/network.ts'
import { createRateWindows } from '#src/platform/rate-windows.ts'

export type OperatorAccess = {
  /** Empty where there is none. */
  token: string
  trustsLoopback: boolean
}

/** Wrong tokens of an address in a minute; after these the right one is refused as well. */
const FAILURES_MAX = 10
const ADDRESSES_MAX = 20_000
const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i
/**
 * Names of headers that proxies and content networks add: `Via` and `CDN-Loop`, any form of
 * `Forwarded`, the address of the client (`X-Real-IP`, `Fly-Client-IP`, `X-Azure-ClientIP`,
 * `X-Envoy-External-Address`), what a proxy was asked for (`X-Original-URL`, `X-Rewrite-URL`), and
 * those that begin with the name of one. No browser and no command line tool sends one by itself.
 */
const proxyHeader =
  /^(via|x-varnish|x-cloud-trace-context)$|^(cdn|cf|fly|fastly|cloudfront|akamai|tailscale|x-(original|rewrite|envoy|amzn|arr|azure|akamai|vercel|nf|appengine|appgw))-|forwarded|(client|connecting|external|real|remote|source|user|originating|socket|connection)-?(ip(v[46])?|addr(ess)?)$/

/**
 * Throws `operator_only`, and `rate_limited` after many wrong tokens.
 */
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
    // Digests are equally long: the time says nothing about the token.
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

/** Why a request is not that of a person at this machine; undefined if it is. */
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
