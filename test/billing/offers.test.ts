import { describe, expect, test } from 'bun:test'

import { createAvailability } from '#src/billing/availability.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import {
  NOW_MS,
  onlyPayment,
  openBilling,
  outcomeOf,
  paid,
  PAY_TO,
  PAYER,
  payWithUsdc,
  type World,
} from './scripted-billing.ts'

const polygon = 'eip155:137'
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'taken',
    (error: { code: string }) => error.code,
  )

function proOf(ledger: Ledger) {
  const pro = ledger.listTiers().find(({ tierId }) => tierId === 'pro')
  if (!pro) throw new Error('There is no Pro tier.')
  return pro
}

describe('quote', () => {
  test('default: is exactly what an x402 client signs', async () => {
    const { billing, walletOf } = await openBilling()
    const wish = { tierId: 'pro', network: polygon, token: 'USDC' }
    const { offer, paymentRequired } = await billing.quote(await walletOf(PAYER), wish)
    const requirements = {
      scheme: 'exact',
      network: 'eip155:137',
      asset: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
      amount: '49000000',
      payTo: PAY_TO,
      maxTimeoutSeconds: 600,
      extra: { name: 'USD Coin', version: '2', paymentFlow: 'upfront', quoteId: offer.id },
    } as const
    expect(offer).toMatchObject({ fromBlock: 100, periodDays: 30, expiresMs: NOW_MS + 600_000 })
    expect(offer.terms).not.toHaveProperty('amountMillionths')
    expect(paymentRequired).toEqual({
      x402Version: 2,
      resource: {
        url: 'https://feed.example/v1/billing/x402/settle',
        description: '30 days of the tier Pro',
        mimeType: 'application/json',
        serviceName: 'Bookfeed',
      },
      accepts: [requirements],
    })
  })

  test('behavior: USDT names Permit2 and no domain', async () => {
    const { quote } = await openBilling()
    const { id, requirements } = await quote('USDT')
    expect(requirements.extra).toEqual({
      assetTransferMethod: 'permit2',
      paymentFlow: 'upfront',
      quoteId: id,
    })
  })

  test('behavior: for another wallet than the account’s the amount is its own, up to a cent below', async () => {
    const { billing, caller, walletOf } = await openBilling()
    const wish = { tierId: 'pro', network: polygon, token: 'USDC' }
    const asked: [Caller, string | undefined][] = [
      [await caller('acc_3'), undefined],
      [await caller('acc_2'), undefined],
      [await walletOf(PAYER), `0x${'2'.repeat(40)}`],
    ]
    const amounts = await Promise.all(
      asked.map(async ([who, payer]) => {
        const { offer } = await billing.quote(who, { ...wish, payer })
        expect(offer.payer).toBeUndefined()
        return Number(offer.requirements.amount)
      }),
    )
    expect(new Set(amounts).size).toBe(3)
    expect(amounts.every((amount) => amount < 49_000_000 && amount >= 48_990_000)).toBe(true)
  })

  test('behavior: the open offer of the same is shown again, in any spelling of the wallet', async () => {
    const { billing, walletOf, script } = await openBilling()
    const wish = { tierId: 'pro', network: polygon, token: 'USDC' }
    const who = await walletOf(`0x${'ab'.repeat(20)}`)
    const first = await billing.quote(who, wish)
    script.nowMs += 420_000
    const again = await billing.quote(who, { ...wish, payer: `0x${'AB'.repeat(20)}` })
    expect(again).toEqual({ ...first, startMs: script.nowMs })
    script.nowMs += 1
    const later = await billing.quote(who, wish)
    expect(later.offer.id).not.toBe(first.offer.id)
    expect(later.offer.requirements.amount).toBe(first.offer.requirements.amount)
  })

  const refused = {
    unknown_tier: { tierId: 'gold', network: polygon, token: 'USDC' },
    tier_not_for_sale: { tierId: 'enterprise', network: polygon, token: 'USDC' },
    unknown_network: { tierId: 'pro', network: 'eip155:1', token: 'USDC' },
    unknown_token: { tierId: 'pro', network: polygon, token: 'DAI' },
  }
  for (const [code, wish] of Object.entries(refused)) {
    test(`error: ${code}`, async () => {
      const { billing, me } = await openBilling()
      expect(await codeOf(billing.quote(me, wish))).toBe(code)
    })
  }

  test('error: free is not sold', async () => {
    const { billing, me } = await openBilling()
    const wish = { tierId: 'free', network: polygon, token: 'USDC' }
    expect(await codeOf(billing.quote(me, wish))).toBe('tier_not_for_sale')
  })

  test('error: an account holds five amounts at most, asked for at once or not, and for half an hour', async () => {
    const { billing, caller, ledger, script } = await openBilling()
    const wish = { tierId: 'pro', network: polygon, token: 'USDC' }
    const askForAll = async () => {
      const codes: Promise<string>[] = []
      const me = await caller('acc_3')
      for (let number = 0; number < 7; number++) {
        const price = { amountMillionths: 49_000_000 + number, name: `Pro ${number}` }
        await ledger.putTier({ ...proOf(ledger), ...price }, { actor: 'operator', nowMs: NOW_MS })
        codes.push(codeOf(billing.quote(me, wish)))
      }
      return Promise.all(codes)
    }
    const counted = (codes: string[]) => codes.filter((code) => code === 'taken').length
    const codes = await askForAll()
    expect([counted(codes), codes.at(-1)]).toEqual([5, 'offer_limit'])
    script.nowMs += 1_799_999
    expect(counted(await askForAll())).toBe(0)
    script.nowMs += 1
    expect(counted(await askForAll())).toBe(5)
  })

  test('error: without a block to begin from there is no offer', async () => {
    const { quote, script } = await openBilling()
    script.hasHead = false
    expect(await codeOf(quote())).toBe('billing_unavailable')
  })

  for (const parts of [{ hasChain: false }, { hasFacilitator: false }, { payTo: '' }]) {
    test(`error: not configured: ${JSON.stringify(parts)}`, async () => {
      const { billing, quote } = await openBilling(parts)
      expect(await codeOf(quote())).toBe('billing_unavailable')
      expect(billing.chains()[0]?.tokens[0]?.reason).toContain('Nothing is sold here')
    })
  }
})

