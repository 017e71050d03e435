import { describe, expect, test } from 'bun:test'

import { createClientAddress, createNetworkSet, type Network } from '#src/platform/network.ts'

const proxies: Network[] = [
  { address: '10.0.0.0', bits: 8, family: 'ipv4' },
  { address: '::1', bits: 128, family: 'ipv6' },
]

const addressOf = (peer: string | null, forwarded?: string, trusted = proxies): string => {
  const headers = new Headers(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded })
  const peers = { requestIP: () => (peer === null ? null : { address: peer }) }
  return createClientAddress(createNetworkSet(trusted))(
    new Request('http://x/', { headers }),
    peers,
  )
}

describe('createClientAddress', () => {
  test.each([
    ['the peer itself', '192.0.2.1', undefined, '192.0.2.1'],
    ['a header from anybody else is not believed', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
    ['a proxy is believed', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['what a caller wrote in front is not', '10.0.0.1', '1.1.1.1, 198.51.100.7', '198.51.100.7'],
    ['a chain of proxies', '10.0.0.1', '1.1.1.1, 198.51.100.7, 10.9.9.9', '198.51.100.7'],
    ['only proxies: the farthest', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['a proxy without the header', '10.0.0.1', undefined, '10.0.0.1'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['rubbish: the proxy answers for it', '10.0.0.1', '198.51.100.7, <script>', '10.0.0.1'],
    ['the proxy inside IPv6', '::ffff:10.0.0.1', '2001:db8::5', '2001:db8:0:0::/64'],
    ['the proxy on loopback', '::1', '198.51.100.7', '198.51.100.7'],
    ['a proxy that writes ports', '10.0.0.1', '198.51.100.7:5555', '198.51.100.7'],
    ['also of IPv6', '10.0.0.1', '[2001:db8::5]:5555', '2001:db8:0:0::/64'],
    ['a connection that is gone', null, '198.51.100.7', 'unknown'],
  ])('default: %s', (...[, peer, forwarded, expected]) => {
    expect(addressOf(peer, forwarded)).toBe(expected)
  })

  test('behavior: without configured proxies the header means nothing', () => {
    expect(addressOf('10.0.0.1', '198.51.100.7', [])).toBe('10.0.0.1')
  })
})
