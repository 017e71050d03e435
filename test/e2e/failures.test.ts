import { afterEach, describe, expect, test } from 'bun:test'

import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { addresses } from '#dev/sandbox/addresses.ts'
import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'

import { hasAnvil } from '../support/anvil.ts'
import { useChain } from '../support/chain-ground.ts'
import { readProblem } from '../support/page-client.ts'
import {
  addCustomer,
  type Customer,
  outcomeOf,
  type PaidServer,
  type Payload,
  type QuoteAnswer,
  signAs,
  startPaidServer,
  stateOf,
  wallClock,
} from '../support/paid-server.ts'
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts'
import { asJson } from '../support/signup-client.ts'

const SETTLE = '/v1/billing/x402/settle'
/** After this a payment that may have been sent is sent again. */
const RESEND_MS = 61_000

type Signing = { server: PaidServer; customer: Customer; quote: QuoteAnswer }
type Sign = (signing: Signing) => Promise<Payload>

const inSeconds = (seconds: number) => BigInt(Math.floor(wallClock() / 1000) + seconds)
const byHand =
  (wish: (amount: bigint) => Parameters<typeof signAs>[2]): Sign =>
  ({ server, customer, quote }) =>
    signAs(
      server,
      { quote, key: customer.wallet.key },
      wish(BigInt(quote.paymentRequirements.amount)),
    )
/** A payload of the stock client, changed after it was signed. */
const changed =
  (change: (payload: Payload) => Payload): Sign =>
  async ({ customer, quote }) =>
    change(await customer.sign(quote))
const withSignature = (change: (signature: string) => string): Sign =>
  changed((it) => ({
    ...it,
    payload: { ...it.payload, signature: change(String(it.payload.signature)) },
  }))
const accepting = (change: object): Sign =>
  changed((it) => ({ ...it, accepted: { ...it.accepted, ...change } }))
const flipLast = (hex: string, at: number) =>
  hex.slice(0, at) + (hex[at] === '1' ? '2' : '1') + hex.slice(at + 1)

/**
 * Signs with the stock client what the requirements say when they are changed, for the true ones.
 */
const signedFor =
  (change: object): Sign =>
  async ({ customer, quote }) => {
    const accepted = quote.paymentRequirements
    const wrong = { ...accepted, ...change }
    const { network, asset } = wrong
    const client = new x402Client()
      .register(network, new ExactEvmScheme(privateKeyToAccount(customer.wallet.key)))
      .setSpendControls({
        maxAmountPerPayment: '$100',
        allowedAssets: [{ network, asset, maxAmountPerPayment: '100000000' }],
      })
    const payload = await client.createPaymentPayload({
      x402Version: 2,
      resource: { url: 'https://api.example.com/' },
      accepts: [wrong],
    })
    return { ...payload, accepted } as Payload
  }

const forged = [402, 'payment_rejected', 'signature_invalid', 'sign_anew']
const invalid = [400, 'payment_invalid', 'payload_invalid', 'sign_anew']
const ended = [402, 'payment_rejected', 'expires_too_soon', 'sign_anew']
const unknownOffer = [404, 'unknown_offer', 'unknown_offer', 'sign_anew']