describe('challenge', () => {
  const demanded = async ({ billing, me }: World, offerId: string) => {
    const challenge = await billing.challenge(me, offerId)
    return challenge.kind === 'unpaid' ? 'demand' : challenge.settlement.payment
  }

  test('default: shows an offer again, to its account alone', async () => {
    const { billing, me, quote, caller } = await openBilling()
    const offer = await quote()
    expect(await billing.challenge(me, offer.id)).toMatchObject({
      kind: 'unpaid',
      quote: { offer },
    })
    expect(await codeOf(billing.challenge(await caller('acc_2'), offer.id))).toBe('unknown_offer')
  })

  test('error: not after ten minutes', async () => {
    const world = await openBilling()
    const idle = await world.quote('USDT')
    world.script.nowMs += 600_000
    expect(await codeOf(world.billing.challenge(world.me, idle.id))).toBe('offer_expired')
  })

  // Whatever the facilitator and the chain say, nothing is asked for a second time.
  const inFlight: [state: string, script: Partial<World['script']>][] = [
    ['received', { screening: 'unknown' }],
    ['screened', { result: { kind: 'refused', reason: 'HTTP 429' }, verdict: { kind: 'open' } }],
    ['pending', { verdict: { kind: 'open' } }],
    [
      'unknown',
      {
        result: { kind: 'unknown', reason: 'timeout' },
        verdict: { kind: 'unavailable', reason: '' },
      },
    ],
    [
      'rejected',
      { preflight: { kind: 'fault', faults: ['insufficient_balance'] }, verdict: { kind: 'open' } },
    ],
  ]
  test.each(inFlight)(
    'behavior: while a payment of the same tier and token is %s, that is the answer',
    async (state, script) => {
      const world = await openBilling()
      const { billing, me, quote } = world
      const older = await quote()
      world.script.nowMs += 480_000
      const offer = await quote()
      expect(offer.id).not.toBe(older.id)
      Object.assign(world.script, script)
      await outcomeOf(billing.settle(me, payWithUsdc(offer)))
      expect(onlyPayment(world).state).toBe(state as 'received')
      expect(await demanded(world, older.id)).toMatchObject({ state })
      const wish = { tierId: 'pro', network: polygon, token: 'USDC' }
      const again = await billing.quote(me, wish)
      expect(again).toMatchObject({ inFlight: { state }, offer: { id: offer.id } })
      expect(await demanded(world, again.offer.id)).toMatchObject({ state })
      // Another token, and another tier, are other orders.
      for (const other of [
        { ...wish, token: 'USDT' },
        { ...wish, tierId: 'starter' },
      ]) {
        expect(await demanded(world, (await billing.quote(me, other)).offer.id)).toBe('demand')
      }
      // A second period is sold to a program that asks for one.
      const second = await billing.quote(me, { ...wish, anotherPeriod: true })
      expect(second.inFlight).toBeUndefined()
      expect(await demanded(world, second.offer.id)).toBe('demand')
      expect(world.calls.payloads.length).toBeLessThanOrEqual(3)
      expect(new Set(world.calls.payloads).size).toBeLessThanOrEqual(1)
    },
  )

  test('behavior: for an hour after it was made a payment is the answer to the same order', async () => {
    const world = await openBilling()
    const { billing, me, quote } = world
    const { payment } = await billing.settle(me, payWithUsdc(await quote()))
    world.script.nowMs += 3_599_999
    const again = await quote()
    expect(await demanded(world, again.id)).toMatchObject({ id: payment.id, state: 'provisioned' })
    const wish = { tierId: 'pro', network: polygon, token: 'USDC' }
    const { offer: second } = await billing.quote(me, { ...wish, anotherPeriod: true })
    world.script.verdict = paid(true, 4)
    const next = await billing.settle(me, payWithUsdc(second, {}, 2))
    expect([next.payment.state, billing.subscriptions(me).length]).toEqual(['provisioned', 2])
    world.script.nowMs += 3_600_000
    const later = await quote()
    expect([again.id, second.id]).not.toContain(later.id)
    expect(await demanded(world, later.id)).toBe('demand')
  })

  test('behavior: a payment that was not sent is sent by the same order without a payment', async () => {
    const world = await openBilling()
    const { billing, me, quote, script } = world
    script.preflight = { kind: 'fault', faults: ['insufficient_balance'] }
    script.verdict = { kind: 'open' }
    const offer = await quote()
    expect(await outcomeOf(billing.settle(me, payWithUsdc(offer)))).toBe('payment_rejected')
    script.preflight = { kind: 'ready' }
    script.onSettle = () => void Object.assign(script, { verdict: paid(true) })
    expect(await demanded(world, offer.id)).toMatchObject({ state: 'provisioned' })
    expect(billing.subscriptions(me)).toHaveLength(1)
  })

  test('behavior: once the chain proves that it was not made, the next one is asked for', async () => {
    const world = await openBilling()
    const { billing, me, quote, script } = world
    script.verdict = { kind: 'open' }
    const offer = await quote()
    expect(await outcomeOf(billing.settle(me, payWithUsdc(offer)))).toBe('pending')
    script.verdict = { kind: 'void', reason: 'expired' }
    const again = await quote()
    expect(await demanded(world, again.id)).toBe('demand')
  })

  test('error: money under review is not asked for again', async () => {
    const world = await openBilling()
    const { billing, me, quote, script } = world
    script.verdict = { kind: 'open' }
    const offer = await quote()
    expect(await outcomeOf(billing.settle(me, payWithUsdc(offer)))).toBe('pending')
    script.verdict = { kind: 'void', reason: 'used_elsewhere' }
    expect(await codeOf(billing.challenge(me, offer.id))).toBe('payment_in_review')
  })
})

