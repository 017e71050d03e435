import { describe, expect, test } from 'bun:test'

import type { Billing } from '#src/billing/billing.ts'
import { AppError, type ErrorCode, errorCodes, type ErrorExtras } from '#src/domain/errors.ts'
import { openStates, type PaymentState } from '#src/domain/selling/payment.ts'
import { toPaymentHeader } from '#src/http/x402.ts'

import {
  fakeBilling,
  fakeChallenge,
  fakeSettlement,
  PENDING_ID,
  SIGNATURE,
  TX_HASH,
} from '../support/fake-billing.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { expectDocumented, readDocument } from '../support/openapi-document.ts'
import { readProblem } from '../support/page-client.ts'
import { asJson } from '../support/signup-client.ts'

const SETTLE = '/v1/billing/x402/settle'
const paymentPayload = {
  x402Version: 2,
  accepted: fakeChallenge.accepts[0],
  payload: { signature: SIGNATURE, authorization: { nonce: '0x1' } },
}

const harness = (script: Partial<Billing> = {}) => createHarness({ billing: fakeBilling(script) })
const settlingTo = (state: PaymentState) =>
  harness({ settle: async ({ accountId }) => fakeSettlement(accountId, state) })
const fromHeader = (response: Response, name: string): unknown =>
  JSON.parse(Buffer.from(response.headers.get(name) ?? '', 'base64').toString())

const { document, entries } = await readDocument(harness().send)
async function expectOf(id: string, response: Response) {
  const entry = entries.find(({ operationId }) => operationId === id)
  if (entry === undefined) throw new Error(`${id} is not documented.`)
  const copy = new Response(await response.clone().text(), response)
  await expectDocumented(document, entry, copy)
}

/** Sends a payment in the header, and the body if there is one. */
const inHeader = (value: string, body?: object): RequestInit =>
  body === undefined
    ? { method: 'POST', headers: { 'payment-signature': value } }
    : asJson(body, { 'payment-signature': value })

