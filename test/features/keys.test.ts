import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import { type KeyBody, KeyList, type NewKey, RotatedKey } from '#src/features/keys/schema.ts'

import { readConfig } from '../support/config.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'
import { asJson, createSigner, vouchFor } from '../support/signup-client.ts'

const DAY_MS = 86_400_000

/** A server with one account of its own, and what its keys can ask for. */
async function createRig(options: Parameters<typeof createHarness>[0] = {}) {
  const harness = createHarness(options)
  const signer = createSigner(harness.send)
  await vouchFor(harness.ledger, signer.address)
  const made = await signer.signUp({ label: 'first' })
  const as = (token: string) => (path: string, init?: RequestInit) =>
    harness.sendAs(token, path, init)
  const list = async (token: string): Promise<KeyList['data']> => {
    const response = await harness.sendAs(token, '/v1/keys')
    const body: unknown = await response.json()
    expect([response.status, ...Value.Errors(KeyList, body)]).toEqual([200])
    return (body as KeyList).data
  }
  const idsOf = async (token: string) => (await list(token)).map(({ id }) => id)
  const rotate = (token: string, id: string, body: unknown = {}) =>
    as(token)(`/v1/keys/${id}/rotate`, asJson(body))
  const rotated = async (token: string, id: string, more?: unknown): Promise<RotatedKey> => {
    const response = await rotate(token, id, more)
    const body: unknown = await response.json()
    expect([response.status, ...Value.Errors(RotatedKey, body)]).toEqual([201])
    expect(response.headers.get('cache-control')).toBe('no-store')
    return body as RotatedKey
  }
  const revoke = (token: string, id: string) =>
    harness.sendAs(token, `/v1/keys/${id}`, { method: 'DELETE' })
  const statusOf = async (token: string) => (await harness.sendAs(token, '/v1/keys')).status
  return { ...harness, signer, made, list, idsOf, rotate, rotated, revoke, statusOf }
}

describe('GET /v1/keys', () => {
  test('default: the valid keys of the account, oldest first, marked which one asks', async () => {
    const { signer, made, list, sendAs, advance, app } = await createRig()
    advance(1000)
    const second = await signer.signUp()
    await app.flushUsage()
    expect(await list(second.key)).toEqual([
      {
        id: made.id,
        label: 'first',
        hint: made.key.slice(-4),
        status: 'active',
        isCurrent: false,
        createdAt: new Date(NOW_MS).toISOString(),
        expiresAt: null,
        lastUsedAt: null,
      },
      {
        id: second.id,
        label: null,
        hint: second.key.slice(-4),
        status: 'active',
        isCurrent: true,
        createdAt: new Date(NOW_MS + 1000).toISOString(),
        expiresAt: null,
        lastUsedAt: null,
      },
    ])
    const response = await sendAs(made.key, '/v1/keys')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.text()).toEndWith('"nextCursor":null}')
  })

  test('behavior: says when each was last used', async () => {
    const { made, list, advance, app } = await createRig()
    advance(5000)
    await list(made.key)
    await app.flushUsage()
    const [first] = await list(made.key)
    expect(first?.lastUsedAt).toBe(new Date(NOW_MS + 5000).toISOString())
  })

  test('error: without a key, and with a parameter', async () => {
    const { sendAs, made } = await createRig()
    expect((await readProblem(await sendAs(undefined, '/v1/keys'))).code).toBe('unauthenticated')
    expect((await readProblem(await sendAs(made.key, '/v1/keys?limit=1'))).param).toBe('limit')
  })
})