describe('refresh', () => {
  test('behavior: everything is unavailable until it was checked', () => {
    const chains = [{ chain: homeChain, view: undefined, facilitator: undefined }]
    const deps = { chains, payTo: '', log: () => undefined, clock: () => NOW_MS }
    const [chain] = createAvailability(deps).chains()
    expect(chain?.tokens.every(({ reason }) => reason !== undefined)).toBe(true)
  })

  test('behavior: what fails is published with its reason, the rest works, and it comes back', async () => {
    const { billing, script, quote, calls } = await openBilling()
    const reasons = () => billing.chains()[0]?.tokens.map(({ reason }) => reason)
    expect(reasons()).toEqual([undefined, undefined])
    script.faults = { tokens: { USDT: 'The proxy is not there.' } }
    await billing.refresh()
    expect(reasons()).toEqual([undefined, 'The proxy is not there.'])
    expect([await codeOf(quote('USDC')), await codeOf(quote('USDT'))]).toEqual([
      'taken',
      'billing_unavailable',
    ])
    script.faults = { tokens: {} }
    script.kinds = undefined
    await billing.refresh()
    expect(reasons()).toEqual(Array(2).fill('The facilitator does not answer: HTTP 502.'))
    script.kinds = [{ x402Version: 1, scheme: 'exact', network: 'polygon' }]
    await billing.refresh()
    expect(reasons()).toEqual(Array(2).fill('The facilitator does not settle payments on Polygon.'))
    script.kinds = [{ x402Version: 2, scheme: 'exact', network: polygon }]
    await billing.refresh()
    expect(reasons()).toEqual([undefined, undefined])
    expect(calls.log.at(-1)).toBe('billing: eip155:137 USDT can be paid with')
  })

  test('behavior: sales are paused by the second check that fails, since the first, and open by one that works', async () => {
    const { billing, script } = await openBilling()
    const stateAfterCheck = async () => {
      script.nowMs += 10_000
      await billing.refresh()
      const { state, sinceMs } = billing.sales()
      return [state, sinceMs === undefined ? undefined : sinceMs - NOW_MS]
    }
    expect(await stateAfterCheck()).toEqual(['open', undefined])
    script.faults = { chain: 'The RPC at http://node.example cannot be reached.', tokens: {} }
    expect(await stateAfterCheck()).toEqual(['failing', 20_000])
    expect(await stateAfterCheck()).toEqual(['paused', 20_000])
    script.faults = { tokens: { USDT: 'The proxy is not there.' } }
    expect(await stateAfterCheck()).toEqual(['open', undefined])
    expect(billing.sales().faults).toEqual([
      {
        part: 'token',
        text: 'The proxy is not there.',
        sinceMs: NOW_MS + 40_000,
        tokens: ['USDT on Polygon'],
      },
    ])
    script.faults = { tokens: {} }
    script.kinds = undefined
    expect(await stateAfterCheck()).toEqual(['failing', 50_000])
    script.kinds = [{ x402Version: 2, scheme: 'exact', network: polygon }]
    expect(await stateAfterCheck()).toEqual(['open', undefined])
  })

  test('behavior: a node and a facilitator that both fail are both named, each since its own check', async () => {
    const { billing, script } = await openBilling()
    const text = 'The RPC at http://node.example cannot be reached.'
    const tokens = ['USDC on Polygon', 'USDT on Polygon']
    script.faults = { chain: text, tokens: {} }
    await billing.refresh()
    script.nowMs += 60_000
    script.kinds = undefined
    await billing.refresh()
    script.nowMs += 60_000
    await billing.refresh()
    expect(billing.sales().faults).toEqual([
      { part: 'node', text, sinceMs: NOW_MS, tokens },
      {
        part: 'facilitator',
        text: 'The facilitator at scripted does not answer: HTTP 502.',
        sinceMs: NOW_MS + 60_000,
        tokens,
      },
    ])
    // Buyers are told the first of them, without an address of the facilitator.
    expect(billing.chains()[0]?.tokens[0]?.reason).toBe(text)
  })

  test('behavior: of an empty gas wallet the operator is told which coin it needs, and where', async () => {
    const { billing, script } = await openBilling()
    script.kinds = undefined
    script.fault = { reason: 'gas_exhausted', gasAddress: '0x1234' }
    await billing.refresh()
    expect(billing.sales().faults).toMatchObject([
      {
        part: 'facilitator',
        text: 'The facilitator at scripted cannot pay for gas: its wallet is empty.',
        todo: 'Send POL on Polygon to 0x1234, which pays for gas.',
      },
    ])
  })

  test('behavior: sales without an address to pay to are closed, and never paused', async () => {
    const { billing } = await openBilling({ payTo: '' })
    await billing.refresh()
    await billing.refresh()
    expect(billing.sales()).toMatchObject({ state: 'closed', sinceMs: undefined })
  })
})
