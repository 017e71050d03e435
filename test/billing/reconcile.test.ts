import { describe, expect, test } from 'bun:test'

import type { ChainVerdict } from '#src/domain/selling/chain-view.ts'
import type { PaymentState } from '#src/domain/selling/payment.ts'

import {
  NOW_MS,
  onlyPayment,
  openBilling,
  outcomeOf,
  paid,
  PAYER,
  payWithUsdc,
  TX,
  type World,
} from './scripted-billing.ts'

const open: ChainVerdict = { kind: 'open' }
const expired: ChainVerdict = { kind: 'void', reason: 'expired' }

/** Brings a payment into a state as a server does that is killed there. */
const ways: Record<string, (world: World, payload: object) => Promise<void>> = {
  async received({ billing, script, me }, payload) {
    script.screening = 'unknown'
    await outcomeOf(billing.settle(me, payload))
    script.screening = 'clear'
  },
  async screened({ billing, script, me }, payload) {
    script.preflights = [{ kind: 'ready' }]
    script.preflight = { kind: 'unavailable', reason: 'down' }
    await outcomeOf(billing.settle(me, payload))
    script.preflight = { kind: 'ready' }
  },
  async settling({ billing, script, me }, payload) {
    const { promise, reject } = Promise.withResolvers<void>()
    script.onSettle = () => promise
    const call = billing.settle(me, payload)
    while (
      script.nowMs === NOW_MS &&
      billing.payments(me, { limit: 1 })[0]?.payment.state !== 'settling'
    )
      await Promise.resolve()
    // The process is gone: its call never comes back with an answer.
    reject(new Error('killed'))
    await call.catch(() => undefined)
    script.onSettle = () => undefined
  },
  async pending({ billing, script, me }, payload) {
    script.verdict = open
    await billing.settle(me, payload)
  },
  async unknown({ billing, script, me }, payload) {
    script.verdict = open
    script.result = { kind: 'unknown', reason: 'timeout' }
    await billing.settle(me, payload)
    script.result = { kind: 'success', txHash: TX }
  },
  async rejected({ billing, script, me }, payload) {
    script.verdict = open
    script.preflight = { kind: 'fault', faults: ['insufficient_balance'] }
    await outcomeOf(billing.settle(me, payload))
  },
}

const states = Object.keys(ways) as (PaymentState & keyof typeof ways)[]

async function openIn(state: keyof typeof ways) {
  const world = await openBilling()
  const payload = payWithUsdc(await world.quote())
  await ways[state]?.(world, payload)
  expect(onlyPayment(world).state).toBe(state as PaymentState)
  return { ...world, payload, world }
}

