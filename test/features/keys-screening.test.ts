import { describe, expect, test } from 'bun:test'

import type { SignupState } from '#src/domain/selling/screening.ts'

import { clearOf, NOW_MS } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'
import { asJson, createSigner, createSignupRig, readKey } from '../support/signup-client.ts'

const HOUR_MS = 3_600_000

describe('POST /v1/keys', () => {
  test('error: a sanctioned address gets no key, and what it has is blocked', async () => {
    let verdict: 'clear' | 'hit' = 'clear'
    const screen = async (address: string) => ({ ...clearOf(address, NOW_MS), verdict })
    const { signer, refusal, sendAs, send, accountOf } = createSignupRig({ screen })
    const { key } = await signer.signUp()
    verdict = 'hit'
    expect(await refusal(await signer.signed())).toMatchObject({ status: 451, code: 'sanctioned' })
    expect(accountOf()?.blockedMs).toBe(NOW_MS)
    expect((await sendAs(key, '/v1/keys')).status).toBe(451)
    const stranger = createSigner(send)
    expect((await refusal(await stranger.signed())).code).toBe('sanctioned')
    expect(accountOf(stranger.address)).toBeUndefined()
  })

  test('error: a blocked account gets no key until it is unblocked, whatever screening says now', async () => {
    const { signer, refusal, signUp, ledger, accountOf } = createSignupRig()
    await signer.signUp()
    const id = accountOf()?.id ?? ''
    await ledger.setBlocked(id, true, { actor: 'system', nowMs: NOW_MS })
    const body = await signer.signed()
    expect((await refusal(body)).code).toBe('sanctioned')
    await ledger.setBlocked(id, false, { actor: 'system', nowMs: NOW_MS })
    await readKey(await signUp(body))
  })

  test('error: without an answer of the screening nobody is let in, and nothing is used up', async () => {
    let verdict: 'clear' | 'unknown' = 'unknown'
    const screen = async (address: string) => ({ ...clearOf(address, NOW_MS), verdict })
    const { signer, signUp, accountOf } = createSignupRig({ screen })
    const body = await signer.signed()
    const response = await signUp(body)
    expect(response.headers.get('retry-after')).toBe('60')
    expect(await readProblem(response)).toMatchObject({
      status: 503,
      code: 'screening_unavailable',
    })
    expect(accountOf()).toBeUndefined()
    verdict = 'clear'
    await readKey(await signUp(body))
  })

  test('behavior: nobody is screened who did not sign, or too late', async () => {
    const screened: string[] = []
    const screen = async (address: string) => {
      screened.push(address)
      return clearOf(address, NOW_MS)
    }
    const { signer, send, refusal, signUp, advance } = createSignupRig({ screen })
    const body = await signer.signed()
    await refusal({ ...body, signature: await createSigner(send).sign(body.message) })
    expect(screened).toEqual([])
    await signUp(body)
    expect(screened).toEqual([signer.address])
    const late = await signer.signed()
    advance(HOUR_MS)
    expect((await refusal(late)).code).toBe('challenge_expired')
    expect(screened).toHaveLength(1)
  })

  test('error: while signup is closed both routes say why', async () => {
    const reason = 'Set BOOKFEED_PUBLIC_URL.'
    let state: SignupState = { isOpen: true }
    const signup = () => state
    const { signer, send, signUp } = createSignupRig({ signup })
    const body = await signer.signed()
    state = { isOpen: false, reason }
    for (const response of [
      await send('/v1/keys/challenge', asJson({ address: signer.address })),
      await signUp(body),
    ]) {
      expect(await readProblem(response)).toMatchObject({
        status: 503,
        code: 'signup_closed',
        detail: reason,
      })
    }
  })
})