/** What is wrong with the payload itself; nothing of it may reach the facilitator. */
const refused: [name: string, sign: Sign, outcome: (string | number)[]][] = [
  ['a signature with a flipped nibble', withSignature((it) => flipLast(it, 40)), forged],
  ['a truncated signature', withSignature((it) => it.slice(0, -2)), forged],
  [
    'a signature by another key',
    (signing) => {
      const { address } = signing.customer.wallet
      const payer = address.toLowerCase()
      return signAs(signing.server, { quote: signing.quote, key: generatePrivateKey() }, { payer })
    },
    forged,
  ],
  [
    'an amount that was raised after signing',
    async ({ server, customer, quote }) => {
      const { amount } = quote.paymentRequirements
      const wish = { amount: BigInt(amount) - 1n }
      const signed = await signAs(server, { quote, key: customer.wallet.key }, wish)
      const { authorization } = signed.payload
      return {
        ...signed,
        payload: {
          ...signed.payload,
          authorization: { ...(authorization as object), value: amount },
        },
      }
    },
    forged,
  ],
  ['a signature for chain 8453', signedFor({ network: 'eip155:8453' }), forged],
  [
    'a signature in a domain called USDC',
    signedFor({ extra: { name: 'USDC', version: '2' } }),
    forged,
  ],
  ['an atomic unit too little', byHand((amount) => ({ amount: amount - 1n })), unknownOffer],
  ['an atomic unit above the price', byHand(() => ({ amount: 19_000_001n })), unknownOffer],
  ['a payment that has ended', byHand(() => ({ validBefore: inSeconds(-60) })), ended],
  [
    'a payment that is not valid yet',
    byHand(() => ({ validAfter: inSeconds(60) })),
    [402, 'payment_rejected', 'not_yet_valid', 'wait_and_retry'],
  ],
  [
    'another recipient',
    byHand(() => ({ payTo: `0x${'5'.repeat(40)}` })),
    [402, 'payment_rejected', 'recipient_mismatch', 'sign_anew'],
  ],
  ['another network', accepting({ network: 'eip155:8453' }), invalid],
  ['another scheme', accepting({ scheme: 'upto' }), invalid],
  ['an asset that is no contract', accepting({ asset: `0x${'6'.repeat(40)}` }), invalid],
  ['x402 version 1', changed((it) => ({ ...it, x402Version: 1 })), invalid],
  [
    'no authorization',
    changed((it) => ({ ...it, payload: { signature: it.payload.signature } })),
    invalid,
  ],
]

/** The money does not move, and nobody can know that from the answer. */
const silences = [
  'cut-before',
  'timeout',
  '500-before',
  '503-before',
  'redirect',
  'false-success',
  'false-signature-fault',
  'insufficient-balance',
] as const
/** The money moves; the chain is believed, whatever was answered. */
const broadcasts = [
  'cut-after-broadcast',
  'timeout-after-broadcast',
  '500-after-broadcast',
  'garbage',
  'failed-after-broadcast',
  'nonce-used-after-broadcast',
  'settlement_pending-500',
] as const

const inFlight = [202, 'pending', 'poll']
const unavailable = [503, 'billing_unavailable', 'unavailable', 'retry_same_payment']
const sanctioned = [451, 'sanctioned', 'sanctioned', 'ask_operator']

