import { describe, expect, test } from 'bun:test'

import type { ChainVerdict } from '#src/domain/selling/chain-view.ts'
import type { SettleResult } from '#src/domain/selling/facilitator.ts'

import {
  NOW_MS,
  onlyPayment,
  openBilling,
  outcomeOf,
  paid,
  payWithUsdc,
  payWithUsdt,
  seconds,
  SIGNATURE,
  TX,
} from './scripted-billing.ts'

const results: Record<string, SettleResult> = {
  success: { kind: 'success', txHash: TX },
  pending: { kind: 'pending', txHash: TX },
  failed: { kind: 'failed', reason: 'invalid_exact_evm_signature' },
  'failed with a hash': {
    kind: 'failed',
    reason: 'invalid_exact_evm_transaction_failed',
    txHash: TX,
  },
  refused: { kind: 'refused', reason: 'HTTP 429' },
  unknown: { kind: 'unknown', reason: 'timeout' },
}

const expired: ChainVerdict = { kind: 'void', reason: 'expired' }
const verdicts: Record<string, ChainVerdict> = {
  'paid and final': paid(true),
  'paid, not final': paid(false),
  expired,
  canceled: { kind: 'void', reason: 'canceled' },
  'used elsewhere': { kind: 'void', reason: 'used_elsewhere' },
  open: { kind: 'open' },
  unavailable: { kind: 'unavailable', reason: 'ECONNREFUSED' },
}

/**
 * Verdict → what the caller gets → state; where the chain is silent the
 * word of the facilitator counts.
 */
const byVerdict: Record<string, [answer: string, state: string]> = {
  'paid and final': ['provisioned', 'provisioned'],
  'paid, not final': ['pending', 'pending'],
  expired: ['payment_rejected', 'void'],
  canceled: ['payment_rejected', 'void'],
  'used elsewhere': ['payment_in_review', 'review'],
}
const byResult: Record<string, string> = {
  success: 'pending',
  pending: 'pending',
  failed: 'unknown',
  'failed with a hash': 'unknown',
  unknown: 'unknown',
}

describe('settle: what the facilitator and the chain say', () => {
  for (const [said, result] of Object.entries(results)) {
    for (const [seen, verdict] of Object.entries(verdicts)) {
      // A refusal proves nothing either: a facilitator may settle, and say that it did not.
      const inFlight = byResult[said] ?? ''
      const unproven =
        said === 'refused' ? ['billing_unavailable', 'screened'] : [inFlight, inFlight]
      const [answer = '', state = ''] = byVerdict[seen] ?? unproven
      const isUnsent = state === 'screened'
      test(`behavior: ${said}, ${seen}: ${answer}`, async () => {
        const world = await openBilling()
        const { billing, script, calls, me, ledger } = world
        const payload = payWithUsdc(await world.quote())
        Object.assign(script, { result, verdict })
        expect(await outcomeOf(billing.settle(me, payload))).toBe(answer)
        expect(onlyPayment(world).state).toBe(state as 'void')
        // The same again finds the same; it is sent again only if it never was.
        expect(await outcomeOf(billing.settle(me, payload))).toBe(answer)
        expect(calls.payloads.length).toBe(isUnsent ? 2 : 1)
        expect(new Set(calls.payloads).size).toBe(1)
        expect(billing.subscriptions(me).length).toBe(state === 'provisioned' ? 1 : 0)
        expect([...ledger.verifyAudit()]).toEqual([])
      })
    }
  }

  test('error: after a refusal nothing is said of what was sent', async () => {
    const { billing, script, me, quote } = await openBilling()
    script.result = { kind: 'refused', reason: 'facilitator_http_429' }
    script.verdict = { kind: 'open' }
    const refusal = billing.settle(me, payWithUsdc(await quote()))
    await expect(refusal).rejects.toMatchObject({
      message: expect.not.stringContaining('othing was sent'),
      extras: { retryAction: 'retry_same_payment' },
    })
  })

  test('behavior: the trace of a call goes to the facilitator', async () => {
    const { billing, me, quote, calls } = await openBilling()
    await billing.settle(me, payWithUsdc(await quote()), { trace: '00-trace-span-01' })
    expect(calls.traces).toEqual(['00-trace-span-01'])
  })

  test('behavior: 50 calls with one payload make one call of the facilitator and one period', async () => {
    const world = await openBilling()
    const payload = payWithUsdc(await world.quote())
    const { promise, resolve } = Promise.withResolvers<void>()
    world.script.onSettle = () => promise
    const calls = Array.from({ length: 50 }, () => world.billing.settle(world.me, payload))
    while (world.calls.payloads.length === 0) await Promise.resolve()
    // Those that come later find a payment that is being settled, and wait for it as well.
    calls.push(world.billing.settle(world.me, payload))
    resolve()
    const settlements = await Promise.all(calls)
    expect(new Set(settlements.map(({ payment }) => payment.state))).toEqual(
      new Set(['provisioned']),
    )
    expect(new Set(settlements.map(({ subscription }) => subscription?.id)).size).toBe(1)
    expect(world.calls.payloads.length).toBe(1)
    expect(world.billing.subscriptions(world.me).length).toBe(1)
  })

  test('behavior: a payment that becomes final while it is waited for is provisioned in one call', async () => {
    const { billing, script, me, quote, calls } = await openBilling()
    const payload = payWithUsdc(await quote())
    script.verdict = paid(false)
    script.onSleep = () => {
      if (calls.slept.length === 3) script.verdict = paid(true)
    }
    const { payment, subscription } = await billing.settle(me, payload)
    expect(payment).toMatchObject({ state: 'provisioned', txHash: TX, attempts: 1 })
    expect(subscription).toMatchObject({ tierId: 'pro', paymentId: payment.id })
    expect(calls.slept).toEqual([50, 100, 200])
  })

  test('behavior: waits eight seconds at most', async () => {
    const { billing, script, me, quote, calls } = await openBilling()
    script.verdict = paid(false)
    await billing.settle(me, payWithUsdc(await quote()))
    expect(calls.slept.reduce((sum, ms) => sum + ms)).toBe(8000)
  })

  test('behavior: buys through Permit2', async () => {
    const { billing, me, quote } = await openBilling()
    const settlement = await billing.settle(me, payWithUsdt(await quote('USDT')))
    expect(settlement.payment.state).toBe('provisioned')
    expect(settlement.payment.signed).toMatchObject({ method: 'permit2', nonce: '77' })
  })

  test('behavior: what is logged of it names the request', async () => {
    const { billing, me, calls, quote } = await openBilling()
    await billing.settle(me, payWithUsdc(await quote()), { requestId: 'req_mine' })
    const lines = calls.log.filter((line) => line.includes(' -> '))
    expect(lines.length).toBeGreaterThan(1)
    for (const line of lines) expect(line).toEndWith(' req_mine')
  })

  test('behavior: neither the signature nor the payload is in the log or in a refusal', async () => {
    const { billing, script, me, quote, calls } = await openBilling()
    script.preflight = { kind: 'fault', faults: ['signature_invalid'] }
    const error = await billing.settle(me, payWithUsdc(await quote())).catch(String)
    expect(`${calls.log.join()}${error}`).not.toContain(SIGNATURE.slice(2, 20))
  })
})

