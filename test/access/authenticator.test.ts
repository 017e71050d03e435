import { describe, expect, test } from 'bun:test'

import { createApiKey, digestOf, hintOf, KEY_LENGTH } from '#src/domain/selling/api-key.ts'
import type { ApiKey, Ledger } from '#src/ledger/ledger.ts'

import { addKey, createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'

const by = { actor: 'operator', nowMs: NOW_MS } as const
const path = '/v1/btc/markets'

function createServer() {
  const harness = createHarness()
  const key = addKey(harness.ledger, 'pro')
  const { id } = harness.ledger.findKeyByDigest(digestOf(key)) as ApiKey
  const statusOf = async (token: string | undefined) => (await harness.sendAs(token, path)).status
  return { ...harness, key, id, statusOf }
}

/** A ledger that counts how often a key is looked up. */
function count(ledger: Ledger) {
  let lookups = 0
  const findKeyByDigest = (digest: Uint8Array) => {
    lookups++
    return ledger.findKeyByDigest(digest)
  }
  return { counting: { ...ledger, findKeyByDigest }, lookups: () => lookups }
}

/** What an answer says apart from its request id and the state of its window. */
async function withoutTraces(response: Response) {
  const { requestId: _, ...body } = await readProblem(response)
  const headers = [...response.headers].filter(
    ([name]) => !/ratelimit|request-id|content-length/.test(name),
  )
  return { status: response.status, body, headers }
}

describe('authenticate', () => {
  test('default: a revoked key is refused from the next request on', async () => {
    const { ledger, key, id, statusOf } = createServer()
    expect(await statusOf(key)).toBe(200)
    await ledger.revokeKey(id, by)
    expect(await statusOf(key)).toBe(401)
  })

  test('default: a key ends at its expiry, exclusive, though it was cached before', async () => {
    const { ledger, key, id, statusOf, advance } = createServer()
    await ledger.expireKey(id, NOW_MS + 5000, by)
    expect(await statusOf(key)).toBe(200)
    advance(4999)
    expect(await statusOf(key)).toBe(200)
    advance(1)
    expect(await statusOf(key)).toBe(401)
  })

  test('behavior: a tier ends with its subscription, and a change of the catalogue is in force at once', async () => {
    const { ledger, sendAs, advance } = createServer()
    const key = addKey(ledger, undefined)
    const { accountId } = ledger.findKeyByDigest(digestOf(key)) as ApiKey
    const limitOf = async () => (await sendAs(key, path)).headers.get('x-ratelimit-limit')
    expect(await limitOf()).toBe('10')
    const period = { startMs: NOW_MS, endMs: NOW_MS + 10_000 }
    await ledger.addSubscription({ id: 'sub_1', accountId, tierId: 'starter', ...period }, by)
    expect(await limitOf()).toBe('60')
    const [, starter] = ledger.listTiers()
    if (starter) await ledger.putTier({ ...starter, requestsPerMinute: 61 }, by)
    expect(await limitOf()).toBe('61')
    advance(10_000)
    expect(await limitOf()).toBe('10')
  })

  test('behavior: what was bought stays as it was when the catalogue changes', async () => {
    const { ledger, sendAs } = createServer()
    const key = addKey(ledger, undefined)
    const { accountId } = ledger.findKeyByDigest(digestOf(key)) as ApiKey
    const pro = ledger.listTiers().find(({ tierId }) => tierId === 'pro')
    if (!pro) throw new Error('No pro tier.')
    const { tierId, name, rank, coins, routes, requestsPerMinute } = pro
    const terms = { tierId, name, rank, coins, routes, requestsPerMinute }
    await ledger.addSubscription(
      { id: 'sub_1', accountId, tierId, terms, startMs: 0, paymentId: 'pay_1' },
      by,
    )
    await ledger.putTier({ ...pro, coins: ['btc'], requestsPerMinute: 1 }, by)
    const response = await sendAs(key, '/v1/sol/markets')
    expect([response.status, response.headers.get('x-ratelimit-limit')]).toEqual([200, '300'])
  })

  test('error: missing, malformed, mistyped, unknown and revoked keys get the same answer', async () => {
    const { ledger, key, id, sendAs, app } = createServer()
    await ledger.revokeKey(id, by)
    const unknown = createApiKey((length) => crypto.getRandomValues(new Uint8Array(length)))
    const mistyped = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`
    const tokens = [
      undefined,
      '',
      'x',
      key,
      unknown,
      mistyped,
      key.toUpperCase(),
      `${key}0`,
      key.slice(1),
    ]
    const answers = await Promise.all(tokens.map((token) => sendAs(token, path)))
    for (const authorization of [
      'Bearer',
      'Basic eDp5',
      key,
      `Token ${key}`,
      `Bearer ${key} ${key}`,
    ]) {
      answers.push(
        await app.fetch(new Request(`http://localhost${path}`, { headers: { authorization } })),
      )
    }
    const [first, ...rest] = await Promise.all(answers.slice(0, 10).map(withoutTraces))
    expect(first).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
    expect(first?.headers).toContainEqual(['www-authenticate', 'Bearer'])
    for (const answer of rest) expect(answer).toEqual(first as NonNullable<typeof first>)
  })

  test.each(['bearer', 'BEARER', 'Bearer  '])(
    'behavior: the scheme %p has no case',
    async (scheme) => {
      const { app, key } = createServer()
      const headers = { authorization: `${scheme} ${key}` }
      const response = await app.fetch(new Request(`http://localhost${path}`, { headers }))
      expect(response.status).toBe(200)
    },
  )

  test('behavior: brute force: a mistyped key asks the ledger nothing, and an address has ten tries', async () => {
    const { ledger, app } = createServer()
    const { counting, lookups } = count(ledger)
    const watched = createHarness({ ledger: counting })
    const peers = { requestIP: () => ({ address: '192.0.2.9' }) }
    const passed: number[] = []
    for (let index = 0; index < 500; index++) {
      const authorization = `Bearer bf_live_${String(index).padStart(KEY_LENGTH - 8, '0')}`
      const request = new Request(`http://localhost${path}`, { headers: { authorization } })
      passed.push((await watched.app.fetch(request, peers)).status)
    }
    expect(lookups()).toBe(0)
    expect(passed.filter((status) => status === 401)).toHaveLength(10)
    expect(passed.filter((status) => status === 429)).toHaveLength(490)
    expect(app).toBeDefined()
  })

  test('behavior: a key used a thousand times is looked up once', async () => {
    const { ledger, key } = createServer()
    const { counting, lookups } = count(ledger)
    const watched = createHarness({ ledger: counting })
    for (let index = 0; index < 200; index++) await watched.sendAs(key, path)
    expect(lookups()).toBe(1)
  })

  test('behavior: a key counts as unknown once the newest state of the ledger was read', async () => {
    const { ledger, key, id } = createServer()
    let isNew = false
    let calls = 0
    const late = {
      ...ledger,
      findKeyByDigest: (digest: Uint8Array) => (isNew ? ledger.findKeyByDigest(digest) : undefined),
    }
    const pull = async (): Promise<void> => {
      calls++
      isNew = true
    }
    const behindSince = () => undefined
    const { sendAs } = createHarness({ ledger: late, ledgerCopy: { pull, behindSince } })
    expect([(await sendAs(key, path)).status, calls]).toEqual([200, 1])
    expect([(await sendAs(key, path)).status, calls]).toEqual([200, 1])
    // Nothing is asked for what is no key.
    expect([(await sendAs('none', path)).status, calls]).toEqual([401, 1])
    await ledger.revokeKey(id, by)
    expect([(await sendAs(key, path)).status, calls]).toEqual([401, 2])

    const unreachable = createHarness({
      ledger,
      ledgerCopy: { pull: () => Promise.reject(new Error('No answer.')), behindSince },
    })
    expect((await unreachable.sendAs(key, path)).status).toBe(503)
  })

  test('error: a ledger that fails lets nothing of /v1 pass, and leaves the rest alone', async () => {
    const { ledger, key } = createServer()
    const fail = (): never => {
      throw new Error('secret disk fault')
    }
    const broken = createHarness({ ledger: { ...ledger, findKeyByDigest: fail } })
    const response = await broken.sendAs(key, path)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    const text = await response.text()
    expect(text).not.toContain('secret')
    expect(broken.lines.join('')).toContain('secret disk fault')
    expect((await broken.sendAs(key, '/healthz')).status).toBe(200)
    expect(hintOf(key)).toHaveLength(4)
  })
})