describe.skipIf(!hasAnvil)(`POST ${SETTLE}`, () => {
  let chain: LittlePolygon
  let relay: ScriptedFacilitator
  let server: PaidServer
  useChain(
    async (ground) => {
      ;({ chain, scripted: relay } = ground)
      const facilitator = createRemoteFacilitator(relay.url, { timeoutMs: 300 })
      server = ground.keep(await startPaidServer({ chain, facilitator }))
    },
    { slotsInAnEpoch: 0, confirmationTimeoutMs: 200 },
  )
  afterEach(() => {
    server.time.skewMs = 0
  })

  /** A customer with an offer and a payment for it, and what he and the payee have. */
  async function prepare(token: 'USDC' | 'USDT' = 'USDC') {
    const customer = await addCustomer(server)
    const quote = await customer.quote('starter', token)
    const before = await stateOf(server, customer, token)
    const payload = await customer.sign(quote)
    const amount = BigInt(quote.paymentRequirements.amount)
    const paid = { payer: before.payer - amount, payee: before.payee + amount, periods: 1 }
    const state = () => stateOf(server, customer, token)
    const settle = async (it: Payload = payload) => outcomeOf(await customer.settle(it))
    return { customer, quote, before, payload, paid, state, settle }
  }

  test.each(refused)(
    'error: %s is refused before anything is sent, and the true payment still goes through',
    async (_, sign, outcome) => {
      const { customer, quote, before, paid, state, settle } = await prepare()
      const calls = relay.calls.length
      expect(await settle(await sign({ server, customer, quote }))).toEqual(outcome)
      expect([await state(), relay.calls.length]).toEqual([before, calls])
      expect([await settle(), await state()]).toEqual([[200, 'active'], paid])
    },
  )

  test('error: a refusal that may be signed anew is a whole problem document with the challenge', async () => {
    const { customer, quote } = await prepare()
    const payload = await withSignature((it) => flipLast(it, 40))({ server, customer, quote })
    const init = asJson({ paymentPayload: payload }, customer.headers)
    const response = await fetch(server.origin + SETTLE, init)
    expect(response.headers.has('payment-required')).toBe(true)
    const { paymentRequired } = await readProblem(response)
    expect(paymentRequired).toMatchObject(quote.paymentRequired as object)
  })

  test('behavior: requirements that come back without their domain are but an echo', async () => {
    const { customer, quote, paid, state, settle } = await prepare()
    const payload = await accepting({ extra: {} })({ server, customer, quote })
    expect([await settle(payload), await state()]).toEqual([[200, 'active'], paid])
  })

  test('error: too little money is told, and the same payment is taken when there is enough', async () => {
    const customer = await addCustomer(server, { funds: 0n })
    const payload = await customer.sign(await customer.quote())
    const outcome = [402, 'payment_rejected', 'insufficient_balance', 'wait_and_retry']
    expect(outcomeOf(await customer.settle(payload))).toEqual(outcome)
    expect(server.ledger.listSubscriptions(customer.accountId)).toEqual([])
    await chain.mintUsdc(customer.wallet.address, 20_000_000n)
    expect(outcomeOf(await customer.settle(payload))).toEqual([200, 'active'])
  })

  test.each(['USDC', 'USDT'] as const)(
    'error: a payer whom the issuer of %s blocks is not settled for',
    async (token) => {
      const { customer, before, state, settle } = await prepare(token)
      if (token === 'USDT') await chain.approvePermit2(customer.wallet.key)
      await chain.block(token, customer.wallet.address)
      const calls = relay.calls.length
      expect(await settle()).toEqual(sanctioned)
      expect([await state(), relay.calls.length]).toEqual([before, calls])
    },
  )

  test('error: a payer whom the sanctions oracle names is not settled for, and not when delisted', async () => {
    const { customer, before, state, settle } = await prepare()
    await chain.sanction(customer.wallet.address)
    expect(await settle()).toEqual(sanctioned)
    await chain.unsanction(customer.wallet.address)
    // The account of the wallet is blocked from then on.
    expect([await settle(), await state()]).toEqual([[451, 'sanctioned'], before])
  })

  test('error: USDC that is paused leaves the payment in flight, and it is made afterwards', async () => {
    const { before, paid, state, settle } = await prepare()
    await chain.pauseUsdc()
    expect([await settle(), await state()]).toEqual([inFlight, before])
    await chain.unpauseUsdc()
    server.time.skewMs = RESEND_MS
    expect([await settle(), await state()]).toEqual([[200, 'active'], paid])
  })

  test('error: without gas the facilitator fails, the payment is in flight and is made afterwards', async () => {
    const { before, paid, state, settle } = await prepare()
    await chain.setGas(chain.facilitator.address, 0n)
    expect([await settle(), await state()]).toEqual([inFlight, before])
    await chain.setGas(chain.facilitator.address, 10n ** 20n)
    server.time.skewMs = RESEND_MS
    expect([await settle(), await state()]).toEqual([[200, 'active'], paid])
  })

  test('error: Permit2 without an approval is 412, and the same payment is taken after it', async () => {
    const { customer, before, paid, state, settle } = await prepare('USDT')
    const missing = [412, 'allowance_required', 'allowance_required', 'approve_then_retry']
    expect([await settle(), await state()]).toEqual([missing, before])
    await chain.approvePermit2(customer.wallet.key)
    expect([await settle(), await state()]).toEqual([[200, 'active'], paid])
  })

  test('behavior: a replayed Permit2 payment is answered with the first one, and moves nothing', async () => {
    const { customer, paid, state, settle } = await prepare('USDT')
    await chain.approvePermit2(customer.wallet.key)
    expect(await settle()).toEqual([200, 'active'])
    const calls = relay.calls.length
    expect([await settle(), await state()]).toEqual([[200, 'active'], paid])
    expect(relay.calls.length).toBe(calls)
  })

  test('error: a Permit2 nonce that the payer took back is told as canceled', async () => {
    const { customer, before, payload, state, settle } = await prepare('USDT')
    await chain.approvePermit2(customer.wallet.key)
    const { nonce } = payload.payload.permit2Authorization as { nonce: string }
    await chain.invalidatePermit2Nonce(customer.wallet.key, BigInt(nonce))
    const canceled = [402, 'payment_rejected', 'canceled', 'sign_anew']
    expect([await settle(), await state()]).toEqual([canceled, before])
  })

  test('behavior: a node without Multicall3 changes nothing', async () => {
    const { paid, state, settle } = await prepare()
    const code = await chain.rpc('eth_getCode', [addresses.multicall3, 'latest'])
    await chain.rpc('anvil_setCode', [addresses.multicall3, '0x'])
    expect([await settle(), await state()]).toEqual([[200, 'active'], paid])
    await chain.rpc('anvil_setCode', [addresses.multicall3, code])
  })

  test.each(silences)(
    'error: after %s the payment is in flight, nobody is asked to sign anew, and it is sent once more',
    async (script) => {
      const { customer, quote, before, payload, paid, state, settle } = await prepare()
      relay.next(script)
      const answer = await customer.settle(payload)
      expect([outcomeOf(answer), await state()]).toEqual([inFlight, before])
      expect(answer.headers.has('payment-required')).toBe(false)
      expect(answer.headers.get('retry-after')).toBe('10')
      // Another payment for the offer could be one too many.
      const other = await settle(await customer.sign(quote))
      expect(other).toEqual([409, 'offer_used', 'offer_used', 'abandon'])
      server.time.skewMs = RESEND_MS
      expect([await settle(), await state()]).toEqual([[200, 'active'], paid])
      const [first, second] = relay.settles().slice(-2)
      expect(first?.body).toBe(second?.body ?? '')
    },
  )

  test.each(broadcasts)(
    'behavior: after %s the chain is believed: 200, and sent once',
    async (script) => {
      const { paid, state, settle } = await prepare()
      const calls = relay.settles().length
      relay.next(script)
      expect([await settle(), await state()]).toEqual([[200, 'active'], paid])
      expect(await settle()).toEqual([200, 'active'])
      expect(relay.settles().length).toBe(calls + 1)
    },
  )

  test.each(['401', '429'] as const)(
    'error: a facilitator that answers %s took nothing: 503, and the same payment is taken later',
    async (script) => {
      const { before, paid, state, settle } = await prepare()
      relay.next(script)
      expect([await settle(), await state()]).toEqual([unavailable, before])
      expect([await settle(), await state()]).toEqual([[200, 'active'], paid])
    },
  )

  test('error: a transfer that is not mined in time is in flight, and is there when it is mined', async () => {
    const { customer, payload, before, paid, state } = await prepare()
    await chain.stopMining()
    const answer = await customer.settle(payload)
    expect([outcomeOf(answer), await state()]).toEqual([inFlight, before])
    await chain.startMining()
    await server.billing.reconcile()
    const polled = await customer.get(String(answer.body.pollUrl))
    expect([outcomeOf(polled), await state()]).toEqual([[200, 'active'], paid])
    expect(polled.headers.has('payment-response')).toBe(true)
  })

  test('error: past validBefore by the clock of the chain the payment is void, and told as expired', async () => {
    const { customer, quote } = await prepare()
    const payload = await byHand(() => ({ validBefore: inSeconds(100) }))({
      server,
      customer,
      quote,
    })
    const before = await stateOf(server, customer)
    // The last test: the clock of the chain does not go back.
    await chain.setTime(Number(inSeconds(200)))
    const expired = [402, 'payment_rejected', 'expired', 'sign_anew']
    expect(outcomeOf(await customer.settle(payload))).toEqual(expired)
    expect(await stateOf(server, customer)).toEqual(before)
  })
})
