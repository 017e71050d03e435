/** Where a request comes from, as far as that can be believed. */
import { subscriberOf } from '#src/lib/network.ts'

import type { PeerSource } from './gate.ts'

/** Of a request whose connection is gone, and of one that never had any. */
const UNKNOWN = 'unknown'

/**
 * Names a caller by its IPv4 address, or its IPv6 network of `bits` (a /64). `X-Forwarded-For` is
 * read from the right, as far as trusted proxies wrote it.
 */
export const createClientAddress =
  (isTrusted: (address: string) => boolean) =>
  (request: Request, peers: PeerSource | undefined, bits?: number): string => {
    let address = peers?.requestIP(request)?.address ?? ''
    if (isTrusted(address)) {
      for (const hop of hopsOf(request).reverse()) {
        // What is no address says nothing: the proxy that passed it on answers for it.
        if (subscriberOf(hop) === undefined) break
        address = hop
        if (!isTrusted(address)) break
      }
    }
    return subscriberOf(address, bits) ?? UNKNOWN
  }

const hopsOf = ({ headers }: Request): string[] =>
  headers
    .get('x-forwarded-for')
    ?.split(',')
    .map((hop) => withoutPort(hop.trim())) ?? []

/** Some proxies write `192.0.2.1:5555` and `[2001:db8::1]:5555`. */
const withoutPort = (hop: string): string =>
  /^\[([^\]]+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
