import { describe, expect, test } from 'bun:test'

import { AppError } from '#src/domain/errors.ts'
import {
  createIdempotency,
  type IdempotentCall,
  jsonAnswer,
  type Work,
} from '#src/http/idempotency.ts'
import { openLedger } from '#src/ledger/open.ts'

import { aSignup } from '../ledger/ledger-records.ts'
import { NOW_MS } from '../support/harness.ts'

const DAY_MS = 86_400_000
const call: IdempotentCall = { scope: 'alice', secret: 'a secret', body: '{"n":1}' }

const requestOf = (key: string | undefined, path = '/v1/things') =>
  new Request(`http://localhost${path}`, {
    method: 'POST',
    headers: key === undefined ? {} : { 'idempotency-key': key },
  })

/** A thing that counts how often it was done, on a real ledger. */
function createRig(store = openLedger(':memory:', { nowMs: NOW_MS })) {
  const time = { nowMs: NOW_MS }
  const done = { count: 0 }
  const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))
  const { answer, remember } = createIdempotency({ store, clock: () => time.nowMs, randomBytes })
  const work: Work = async () => {
    await Promise.resolve()
    return async (keep) => {
      const number = store.listKeys().length + 1
      const answer = jsonAnswer(201, { secret: `made ${number}` }, { 'X-Kind': 'thing' })
      const once = keep && { id: keep.id, answer: () => keep.seal(answer) }
      const made = await store.signUp({ ...aSignup(number), once }, time.nowMs)
      if (made.kind === 'replayed') return { replayed: made.answer }
      expect(made.kind).toBe('made')
      done.count++
      return { answer }
    }
  }
  const ask = (key: string | undefined, more: Partial<IdempotentCall> = {}, path?: string) =>
    answer(requestOf(key, path), { ...call, ...more }, work)
  return { store, time, done, remember, ask }
}

const factsOf = async (response: Response) => ({
  status: response.status,
  body: await response.json(),
  kind: response.headers.get('x-kind'),
  type: response.headers.get('content-type'),
  replayed: response.headers.get('idempotent-replayed'),
})

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  )