describe('POST /v1/keys/{id}/rotate', () => {
  test('default: a new key of the same family; the old one lives on for a day', async () => {
    const { made, rotated, list, ledger, advance, statusOf } = await createRig()
    const next = await rotated(made.key, made.id)
    const expiresAt = new Date(NOW_MS + DAY_MS).toISOString()
    expect(next.replaces).toEqual({ id: made.id, expiresAt })
    expect([next.label, next.tier, next.expiresAt]).toEqual(['first', 'free', null])
    expect(ledger.findKey(next.id)?.familyId).toBe(made.id)
    expect(
      (await list(next.key)).map(({ id, status, expiresAt: end }) => [id, status, end]),
    ).toEqual([
      [made.id, 'expiring', expiresAt],
      [next.id, 'active', null],
    ])
    advance(DAY_MS - 1)
    expect([await statusOf(made.key), await statusOf(next.key)]).toEqual([200, 200])
    advance(1)
    expect([await statusOf(made.key), await statusOf(next.key)]).toEqual([401, 200])
    expect((await list(next.key)).map(({ id }) => id)).toEqual([next.id])
    expect([...ledger.verifyAudit()]).toEqual([])
  })

  test('behavior: the overlap and the label may be chosen; 0 ends the old one at once', async () => {
    const { made, rotated, advance, statusOf } = await createRig()
    const second = await rotated(made.key, made.id, { overlapSeconds: 60, label: 'second' })
    expect(second.label).toBe('second')
    const third = await rotated(second.key, second.id, { overlapSeconds: 0 })
    expect(third.label).toBe('second')
    expect([await statusOf(made.key), await statusOf(second.key)]).toEqual([200, 401])
    advance(60_000)
    expect([await statusOf(made.key), await statusOf(third.key)]).toEqual([401, 200])
  })

  test('behavior: a body is not needed', async () => {
    const { made, sendAs } = await createRig()
    const init = { method: 'POST' }
    expect((await sendAs(made.key, `/v1/keys/${made.id}/rotate`, init)).status).toBe(201)
  })

  test('behavior: the key that is replaced does not count, one replaced before does', async () => {
    const config = readConfig({
      BOOKFEED_KEYS_PER_ACCOUNT: '1',
      BOOKFEED_SIGNUPS_PER_DAY: '1000000',
    })
    const { made, rotated, rotate, advance } = await createRig({ config })
    const next = await rotated(made.key, made.id, { overlapSeconds: 60 })
    const refused = await readProblem(await rotate(next.key, next.id))
    expect([refused.status, refused.code]).toEqual([409, 'key_limit'])
    advance(60_000)
    await rotated(next.key, next.id)
  })

  test('behavior: of eight rotations at once one succeeds', async () => {
    const { made, rotate, idsOf } = await createRig()
    const responses = await Promise.all(Array.from({ length: 8 }, () => rotate(made.key, made.id)))
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(await idsOf(made.key)).toHaveLength(2)
  })

  test('error: a key that was replaced, revoked or has ended cannot be rotated', async () => {
    const { signer, made, rotated, rotate, revoke, advance } = await createRig()
    const next = await rotated(made.key, made.id, { overlapSeconds: 60 })
    const again = await readProblem(await rotate(next.key, made.id))
    expect([again.status, again.code]).toEqual([409, 'key_replaced'])
    expect(again.detail).toContain('was already replaced')
    advance(60_000)
    const other = await signer.signUp()
    await revoke(next.key, other.id)
    for (const id of [made.id, other.id]) {
      const problem = await readProblem(await rotate(next.key, id))
      expect([problem.code, problem.param]).toEqual(['unknown_key', 'id'])
      expect(problem.detail).toStartWith('You have no valid key')
    }
  })

  test.each([
    ['overlapSeconds', -1],
    ['overlapSeconds', 604_801],
    ['overlapSeconds', 1.5],
    ['overlapSeconds', '60'],
    ['label', ''],
    ['familyId', 'key_1'],
  ])('error: %s cannot be %p, and nothing is done', async (name, value) => {
    const { made, rotate, idsOf } = await createRig()
    const { code, param } = await readProblem(await rotate(made.key, made.id, { [name]: value }))
    expect([code, param]).toEqual(['invalid_parameter', name])
    expect(await idsOf(made.key)).toEqual([made.id])
  })
})

describe('DELETE /v1/keys/{id}', () => {
  test('default: the key is refused from then on; again is no error', async () => {
    const { signer, made, revoke, statusOf, idsOf } = await createRig()
    const other = await signer.signUp()
    for (let again = 0; again < 2; again++) {
      const response = await revoke(made.key, other.id)
      expect([response.status, await response.text()]).toEqual([204, ''])
      expect(response.headers.get('cache-control')).toBe('no-store')
    }
    expect([await statusOf(other.key), await statusOf(made.key)]).toEqual([401, 200])
    expect(await idsOf(made.key)).toEqual([made.id])
  })

  test('behavior: a key may revoke itself, and one that was replaced', async () => {
    const { made, rotated, revoke, statusOf } = await createRig()
    const next = await rotated(made.key, made.id)
    expect((await revoke(next.key, made.id)).status).toBe(204)
    expect(await statusOf(made.key)).toBe(401)
    expect((await revoke(next.key, next.id)).status).toBe(204)
    expect(await statusOf(next.key)).toBe(401)
  })
})

describe('keys of another account', () => {
  test('error: cannot be listed, rotated or revoked, nor told from unknown ones', async () => {
    const rig = await createRig()
    const { made, send, rotated, idsOf, rotate, revoke, statusOf } = rig
    const next = await rotated(made.key, made.id)
    const gone = await rig.signer.signUp()
    await revoke(made.key, gone.id)
    const before = rig.ledger.auditHead()
    const stranger: NewKey = await createSigner(send).signUp()
    expect(await idsOf(stranger.key)).toEqual([stranger.id])

    const unknown = `key_${'0'.repeat(made.id.length - 4)}`
    for (const act of [rotate, revoke]) {
      const answers = []
      for (const id of [unknown, made.id, next.id, gone.id]) {
        const { requestId: _, ...problem } = await readProblem(await act(stranger.key, id))
        answers.push(JSON.stringify(problem).replaceAll(id, 'ID'))
      }
      expect(answers[0]).toContain('"code":"unknown_key"')
      expect(new Set(answers).size).toBe(1)
    }
    expect([await statusOf(made.key), await statusOf(next.key)]).toEqual([200, 200])
    const changes = rig.ledger.listAudit(before?.seq ?? 0, 100)
    expect(changes.map(({ action }) => action)).toEqual(['account.created', 'key.created'])
  })
})

