import { describe, expect, test } from 'bun:test'

import { createNetworkSet, parseNetwork, subscriberOf } from '#src/platform/network.ts'

describe('parseNetwork', () => {
  test.each([
    ['10.0.0.0/8', { address: '10.0.0.0', bits: 8, family: 'ipv4' }],
    ['10.1.2.3', { address: '10.1.2.3', bits: 32, family: 'ipv4' }],
    ['::1', { address: '::1', bits: 128, family: 'ipv6' }],
    ['fd00::/8', { address: 'fd00::', bits: 8, family: 'ipv6' }],
    ['0.0.0.0/0', { address: '0.0.0.0', bits: 0, family: 'ipv4' }],
  ] as const)('default: reads %s', (text, network) => expect(parseNetwork(text)).toEqual(network))

  test.each([
    '',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0/8',
    '10.0.0.0/-1',
    '10.0.0.0/1e1',
    'host',
  ])('error: %p is none', (text) => expect(parseNetwork(text)).toBeUndefined())
})

describe('createNetworkSet', () => {
  const isIn = createNetworkSet([
    { address: '10.0.0.0', bits: 8, family: 'ipv4' },
    { address: 'fd00::', bits: 8, family: 'ipv6' },
  ])

  test.each([
    ['10.255.0.1', true],
    ['11.0.0.1', false],
    ['fd12::1', true],
    ['fe80::1', false],
    ['::ffff:10.0.0.1', true],
    ['', false],
    ['unknown', false],
  ])('default: %p is in it: %p', (address, expected) => expect(isIn(address)).toBe(expected))

  test('behavior: nothing is in an empty one', () => {
    expect(createNetworkSet([])('127.0.0.1')).toBe(false)
  })
})

describe('subscriberOf', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
  ])('default: %s stands for %s', (address, subscriber) => {
    expect(subscriberOf(address)).toBe(subscriber)
  })

  test.each(['', 'unknown', '192.0.2', '192.0.2.7:80', '1.2.3.4, 5.6.7.8', '[::1]'])(
    'error: %p is no address',
    (address) => expect(subscriberOf(address)).toBeUndefined(),
  )
})
