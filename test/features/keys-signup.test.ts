import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import { createWallets } from '#src/chain/wallets.ts'
import { isWellFormedKey } from '#src/domain/selling/api-key.ts'
import type { SignatureCheck } from '#src/domain/selling/wallet.ts'
import { createSteadyClock } from '#src/domain/steady-clock.ts'
import { Challenge, type NewKey } from '#src/features/keys/schema.ts'
import { openLedger } from '#src/ledger/open.ts'

import { readConfig } from '../support/config.ts'
import { clearOf, createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'
import {
  asJson,
  createSigner,
  createSignupRig,
  readKey,
  vouchFor,
} from '../support/signup-client.ts'

const MINUTE_MS = 60_000

/** A time to set, and the clock that a server makes of it. */
function steadyTime() {
  const time = { nowMs: NOW_MS }
  const floor = { get: () => undefined, put() {} }
  const { now } = createSteadyClock({ clock: () => time.nowMs, timer: () => 0, floor })
  return { time, clock: now }
}

/** How a message is changed, and what the refusal says. */
type Change = { found: string | RegExp; put: string; why: string }

/** The keys that were made, and how often each refusal came. */
async function tally(responses: readonly Response[]) {
  const made: NewKey[] = []
  const refused: Record<string, number> = {}
  for (const response of responses) {
    if (response.status === 201) {
      made.push(await readKey(response))
      continue
    }
    const { code } = await readProblem(response)
    refused[code] = (refused[code] ?? 0) + 1
  }
  return { made, refused }
}

describe('POST /v1/keys/challenge', () => {
  test('default: a message for the wallet, good for five minutes, of which nothing is stored', async () => {
    const { send, signer, ledger } = createSignupRig()
    const before = ledger.auditHead()
    const response = await send('/v1/keys/challenge', asJson({ address: signer.address }))
    const body = (await response.json()) as Challenge
    expect([response.status, ...Value.Errors(Challenge, body)]).toEqual([200])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(body.nonce).toMatch(/^[0-9a-f]{64}$/)
    expect(body.expiresAt).toBe(new Date(NOW_MS + 5 * MINUTE_MS).toISOString())
    expect(await createWallets(undefined).readSignIn(body.message)).toEqual({
      domain: '127.0.0.1:3000',
      uri: 'http://127.0.0.1:3000',
      address: expect.stringMatching(new RegExp(`^${signer.address}$`, 'i')),
      statement: 'Sign in to Bookfeed to get an API key. This costs nothing and moves no funds.',
      chainId: 137,
      nonce: body.nonce,
      issuedMs: NOW_MS,
      expiresMs: NOW_MS + 5 * MINUTE_MS,
    })
    expect(ledger.auditHead()).toEqual(before)
  })

  test('behavior: needs no key, and each message is another', async () => {
    const { sendAs } = createSignupRig()
    const signer = createSigner((path, init) => sendAs(undefined, path, init))
    expect(await signer.challenge()).not.toBe(await signer.challenge())
  })

  test.each(['0x', `0x${'1'.repeat(39)}`, `0x${'g'.repeat(40)}`, '1'.repeat(42)])(
    'error: %s is no address',
    async (address) => {
      const response = await createSignupRig().send('/v1/keys/challenge', asJson({ address }))
      const { code, param } = await readProblem(response)
      expect([code, param]).toEqual(['invalid_parameter', 'address'])
    },
  )

  test('error: a parameter in the query is refused', async () => {
    const { send, signer } = createSignupRig()
    const response = await send('/v1/keys/challenge?x=1', asJson({ address: signer.address }))
    expect((await readProblem(response)).param).toBe('x')
  })
})

describe('POST /v1/keys', () => {
  test('default: a key of the Free tier, shown once, that works at once', async () => {
    const { signer, signUp, sendAs, ledger, accountOf } = createSignupRig()
    const response = await signUp(await signer.signed({ label: 'mine' }))
    expect(response.headers.get('cache-control')).toBe('no-store')
    const made = await readKey(response)
    expect(made).toEqual({
      key: expect.any(String),
      id: expect.stringMatching(/^key_\w+$/),
      label: 'mine',
      hint: made.key.slice(-4),
      tier: 'free',
      createdAt: new Date(NOW_MS).toISOString(),
      expiresAt: null,
      address: signer.address,
    })
    expect(isWellFormedKey(made.key)).toBe(true)
    const stored = ledger.findKey(made.id)
    expect([stored?.accountId, stored?.familyId]).toEqual([accountOf()?.id, made.id])
    expect((await sendAs(made.key, '/v1/keys')).status).toBe(200)
    expect([...ledger.verifyAudit()]).toEqual([])
  })

  test('behavior: the same wallet gets another key of the same account', async () => {
    const { signer, ledger, accountOf } = createSignupRig()
    const one = await signer.signUp()
    const two = await signer.signUp()
    expect(one.key).not.toBe(two.key)
    expect(ledger.listKeys(accountOf()?.id)).toHaveLength(2)
  })

  test('behavior: needs no key', async () => {
    const { sendAs } = createSignupRig()
    await createSigner((path, init) => sendAs(undefined, path, init)).signUp()
  })

  const alterations: [string, Change][] = [
    [
      'another domain',
      { found: '127.0.0.1:3000 wants', put: 'evil.example wants', why: 'evil.example' },
    ],
    [
      'another URI',
      { found: 'URI: http://127.0.0.1', put: 'URI: http://evil.example', why: 'The URI is' },
    ],
    ['another chain', { found: 'Chain ID: 137', put: 'Chain ID: 1', why: 'The chain id is "1"' }],
    ['another statement', { found: 'moves no funds', put: 'moves funds', why: 'The statement' }],
    ['no statement', { found: /Sign in to .*\n/, put: '', why: 'The statement' }],
    [
      'another time of issue',
      { found: /Issued At: 2026/, put: 'Issued At: 2027', why: 'time of issue' },
    ],
    [
      'another expiration',
      { found: /Expiration Time: 2026/, put: 'Expiration Time: 2036', why: 'expiration time' },
    ],
    ['no expiration', { found: /\nExpiration Time: .*/, put: '', why: 'expiration time' }],
    ['a made-up nonce', { found: /Nonce: \w+/, put: 'Nonce: 0123456789abcdef', why: 'The nonce' }],
    ['no nonce', { found: /Nonce: \w+\n/, put: '', why: '' }],
    ['another version', { found: 'Version: 1', put: 'Version: 2', why: 'laid out' }],
    [
      'a time before which it is not valid',
      { found: /$/, put: '\nNot Before: 2020-01-01T00:00:00.000Z', why: 'added' },
    ],
    ['a request id', { found: /$/, put: '\nRequest ID: 1', why: 'added' }],
    ['resources', { found: /$/, put: '\nResources:\n- http://127.0.0.1', why: 'added' }],
    ['a newline at the end', { found: /$/, put: '\n', why: 'added' }],
    ['a scheme', { found: /^/, put: 'https://', why: '' }],
    ['carriage returns', { found: /\n/g, put: '\r\n', why: '' }],
  ]
  test.each(alterations)(
    'error: %s is refused, although the wallet signed it',
    async (_name, { found, put, why }) => {
      const { signer, refusal, accountOf } = createSignupRig()
      const message = (await signer.challenge()).replace(found, put)
      const problem = await refusal({ message, signature: await signer.sign(message) })
      expect([problem.status, problem.code, problem.param]).toEqual([
        400,
        'challenge_invalid',
        'message',
      ])
      expect(problem.detail).toContain(why)
      expect(accountOf()).toBeUndefined()
    },
  )

  test('error: every single changed or missing character is refused before the wallet is asked', async () => {
    const wallets = createWallets(undefined)
    let asked = 0
    const checkSignature = async (): Promise<SignatureCheck> => {
      asked++
      return 'valid'
    }
    const { signer, refusal } = createSignupRig({ wallets: { ...wallets, checkSignature } })
    const { message, signature } = await signer.signed()
    const address = message.indexOf('0x')
    for (let index = 0; index < message.length; index++) {
      const other = message[index] === '1' ? '2' : '1'
      const before = message.slice(0, index)
      const after = message.slice(index + 1)
      for (const changed of [before + other + after, before + after]) {
        const { code } = await refusal({ message: changed, signature })
        expect([index - address, code]).toEqual([index - address, 'challenge_invalid'])
      }
    }
    expect(asked).toBe(0)
  })

  test('error: the nonce of another address, and of another server, is not ours', async () => {
    const { signer, send, refusal } = createSignupRig()
    const nonceOf = (text: string) => /Nonce: (\w+)/.exec(text)?.[1] ?? ''
    const strangers = [createSigner(send), createSigner(createHarness().send)]
    const message = await signer.challenge()
    for (const stranger of [...strangers, createSigner(createHarness().send)]) {
      const changed = message.replace(nonceOf(message), nonceOf(await stranger.challenge()))
      const problem = await refusal({ message: changed, signature: await signer.sign(changed) })
      expect(problem.detail).toContain('nonce')
    }
  })

  test('error: the message of this server under another name is refused', async () => {
    const ledger = openLedger(':memory:', { nowMs: NOW_MS })
    const other = createHarness({ ledger, origin: () => 'https://other.example' })
    const body = await createSigner(other.send).signed()
    const here = createHarness({ ledger: other.ledger })
    const problem = await readProblem(await here.send('/v1/keys', asJson(body)))
    expect(problem.code).toBe('challenge_invalid')
    expect(problem.detail).toContain('"other.example", but this server is 127.0.0.1:3000')
  })

  test.each(['', 'hello', '\n\n\n', 'a'.repeat(2000), '0x'])(
    'error: %p is no message',
    async (message) => {
      const { refusal, signer } = createSignupRig()
      const problem = await refusal({ message, signature: await signer.sign(message) })
      expect(problem.code).toBe(message === '' ? 'invalid_parameter' : 'challenge_invalid')
    },
  )

  test('error: the signature of another wallet, or of another message, is refused', async () => {
    const { signer, send, refusal, accountOf } = createSignupRig()
    const message = await signer.challenge()
    for (const signature of [
      await createSigner(send).sign(message),
      await signer.sign(`${message} `),
      await signer.sign(await signer.challenge()),
      `0x${'00'.repeat(65)}`,
      '0x00',
    ]) {
      const problem = await refusal({ message, signature })
      expect([problem.status, problem.code, problem.param]).toEqual([
        400,
        'signature_invalid',
        'signature',
      ])
      // Without an RPC it cannot be distinguished from that of a contract.
      expect(problem.detail).toContain('has no RPC')
    }
    expect(accountOf()).toBeUndefined()
  })

  test.each(['', '0x', '0x0', '5a5a', '0xzz', `0x${'00'.repeat(8200)}`])(
    'error: %.20p is not the shape of a signature',
    async (signature) => {
      const { signer, refusal } = createSignupRig()
      const problem = await refusal({ message: await signer.challenge(), signature })
      expect([problem.code, problem.param]).toEqual(['invalid_parameter', 'signature'])
    },
  )

  test('error: a wallet that says no, and one that cannot be asked', async () => {
    const answers: SignatureCheck[] = ['invalid', 'unavailable', 'valid']
    const checkSignature = async () => answers.shift() ?? 'invalid'
    const wallets = { ...createWallets(undefined), checkSignature }
    const { signer, refusal, signUp } = createSignupRig({ wallets })
    const body = await signer.signed()
    expect(await refusal(body)).toMatchObject({ status: 400, code: 'signature_invalid' })
    const silent = await signUp(body)
    expect(silent.headers.get('retry-after')).toBe('10')
    expect((await readProblem(silent)).code).toBe('unavailable')
    // Nothing of it was used up.
    await readKey(await signUp(body))
  })

  test('error: a message expires five minutes after its issue, not a millisecond before', async () => {
    const { signer, signUp, refusal, advance } = createSignupRig()
    const early = await signer.signed()
    const late = await signer.signed()
    advance(5 * MINUTE_MS - 1)
    await readKey(await signUp(early))
    advance(1)
    expect(await refusal(late)).toMatchObject({ status: 410, code: 'challenge_expired' })
  })

  test('error: a message is used once, and stays used when the clock steps back', async () => {
    const { time, clock } = steadyTime()
    const { signer, send, signUp, refusal } = createSignupRig({ clock })
    const body = await signer.signed()
    await readKey(await signUp(body))
    expect(await refusal(body)).toMatchObject({ status: 409, code: 'challenge_used' })
    time.nowMs += 6 * MINUTE_MS
    // Makes the ledger forget what has expired.
    await createSigner(send).signUp()
    time.nowMs -= 6 * MINUTE_MS
    expect((await refusal(body)).code).toBe('challenge_expired')
  })

  test('behavior: after the clock stepped back people still sign up', async () => {
    const { time, clock } = steadyTime()
    const { signer, signUp } = createSignupRig({ clock })
    const body = await signer.signed()
    time.nowMs -= 60 * MINUTE_MS
    await readKey(await signUp(body))
    await signer.signUp()
  })

  test('error: a message that expired while the address was screened is refused', async () => {
    const time = { nowMs: NOW_MS }
    const screen = async (address: string) => {
      time.nowMs += 6 * MINUTE_MS
      return clearOf(address, time.nowMs)
    }
    const { signer, refusal, accountOf } = createSignupRig({ screen, clock: () => time.nowMs })
    expect((await refusal(await signer.signed())).code).toBe('challenge_expired')
    expect(accountOf()).toBeUndefined()
  })

  test('behavior: of fifty posts of one message at once, one makes a key', async () => {
    const { signer, signUp, ledger, accountOf } = createSignupRig()
    const body = await signer.signed()
    const responses = await Promise.all(Array.from({ length: 50 }, () => signUp(body)))
    expect(await tally(responses)).toEqual({
      made: [expect.anything()],
      refused: { challenge_used: 49 },
    })
    expect(ledger.listKeys(accountOf()?.id)).toHaveLength(1)
  })

  test('error: no more keys than the limit, however many ask at once; then one is revoked', async () => {
    const config = readConfig({
      BOOKFEED_KEYS_PER_ACCOUNT: '2',
      BOOKFEED_SIGNUPS_PER_DAY: '1000000',
    })
    const { signer, signUp, sendAs, ledger, accountOf } = createSignupRig({ config })
    await vouchFor(ledger, signer.address)
    const bodies = await Promise.all(Array.from({ length: 20 }, () => signer.signed()))
    const responses = await Promise.all(bodies.map((body) => signUp(body)))
    const refusedBody = bodies[responses.findIndex(({ status }) => status === 409)]
    const { made, refused } = await tally(responses)
    expect([made.length, refused]).toEqual([2, { key_limit: 18 }])
    const { key, id } = made[0] ?? { key: '', id: '' }
    await sendAs(key, `/v1/keys/${id}`, { method: 'DELETE' })
    // The message that met the limit was not used up.
    await readKey(await signUp(refusedBody))
    expect(ledger.countValidKeys(accountOf()?.id ?? '', NOW_MS)).toBe(2)
  })

  test.each([
    ['label', ''],
    ['label', 'x'.repeat(61)],
    ['label', 'two\nlines'],
    ['label', '\u001b[31mred'],
    ['label', null],
    ['tier', 'pro'],
    ['accountId', 'acc_1'],
  ])('error: the member %s cannot be %p', async (name, value) => {
    const { signer, refusal } = createSignupRig()
    const { code, param } = await refusal(await signer.signed({ [name]: value }))
    expect([code, param]).toEqual(['invalid_parameter', name])
  })
})