describe('a key sent in the place of something else', () => {
  test('error: does not come back', async () => {
    const { made, send, rotate, revoke } = await createRig()
    const responses = [
      await rotate(made.key, made.key),
      await revoke(made.key, made.key),
      await rotate(made.key, made.id, { [made.key]: 1 }),
      await rotate(made.key, made.id, { overlapSeconds: made.key }),
      await send('/v1/keys/challenge', asJson({ address: made.key })),
      await send('/v1/keys', asJson({ message: made.key, signature: made.key })),
      await send('/v1/keys', asJson({ message: made.key, signature: '0x00' })),
    ]
    for (const response of responses) {
      const problem = await readProblem(response)
      expect(JSON.stringify(problem)).not.toContain(made.key.slice(0, 14))
    }
  })
})

describe('PATCH /v1/keys/{id}', () => {
  const label = (rig: Awaited<ReturnType<typeof createRig>>, id: string, body: unknown) =>
    rig.sendAs(rig.made.key, `/v1/keys/${id}`, { ...asJson(body), method: 'PATCH' })

  test('default: gives a key another label, which the list shows, and nothing else', async () => {
    const rig = await createRig()
    const [before] = await rig.list(rig.made.key)
    const answer = await label(rig, rig.made.id, { label: 'desk 4' })
    expect([answer.status, await answer.json()]).toEqual([200, { ...before, label: 'desk 4' }])
    expect(await rig.list(rig.made.key)).toEqual([{ ...(before as KeyBody), label: 'desk 4' }])
    const { actor, action, subject } = rig.ledger.listAudit(0, 1000).at(-1) ?? {}
    expect([action, subject]).toEqual(['key.labelled', rig.made.id])
    expect(actor).toStartWith('account:')
    expect(rig.ledger.verifyAudit()).toEqual([])
  })

  test('error: a key of another account, or one that has ended, is unknown', async () => {
    const rig = await createRig()
    const other = await createSigner(rig.send).signUp()
    const second = await rig.signer.signUp()
    await rig.revoke(rig.made.key, second.id)
    for (const id of [other.id, second.id, 'key_9'])
      expect((await readProblem(await label(rig, id, { label: 'x' }))).code).toBe('unknown_key')
  })

  test('error: refuses labels that are none, too long, or a key', async () => {
    const rig = await createRig()
    const bodies = [{}, { label: '' }, { label: 'x'.repeat(61) }, { label: rig.made.key }]
    for (const body of bodies) {
      const problem = await readProblem(await label(rig, rig.made.id, body))
      expect([problem.status, problem.param]).toEqual([400, 'label'])
    }
    expect((await rig.list(rig.made.key))[0]?.label).toBe('first')
  })
})

describe('what a key leaves behind', () => {
  test('error: a key revoked while its request is under way makes no other', async () => {
    const { app, ledger, signer, made, idsOf } = await createRig()
    const other = await signer.signUp()
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const body = new ReadableStream({
      async pull(controller) {
        await gate
        controller.enqueue(new TextEncoder().encode('{}'))
        controller.close()
      },
    })
    const answer = app.fetch(
      new Request(`http://localhost/v1/keys/${other.id}/rotate`, {
        method: 'POST',
        headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' },
        body,
        duplex: 'half',
      } as RequestInit),
    )
    await ledger.revokeKey(made.id, { actor: 'operator', nowMs: NOW_MS })
    open()
    expect((await answer).status).toBe(401)
    expect(await idsOf(other.key)).toEqual([other.id])
  })

  test('behavior: signing up anew after deleting a key goes on in its rate window', async () => {
    const { signer, made, revoke, sendAs } = await createRig()
    const remainingOf = async (token: string) =>
      Number((await sendAs(token, '/v1/btc/markets')).headers.get('x-ratelimit-remaining'))
    expect(await remainingOf(made.key)).toBe(9)
    for (let index = 0; index < 5; index++) await remainingOf(made.key)
    await revoke(made.key, made.id)
    const next = await signer.signUp()
    expect(await remainingOf(next.key)).toBe(2)
    // A second key beside a valid one has a window of its own.
    const beside = await signer.signUp()
    expect(await remainingOf(beside.key)).toBe(9)
  })
})
