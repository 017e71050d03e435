import { describe, expect, test } from 'bun:test'

import { isLoopback, signupStateOf } from '#src/server/screening.ts'

import { readConfig } from '../support/config.ts'

const exposed = { BOOKFEED_HOST: '0.0.0.0' }
const named = { BOOKFEED_PUBLIC_URL: 'https://api.example.com' }
const closed = { isOpen: false, reason: 'Nobody can be screened.' } as const

describe('signupStateOf', () => {
  test.each([{}, named, { ...exposed, ...named }])(
    'default: %j leaves it to the screening',
    (env: Record<string, string>) => {
      expect(signupStateOf(readConfig(env), { isOpen: true })).toEqual({ isOpen: true })
      expect(signupStateOf(readConfig(env), closed)).toEqual(closed)
    },
  )

  test('behavior: a server that others reach must know its address', () => {
    const state = signupStateOf(readConfig(exposed), { isOpen: true })
    expect(state).toEqual({
      isOpen: false,
      reason: expect.stringContaining('BOOKFEED_PUBLIC_URL'),
    })
  })
})

describe('isLoopback', () => {
  test.each([
    ['127.0.0.1', true],
    ['127.9.9.9', true],
    ['::1', true],
    ['localhost', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['127.0.0.1.example.com', false],
  ])('default: %s is %p', (host, expected) => {
    expect(isLoopback(host)).toBe(expected)
  })
})
