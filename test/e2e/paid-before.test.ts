/**
 * Payers who had their payment made before they came to us, and payments that
 * others made: the chain has the word.
 */
import { afterEach, describe, expect, test } from 'bun:test'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { parsePayment } from '#src/domain/selling/payload.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'

import { settle as sendPayment, spendElsewhere } from '../chain/signed-payments.ts'
import { hasAnvil } from '../support/anvil.ts'
import { useChain } from '../support/chain-ground.ts'
import {
  addCustomer,
  type Answer,
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
import { type MortalNode, startMortalNode } from './recovery-world.ts'

type Wish = Parameters<typeof signAs>[2]

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
/** Of a wallet that nobody has. */
const foreignKey = `0x${'7'.repeat(64)}` as const
const active = [200, 'active']
const inReview = (reason: string) => [409, 'payment_in_review', reason, 'ask_operator']
const used = [409, 'offer_used', 'offer_used', 'abandon']
const inSeconds = (seconds: number) => BigInt(Math.floor(wallClock() / 1000) + seconds)

/** Nothing in it may make a program or a person sign again. */
function expectNoDemand({ status, headers, body }: Answer): void {
  expect(status).not.toBe(402)
  expect(headers.has('payment-required')).toBe(false)
  expect(body).not.toHaveProperty('paymentRequired')
  expect(body.retryAction).not.toBe('sign_anew')
  expect(String(body.detail)).not.toContain('othing was sent')
}

describe.skipIf(!hasAnvil)('POST /v1/billing/x402/settle, of what is paid already', () => {
  let chain: LittlePolygon
  let relay: ScriptedFacilitator
  let server: PaidServer
  /** Another one that sells to the same address, which knows nothing of the first. */
  let other: PaidServer
  let node: MortalNode
  useChain(async ({ keep, ...ground }) => {
    ;({ chain, scripted: relay } = ground)
    node = keep(startMortalNode(chain.url))
    const facilitator = createRemoteFacilitator(relay.url)
    server = keep(await startPaidServer({ chain, facilitator, rpcUrl: node.url }))
    other = keep(await startPaidServer({ chain, facilitator }))
  })
  afterEach(() => {
    node.liveOn()
    server.time.skewMs = 0
  })

  const periodsOf = (at: PaidServer, { accountId }: Customer) =>
    at.ledger.listSubscriptions(accountId).length
  const statesOf = (at: PaidServer, { accountId }: Customer) =>
    at.ledger.payments.listPayments({ accountId, limit: 9 }).map(({ state }) => state)
  /** As through a facilitator of the payer's own choice. */
  const payByOneself = (payload: Payload) => {
    const signature = payload.payload.signature as `0x${string}`
    const signed = { ...parsePayment(payload).signed, payload: '', payloadHash: '' }
    return sendPayment(chain, { signed, signature })
  }
  /**
   * The operator sees the money once, with its transaction: not also as a
   * transfer that nothing explains.
   */
  async function expectOnce({ accountId }: Customer, transaction: string) {
    await chain.mine(9)
    await server.billing.watch()
    const { payments } = server.ledger
    const [payment] = payments
      .listPayments({ accountId, limit: 9 })
      .filter(({ state }) => state === 'review')
    expect(payment).toMatchObject({ txHash: transaction, proof: { txHash: transaction } })
    const alike = payments.listUnmatchedTransfers(false).map(({ txHash }) => txHash)
    expect(alike).not.toContain(transaction)
  }
  async function prepare(
    { isLinked = true, tier = 'starter' } = {},
    token: 'USDC' | 'USDT' = 'USDC',
  ) {
    const customer = await addCustomer(server, { isLinked })
    if (token === 'USDT') await chain.approvePermit2(customer.wallet.key)
    const quote = await customer.quote(tier, token)
    const before = await stateOf(server, customer, token)
    const amount = BigInt(quote.paymentRequirements.amount)
    const paid = { payer: before.payer - amount, payee: before.payee + amount, periods: 1 }
    const signing = { quote, key: customer.wallet.key }
    return { customer, quote, before, paid, signing, state: () => stateOf(server, customer, token) }
  }

  const delays: [name: string, ms: number][] = [
    ['34 seconds', 34 * SECOND_MS],
    ['eleven minutes', 11 * MINUTE_MS],
    ['five hours', 300 * MINUTE_MS],
    ['three days', 72 * 60 * MINUTE_MS],
  ]
  for (const token of ['USDC', 'USDT'] as const) {
    test.each(delays)(
      `default: a buyer who paid himself in ${token} and comes %s later has what he paid for, once`,
      async (_, ms) => {
        const { customer, quote, paid, signing, state } = await prepare({}, token)
        const payload =
          token === 'USDC'
            ? await signAs(server, signing, { validBefore: inSeconds(60) })
            : await customer.sign(quote)
        const transaction = await payByOneself(payload)
        server.time.skewMs = ms
        const settles = relay.settles().length
        const answers = [await customer.settle(payload), await customer.settle(payload)]
        expect(answers.map(outcomeOf)).toEqual([active, active])
        expect(answers[1]?.body.settlement).toMatchObject({ transaction })
        expect([await state(), relay.settles().length]).toEqual([paid, settles])
      },
    )
  }

  test('error: while the node does not answer nobody is asked to pay, however late it is', async () => {
    const { customer, paid, signing, state } = await prepare()
    const payload = await signAs(server, signing, { validBefore: inSeconds(60) })
    await payByOneself(payload)
    for (const [, ms] of [['at once', 0] as const, ...delays]) {
      server.time.skewMs = ms
      node.dieAfter(0)
      const answer = await customer.settle(payload)
      expectNoDemand(answer)
      expect(outcomeOf(answer)).toEqual([
        503,
        'billing_unavailable',
        'unavailable',
        'retry_same_payment',
      ])
      expect(answer.headers.has('retry-after')).toBe(true)
    }
    node.liveOn()
    expect([outcomeOf(await customer.settle(payload)), await state()]).toEqual([active, paid])
  })

  test('error: nor while what he sent may still be mined', async () => {
    const { customer, before, paid, signing, state } = await prepare()
    await chain.stopMining()
    const payload = await signAs(server, signing, { validBefore: inSeconds(20) })
    const { authorization, signature } = payload.payload as never
    // It waits to be mined: the call comes back with the block.
    const sent = chain.frontRun({ authorization, signature })
    const answer = await customer.settle(payload)
    expectNoDemand(answer)
    expect([answer.status, await state()]).toEqual([503, before])
    await chain.startMining()
    await sent
    expect([outcomeOf(await customer.settle(payload)), await state()]).toEqual([active, paid])
  })

  test.each([
    ['lasts too long', 0, () => ({ validBefore: inSeconds(90_000) }), 402],
    [
      'lasts too long, for an offer that has ended',
      11,
      () => ({ validBefore: inSeconds(90_000) }),
      503,
    ],
    [
      'is not valid yet, for an offer that has ended',
      11,
      () => ({ validAfter: inSeconds(700) }),
      503,
    ],
  ])('error: nor for one that %s', async (...[, minutes, wish, status]) => {
    const { customer, before, paid, signing, state } = await prepare()
    const payload = await signAs(server, signing, wish())
    server.time.skewMs = minutes * MINUTE_MS
    const settles = relay.settles().length
    for (const _again of ['at first', 'and again']) {
      const { headers, body, ...answer } = await customer.settle(payload)
      expect([answer.status, headers.has('payment-required')]).toEqual([status, false])
      expect(body).not.toHaveProperty('paymentRequired')
      expect(body.retryAction).toBe(status === 402 ? 'wait_and_retry' : 'retry_same_payment')
    }
    expect([await state(), relay.settles().length]).toEqual([before, settles])
    expectNoDemand(await customer.challenge(signing.quote.quoteId))
    expect((await customer.quote()) as object).toHaveProperty('paymentInFlight')
    if ('validAfter' in wish()) return
    await payByOneself(payload)
    expect([outcomeOf(await customer.settle(payload)), await state()]).toEqual([active, paid])
  })

  test('error: who paid another amount than he was offered is sent to the operator, not asked again', async () => {
    const { customer, quote, signing } = await prepare()
    const amount = BigInt(quote.paymentRequirements.amount) - 1_000_000n
    const payload = await signAs(server, signing, { amount })
    const unsent = await customer.settle(payload)
    expect(outcomeOf(unsent)).toEqual([404, 'unknown_offer', 'unknown_offer', 'sign_anew'])
    await payByOneself(payload)
    const answer = await customer.settle(payload)
    expectNoDemand(answer)
    expect(outcomeOf(answer)).toEqual([404, 'unknown_offer', 'unknown_offer', 'ask_operator'])
  })

  test('error: a second payment that its payer made for an offer that is paid is for the operator', async () => {
    const { customer, quote, signing, paid } = await prepare()
    await server.billing.watch()
    expect(outcomeOf(await customer.settle(await customer.sign(quote)))).toEqual(active)
    const second = await signAs(server, signing)
    const transaction = await payByOneself(second)
    expect(outcomeOf(await customer.settle(second))).toEqual(inReview('paid_twice'))
    await expectOnce(customer, transaction)
    expect([statesOf(server, customer).toSorted(), periodsOf(server, customer)]).toEqual([
      ['provisioned', 'review'],
      paid.periods,
    ])
  })

  test('error: a damaged copy of a payment that was made takes no place from it, and asks for nothing', async () => {
    const { customer, paid, signing, state } = await prepare()
    const payload = await signAs(server, signing)
    await payByOneself(payload)
    const signature = String(payload.payload.signature).slice(0, -2)
    const answer = await customer.settle({
      ...payload,
      payload: { ...payload.payload, signature },
    })
    expectNoDemand(answer)
    expect(outcomeOf(answer)).toEqual([409, 'payment_conflict', 'conflict', 'abandon'])
    expect([outcomeOf(await customer.settle(payload)), await state()]).toEqual([active, paid])
  })

  describe('two servers with one address', () => {
    test.each([
      ['before he comes himself', false],
      ['after he has what he paid for', true],
    ])(
      'error: a stranger presents what a buyer of the other server paid, %s, and gets nothing',
      async (_, isFirst) => {
        const { customer, signing, paid, state } = await prepare({ tier: 'pro' })
        const payload = await signAs(server, signing)
        const stranger = await addCustomer(other)
        const { amount } = signing.quote.paymentRequirements
        const quote = await quoteOf(stranger, amount)
        await payByOneself(payload)
        if (isFirst) expect(outcomeOf(await customer.settle(payload))).toEqual(active)
        const stolen = { ...payload, accepted: quote.paymentRequirements }
        expect(outcomeOf(await stranger.settle(stolen))).toEqual(inReview('foreign_payer'))
        await other.billing.reconcile()
        expect([statesOf(other, stranger), periodsOf(other, stranger)]).toEqual([['review'], 0])
        expect(outcomeOf(await customer.settle(payload))).toEqual(active)
        expect(await state()).toEqual(paid)
      },
    )

    test('error: nor does the buyer himself, for an offer that is younger than his payment', async () => {
      const { customer, signing } = await prepare({ tier: 'pro' })
      const payload = await signAs(server, signing)
      expect(outcomeOf(await customer.settle(payload))).toEqual(active)
      const again = await addCustomer(other, { funds: 0n, secret: customer.wallet.key })
      const quote = await quoteOf(again, signing.quote.paymentRequirements.amount)
      const second = { ...payload, accepted: quote.paymentRequirements }
      expect(outcomeOf(await again.settle(second))).toEqual(inReview('paid_before_offer'))
      expect([statesOf(other, again), periodsOf(other, again)]).toEqual([['review'], 0])
    })

    /** An offer of this very amount. */
    async function quoteOf(customer: Customer, amount: string) {
      const quote = await customer.quote('pro')
      expect(quote.paymentRequirements.amount).toBe(amount)
      return quote
    }
  })

  test('error: a payment of a wallet that is nobody’s here, made before it came, is for the operator', async () => {
    const { customer, signing } = await prepare({ isLinked: false })
    const payload = await signAs(server, signing)
    await server.billing.watch()
    const transaction = await payByOneself(payload)
    expect(outcomeOf(await customer.settle(payload))).toEqual(inReview('foreign_payer'))
    expect([statesOf(server, customer), periodsOf(server, customer)]).toEqual([['review'], 0])
    await expectOnce(customer, transaction)
  })

  test.each(['before it comes', 'while it is in flight'])(
    'error: a Permit2 payment whose nonce went to another shop %s ends with the operator',
    async (time) => {
      const { customer, quote, before, state } = await prepare({}, 'USDT')
      const payload = await customer.sign(quote)
      const { nonce } = payload.payload.permit2Authorization as { nonce: string }
      relay.next('cut-before')
      if (time !== 'before it comes') expect((await customer.settle(payload)).status).toBe(202)
      await spendElsewhere(chain, { key: customer.wallet.key, nonce, symbol: 'USDT' })
      relay.next()
      if (time !== 'before it comes') await server.billing.reconcile()
      expect(outcomeOf(await customer.settle(payload))).toEqual(inReview('used_elsewhere'))
      expect(await state()).toEqual({ ...before, payer: before.payer - 1n })
    },
  )

  describe('while a payment for the offer may land, or has', () => {
    const faulty: [name: string, wish: (payer: string) => Wish][] = [
      ['of another recipient', () => ({ payTo: `0x${'5'.repeat(40)}` })],
      ['that ends too soon', () => ({ validBefore: inSeconds(5) })],
      ['that has ended', () => ({ validBefore: inSeconds(-60) })],
      ['that ends too late', () => ({ validBefore: inSeconds(90_000) })],
      ['that is not valid yet', () => ({ validAfter: inSeconds(60) })],
      ['that is forged', (payer) => ({ payer })],
      ['of a wallet that it is not for', () => ({ payer: `0x${'7'.repeat(40)}` })],
      ['that is good', () => ({})],
    ]
    test.each(faulty)('error: a second one %s gets no demand', async (name, wish) => {
      const { customer, quote, signing, paid, state } = await prepare()
      relay.next('cut-before')
      const payload = await customer.sign(quote)
      expect((await customer.settle(payload)).status).toBe(202)
      const signer = { quote, key: name === 'that is forged' ? foreignKey : signing.key }
      const second = await signAs(server, signer, wish(customer.wallet.address))
      const answer = await customer.settle(second)
      expectNoDemand(answer)
      expect(outcomeOf(answer)).toEqual(used)
      server.time.skewMs = 61 * SECOND_MS
      expect(outcomeOf(await customer.settle(payload))).toEqual(active)
      server.time.skewMs = 0
      expect(outcomeOf(await customer.settle(second))).toEqual(used)
      expect(await state()).toEqual(paid)
    })

    test('behavior: a new quote is that of the payment, and a second period is asked for by name', async () => {
      const { customer, quote } = await prepare()
      relay.next('cut-before')
      const payload = await customer.sign(quote)
      const { body } = await customer.settle(payload)
      const { paymentId, paymentState, pollUrl } = body
      const inFlight = { paymentId, paymentState, pollUrl }
      const { quoteId } = quote
      expect(await customer.quote()).toMatchObject({ quoteId, paymentInFlight: inFlight })
      const asked = await customer.challenge(quoteId)
      expectNoDemand(asked)
      expect([asked.status, asked.body]).toEqual([202, expect.objectContaining(inFlight)])
      server.time.skewMs = 61 * SECOND_MS
      expect(outcomeOf(await customer.settle(payload))).toEqual(active)
      server.time.skewMs = 0
      expect(await customer.quote()).toHaveProperty('paymentInFlight.paymentState', 'provisioned')
      expect(outcomeOf(await customer.challenge(quoteId))).toEqual(active)
      const second = await customer.quote('starter', 'USDC', undefined, true)
      expect(second).not.toHaveProperty('paymentInFlight')
      expect((await customer.challenge(second.quoteId)).status).toBe(402)
    })
  })

  test('error: every 402 says in the words of x402 that nothing was settled, and why', async () => {
    const { customer, quote, signing } = await prepare()
    const wishes: [Wish, string, `0x${string}`?][] = [
      [{ payTo: `0x${'5'.repeat(40)}` }, 'invalid_exact_evm_payload_recipient_mismatch'],
      [{ validBefore: inSeconds(90_000) }, 'invalid_exact_evm_payload_authorization_valid_before'],
      [{ validAfter: inSeconds(60) }, 'invalid_exact_evm_payload_authorization_valid_after'],
      [{ payer: customer.wallet.address }, 'invalid_exact_evm_payload_signature', foreignKey],
    ]
    for (const [wish, errorReason, key = signing.key] of wishes) {
      const payload = await signAs(server, { quote, key }, wish)
      const { status, headers, body } = await customer.settle(payload)
      const read = (name: string) => JSON.parse(atob(headers.get(name) ?? 'bnVsbA=='))
      expect([status, body.error]).toEqual([402, 'payment_rejected'])
      const failure = { success: false, errorReason, transaction: '', network: 'eip155:137' }
      expect(read('payment-response')).toMatchObject(failure)
      // Waiting and signing are two things: only who has to sign is given something to sign.
      const demand = read('payment-required')
      if (body.retryAction === 'sign_anew') expect(demand).toMatchObject({ error: errorReason })
      else expect([demand, body.retryAction]).toEqual([null, 'wait_and_retry'])
    }
    expect(outcomeOf(await customer.settle(await customer.sign(quote)))).toEqual(active)
  })
})