describe('answer', () => {
  test('default: without a key each request is done', async () => {
    const { ask, done } = createRig()
    expect(await factsOf(await ask(undefined))).toEqual({
      status: 201,
      body: { secret: 'made 1' },
      kind: 'thing',
      type: 'application/json',
      replayed: null,
    })
    await ask(undefined)
    expect(done.count).toBe(2)
  })

  test('behavior: with a key it is done once, and the answer given again is marked', async () => {
    const { ask, done } = createRig()
    const first = await factsOf(await ask('k'))
    expect(first.replayed).toBeNull()
    for (let again = 0; again < 3; again++) {
      expect(await factsOf(await ask('k'))).toEqual({ ...first, replayed: 'true' })
    }
    expect(done.count).toBe(1)
  })

  test('behavior: callers and keys are kept apart, however they are joined', async () => {
    const { ask, done } = createRig()
    for (const [scope, key] of [
      ['a', 'k'],
      ['a', 'K'],
      ['b', 'k'],
      ['a"', ',"k'],
      ['a","', 'k'],
      ['', 'ak'],
    ] as const) {
      await ask(key, { scope })
    }
    expect(done.count).toBe(6)
  })

  test('behavior: another process replays it too', async () => {
    const one = createRig()
    const other = createRig(one.store)
    const first = await factsOf(await one.ask('k'))
    expect(await factsOf(await other.ask('k'))).toEqual({ ...first, replayed: 'true' })
  })

  test('behavior: whoever was quicker while we waited is replayed, and nothing is done twice', async () => {
    const one = createRig()
    const other = createRig(one.store)
    const [a, b] = await Promise.all([one.ask('k'), other.ask('k')])
    expect(await a.json()).toEqual(await b.json())
    expect(one.done.count + other.done.count).toBe(1)
  })

  test('behavior: of fifty at once one is done, the others wait for it', async () => {
    const { ask, done } = createRig()
    const responses = await Promise.all(Array.from({ length: 50 }, () => ask('k')))
    const facts = await Promise.all(responses.map(factsOf))
    expect(done.count).toBe(1)
    expect(new Set(facts.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(facts.filter(({ replayed }) => replayed === null)).toHaveLength(1)
  })

  test('behavior: a failure is not kept; those who waited try in turn', async () => {
    const { remember, ask, done } = createRig()
    let attempts = 0
    const failing = async () => {
      await Promise.resolve()
      if (++attempts < 3) throw new AppError('unavailable', 'Not yet.')
      return jsonAnswer(201, {}, {})
    }
    const asked = Array.from({ length: 5 }, () => remember(requestOf('k'), call, failing))
    const results = await Promise.allSettled(asked)
    expect(results.map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ])
    expect(attempts).toBe(3)
    await ask('k')
    expect(done.count).toBe(0)
  })

  test('behavior: of two processes that remember, the later gives the answer of the first', async () => {
    const one = createRig()
    const other = createRig(one.store)
    const ask = ({ remember }: typeof one, n: number) =>
      remember(requestOf('k'), call, async () => jsonAnswer(200, { n }, {}))
    const both = await Promise.all([ask(one, 1), ask(other, 2)])
    const facts = await Promise.all(both.map(factsOf))
    expect(facts.map(({ body, replayed }) => [body, replayed])).toEqual([
      [{ n: 1 }, null],
      [{ n: 1 }, 'true'],
    ])
  })

  test('behavior: an answer is kept for a day', async () => {
    const { ask, done, time } = createRig()
    await ask('k')
    time.nowMs += DAY_MS - 1
    expect((await ask('k')).headers.get('idempotent-replayed')).toBe('true')
    time.nowMs += 1
    expect((await ask('k')).headers.get('idempotent-replayed')).toBeNull()
    expect(done.count).toBe(2)
  })

  test('error: the same key for another body or address is a mismatch', async () => {
    const { ask, done } = createRig()
    await ask('k')
    expect(await codeOf(ask('k', { body: '{"n":2}' }))).toBe('idempotency_mismatch')
    expect(await codeOf(ask('k', {}, '/v1/others'))).toBe('idempotency_mismatch')
    expect(done.count).toBe(1)
  })

  test('error: the same request by one who has another secret learns nothing', async () => {
    const { ask } = createRig()
    await ask('k')
    const error = await ask('k', { secret: 'a guess' }).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'idempotency_mismatch' })
    expect(String(error)).not.toContain('made')
  })

  test('behavior: what is stored shows nothing, and is bound to its place', async () => {
    const { ask, store } = createRig()
    const stored: Parameters<typeof store.putAnswer>[0][] = []
    const spied = {
      findAnswer: (id: string) => stored.findLast((answer) => answer.id === id),
      signUp: (async ({ once, ...signup }, nowMs) => {
        const made = await store.signUp(signup, nowMs)
        if (once && made.kind === 'made') stored.push(once.answer(made))
        return made
      }) satisfies typeof store.signUp,
    }
    const rig = createRig({ ...store, ...spied })
    await ask('unrelated')
    await rig.ask('k')
    await rig.ask('l')
    const [first, second] = stored
    if (!first || !second) throw new Error('Nothing was stored.')
    expect(Buffer.from(first.sealed).toString('latin1')).not.toMatch(/made|secret|thing/)
    expect(first.id + first.fingerprint).toMatch(/^[0-9a-f]{128}$/)
    stored.push({ ...second, sealed: first.sealed })
    expect(await codeOf(rig.ask('l'))).toBe('idempotency_mismatch')
    for (const [bit, byte] of first.sealed.entries()) {
      const changed = first.sealed.with(bit, byte ^ 1)
      stored.push({ ...first, sealed: changed })
      expect([bit, await codeOf(rig.ask('k'))]).toEqual([bit, 'idempotency_mismatch'])
    }
  })

  test.each([' ', 'a b', 'a\tb', 'é', 'x'.repeat(256), ''])(
    'error: %p is no Idempotency-Key',
    async (key) => {
      const { ask, done } = createRig()
      expect(await codeOf(ask(key))).toBe('invalid_parameter')
      expect(done.count).toBe(0)
    },
  )

  test('behavior: a key of 255 characters is one', async () => {
    const { ask, done } = createRig()
    await ask('~'.repeat(255))
    await ask('~'.repeat(255))
    expect(done.count).toBe(1)
  })
})
