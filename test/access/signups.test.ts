/** What an address may sign up for, whoever asks and with whatever key. */
import { describe, expect, test } from 'bun:test'

import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'
import { asJson, createSigner, readKey } from '../support/signup-client.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const PER_MINUTE = 5
const PER_DAY = 30

/**
 * A server as it is by default, with `ask` from any address, with the
 * key of a high tier or without.
 */
function createRig(config = readConfig({})) {
  const harness = createHarness({ config })
  const sender = (address: string, token?: string) => {
    const peers = { requestIP: () => ({ address }) }
    return (path: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers)
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
      const request = new Request(`http://localhost${path}`, { ...init, headers })
      return Promise.resolve(harness.app.fetch(request, peers))
    }
  }
  /** Signs up wallets of their own until one is refused; the refusal, and how many were not. */
  const signUpAll = async (send: ReturnType<typeof sender>, max = PER_DAY + 1) => {
    for (let made = 0; made < max; made++) {
      const challenge = await send('/v1/keys/challenge', asJson({ address: walletOf(made) }))
      if (challenge.status !== 200) return { made, refused: challenge }
      const { message } = (await challenge.json()) as { message: string }
      const answer = await send('/v1/keys', asJson({ message, signature: '0x00' }))
      if (answer.status === 429) return { made, refused: answer }
    }
    throw new Error('Nothing was refused.')
  }
  return { ...harness, sender, signUpAll }
}

const walletOf = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`

describe('signups of an address', () => {
  test('behavior: 600 wallets with one valid key get as far as one without any', async () => {
    const { sender, signUpAll, key, ledger, advance } = createRig()
    const send = sender('192.0.2.1', key)
    let made = 0
    for (let attempt = 0; attempt < 600; attempt++) {
      const signer = createSigner(send)
      const response = await send('/v1/keys/challenge', asJson({ address: signer.address }))
      if (response.status === 429) continue
      const { message } = (await response.json()) as { message: string }
      const body = { message, signature: await signer.sign(message) }
      await readKey(await send('/v1/keys', asJson(body)))
      made++
    }
    expect([made, ledger.listAddressedAccounts().length]).toEqual([PER_MINUTE, PER_MINUTE])
    // The key's own allowance is no part of it, and no other key helps.
    expect((await send('/v1/btc/markets')).status).toBe(200)
    expect((await signUpAll(sender('192.0.2.1'))).made).toBe(0)
    advance(MINUTE_MS)
    expect((await signUpAll(send)).made).toBe(PER_MINUTE)
  })

  test('behavior: some tens a day, and then a 429 that says when', async () => {
    const { sender, signUpAll, advance } = createRig()
    const send = sender('192.0.2.1')
    let made = 0
    for (let minute = 0; minute < PER_DAY / PER_MINUTE; minute++) {
      const { made: some, refused } = await signUpAll(send)
      made += some
      expect(refused.status).toBe(429)
      advance(MINUTE_MS)
    }
    expect(made).toBe(PER_DAY)
    const { refused } = await signUpAll(send)
    const waitSeconds = Number(refused.headers.get('retry-after'))
    expect(waitSeconds).toBe((DAY_MS - 6 * MINUTE_MS) / 1000)
    expect(refused.headers.get('ratelimit')).toBe(`"day";r=0;t=${waitSeconds}`)
    expect(refused.headers.get('ratelimit-policy')).toBe('"day";q=60;w=86400')
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    const problem = await readProblem(refused)
    expect([problem.code, problem.retryAfterSeconds]).toEqual(['rate_limited', waitSeconds])
    expect(problem.detail).toContain('30 times a day')
    advance(waitSeconds * 1000)
    expect((await signUpAll(send)).made).toBe(PER_MINUTE)
  })

  test('behavior: a /48 is one address, and others are not concerned', async () => {
    const { sender, signUpAll, key } = createRig()
    expect((await signUpAll(sender('2001:db8:7:1::1'))).made).toBe(PER_MINUTE)
    expect((await signUpAll(sender('2001:db8:7:ffff::2', key))).made).toBe(0)
    expect((await signUpAll(sender('2001:db8:8:1::1'))).made).toBe(PER_MINUTE)
    expect((await signUpAll(sender('192.0.2.1'))).made).toBe(PER_MINUTE)
    expect((await signUpAll(sender('::ffff:192.0.2.1'))).made).toBe(0)
  })

  test('behavior: every spelling that reaches the routes is charged', async () => {
    const { sender } = createRig(readConfig({ BOOKFEED_SIGNUPS_PER_DAY: '1' }))
    const send = sender('192.0.2.1')
    const body = asJson({ address: walletOf(1) })
    const paths = ['/v1/keys/challenge/', '/v1/x/../keys/challenge', '/v1/keys/challenge?a=1']
    const statuses = []
    for (const path of paths) statuses.push((await send(path, body)).status)
    expect(statuses).toEqual([200, 200, 429])
  })

  test('behavior: reading keys is no signup', async () => {
    const { sender, signUpAll, key } = createRig()
    const send = sender('192.0.2.1', key)
    await signUpAll(send)
    expect((await send('/v1/keys')).status).toBe(200)
  })
})
