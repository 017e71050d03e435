import { describe, expect, test } from 'bun:test'

import { createAvailability } from '#src/billing/offers.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { Caller } from '#src/selling/caller.ts'
import { homeChain } from '#src/selling/payment-chain.ts'

import { NOW_MS, openBilling, outcomeOf, PAY_TO, PAYER, payWithUsdc } from './scripted-billing.ts'

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
    const { offer, paymentRequired } = await billing.quote(walletOf(PAYER), wish)
    const requirements = {
      scheme: 'exact',
      network: 'eip155:137',
      asset: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
      amount: '49000000',
      payTo: PAY_TO,
      maxTimeoutSeconds: 600,
      extra: { name: 'USD Coin', version: '2', quoteId: offer.id },
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
    expect(requirements.extra).toEqual({ assetTransferMethod: 'permit2', quoteId: id })
  })

  test('behavior: for another wallet than the account’s the amount is its own, up to a cent below', async () => {
    const { billing, caller, walletOf } = await openBilling()
    const wish = { tierId: 'pro', network: polygon, token: 'USDC' }
    const asked: [Caller, string | undefined][] = [
      [caller('acc_3'), undefined],
      [caller('acc_2'), undefined],
      [walletOf(PAYER), `0x${'2'.repeat(40)}`],
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
    const who = walletOf(`0x${'ab'.repeat(20)}`)
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
    const askForAll = () => {
      const codes = Array.from({ length: 7 }, (_, number) => {
        const price = { amountMillionths: 49_000_000 + number, name: `Pro ${number}` }
        ledger.putTier({ ...proOf(ledger), ...price }, { actor: 'operator', nowMs: NOW_MS })
        return codeOf(billing.quote(caller('acc_3'), wish))
      })
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
  test('default: shows an offer again, to its account alone', async () => {
    const { billing, me, quote, caller } = await openBilling()
    const offer = await quote()
    expect(billing.challenge(me, offer.id).offer).toEqual(offer)
    expect(() => billing.challenge(caller('acc_2'), offer.id)).toThrow('no such offer')
  })

  test('error: never while money may land, and not after ten minutes', async () => {
    const { billing, me, quote, script } = await openBilling()
    const [begun, idle] = [await quote('USDC'), await quote('USDT')]
    script.verdict = { kind: 'open' }
    expect(await outcomeOf(billing.settle(me, payWithUsdc(begun)))).toBe('pending')
    expect(() => billing.challenge(me, begun.id)).toThrow('on its way')
    script.nowMs += 600_000
    expect(() => billing.challenge(me, idle.id)).toThrow('expired')
  })
})

describe('refresh', () => {
  test('behavior: everything is unavailable until it was checked', () => {
    const chains = [{ chain: homeChain, view: undefined, facilitator: undefined }]
    const deps = { chains, payTo: '', log: () => undefined }
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
})