describe(`POST ${SETTLE}`, () => {
  test('default: a payment that went through is 200 with period, proof and receipt', async () => {
    const response = await harness().send(SETTLE, asJson({ paymentPayload }))
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    await expectOf('settlePayment', response)
    expect(await response.clone().json()).toMatchObject({
      status: 'active',
      subscription: { id: 'sub_fake', tierId: 'pro', paymentId: 'pay_active' },
      settlement: {
        paymentId: 'pay_active',
        transaction: TX_HASH,
        network: 'eip155:137',
        amount: '48999863',
        token: 'USDC',
        amountUsd: '48.999863',
        payer: `0x${'12'.repeat(20)}`,
        explorerUrl: `https://polygonscan.com/tx/${TX_HASH}`,
      },
    })
    expect(fromHeader(response, 'payment-response')).toEqual({
      success: true,
      payer: `0x${'12'.repeat(20)}`,
      transaction: TX_HASH,
      network: 'eip155:137',
      amount: '48999863',
    })
  })

  test('behavior: the facilitator is told of the trace of the caller, with a span of its own', async () => {
    const traces: (string | undefined)[] = []
    const { send } = harness({
      settle: async ({ accountId }, _, origin) => {
        expect(origin?.requestId).toStartWith('req_')
        traces.push(origin?.trace)
        return fakeSettlement(accountId, 'provisioned')
      },
    })
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const span = '00f067aa0ba902b7'
    for (const traceparent of [`00-${trace}-${span}-01`, `01-${trace}-${span}-00-more`, 'none'])
      await send(SETTLE, asJson({ paymentPayload }, { traceparent }))
    const continued = traces.map((each) => each?.replace(/-[0-9a-f]{16}-/, '-new-'))
    expect(continued).toEqual([`00-${trace}-new-01`, `00-${trace}-new-00`, undefined])
    expect(traces.join()).not.toContain(span)
  })

  test('behavior: body and header carry the same payment, also beside the quoteId of the challenge', async () => {
    const seen: unknown[] = []
    const { send } = harness({
      settle: async ({ accountId }, payload) => {
        seen.push(payload)
        return fakeSettlement(accountId, 'provisioned')
      },
    })
    const header = toPaymentHeader(paymentPayload)
    for (const init of [
      asJson({ paymentPayload }),
      inHeader(header),
      inHeader(header, { quoteId: 'quote_fake' }),
    ]) {
      expect((await send(SETTLE, init)).status).toBe(200)
    }
    expect(seen).toEqual([paymentPayload, paymentPayload, paymentPayload])
  })

  test('behavior: without a payment it is 402 with the challenge, as x402 clients expect', async () => {
    const response = await harness().send(SETTLE, asJson({ quoteId: 'quote_fake' }))
    await expectOf('settlePayment', response)
    const challenge = { ...fakeChallenge, error: 'PAYMENT-SIGNATURE header is required' }
    expect(fromHeader(response, 'payment-required')).toEqual(challenge)
    const problem = await readProblem(response)
    expect(problem).toMatchObject({
      code: 'payment_required',
      reason: 'payment_required',
      paymentRequired: challenge,
    })
    const failure = { success: false, errorReason: 'payment_required', transaction: '' }
    expect(fromHeader(response, 'payment-response')).toMatchObject(failure)
  })

  test.each(openStates.map((state) => [state]))(
    'behavior: %s is 202: come back, and do not pay again',
    async (state) => {
      const response = await settlingTo(state).send(SETTLE, asJson({ paymentPayload }))
      await expectOf('settlePayment', response)
      const { headers } = response
      expect([response.status, headers.get('payment-required')]).toEqual([202, null])
      expect([headers.get('retry-after'), headers.get('payment-response')]).toEqual(['10', null])
      const pollUrl = `/v1/billing/x402/payments/${PENDING_ID}`
      expect(headers.get('location')).toBe(pollUrl)
      const isBegun = state !== 'received' && state !== 'screened'
      expect(await response.json()).toEqual({
        status: 'pending',
        paymentId: PENDING_ID,
        paymentState: state,
        retryAction: isBegun ? 'poll' : 'retry_same_payment',
        pollUrl,
        authorizationExpiresAt: new Date((Math.floor(NOW_MS / 1000) + 600) * 1000).toISOString(),
      })
    },
  )

  const refusals: [ErrorCode, ErrorExtras][] = [
    ['payment_invalid', { param: 'paymentPayload' }],
    ['payment_rejected', { reason: 'insufficient_balance', retryAction: 'sign_anew' }],
    ['unknown_offer', {}],
    ['offer_used', { retryAction: 'poll' }],
    ['payment_conflict', { retryAction: 'abandon' }],
    ['payment_in_review', { retryAction: 'ask_operator' }],
    ['offer_expired', { retryAction: 'sign_anew' }],
    ['allowance_required', { retryAction: 'approve_then_retry' }],
    ['sanctioned', {}],
    ['screening_unavailable', { retryAfterSeconds: 60, retryAction: 'retry_same_payment' }],
    ['billing_unavailable', { retryAction: 'wait_and_retry' }],
  ]
  test.each(refusals)('error: %s comes with what to do, and no demand', async (code, extras) => {
    const { send } = harness({
      settle: async () => {
        throw new AppError(code, 'It is refused.', extras)
      },
    })
    const response = await send(SETTLE, asJson({ paymentPayload }))
    await expectOf('settlePayment', response)
    expect(response.headers.get('payment-required')).toBeNull()
    const problem = await readProblem(response)
    expect(problem).toMatchObject({ code, status: errorCodes[code].status, ...extras })
    expect(problem).not.toHaveProperty('paymentRequired')
  })

  test('error: a rejection that is certain may carry a fresh challenge', async () => {
    const { send } = harness({
      settle: async () => {
        throw new AppError('payment_rejected', 'Void.', { paymentRequired: fakeChallenge })
      },
    })
    const response = await send(SETTLE, asJson({ paymentPayload }))
    expect(fromHeader(response, 'payment-required')).toEqual(fakeChallenge)
    await expectOf('settlePayment', response)
  })

  test('error: neither payment nor offer, or two payments, ask nobody', async () => {
    const { send } = harness({ settle: () => Promise.reject(new Error('asked')) })
    for (const init of [{ method: 'POST' }, asJson({})]) {
      const problem = await readProblem(await send(SETTLE, init))
      expect([problem.code, problem.param]).toEqual(['invalid_parameter', 'paymentPayload'])
    }
    const both = inHeader(toPaymentHeader(paymentPayload), { paymentPayload })
    expect((await readProblem(await send(SETTLE, both))).code).toBe('invalid_request')
  })

  test.each([
    ['', 'an empty header'],
    ['{"x402Version":2}', 'plain JSON'],
    [Buffer.from('[1]').toString('base64'), 'a list'],
    [Buffer.from('null').toString('base64'), 'null'],
    [Buffer.from('{"a":').toString('base64'), 'half of JSON'],
    [Buffer.from([0x7b, 0xff, 0x7d]).toString('base64'), 'what is not UTF-8'],
    [`${toPaymentHeader(paymentPayload)}, ${toPaymentHeader(paymentPayload)}`, 'two of them'],
    [toPaymentHeader({ x402Version: 2, more: 'a'.repeat(16_384) }), 'too much'],
  ])('error: %p, %s, is no payment', async (value) => {
    const response = await harness().send(SETTLE, inHeader(value))
    await expectOf('settlePayment', response)
    expect(await readProblem(response)).toMatchObject({
      code: 'payment_invalid',
      param: 'PAYMENT-SIGNATURE',
      reason: 'payload_invalid',
      retryAction: 'sign_anew',
    })
  })

  test('error: a payload that is too long, or no object, is not shown', async () => {
    const { send } = harness()
    const long = { signature: SIGNATURE, more: 'a'.repeat(16_384) }
    for (const sent of [long, SIGNATURE, [SIGNATURE], null, 1]) {
      const problem = await readProblem(await send(SETTLE, asJson({ paymentPayload: sent })))
      expect([problem.code, problem.param]).toEqual(['invalid_parameter', 'paymentPayload'])
      expect(JSON.stringify(problem)).not.toContain('5a5a')
    }
  })

  test('error: a caller without a key is told of no payment', async () => {
    const { sendAs } = harness({ settle: () => Promise.reject(new Error('asked')) })
    const response = await sendAs(undefined, SETTLE, asJson({ paymentPayload }))
    expect((await readProblem(response)).code).toBe('unauthenticated')
  })
})

