import { describe, expect, test } from 'bun:test'

import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { startHttpFacilitator } from '#dev/sandbox/http-facilitator.ts'
import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import type { Facilitator } from '#src/domain/selling/facilitator.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'

import { type FaultyNode, startFaultyNode } from '../chain/faulty-node.ts'
import { hasAnvil } from '../support/anvil.ts'
import { useChain } from '../support/chain-ground.ts'
import { addCustomer, outcomeOf, startPaidServer, stateOf } from '../support/paid-server.ts'
import {
  type ScriptedFacilitator,
  startScriptedFacilitator,
} from '../support/scripted-facilitator.ts'

const RESEND_MS = 61_000
const inFlight = [202, 'pending', 'poll']
const unavailable = [503, 'billing_unavailable', 'unavailable', 'retry_same_payment']

describe.skipIf(!hasAnvil)('POST /v1/billing/x402/settle', () => {
  let chain: LittlePolygon
  let node: FaultyNode
  let relay: ScriptedFacilitator
  /** Which questions of the server the node leaves without an answer. */
  let isDead: (method: string) => boolean = () => false
  useChain(({ keep, ...ground }) => {
    ;({ chain, scripted: relay } = ground)
    node = keep(startFaultyNode(chain.url, (method) => (isDead(method) ? 'dead' : undefined)))
  })

  /** A server of its own, with a customer who has signed a payment. */
  async function prepare(facilitator: Facilitator) {
    isDead = () => false
    const server = await startPaidServer({ chain, facilitator, rpcUrl: node.url })
    const customer = await addCustomer(server)
    const quote = await customer.quote()
    const payload = await customer.sign(quote)
    const before = await stateOf(server, customer)
    const amount = BigInt(quote.paymentRequirements.amount)
    return {
      server,
      before,
      paid: { payer: before.payer - amount, payee: before.payee + amount, periods: 1 },
      state: () => stateOf(server, customer),
      settle: async () => outcomeOf(await customer.settle(payload)),
      [Symbol.asyncDispose]: server.stop,
    }
  }
  const remote = () => createRemoteFacilitator(relay.url)

  test('error: where no node answers nothing is known of a payment: 503, and the same one is taken later', async () => {
    await using it = await prepare(remote())
    isDead = () => true
    const unasked = [503, 'billing_unavailable', 'unavailable', 'retry_same_payment']
    expect([await it.settle(), await it.state()]).toEqual([unasked, it.before])
    isDead = () => false
    expect([await it.settle(), await it.state()]).toEqual([[200, 'active'], it.paid])
  })

  test.each(['eth_getCode', 'eth_call'])(
    'error: a node that is silent on %s is never told as a forged signature',
    async (method) => {
      await using it = await prepare(remote())
      isDead = (asked) => asked === method
      const [status, , , retryAction] = await it.settle()
      expect([status, retryAction]).toEqual([503, 'retry_same_payment'])
      expect(await it.state()).toEqual(it.before)
      isDead = () => false
      expect([await it.settle(), await it.state()]).toEqual([[200, 'active'], it.paid])
    },
  )

  test('error: a node that dies when the payment was sent leaves it in flight; it is given when it is back', async () => {
    await using it = await prepare(remote())
    const settles = relay.settles().length
    isDead = () => relay.settles().length > settles
    expect([await it.settle(), await it.state()]).toEqual([inFlight, { ...it.paid, periods: 0 }])
    isDead = () => false
    await it.server.billing.reconcile()
    expect([await it.settle(), await it.state()]).toEqual([[200, 'active'], it.paid])
    expect(relay.settles().length).toBe(settles + 1)
  })

  test('error: a facilitator of our own without gas has sent nothing: 503, and the same payment is taken later', async () => {
    const gasKey = generatePrivateKey()
    const { address } = privateKeyToAccount(gasKey)
    await chain.setGas(address, 10n ** 18n)
    await using it = await prepare(
      createLocalFacilitator({ chain: homeChain, rpcUrl: chain.url, gasKey, pollMs: 10 }),
    )
    await chain.setGas(address, 0n)
    expect([await it.settle(), await it.state()]).toEqual([unavailable, it.before])
    await chain.setGas(address, 10n ** 18n)
    expect([await it.settle(), await it.state()]).toEqual([[200, 'active'], it.paid])
  })

  test('error: a facilitator of our own whose node is dead does not call the signature forged', async () => {
    let isCut = false
    const cut = startFaultyNode(chain.url, () => (isCut ? 'dead' : undefined))
    const gasKey = generatePrivateKey()
    await chain.setGas(privateKeyToAccount(gasKey).address, 10n ** 18n)
    const options = { chain: homeChain, rpcUrl: cut.url, gasKey, pollMs: 10, rpcTimeoutMs: 500 }
    await using it = await prepare(createLocalFacilitator(options))
    isCut = true
    expect([await it.settle(), await it.state()]).toEqual([inFlight, it.before])
    isCut = false
    it.server.time.skewMs = RESEND_MS
    expect([await it.settle(), await it.state()]).toEqual([[200, 'active'], it.paid])
    await cut.stop()
  })

  test('error: a facilitator that is gone leaves the payment in flight; the chain proves it void in the end', async () => {
    const other = await startScriptedFacilitator({ rpcUrl: chain.url, key: chain.facilitator.key })
    await using it = await prepare(createRemoteFacilitator(other.url))
    await other.stop()
    expect([await it.settle(), await it.state()]).toEqual([inFlight, it.before])
    it.server.time.skewMs = RESEND_MS
    expect([await it.settle(), await it.state()]).toEqual([inFlight, it.before])
    // The last test: the clock of the chain does not go back.
    await chain.setTime((await chain.time()) + 700)
    await it.server.billing.reconcile()
    const expired = [402, 'payment_rejected', 'expired', 'sign_anew']
    expect([await it.settle(), await it.state()]).toEqual([expired, it.before])
  })
})

describe.skipIf(!hasAnvil)('POST /v1/billing/x402/quote', () => {
  test('error: on a node of another chain nothing is offered, and nobody can sign anything, until it is the right one', async () => {
    const chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
    let chainId: string | undefined = '0x1'
    const node = startFaultyNode(chain.url, (method) =>
      method === 'eth_chainId' ? chainId : undefined,
    )
    const relay = startHttpFacilitator({ rpcUrl: chain.url, key: chain.facilitator.key })
    const facilitator = createRemoteFacilitator(relay.url)
    const server = await startPaidServer({ chain, facilitator, rpcUrl: node.url })
    const customer = await addCustomer(server)
    const offers = async () => {
      const { body } = await customer.get('/v1/billing/x402/chains')
      const [polygon] = body as unknown as { tokens: { enabled: boolean }[] }[]
      return polygon?.tokens.map(({ enabled }) => enabled)
    }
    expect(await offers()).toEqual([false, false])
    await expect(customer.quote()).rejects.toThrow('billing_unavailable')
    chainId = undefined
    await server.billing.refresh()
    expect(await offers()).toEqual([true, true])
    const answer = await customer.settle(await customer.sign(await customer.quote()))
    expect(outcomeOf(answer)).toEqual([200, 'active'])
    for (const part of [server, relay, node, chain]) await part.stop()
  })
})
