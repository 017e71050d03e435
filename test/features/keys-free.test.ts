/** An account that pays nothing has one key at a time. */
import { describe, expect, test } from 'bun:test'

import { addKey, NOW_MS } from '../support/harness.ts'
import { asJson, createSignupRig } from '../support/signup-client.ts'

const DAY_MS = 86_400_000

function createRig() {
  const rig = createSignupRig()
  const ask = async (token: string) => {
    const { status, headers } = await rig.sendAs(token, '/v1/btc/markets')
    return [status, Number(headers.get('x-ratelimit-remaining'))]
  }
  const accountId = () => rig.accountOf()?.id ?? ''
  const validKeys = () => rig.ledger.countValidKeys(accountId(), rig.time.nowMs)
  /** A period of the past: the account is on the Free tier again. */
  const payOnce = () =>
    rig.ledger.addSubscription(
      { id: 'sub_1', accountId: accountId(), tierId: 'pro', startMs: 0, endMs: 1 },
      { actor: 'system', nowMs: NOW_MS },
    )
  return { ...rig, ask, accountId, validKeys, payOnce }
}

describe('signing up again', () => {
  test('behavior: the new key takes the place of the old one, and goes on in its window', async () => {
    const { signer, ask, validKeys, ledger } = createRig()
    const first = await signer.signUp()
    for (let left = 9; left >= 4; left--) expect(await ask(first.key)).toEqual([200, left])
    const second = await signer.signUp()
    expect((await ask(first.key))[0]).toBe(401)
    expect(await ask(second.key)).toEqual([200, 3])
    expect([validKeys(), ledger.findKey(first.id)?.revokedMs]).toEqual([1, NOW_MS])
    expect([...ledger.verifyAudit()]).toEqual([])
  })

  test('behavior: ten times at once leaves one key with one allowance', async () => {
    const { signer, ask, signUp, validKeys } = createRig()
    const bodies = await Promise.all(Array.from({ length: 10 }, () => signer.signed()))
    const made = await Promise.all(
      bodies.map(async (body) => (await (await signUp(body)).json()) as { key: string }),
    )
    expect(validKeys()).toBe(1)
    const answers = []
    for (const { key } of made) for (let n = 0; n < 11; n++) answers.push((await ask(key))[0])
    expect(answers.filter((status) => status === 200)).toHaveLength(10)
  })

  test('behavior: rotation keeps both keys for a while, in one window', async () => {
    const { signer, ask, sendAs, validKeys, advance } = createRig()
    const first = await signer.signUp()
    expect(await ask(first.key)).toEqual([200, 9])
    const path = `/v1/keys/${first.id}/rotate`
    const rotated = await sendAs(first.key, path, asJson({ overlapSeconds: 30 }))
    const { key } = (await rotated.json()) as { key: string }
    expect(await ask(key)).toEqual([200, 7])
    expect([await ask(first.key), validKeys()]).toEqual([[200, 6], 2])
    advance(30_000)
    expect([(await ask(first.key))[0], validKeys()]).toEqual([401, 1])
    expect(await ask(key)).toEqual([200, 5])
  })

  test('behavior: who ever paid, and whom the operator gave a key, may have several', async () => {
    const { signer, payOnce, validKeys, ask } = createRig()
    const first = await signer.signUp()
    await payOnce()
    const second = await signer.signUp()
    expect([validKeys(), (await ask(first.key))[0], (await ask(second.key))[0]]).toEqual([
      2, 200, 200,
    ])

    const other = createRig()
    await other.signer.signUp()
    await other.ledger.createKey(
      {
        id: 'key_gift',
        accountId: other.accountId(),
        familyId: 'key_gift',
        hint: 'gift',
        digest: new Uint8Array(32),
      },
      { actor: 'operator', nowMs: NOW_MS },
    )
    await other.signer.signUp()
    expect(other.validKeys()).toBe(3)
  })
})

describe('forgetting', () => {
  const forget = async ({ ledger, time }: ReturnType<typeof createRig>) =>
    (
      await ledger.forgetIdle(
        { afterId: '', limit: 100, idleSinceMs: time.nowMs - 30 * DAY_MS },
        { actor: 'system', nowMs: time.nowMs },
      )
    ).forgotten

  test('behavior: 30 days without use end a free account; its wallet may sign up again', async () => {
    const rig = createRig()
    const { signer, ledger, ask, app, advance, accountId } = rig
    const { key, id } = await signer.signUp()
    const old = accountId()
    advance(10 * DAY_MS)
    expect((await ask(key))[0]).toBe(200)
    await app.flushUsage()
    advance(30 * DAY_MS)
    expect(await forget(rig)).toEqual([])
    advance(1)
    expect(await forget(rig)).toEqual([old])
    expect([ledger.findAccount(old), ledger.findKey(id), (await ask(key))[0]]).toEqual([
      undefined,
      undefined,
      401,
    ])
    expect([...ledger.verifyAudit()]).toEqual([])
    const next = await signer.signUp()
    expect((await ask(next.key))[0]).toBe(200)
    expect([accountId() === old, next.id === id]).toEqual([false, false])
    expect([...ledger.verifyAudit()]).toEqual([])
  })

  test('behavior: who paid, is blocked or belongs to the operator stays', async () => {
    const rig = createRig()
    const { signer, ledger, payOnce, accountId, advance, key } = rig
    await signer.signUp()
    const blocked = createRigOn(rig)
    await blocked.signer.signUp()
    await ledger.setBlocked(blocked.accountId(), true, { actor: 'system', nowMs: NOW_MS })
    await payOnce()
    addKey(ledger, undefined)
    advance(400 * DAY_MS)
    expect(await forget(rig)).toEqual([])
    expect([ledger.findAccount(accountId()), ledger.listKeys().length > 3]).toEqual([
      expect.anything(),
      true,
    ])
    expect((await rig.sendAs(key, '/v1/btc/markets')).status).toBe(200)
  })
})

/** Another wallet of the same server. */
function createRigOn({ ledger }: ReturnType<typeof createRig>) {
  const rig = createSignupRig({ ledger, createId: () => crypto.randomUUID().replaceAll('-', '') })
  return { ...rig, accountId: () => rig.accountOf()?.id ?? '' }
}
