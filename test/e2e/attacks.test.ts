import { afterEach, describe, expect, test } from 'bun:test'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { parsePayment } from '#src/domain/selling/payload.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'

import { settle as sendPayment } from '../chain/signed-payments.ts'
import { hasAnvil } from '../support/anvil.ts'
import { useChain } from '../support/chain-ground.ts'
import {
  addCustomer,
  type Customer,
  outcomeOf,
  type PaidServer,
  type Payload,
  signAs,
  startPaidServer,
  stateOf,
  wallClock,
} from '../support/paid-server.ts'
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts'

const DAY_SECONDS = 86_400
const MINUTE_MS = 60_000
const conflict = [409, 'payment_conflict', 'conflict', 'abandon']
const notYours = [404, 'unknown_offer', 'unknown_offer', 'sign_anew']
const active = [200, 'active']
const inSeconds = (seconds: number) => BigInt(Math.floor(wallClock() / 1000) + seconds)

describe.skipIf(!hasAnvil)('POST /v1/billing/x402/settle', () => {
  let chain: LittlePolygon
  let relay: ScriptedFacilitator
  let server: PaidServer
  useChain(async (ground) => {
    ;({ chain, scripted: relay } = ground)
    const facilitator = createRemoteFacilitator(relay.url)
    server = ground.keep(await startPaidServer({ chain, facilitator }))
  })
  afterEach(() => {
    server.time.skewMs = 0
  })

  const settle = async (customer: Customer, payload: unknown) =>
    outcomeOf(await customer.settle(payload))
  const periodsOf = ({ accountId }: Customer) => server.ledger.listSubscriptions(accountId).length

  async function prepare(tierId = 'starter') {
    const customer = await addCustomer(server)
    const quote = await customer.quote(tierId)
    const before = await stateOf(server, customer)
    const amount = BigInt(quote.paymentRequirements.amount)
    const paid = { payer: before.payer - amount, payee: before.payee + amount, periods: 1 }
    const signing = { quote, key: customer.wallet.key }
    return { customer, quote, before, paid, signing, state: () => stateOf(server, customer) }
  }
  /** What anybody who saw a payment can send to the chain himself. */
  const sendAsAnybody = (payload: Payload) => {
    const signature = payload.payload.signature as `0x${string}`
    const signed = { ...parsePayment(payload).signed, payload: '', payloadHash: '' }
    return sendPayment(chain, { signed, signature })
  }

  test('error: the payload of another account is his alone, before it is settled and after', async () => {
    const victim = await prepare()
    const thief = await prepare()
    const payload = await victim.customer.sign(victim.quote)
    expect(await settle(thief.customer, payload)).toEqual(notYours)
    expect(await settle(victim.customer, payload)).toEqual(active)
    expect(await settle(thief.customer, payload)).toEqual(conflict)
    expect([periodsOf(victim.customer), periodsOf(thief.customer)]).toEqual([1, 0])
  })

  test('error: a payload seen on the chain is not taken by another account, also under his own offer', async () => {
    const victim = await prepare()
    const thief = await prepare()
    const payload = await victim.customer.sign(victim.quote)
    await sendAsAnybody(payload)
    const stolen = { ...payload, accepted: thief.quote.paymentRequirements }
    expect(await settle(thief.customer, payload)).toEqual(conflict)
    expect(await settle(thief.customer, stolen)).toEqual(conflict)
    expect(periodsOf(thief.customer)).toBe(0)
    expect(await settle(victim.customer, payload)).toEqual(active)
    expect(await victim.state()).toEqual(victim.paid)
  })

  test('error: nobody uses up the nonce of a payment that he only saw, with a signature that is none', async () => {
    const victim = await prepare()
    const thief = await prepare()
    const payload = await victim.customer.sign(victim.quote)
    const { authorization } = payload.payload
    const quote = await thief.customer.quote('pro', 'USDC', victim.customer.wallet.address)
    const value = quote.paymentRequirements.amount
    const forged = {
      ...payload,
      payload: { ...payload.payload, authorization: { ...(authorization as object), value } },
    }
    const refusal = [402, 'payment_rejected', 'signature_invalid', 'sign_anew']
    expect(await settle(thief.customer, forged)).toEqual(refusal)
    expect(await settle(victim.customer, payload)).toEqual(active)
    expect(await victim.state()).toEqual(victim.paid)
  })

  test('behavior: a signature that was damaged on its way does not spoil the payment', async () => {
    const { customer, quote, paid, state } = await prepare()
    const payload = await customer.sign(quote)
    const signature = String(payload.payload.signature).slice(0, -2)
    const damaged = { ...payload, payload: { ...payload.payload, signature } }
    const refusal = [402, 'payment_rejected', 'signature_invalid', 'sign_anew']
    expect(await settle(customer, damaged)).toEqual(refusal)
    expect([await settle(customer, payload), await state()]).toEqual([active, paid])
  })

  test('error: what was signed for a cheap offer does not buy a dear one, whatever it says it accepts', async () => {
    const { customer, quote, before, signing, state } = await prepare('pro')
    const cheap = await customer.quote('starter')
    const payload = await customer.sign(cheap)
    const posing = { ...payload, accepted: quote.paymentRequirements }
    expect(await settle(customer, posing)).toEqual(active)
    // The signed amount named the offer: it is the cheap tier that he has.
    expect([await customer.tier(), periodsOf(customer)]).toEqual(['starter', 1])
    const amount = BigInt(cheap.paymentRequirements.amount)
    expect((await state()).payer).toBe(before.payer - amount)
    // The same nonce for the dear offer is another payment, and not a second one.
    const { nonce } = payload.payload.authorization as { nonce: string }
    const again = await signAs(server, signing, { nonce })
    expect(await settle(customer, again)).toEqual(conflict)
    expect(await customer.tier()).toBe('starter')
  })

  test('error: an offer is paid once: a second payment for it is not sent', async () => {
    const { customer, quote, paid, state } = await prepare()
    expect(await settle(customer, await customer.sign(quote))).toEqual(active)
    const second = await settle(customer, await customer.sign(quote))
    expect(second).toEqual([409, 'offer_used', 'offer_used', 'abandon'])
    expect(await state()).toEqual(paid)
  })

  test.each(['USDC', 'USDT'] as const)(
    'behavior: a payment in %s that somebody else sent first is given to whom it belongs, and not sent again',
    async (token) => {
      const customer = await addCustomer(server)
      const quote = await customer.quote('starter', token)
      const before = await stateOf(server, customer, token)
      if (token === 'USDT') await chain.approvePermit2(customer.wallet.key)
      const payload = await customer.sign(quote)
      const txHash = await sendAsAnybody(payload)
      const settles = relay.settles().length
      const answer = await customer.settle(payload)
      expect(outcomeOf(answer)).toEqual(active)
      expect(answer.body.settlement).toMatchObject({ transaction: txHash })
      const amount = BigInt(quote.paymentRequirements.amount)
      const paid = { payer: before.payer - amount, payee: before.payee + amount, periods: 1 }
      expect([await stateOf(server, customer, token), relay.settles().length]).toEqual([
        paid,
        settles,
      ])
    },
  )

  test('error: a canceled authorization is told as canceled, and the offer can be paid anew', async () => {
    const { customer, quote, before, paid, state } = await prepare()
    const payload = await customer.sign(quote)
    const { nonce } = payload.payload.authorization as { nonce: `0x${string}` }
    await chain.cancelAuthorization(customer.wallet.key, nonce)
    const canceled = [402, 'payment_rejected', 'canceled', 'sign_anew']
    expect([await settle(customer, payload), await state()]).toEqual([canceled, before])
    expect(await settle(customer, await customer.sign(quote))).toEqual(active)
    expect(await state()).toEqual(paid)
  })

  test('error: money that was moved away after signing is missed before anything is sent', async () => {
    const { customer, quote } = await prepare()
    const payload = await customer.sign(quote)
    const { key, address } = customer.wallet
    await chain.transfer('USDC', { key, to: `0x${'7'.repeat(40)}`, amount: 99_000_000n })
    const outcome = await settle(customer, payload)
    expect(outcome).toEqual([402, 'payment_rejected', 'insufficient_balance', 'wait_and_retry'])
    expect([await chain.balanceOf('USDC', address), periodsOf(customer)]).toEqual([1_000_000n, 0])
  })

  test('behavior: fifty replays, many at once, are one transfer, one period and one answer', async () => {
    const { customer, quote, paid, state } = await prepare('pro')
    const payload = await customer.sign(quote)
    const settles = relay.settles().length
    // The limit of the free tier: the rest comes when it is Pro.
    const first = await Promise.all(Array.from({ length: 5 }, () => customer.settle(payload)))
    const rest = await Promise.all(Array.from({ length: 45 }, () => customer.settle(payload)))
    const answers = [...first, ...rest]
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const bodies = new Set(answers.map(({ body }) => JSON.stringify(body)))
    expect([bodies.size, relay.settles().length, await state()]).toEqual([1, settles + 1, paid])
  })

  test('behavior: who pays need not be whose account it is', async () => {
    const { customer } = await prepare()
    const giver = await addCustomer(server)
    const quote = await customer.quote('starter', 'USDC', giver.wallet.address)
    const before = await stateOf(server, giver)
    const payload = await giver.sign(quote)
    const answer = await customer.settle(payload)
    expect(outcomeOf(answer)).toEqual(active)
    expect(answer.body.settlement).toMatchObject({ payer: giver.wallet.address.toLowerCase() })
    const amount = BigInt(quote.paymentRequirements.amount)
    const after = { payer: before.payer - amount, payee: before.payee + amount, periods: 0 }
    expect([await stateOf(server, giver), await customer.tier()]).toEqual([after, 'starter'])
  })

  const tooSoon = [503, 'billing_unavailable', 'expires_too_soon', 'retry_same_payment']
  const tooLate = [402, 'payment_rejected', 'expires_too_late', 'wait_and_retry']
  test.each([
    ['29 seconds', 29, tooSoon],
    ['33 seconds', 33, active],
    ['a day less five seconds', DAY_SECONDS - 5, active],
    ['a day and five seconds', DAY_SECONDS + 5, tooLate],
    // More than a double can hold exactly.
    ['the end of time', 2n ** 256n - 1n, tooLate],
  ])('behavior: a payment that ends in %s', async (_, end, outcome) => {
    const { customer, before, paid, signing, state } = await prepare()
    const validBefore = typeof end === 'bigint' ? end : inSeconds(end)
    const payload = await signAs(server, signing, { validBefore })
    expect(await settle(customer, payload)).toEqual(outcome)
    expect(await state()).toEqual(outcome === active ? paid : before)
  })

  test.each([
    ['five minutes ahead', 5 * MINUTE_MS, active],
    ['five minutes behind', -5 * MINUTE_MS, active],
    ['so far ahead that the payment seems to be over', 10 * MINUTE_MS, active],
    ['an hour ahead', 60 * MINUTE_MS, active],
    ['so far behind that it seems to last too long', -24 * 60 * MINUTE_MS, active],
  ])('behavior: a server whose clock is %s', async (_, skewMs, outcome) => {
    // An older offer of the same amount, from before the clock was ahead. It is never set back.
    server.time.skewMs = Math.min(0, skewMs)
    const { customer, before, paid, state } = await prepare()
    server.time.skewMs = skewMs
    const quote = await customer.quote()
    // The chain alone knows whether a payment is in time.
    expect(await settle(customer, await customer.sign(quote))).toEqual(outcome)
    expect(await state()).toEqual(outcome === active ? paid : before)
  })

  test('behavior: a clock that differs much from the chain is told', async () => {
    server.time.skewMs = 60 * MINUTE_MS
    await server.billing.refresh()
    const told =
      /The time that this server goes by is 3\d{3} s ahead of the newest block of Polygon: its clock is ahead, or was/
    expect(server.billing.warnings().join()).toMatch(told)
    expect(server.lines.join('\n')).toMatch(told)
    const ready = await fetch(`${server.origin}/readyz`)
    expect(ready.status).toBe(200)
    expect(await ready.json()).toHaveProperty('warning', expect.stringMatching(told))
    const { customer, signing } = await prepare()
    const late = await signAs(server, signing, { validBefore: inSeconds(20) })
    expect((await customer.settle(late)).body.detail).toMatch(told)
    server.time.skewMs = 0
    await server.billing.refresh()
    expect(server.billing.warnings()).toEqual([])
  })

  test('behavior: a validAfter of the past is taken, one ahead of the clock has to wait', async () => {
    const { customer, paid, signing, state } = await prepare()
    const early = await signAs(server, signing, { validAfter: inSeconds(120) })
    const wait = [402, 'payment_rejected', 'not_yet_valid', 'wait_and_retry']
    expect(await settle(customer, early)).toEqual(wait)
    const payload = await signAs(server, signing, { validAfter: inSeconds(-600) })
    expect([await settle(customer, payload), await state()]).toEqual([active, paid])
  })

  test('behavior: a payment for an offer that has expired is never sent, but its money is honoured', async () => {
    const { customer, quote, before, paid, state } = await prepare()
    const payload = await customer.sign(quote)
    const calls = relay.calls.length
    for (const skewMs of [10 * MINUTE_MS, 0]) {
      server.time.skewMs = skewMs
      expect(await settle(customer, payload)).toEqual(tooSoon)
      expect([await state(), relay.calls.length]).toEqual([before, calls])
    }
    await sendAsAnybody(payload)
    expect([await settle(customer, payload), await state()]).toEqual([active, paid])
  })

  test('behavior: late money of a payment that was taken in time is honoured', async () => {
    const { customer, quote, paid, state } = await prepare()
    const payload = await customer.sign(quote)
    relay.next('cut-before')
    expect(await settle(customer, payload)).toEqual([202, 'pending', 'poll'])
    await sendAsAnybody(payload)
    server.time.skewMs = 20 * MINUTE_MS
    await server.billing.reconcile()
    expect(await state()).toEqual(paid)
  })
})
