/**
 * What free accounts may do to honest buyers: hold amounts, and
 * submit payments that cannot be made.
 */
import { describe, expect, test } from 'bun:test'

import type { Caller } from '#src/domain/selling/caller.ts'
import type { Preflight } from '#src/domain/selling/chain-view.ts'
import type { SignedPayment } from '#src/domain/selling/payment.ts'
import type { LedgerTransaction } from '#src/ledger/ledger.ts'

import { openBilling, outcomeOf, paid, payWithUsdc, TX, type World } from './scripted-billing.ts'

const ACCOUNTS = 500
const BY = { actor: 'system', nowMs: 0 } as const
const wish = { tierId: 'pro', network: 'eip155:137', token: 'USDC' }
const addressOf = (number: number) => `0xc${number.toString(16).padStart(39, '0')}`
const EMPTY: Preflight = { kind: 'fault', faults: ['insufficient_balance'] }
let nonces = 1000

/** Submits a payment that is refused for want of money, so that the next offer is another one. */
const payWithNothing = (
  { billing }: World,
  who: Caller,
  offer: Parameters<typeof payWithUsdc>[0],
) => {
  const from = offer.payer ?? addressOf(9999)
  return outcomeOf(billing.settle(who, payWithUsdc(offer, { from }, nonces++)))
}

/** Asks for amounts until no more are given; how many that were. */
async function holdAll(world: World, who: Caller, payer: string): Promise<number> {
  for (let held = 0; held < 25; held++) {
    const quote = await world.billing
      .quote(who, { ...wish, payer, anotherPeriod: true })
      .catch(() => undefined)
    if (quote === undefined) return held
    await payWithNothing(world, who, quote.offer)
  }
  return 25
}

describe('quote', () => {
  test(`behavior: ${ACCOUNTS} accounts that hold all they can keep no buyer from his offer`, async () => {
    const world = await openBilling()
    const { billing, script, walletOf } = world
    Object.assign(script, { preflight: EMPTY, verdict: { kind: 'open' } })
    let held = 0
    for (let number = 1; number <= ACCOUNTS; number++) {
      held += await holdAll(world, await walletOf(addressOf(number)), addressOf(9999))
    }
    expect(held).toBe(5 * ACCOUNTS)
    Object.assign(script, { preflight: { kind: 'ready' }, verdict: paid(true) })
    const honest = await walletOf(addressOf(7000))
    const own = await billing.quote(honest, wish)
    expect(own.offer.requirements.amount).toBe('49000000')
    const payment = payWithUsdc(own.offer, { from: addressOf(7000) }, 1)
    expect(await outcomeOf(billing.settle(honest, payment))).toBe('provisioned')
    const guest = await walletOf(addressOf(7001))
    const { offer } = await billing.quote(guest, { ...wish, payer: addressOf(8000) })
    script.verdict = paid(true, 4)
    const foreign = payWithUsdc(offer, { from: addressOf(8000) }, 2)
    expect(await outcomeOf(billing.settle(guest, foreign))).toBe('provisioned')
  }, 300_000)
})

describe('settle', () => {
  test('error: of an offer five payments may fail, and of an account twenty in an hour', async () => {
    const world = await openBilling()
    const { me, script, quote, ledger } = world
    Object.assign(script, { preflight: EMPTY, verdict: { kind: 'open' } })
    const outcomes: string[] = []
    for (let offers = 0; offers < 4; offers++) {
      // The offer of a payment that may still be made is shown again to a plain order.
      const offer = await quote('USDC', 'pro', offers > 0)
      for (let count = 0; count < 6; count++) outcomes.push(await payWithNothing(world, me, offer))
    }
    const offerFull = [...Array(5).fill('payment_rejected'), 'payment_limit']
    expect(outcomes).toEqual([...offerFull, ...offerFull, ...offerFull, ...offerFull])
    const fifth = await quote('USDC', 'pro', true)
    expect(await payWithNothing(world, me, fifth)).toBe('payment_limit')
    expect(ledger.payments.listPaymentsIn(['rejected'])).toHaveLength(20)
    // What was taken before is answered as ever, and an hour later another one is.
    script.nowMs += 3_600_001
    const later = await quote('USDC', 'pro', true)
    expect(await payWithNothing(world, me, later)).toBe('payment_rejected')
  })
})

/** Rejected payments as ten accounts with empty wallets leave them. */
async function addRejected({ ledger, caller }: World, count: number): Promise<void> {
  for (let number = 0; number < 10; number++) await caller(`acc_empty${number}`)
  await ledger.atomically((transaction) => {
    for (let number = 0; number < count; number++) addOneRejected(transaction, number)
  })
}

function addOneRejected({ payments, listTiers }: LedgerTransaction, number: number) {
  const accountId = `acc_empty${number % 10}`
  const [terms] = listTiers()
  if (!terms) throw new Error('There is no tier.')
  const asset = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'
  const requirements = {
    scheme: 'exact',
    network: 'eip155:137',
    asset,
    payTo: addressOf(1),
  } as const
  const opened = payments.openOffer(
    {
      id: `quote_empty${number}`,
      accountId,
      terms,
      periodDays: 30,
      symbol: 'USDC',
      method: 'eip3009',
      fromBlock: 1,
      expiresMs: 1,
      payer: addressOf(number % 10),
      requirements: { ...requirements, maxTimeoutSeconds: 600, extra: {} },
    },
    {
      atomic: 49_000_000n,
      reservedUntilMs: 1,
      offersMax: 1e6,
      uniqueMax: 1e6,
      usableUntilMs: 1e15,
    },
    BY,
  )
  if (!('offer' in opened)) throw new Error(opened.kind)
  const signed: SignedPayment = {
    network: 'eip155:137',
    method: 'eip3009',
    asset: asset.toLowerCase(),
    payer: addressOf(number % 10),
    payTo: addressOf(1),
    amount: 49_000_000n,
    validAfter: 0n,
    validBefore: 10n ** 10n,
    nonce: `0x${number}`,
    nonceContract: asset,
    payloadHash: String(number),
    payload: '{}',
  }
  const id = `pay_empty${number}`
  payments.claim({ id, offer: opened.offer, signed }, BY)
  const change = { from: ['received'], to: 'rejected', reason: 'insufficient_balance' } as const
  payments.move(id, change, BY)
}

