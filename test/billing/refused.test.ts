/** Payments that were refused, by us or by a rule of the ledger, and what may be said of them. */
import { describe, expect, test } from 'bun:test'

import type { ChainVerdict } from '#src/domain/selling/chain-view.ts'
import type { Offer } from '#src/domain/selling/payment.ts'

import { onlyPayment, openBilling, outcomeOf, paid, payWithUsdc, TX } from './scripted-billing.ts'

describe('settle: what the ledger says', () => {
  test('error: a rule that forbids a second payment is one thing, any other failure is not taken for it', async () => {
    const world = await openBilling()
    const { billing, ledger, script, me } = world
    const payload = payWithUsdc(await world.quote())
    const { move } = ledger.payments
    ledger.payments.move = (id, change, by) => {
      if (change.to === 'settled')
        throw new Error('Assertion failed: a settled payment has its proof')
      return move(id, change, by)
    }
    await expect(billing.settle(me, payload)).rejects.toThrow('Assertion failed')
    expect(onlyPayment(world).state).toBe('settling')
    ledger.payments.move = move
    script.nowMs += 91_000
    expect(await outcomeOf(billing.settle(me, payload))).toBe('provisioned')
  })

  test('error: a failed assertion does not end a refused payment that may be sent again', async () => {
    const world = await openBilling()
    const { billing, ledger, script, me } = world
    const payload = payWithUsdc(await world.quote())
    const fault = 'insufficient_balance'
    Object.assign(script, { preflight: { kind: 'fault', faults: [fault] } })
    script.verdict = { kind: 'open' }
    expect(await outcomeOf(billing.settle(me, payload))).toBe('payment_rejected')
    Object.assign(script, { preflight: { kind: 'ready' } })
    const { move } = ledger.payments
    ledger.payments.move = () => {
      throw new Error('Assertion failed')
    }
    await expect(billing.settle(me, payload)).rejects.toThrow('Assertion failed')
    ledger.payments.move = move
    script.onSettle = () => {
      script.verdict = paid(true)
    }
    expect(await outcomeOf(billing.settle(me, payload))).toBe('provisioned')
  })
})

describe('settle: a payment that was made before it came', () => {
  /** Three offers of one amount, an hour after each other, made at blocks 100, 200 and 300. */
  async function openThree() {
    const world = await openBilling()
    const offers: Offer[] = []
    for (const finalNumber of [100, 200, 300]) {
      world.script.finalNumber = finalNumber
      offers.push(await world.quote())
      world.script.nowMs += 3_600_000
    }
    expect(new Set(offers.map(({ requirements }) => requirements.amount)).size).toBe(1)
    world.script.preflight = { kind: 'fault', faults: ['nonce_used'] }
    return { ...world, world, offers }
  }
  const paidIn = (blockNumber: number): ChainVerdict => ({
    kind: 'paid',
    proof: { txHash: TX, blockNumber, logIndex: 3 },
    isFinal: true,
  })

  test.each([
    [101, 0, 'provisioned'],
    [200, 0, 'provisioned'],
    [201, 1, 'provisioned'],
    [301, 2, 'provisioned'],
    // Before all of them.
    [100, 2, 'review'],
  ])(
    'behavior: in block %i is for offer %i, the newest that is older',
    async (block, index, state) => {
      const { billing, script, me, offers, world } = await openThree()
      const [offer] = offers.slice(index)
      if (!offer) throw new Error('There is no offer.')
      script.verdict = paidIn(block)
      await outcomeOf(billing.settle(me, payWithUsdc(offer)))
      expect(onlyPayment(world)).toMatchObject({ state: state as 'review', offerId: offer.id })
      expect(billing.subscriptions(me).length).toBe(state === 'provisioned' ? 1 : 0)
    },
  )
})

describe('settle: two payments that were made before they came', () => {
  test('behavior: each pays an offer of its own, where one amount has two', async () => {
    const { billing, script, me, quote, ledger } = await openBilling()
    const offers: Offer[] = []
    for (const finalNumber of [100, 200]) {
      script.finalNumber = finalNumber
      offers.push(await quote())
      script.nowMs += 3_600_000
    }
    const [older, newer] = offers
    if (!older || !newer) throw new Error('There are two offers.')
    script.preflight = { kind: 'fault', faults: ['nonce_used'] }
    for (const [nonce, logIndex] of [
      [1, 3],
      [2, 4],
    ] as const) {
      const proof = { txHash: TX, blockNumber: 301, logIndex }
      script.verdict = { kind: 'paid', proof, isFinal: true }
      const call = billing.settle(me, payWithUsdc(newer, {}, nonce))
      expect(await outcomeOf(call)).toBe('provisioned')
    }
    const paidOffers = ledger.payments.listPayments({ limit: 3 }).map(({ offerId }) => offerId)
    expect(new Set(paidOffers)).toEqual(new Set([older.id, newer.id]))
  })
})

describe('settle: a payment that was refused', () => {
  test.each(['insufficient_balance', 'payer_blocked', 'signature_invalid'] as const)(
    'error: after %s nobody is told that nothing moved before the chain was asked again',
    async (fault) => {
      const { billing, script, me, quote } = await openBilling()
      const payload = payWithUsdc(await quote())
      script.preflights = [{ kind: 'ready' }, { kind: 'fault', faults: [fault] }]
      script.verdict = { kind: 'open' }
      expect(await outcomeOf(billing.settle(me, payload))).toBe('payment_rejected')
      script.preflight = { kind: 'unavailable', reason: 'down' }
      script.verdict = { kind: 'unavailable', reason: 'down' }
      await expect(billing.settle(me, payload)).rejects.toMatchObject({
        code: 'billing_unavailable',
        extras: { retryAction: 'retry_same_payment' },
      })
      // He has sent it himself meanwhile.
      script.preflight = { kind: 'fault', faults: ['nonce_used'] }
      expect(await outcomeOf(billing.settle(me, payload))).toBe('unknown')
      script.verdict = paid(true)
      expect(await outcomeOf(billing.settle(me, payload))).toBe('provisioned')
    },
  )
})

describe('settle: a quote that the operator has released', () => {
  test('error: says that, and not that it is too late', async () => {
    const { billing, ledger, script, caller } = await openBilling()
    const guest = await caller('acc_3')
    const wish = { tierId: 'pro', network: 'eip155:137', token: 'USDC' }
    const { offer } = await billing.quote(guest, wish)
    script.verdict = { kind: 'open' }
    script.nowMs += 1000
    expect(
      await ledger.payments.releaseOffer(offer.id, { actor: 'operator', nowMs: script.nowMs }),
    ).toBe(true)
    const refused = billing.settle(guest, payWithUsdc(offer))
    await expect(refused).rejects.toMatchObject({
      code: 'billing_unavailable',
      message: expect.stringContaining('has released the quote'),
      extras: { reason: 'offer_released', retryAction: 'retry_same_payment' },
    })
  })
})
