import { describe, expect, test } from 'bun:test'

import type { AppError } from '#src/domain/errors.ts'
import type { ChainVerdict } from '#src/domain/selling/chain-view.ts'

import {
  NOW_MS,
  onlyPayment,
  openBilling,
  outcomeOf,
  paid,
  PAYER,
  payWithUsdc,
  payWithUsdt,
  seconds,
} from './scripted-billing.ts'

const expired: ChainVerdict = { kind: 'void', reason: 'expired' }

describe('settle: before anything is sent', () => {
  const times: [name: string, change: object, reason: string][] = [
    ['has ended', { validBefore: seconds(NOW_MS - 1000) }, 'expires_too_soon'],
    ['goes to another', { to: PAYER }, 'recipient_mismatch'],
  ]
  for (const [name, change, reason] of times) {
    test(`error: a payment that ${name} is refused and not kept`, async () => {
      const { billing, script, me, quote, calls, ledger } = await openBilling()
      const offer = await quote()
      script.verdict = expired
      const call = billing.settle(me, payWithUsdc(offer, change))
      await expect(call).rejects.toMatchObject({
        code: 'payment_rejected',
        extras: { reason, paymentRequired: { accepts: [offer.requirements] } },
      })
      expect(calls.payloads).toEqual([])
      expect(ledger.payments.listPayments({ limit: 1 })).toEqual([])
    })
  }

  const wrongTimes: [name: string, change: object, reason: string][] = [
    [
      'ends in a day and a second',
      { validBefore: seconds(NOW_MS + 86_401_000) },
      'expires_too_late',
    ],
    ['ends with all numbers', { validBefore: String(2n ** 256n - 1n) }, 'expires_too_late'],
    ['begins in a minute', { validAfter: seconds(NOW_MS + 60_000) }, 'not_yet_valid'],
  ]
  for (const [name, change, reason] of wrongTimes) {
    test(`error: a payment that ${name} is written down and not sent, and no other is asked for`, async () => {
      const world = await openBilling()
      const { billing, script, me, quote, calls } = world
      script.verdict = { kind: 'open' }
      const error = await billing.settle(me, payWithUsdc(await quote(), change)).catch((it) => it)
      expect(error).toMatchObject({
        code: 'payment_rejected',
        extras: { reason, retryAction: 'wait_and_retry' },
      })
      expect(error.extras).not.toHaveProperty('paymentRequired')
      expect(onlyPayment(world)).toMatchObject({ state: 'rejected', reason, attempts: 0 })
      expect(calls.payloads).toEqual([])
    })
  }

  test('behavior: one that begins later is sent when it is sent again then', async () => {
    const { billing, script, me, quote, calls } = await openBilling()
    script.verdict = { kind: 'open' }
    const payload = payWithUsdc(await quote(), { validAfter: seconds(NOW_MS + 60_000) })
    expect(await outcomeOf(billing.settle(me, payload))).toBe('payment_rejected')
    script.nowMs += 60_000
    expect(await outcomeOf(billing.settle(me, payload))).toBe('pending')
    expect(calls.payloads).toEqual([expect.any(String)])
  })

  const lates: [name: string, change: object, passMs: number][] = [
    ['ends in five seconds', { validBefore: seconds(NOW_MS + 5000) }, 0],
    ['is for an offer that has ended', { validBefore: seconds(NOW_MS + 3_600_000) }, 600_000],
  ]
  for (const [name, change, passMs] of lates) {
    test(`behavior: a payment that ${name} is written down and never sent, and no other asked for while it may land`, async () => {
      const world = await openBilling()
      const { billing, script, me, quote, calls } = world
      const offer = await quote()
      script.nowMs += passMs
      script.verdict = { kind: 'open' }
      const payload = payWithUsdc(offer, change)
      await expect(billing.settle(me, payload)).rejects.toMatchObject({
        code: 'billing_unavailable',
        extras: { retryAction: 'retry_same_payment' },
      })
      expect(onlyPayment(world)).toMatchObject({ state: 'screened', attempts: 0 })
      expect(await outcomeOf(billing.settle(me, payWithUsdc(offer, {}, 2)))).toBe('offer_used')
      // Its payer has it made himself after all.
      script.preflight = { kind: 'fault', faults: ['nonce_used'] }
      script.verdict = paid(true)
      expect(await outcomeOf(billing.settle(me, payload))).toBe('provisioned')
      expect(calls.payloads).toEqual([])
    })
  }

  test('behavior: one that ended without a trace is void, and its offer may be paid', async () => {
    const world = await openBilling()
    const { billing, script, me, quote } = world
    const offer = await quote()
    script.verdict = { kind: 'open' }
    const payload = payWithUsdc(offer, { validBefore: seconds(NOW_MS + 5000) })
    expect(await outcomeOf(billing.settle(me, payload))).toBe('billing_unavailable')
    script.nowMs += 10_000
    script.verdict = expired
    await billing.reconcile()
    expect(onlyPayment(world).state).toBe('void')
    script.verdict = { kind: 'open' }
    script.onSettle = () => {
      script.verdict = paid(true)
    }
    expect(await outcomeOf(billing.settle(me, payWithUsdc(offer, {}, 2)))).toBe('provisioned')
  })

  for (const validBefore of [seconds(NOW_MS + 30_000), seconds(NOW_MS + 86_400_000)]) {
    test(`behavior: an end at the edge is taken: ${validBefore}`, async () => {
      const { billing, me, quote } = await openBilling()
      expect(await outcomeOf(billing.settle(me, payWithUsdc(await quote(), { validBefore })))).toBe(
        'provisioned',
      )
    })
  }

  test('error: a forged signature is refused and not kept, so that it uses up no nonce', async () => {
    const { billing, script, me, quote, calls, ledger } = await openBilling()
    const payload = payWithUsdc(await quote())
    script.preflight = { kind: 'fault', faults: ['signature_invalid'] }
    await expect(billing.settle(me, payload)).rejects.toMatchObject({
      code: 'payment_rejected',
      extras: { reason: 'signature_invalid', retryAction: 'sign_anew' },
    })
    expect([calls.payloads, ledger.payments.listPayments({ limit: 1 })]).toEqual([[], []])
    script.preflight = { kind: 'ready' }
    expect(await outcomeOf(billing.settle(me, payload))).toBe('provisioned')
  })

  const faults = {
    insufficient_balance: ['payment_rejected', 'wait_and_retry'],
    payer_blocked: ['payment_rejected', 'abandon'],
    allowance_required: ['allowance_required', 'approve_then_retry'],
  } as const
  for (const [fault, [code, retryAction]] of Object.entries(faults)) {
    test(`error: ${fault} is told as ${code}, and nothing is sent`, async () => {
      const world = await openBilling()
      const { billing, script, me, calls } = world
      const payload = payWithUsdt(await world.quote('USDT'))
      Object.assign(script, {
        preflight: { kind: 'fault', faults: [fault] },
        verdict: { kind: 'open' },
      })
      await expect(billing.settle(me, payload)).rejects.toMatchObject({
        code,
        extras: { reason: fault, retryAction },
      })
      expect(onlyPayment(world)).toMatchObject({ state: 'rejected', attempts: 0 })
      expect(calls.payloads).toEqual([])
    })
  }

  test('behavior: an allowance given later lets the same payment through', async () => {
    const { billing, script, me, quote } = await openBilling()
    const payload = payWithUsdt(await quote('USDT'))
    script.preflight = { kind: 'fault', faults: ['allowance_required'] }
    script.verdict = { kind: 'open' }
    const refusal = (await billing.settle(me, payload).catch((error) => error)) as AppError
    expect(refusal.message).toContain(
      '0x095ea7b3000000000000000000000000000000000022d473030f116ddee9f6b43ac78ba3',
    )
    script.preflight = { kind: 'ready' }
    script.onSettle = () => {
      script.verdict = paid(true)
    }
    expect(await outcomeOf(billing.settle(me, payload))).toBe('provisioned')
  })

  test('behavior: a used nonce that paid us is a payment, without a call of the facilitator', async () => {
    const { billing, script, me, quote, calls } = await openBilling()
    script.preflight = { kind: 'fault', faults: ['nonce_used'] }
    expect(await outcomeOf(billing.settle(me, payWithUsdc(await quote())))).toBe('provisioned')
    expect(calls.payloads).toEqual([])
  })

  test('behavior: a used nonce of which the chain proves nothing yet is in flight, never unpaid', async () => {
    const { billing, script, me, quote } = await openBilling()
    script.preflight = { kind: 'fault', faults: ['nonce_used'] }
    script.verdict = { kind: 'open' }
    expect(await outcomeOf(billing.settle(me, payWithUsdc(await quote())))).toBe('unknown')
  })

  test('error: a dead node is not told as a fault of the payer', async () => {
    const world = await openBilling()
    const { billing, script, me, calls } = world
    const payload = payWithUsdc(await world.quote())
    script.preflight = { kind: 'unavailable', reason: 'ECONNREFUSED' }
    // Before a place is taken for it, when nothing can be known of its nonce, and after.
    expect(await outcomeOf(billing.settle(me, payload))).toBe('billing_unavailable')
    expect(world.ledger.payments.listPayments({ limit: 1 })).toEqual([])
    script.preflights = [{ kind: 'ready' }]
    expect(await outcomeOf(billing.settle(me, payload))).toBe('billing_unavailable')
    expect(onlyPayment(world).state).toBe('screened')
    expect(calls.payloads).toEqual([])
    script.preflight = { kind: 'ready' }
    expect(await outcomeOf(billing.settle(me, payload))).toBe('provisioned')
  })

  test('error: a payer on a sanctions list is never sent on, and stays for the operator', async () => {
    const world = await openBilling()
    const { billing, script, me, calls } = world
    const payload = payWithUsdc(await world.quote())
    script.screening = 'hit'
    expect(await outcomeOf(billing.settle(me, payload))).toBe('sanctioned')
    script.screening = 'clear'
    expect(await outcomeOf(billing.settle(me, payload))).toBe('sanctioned')
    await billing.reconcile()
    expect(onlyPayment(world)).toMatchObject({ state: 'review', reason: 'sanctioned' })
    expect(calls.payloads).toEqual([])
  })

  test('error: without a verdict nothing is sent, and the same payment goes on later', async () => {
    const world = await openBilling()
    const { billing, script, me, calls } = world
    const payload = payWithUsdc(await world.quote())
    script.screening = 'unknown'
    expect(await outcomeOf(billing.settle(me, payload))).toBe('screening_unavailable')
    expect(onlyPayment(world).state).toBe('received')
    expect(calls.payloads).toEqual([])
    script.screening = 'clear'
    expect(await outcomeOf(billing.settle(me, payload))).toBe('provisioned')
  })
})