describe('reconcile', () => {
  for (const state of states) {
    test(`behavior: ${state} and paid gives one period, however late`, async () => {
      const { billing, script, me, world, ledger } = await openIn(state)
      script.verdict = paid(true)
      script.nowMs += 25 * 3_600_000
      expect(await billing.reconcile()).toBe(0)
      expect(await billing.reconcile()).toBe(0)
      expect(onlyPayment(world)).toMatchObject({ state: 'provisioned', proof: { logIndex: 3 } })
      expect(billing.subscriptions(me)).toMatchObject([{ tierId: 'pro' }])
      expect([...ledger.verifyAudit()]).toEqual([])
    })

    test(`behavior: ${state} and proved void is void, and the payer may sign anew`, async () => {
      const { billing, script, me, world, payload } = await openIn(state)
      script.verdict = expired
      script.nowMs += 700_000
      expect(await billing.reconcile()).toBe(0)
      expect(onlyPayment(world).state).toBe('void')
      expect(await outcomeOf(billing.settle(me, payload))).toBe('payment_rejected')
      expect(billing.subscriptions(me)).toEqual([])
    })

    test(`behavior: ${state} and spent elsewhere is for the operator`, async () => {
      const { billing, script, world } = await openIn(state)
      script.verdict = { kind: 'void', reason: 'used_elsewhere' }
      await billing.reconcile()
      expect(onlyPayment(world)).toMatchObject({ state: 'review', reason: 'used_elsewhere' })
    })

    test(`behavior: ${state} neither ends nor is sent while the chain does not answer`, async () => {
      const { billing, script, world, calls } = await openIn(state)
      const sent = calls.payloads.length
      Object.assign(script, { verdict: { kind: 'unavailable', reason: 'down' } })
      Object.assign(script, { preflight: { kind: 'unavailable', reason: 'down' } })
      script.nowMs += 90_000
      await billing.reconcile()
      // Screening needs no chain.
      expect(onlyPayment(world).state).toBe(state === 'received' ? 'screened' : state)
      expect(calls.payloads.length).toBe(sent)
    })
  }

  for (const state of ['received', 'screened', 'settling', 'pending', 'unknown'] as const) {
    test(`behavior: ${state} and still possible is sent with the same bytes, three times at most`, async () => {
      const { billing, script, world, calls } = await openIn(state)
      script.verdict = open
      script.result = { kind: 'unknown', reason: 'timeout' }
      for (let round = 0; round < 6; round++) {
        script.nowMs += 91_000
        expect(await billing.reconcile()).toBe(1)
      }
      expect(calls.payloads.length).toBe(3)
      expect(new Set(calls.payloads).size).toBe(1)
      expect(onlyPayment(world)).toMatchObject({ state: 'unknown', attempts: 3 })
    })
  }

  test('behavior: what another process has leased is looked for, not sent', async () => {
    const { billing, script, world, calls } = await openIn('settling')
    script.verdict = open
    script.nowMs += 14_999
    await billing.reconcile()
    expect(calls.payloads.length).toBe(1)
    expect(onlyPayment(world).state).toBe('settling')
    // The process that held the lease is gone, or it would have renewed it.
    script.nowMs += 1
    await billing.reconcile()
    expect(calls.payloads.length).toBe(2)
  })

  test('behavior: a lease is held for as long as the facilitator takes', async () => {
    const world = await openBilling({ lease: { ms: 15_000, renewMs: 1 } })
    const { billing, script, me, ledger } = world
    const answered = Promise.withResolvers<void>()
    script.onSettle = () => answered.promise
    const settled = billing.settle(me, payWithUsdc(await world.quote()))
    const until = () => ledger.payments.listPayments({ limit: 1 })[0]?.leaseUntilMs
    for (let minutes = 1; minutes <= 3; minutes++) {
      while (until() !== script.nowMs + 15_000) await Bun.sleep(1)
      script.nowMs += 14_000
    }
    const by = { actor: 'system', nowMs: script.nowMs } as const
    expect(await ledger.payments.lease(onlyPayment(world).id, script.nowMs + 1, by)).toBeUndefined()
    answered.resolve()
    const { payment } = await settled
    expect(payment.state).toBe('provisioned')
    expect(until()).toBeUndefined()
    // Renewing the lease changed no state, so the audit chain has the states alone.
    const actions = ledger.listAudit(0, 1000).filter(({ subject }) => subject === payment.id)
    expect(actions.map(({ action }) => action)).toEqual(
      ['received', 'screened', 'settling', 'settled', 'provisioned'].map((to) => `payment.${to}`),
    )
    expect([...ledger.verifyAudit()]).toEqual([])
  })

  test('behavior: a facilitator that refuses the second call proves nothing of the first', async () => {
    const { billing, script, me, payload, calls, world } = await openIn('unknown')
    script.result = { kind: 'refused', reason: 'HTTP 429' }
    script.nowMs += 91_000
    expect(await outcomeOf(billing.settle(me, payload))).toBe('unknown')
    expect(onlyPayment(world).state).toBe('unknown')
    expect(calls.payloads.length).toBe(2)
  })

  test('behavior: a payer who got onto a list is not sent again', async () => {
    const { billing, script, world, calls } = await openIn('unknown')
    script.screening = 'hit'
    script.nowMs += 91_000
    await billing.reconcile()
    expect(calls.payloads.length).toBe(1)
    expect(onlyPayment(world)).toMatchObject({ state: 'review', reason: 'sanctioned' })
  })

  test('behavior: money of a payer who was never screened waits for the verdict', async () => {
    const { billing, script, world } = await openIn('received')
    script.verdict = paid(true)
    script.screening = 'unknown'
    await billing.reconcile()
    expect(onlyPayment(world).state).toBe('received')
    script.screening = 'hit'
    await billing.reconcile()
    expect(onlyPayment(world).state).toBe('review')
  })

  test('behavior: money for a rejected payment whose offer another one has paid is for the operator', async () => {
    const { billing, script, me, ledger } = await openIn('rejected')
    const [rejected] = ledger.payments.listPaymentsIn(['rejected'])
    const offer = ledger.payments.findOffer(rejected?.offerId ?? '')
    if (!offer) throw new Error('There is no offer.')
    script.preflight = { kind: 'ready' }
    script.verdict = paid(true)
    expect(await outcomeOf(billing.settle(me, payWithUsdc(offer, {}, 2)))).toBe('provisioned')
    script.verdict = paid(true, 9)
    await billing.reconcile()
    expect(ledger.payments.findPayment(rejected?.id ?? '')).toMatchObject({
      state: 'review',
      reason: 'paid_twice',
    })
    expect(billing.subscriptions(me).length).toBe(1)
  })

  test('behavior: a caller who comes during a look has his payment sent after it', async () => {
    const { billing, script, me, payload } = await openIn('screened')
    const look = Promise.withResolvers<void>()
    script.verdict = open
    script.onLook = () => look.promise
    const reconciled = billing.reconcile()
    const settled = outcomeOf(billing.settle(me, payload))
    await Promise.resolve()
    look.resolve()
    script.onSeen = () => {
      script.verdict = paid(true)
    }
    expect([(await reconciled) >= 0, await settled]).toEqual([true, 'provisioned'])
  })

  test('behavior: a reorganisation that takes the transfer back leaves nothing provisioned', async () => {
    const { billing, script, me, world } = await openIn('pending')
    script.verdict = paid(false)
    await billing.reconcile()
    script.verdict = open
    await billing.reconcile()
    expect(onlyPayment(world).state).toBe('pending')
    expect(billing.subscriptions(me)).toEqual([])
  })
})