describe('GET /v1/billing/x402/payments/{id}', () => {
  const states: [PaymentState, string, string | null][] = [
    ...openStates.map((state): [PaymentState, string, string] => [state, 'pending', '10']),
    ['provisioned', 'active', null],
    ['rejected', 'failed', null],
    ['void', 'failed', null],
    ['review', 'review', null],
  ]
  test.each(states)('default: %s is shown as %s', async (state, status, retryAfter) => {
    const { send } = harness({
      payment: async ({ accountId }) => fakeSettlement(accountId, state, { reason: 'expired' }),
    })
    const response = await send('/v1/billing/x402/payments/pay_any')
    await expectOf('getPayment', response)
    const { headers } = response
    expect([response.status, headers.get('retry-after')]).toEqual([200, retryAfter])
    expect(headers.has('payment-response')).toBe(status === 'active')
    const body = (await response.json()) as Record<string, unknown>
    expect(body).toMatchObject({ status, paymentState: state, reason: 'expired' })
    expect('settlement' in body).toBe(status === 'active')
    expect('pollUrl' in body).toBe(status === 'pending')
  })

  test.each([
    ['offer_used', 'abandon'],
    ['payer_blocked', 'abandon'],
    ['allowance_required', 'approve_then_retry'],
    ['signature_invalid', 'sign_anew'],
    ['expires_too_late', 'wait_and_retry'],
    [undefined, 'wait_and_retry'],
  ])(
    'behavior: after %s it says %s, and never to pay what is being paid',
    async (reason, action) => {
      const { send } = harness({
        payment: async ({ accountId }) => fakeSettlement(accountId, 'rejected', { reason }),
      })
      const response = await send('/v1/billing/x402/payments/pay_any')
      expect(await response.json()).toMatchObject({ status: 'failed', retryAction: action })
    },
  )

  test('error: a payment that is not the caller’s is unknown', async () => {
    const response = await harness().send('/v1/billing/x402/payments/pay_none')
    await expectOf('getPayment', response)
    expect((await readProblem(response)).code).toBe('unknown_payment')
  })
})

describe('signatures', () => {
  test('behavior: are in no response and no line of the log, whatever becomes of a payment', async () => {
    const leaks: string[] = []
    const keep = async (response: Response) => {
      leaks.push(JSON.stringify([...response.headers]) + (await response.text()))
    }
    for (const state of [...openStates, 'provisioned'] as const) {
      const { send, lines } = settlingTo(state)
      await keep(await send(SETTLE, asJson({ paymentPayload })))
      await keep(await send(SETTLE, inHeader(toPaymentHeader(paymentPayload))))
      await keep(await send(SETTLE, inHeader(`${toPaymentHeader(paymentPayload)}!`)))
      await keep(await send(SETTLE, asJson({ paymentPayload, signature: SIGNATURE })))
      await keep(await send('/v1/billing/payments'))
      for (const id of ['pay_active', PENDING_ID]) {
        await keep(await send(`/v1/billing/x402/payments/${id}`))
      }
      leaks.push(lines.join(''))
    }
    // Base64 of the repeated part, wherever it begins.
    const encoded = 'NWE1YTVh'
    expect(toPaymentHeader(paymentPayload)).toContain(encoded)
    for (const text of leaks) {
      expect(text).not.toContain('5a5a5a')
      expect(text).not.toContain(encoded)
    }
    expect(leaks.length).toBeGreaterThan(40)
  })
})