describe('settle: whose payment it is', () => {
  test('error: the payload of another account, before and after it was handed in', async () => {
    const { billing, me, quote, caller } = await openBilling()
    const payload = payWithUsdc(await quote())
    const thief = await caller('acc_2')
    expect(await outcomeOf(billing.settle(thief, payload))).toBe('unknown_offer')
    expect(await outcomeOf(billing.settle(me, payload))).toBe('provisioned')
    expect(await outcomeOf(billing.settle(thief, payload))).toBe('payment_conflict')
    expect(billing.subscriptions(thief)).toEqual([])
  })

  test('error: a nonce with another payment', async () => {
    const { billing, me, quote } = await openBilling()
    const first = await quote()
    expect(await outcomeOf(billing.settle(me, payWithUsdc(first)))).toBe('provisioned')
    const other = payWithUsdc(await quote(), { validBefore: seconds(NOW_MS + 500_000) })
    expect(await outcomeOf(billing.settle(me, other))).toBe('payment_conflict')
  })

  test('error: a second payment of one offer', async () => {
    const { billing, me, quote } = await openBilling()
    const offer = await quote()
    expect(await outcomeOf(billing.settle(me, payWithUsdc(offer, {}, 1)))).toBe('provisioned')
    expect(await outcomeOf(billing.settle(me, payWithUsdc(offer, {}, 2)))).toBe('offer_used')
  })

  test('error: an amount that is no offer’s', async () => {
    const { billing, me, quote } = await openBilling()
    const payload = payWithUsdc(await quote(), { value: '48999999' })
    expect(await outcomeOf(billing.settle(me, payload))).toBe('unknown_offer')
  })

  test('error: an offer that has expired; but what was handed in before goes on', async () => {
    const { billing, me, quote, script } = await openBilling()
    const begun = await quote()
    const late = await quote('USDC', 'starter')
    const validBefore = seconds(NOW_MS + 3_600_000)
    script.screening = 'unknown'
    const payload = payWithUsdc(begun, { validBefore })
    expect(await outcomeOf(billing.settle(me, payload))).toBe('screening_unavailable')
    script.nowMs += 600_000
    script.screening = 'clear'
    script.verdict = expired
    expect(await outcomeOf(billing.settle(me, payWithUsdc(late, { validBefore }, 2)))).toBe(
      'offer_expired',
    )
    script.verdict = paid(true)
    expect(await outcomeOf(billing.settle(me, payload))).toBe('provisioned')
  })

  test('error: where nothing is configured', async () => {
    const { me, quote } = await openBilling()
    const payload = payWithUsdc(await quote())
    const { billing } = await openBilling({ hasFacilitator: false })
    expect(await outcomeOf(billing.settle(me, payload))).toBe('billing_unavailable')
  })
})

describe('payment, payments', () => {
  test('default: an account sees its own payments alone', async () => {
    const { billing, me, quote, caller } = await openBilling()
    const { payment } = await billing.settle(me, payWithUsdc(await quote()))
    expect((await billing.payment(me, payment.id)).subscription?.tierId).toBe('pro')
    expect(billing.payments(me, { limit: 5 }).map((it) => it.payment.id)).toEqual([payment.id])
    const other = await caller('acc_2')
    expect(billing.payments(other, { limit: 5 })).toEqual([])
    expect(billing.payment(other, payment.id)).rejects.toThrow('no such payment')
  })
})