describe('watch', () => {
  const transfer = {
    txHash: TX,
    blockNumber: 105,
    logIndex: 3,
    asset: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
    from: PAYER,
    amount: 5n,
  }

  test('default: money without a payment is noted once, what came before is not', async () => {
    const { billing, script, ledger } = await openBilling()
    script.transfers = [{ ...transfer, blockNumber: 99 }, transfer]
    await billing.watch()
    script.finalNumber = 3110
    await billing.watch()
    await billing.watch()
    expect(ledger.payments.listUnmatchedTransfers(false)).toMatchObject([transfer])
    expect(ledger.payments.scannedBlock('eip155:137')).toBe(3110)
  })

  test('behavior: what has paid one payment does not wait for another of the same amount', async () => {
    const { billing, script, me, ledger, quote } = await openBilling()
    await billing.watch()
    const offer = await quote()
    Object.assign(script, {
      verdict: open,
      preflight: { kind: 'fault', faults: ['payer_blocked'] },
    })
    await outcomeOf(billing.settle(me, payWithUsdc(offer, {}, 1)))
    Object.assign(script, { verdict: paid(true), preflight: { kind: 'ready' } })
    await billing.settle(me, payWithUsdc(offer, {}, 2))
    script.finalNumber = 110
    script.transfers = [{ ...transfer, amount: BigInt(offer.requirements.amount) }]
    await billing.watch()
    expect(ledger.payments.scannedBlock('eip155:137')).toBe(110)
  })

  test('behavior: a transfer that an open payment may be waits for it', async () => {
    const { billing, script, me, ledger, quote } = await openBilling()
    await billing.watch()
    const offer = await quote()
    script.verdict = open
    await billing.settle(me, payWithUsdc(offer))
    script.finalNumber = 110
    script.transfers = [{ ...transfer, amount: BigInt(offer.requirements.amount) }]
    await billing.watch()
    expect(ledger.payments.scannedBlock('eip155:137')).toBe(104)
    script.verdict = paid(true)
    await billing.reconcile()
    await billing.watch()
    expect(ledger.payments.scannedBlock('eip155:137')).toBe(110)
    expect(ledger.payments.listUnmatchedTransfers(false)).toEqual([])
  })
})
