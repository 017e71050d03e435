/** IP addresses and networks, and a request's client address as far as proxies are trusted. */
import { BlockList, isIP } from 'node:net'

/** A network such as 10.0.0.0/8; a single address has all its bits. */
export type Network = { address: string; bits: number; family: 'ipv4' | 'ipv6' }

export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefix, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0 || address.includes('%')) return undefined
  const max = version === 4 ? 32 : 128
  const bits = prefix === undefined ? max : Number(/^\d{1,3}$/.test(prefix) ? prefix : Number.NaN)
  return bits <= max ? { address, bits, family: version === 4 ? 'ipv4' : 'ipv6' } : undefined
}

/** Parses `a, b`. */
export function parseNetworks(text: string): readonly Network[] | undefined {
  const networks = text.split(',').flatMap((part) => {
    const trimmed = part.trim()
    return trimmed === '' ? [] : [parseNetwork(trimmed)]
  })
  return networks.every((network) => network !== undefined) ? networks : undefined
}

/** Creates a test for membership in any of the networks; false for a text that is no address. */
export function createNetworkSet(networks: readonly Network[]): (address: string) => boolean {
  const list = new BlockList()
  for (const { address, bits, family } of networks) list.addSubnet(address, bits, family)
  return (address) => {
    const version = isIP(address)
    return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
  }
}

const isLoopbackNetwork = createNetworkSet([
  { address: '127.0.0.0', bits: 8, family: 'ipv4' },
  { address: '::1', bits: 128, family: 'ipv6' },
])

/** Also true for a loopback IPv4 address inside IPv6. */
export const isLoopbackAddress = (address: string): boolean =>
  isLoopbackNetwork(address) || isLoopbackNetwork(subscriberOf(address) ?? '')

/**
 * The subscriber that an address identifies: the IPv4 address, also inside IPv6, or the IPv6
 * network of `bits`, a multiple of 16. Undefined for a text that is no address.
 */
export function subscriberOf(address: string, bits = 64): string | undefined {
  const version = isIP(address)
  if (version === 4) return address
  if (version === 0) return undefined
  const groups = expand(address.split('%')[0] ?? '')
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return [groups[6] ?? 0, groups[7] ?? 0].map((g) => `${g >> 8}.${g & 0xff}`).join('.')
  }
  return `${groups
    .slice(0, bits / 16)
    .map((group) => group.toString(16))
    .join(':')}::/${bits}`
}

/** The eight groups of a valid IPv6 address. URL parsing rewrites a dotted ending as two groups. */
function expand(address: string): number[] {
  const { hostname } = new URL(`http://[${address}]`)
  const [head = '', tail = ''] = hostname.slice(1, -1).split('::')
  const left = toGroups(head)
  const right = toGroups(tail)
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right]
}

const toGroups = (text: string): number[] =>
  text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))

type Peers = { requestIP(request: Request): { address: string } | null }

/** The address of a request whose connection is closed or never existed. */
const UNKNOWN = 'unknown'

/**
 * Names a client by its IPv4 address, or its IPv6 network of `bits` (a /64). `X-Forwarded-For` is
 * read from the right, as far as trusted proxies wrote it.
 */
export const createClientAddress =
  (isTrusted: (address: string) => boolean) =>
  (request: Request, peers: Peers | undefined, bits?: number): string => {
    let address = peers?.requestIP(request)?.address ?? ''
    if (isTrusted(address)) {
      for (const hop of hopsOf(request).reverse()) {
        // An invalid hop says nothing: the client is then the proxy that forwarded it.
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

/** Removes the port: some proxies write `192.0.2.1:5555` and `[2001:db8::1]:5555`. */
const withoutPort = (hop: string): string =>
  /^\[([^\]]+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