describe('reconcile', () => {
  test('behavior: a paid payment is looked at before 970 rejected ones, of which few are', async () => {
    const world = await openBilling()
    const { billing, me, script, quote, ledger } = world
    await addRejected(world, 970)
    script.verdict = { kind: 'open' }
    expect(await outcomeOf(billing.settle(me, payWithUsdc(await quote())))).toBe('pending')
    const looked: string[] = []
    let atOnce = 0
    let atOnceMax = 0
    script.onLook = async ({ payer }) => {
      looked.push(payer)
      atOnceMax = Math.max(atOnceMax, ++atOnce)
      await Bun.sleep(1)
      atOnce--
    }
    script.verdict = paid(true)
    const [open] = ledger.payments.listPaymentsIn(['pending'])
    script.onSeen = () => {
      script.verdict = { kind: 'open' }
    }
    expect(await billing.reconcile()).toBe(0)
    expect(looked[0]).toBe(open?.signed.payer)
    expect(ledger.payments.findPayment(open?.id ?? '')?.state).toBe('provisioned')
    expect(looked.length).toBeLessThanOrEqual(21)
    expect([atOnceMax > 1, atOnceMax <= 8]).toEqual([true, true])
    // Seldom, and others each time.
    await billing.reconcile()
    expect(looked.length).toBeLessThanOrEqual(21)
    const before = looked.length
    script.nowMs += 60_000
    await billing.reconcile()
    expect(looked.length - before).toBe(20)
  })
})

describe('watch', () => {
  test('behavior: a transfer brings the rejected payment on that it pays, however many there are', async () => {
    const world = await openBilling()
    const { billing, me, script, quote, ledger } = world
    await addRejected(world, 100)
    await billing.watch()
    Object.assign(script, { preflight: EMPTY, verdict: { kind: 'open' } })
    const offer = await quote()
    await outcomeOf(billing.settle(me, payWithUsdc(offer)))
    await billing.reconcile()
    const [newest] = ledger.payments.listPayments({ limit: 1 })
    if (!newest) throw new Error('There is no payment.')
    const { signed, id } = newest
    const { payer: from, asset, amount } = signed
    Object.assign(script, { finalNumber: 120, verdict: paid(true) })
    script.transfers = [{ txHash: TX, blockNumber: 120, logIndex: 3, asset, from, amount }]
    await billing.watch()
    expect(ledger.payments.findPayment(id)?.state).toBe('provisioned')
    expect(ledger.payments.scannedBlock('eip155:137')).toBe(120)
    expect(ledger.payments.listUnmatchedTransfers(false)).toEqual([])
  })
})

describe('payment', () => {
  const forever = () => new Promise<void>(() => {})

  async function openPending() {
    const world = await openBilling()
    const { billing, me, script, quote } = world
    script.verdict = { kind: 'open' }
    const { payment } = await billing.settle(me, payWithUsdc(await quote()))
    script.onSleep = forever
    return { ...world, id: payment.id }
  }

  test('default: a poll looks at the chain, and gives what it says', async () => {
    const { billing, me, script, id } = await openPending()
    script.verdict = paid(true)
    const { payment, subscription } = await billing.payment(me, id)
    expect([payment.state, subscription?.tierId]).toEqual(['provisioned', 'pro'])
  })

  test('behavior: of many polls one looks, and the next not before three seconds', async () => {
    const { billing, me, script, id, calls } = await openPending()
    const before = calls.looks
    await Promise.all(Array.from({ length: 10 }, () => billing.payment(me, id)))
    script.nowMs += 2999
    await billing.payment(me, id)
    expect(calls.looks).toBe(before + 1)
    script.nowMs += 1
    await billing.payment(me, id)
    expect(calls.looks).toBe(before + 2)
  })

  test('behavior: without an answer of the chain it is as it was, after two seconds', async () => {
    const { billing, me, script, id, calls } = await openPending()
    script.onLook = forever
    script.onSleep = () => undefined
    expect((await billing.payment(me, id)).payment.state).toBe('pending')
    expect(calls.slept.at(-1)).toBe(2000)
  })

  test('behavior: never sends anything', async () => {
    const { billing, me, script, id, calls } = await openPending()
    script.nowMs += 120_000
    await billing.payment(me, id)
    expect(calls.payloads).toHaveLength(1)
  })
})

describe('onSubmitted', () => {
  test('default: whoever submits a payment wakes the one that looks after it, also where it fails', async () => {
    const { billing, me, script, quote } = await openBilling()
    let count = 0
    billing.onSubmitted(() => {
      count++
    })
    await billing.settle(me, payWithUsdc(await quote()))
    expect(count).toBe(1)
    Object.assign(script, { screening: 'unknown' })
    await outcomeOf(billing.settle(me, payWithUsdc(await quote('USDC', 'starter'), {}, 5)))
    expect(count).toBe(2)
  })
})
