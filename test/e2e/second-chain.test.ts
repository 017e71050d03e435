import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { wrapFetchWithPayment } from '@x402/fetch'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { usdcOn } from '#dev/sandbox/addresses.ts'
import { type HttpFacilitator, startHttpFacilitator } from '#dev/sandbox/http-facilitator.ts'
import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { findChain } from '#src/domain/selling/payment-chain.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'

import { hasAnvil } from '../support/anvil.ts'
import {
  addCustomer,
  outcomeOf,
  type PaidServer,
  startPaidServer,
  stateOf,
} from '../support/paid-server.ts'
import { asJson } from '../support/signup-client.ts'

const SETTLE = '/v1/billing/x402/settle'
const GAS = 10n ** 20n
const found = findChain('eip155:8453')
if (!found) throw new Error('The table of chains has no Base.')
const base = found

/**
 * Two nodes with other chain ids, and servers that sell on both, by either
 * kind of facilitator, or on one.
 */
describe.skipIf(!hasAnvil)('a second chain', () => {
  let polygon: LittlePolygon
  let second: LittlePolygon
  let relay: HttpFacilitator
  const servers = new Map<string, PaidServer>()
  beforeAll(async () => {
    ;[polygon, second] = await Promise.all([
      startLittlePolygon({ slotsInAnEpoch: 0 }),
      startLittlePolygon({ slotsInAnEpoch: 0, chain: base }),
    ])
    const gasKey = generatePrivateKey()
    for (const chain of [polygon, second]) {
      await chain.setGas(privateKeyToAccount(gasKey).address, GAS)
    }
    const localOn = ({ chain, url }: LittlePolygon) =>
      createLocalFacilitator({ chain, rpcUrl: url, gasKey, pollMs: 10 })
    relay = startHttpFacilitator({ chain: base, rpcUrl: second.url, key: second.facilitator.key })
    const home = { chain: polygon, facilitator: localOn(polygon) }
    const others = [{ chain: second, facilitator: localOn(second) }]
    const remote = [{ chain: second, facilitator: createRemoteFacilitator(relay.url) }]
    servers.set('local', await startPaidServer({ ...home, others }))
    servers.set('remote', await startPaidServer({ ...home, others: remote }))
    servers.set('one', await startPaidServer(home))
  })
  afterAll(async () => {
    for (const server of servers.values()) await server.stop()
    await relay?.stop()
    await polygon?.stop()
    await second?.stop()
  })
  const serverOf = (name: string): PaidServer => {
    const server = servers.get(name)
    if (!server) throw new Error(`No server is ${name}.`)
    return server
  }

  test('default: it is another chain, and both are listed with what can be paid with', async () => {
    expect([await polygon.rpc('eth_chainId'), await second.rpc('eth_chainId')]).toEqual([
      '0x89',
      '0x2105',
    ])
    const response = await fetch(`${serverOf('local').origin}/v1/billing/x402/chains`)
    expect(await response.json()).toMatchObject([
      { network: 'eip155:137', name: 'Polygon', tokens: [{ enabled: true }, { enabled: true }] },
      {
        network: 'eip155:8453',
        chainId: 8453,
        name: 'Base',
        explorer: 'https://basescan.org',
        tokens: [
          {
            symbol: 'USDC',
            address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
            enabled: true,
          },
        ],
      },
    ])
  })

  test.each(['local', 'remote'])(
    'default: by a %s facilitator, @x402/fetch buys Pro there, and nothing moves on Polygon',
    async (way) => {
      const server = serverOf(way)
      const customer = await addCustomer(server, { on: second })
      const there = { chain: second, ledger: server.ledger }
      const before = await stateOf(there, customer)
      const elsewhere = await stateOf(server, customer)
      const { quoteId, paymentRequirements } = await customer.quote('pro')
      expect(paymentRequirements).toMatchObject({
        network: 'eip155:8453',
        asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
        extra: { name: 'USD Coin', version: '2' },
      })

      const pay = wrapFetchWithPayment(fetch, customer.client)
      const response = await pay(server.origin + SETTLE, asJson({ quoteId }, customer.headers))

      const receipt = (await response.json()) as {
        status: string
        settlement: { transaction: string; network: string; explorerUrl: string }
      }
      const { transaction } = receipt.settlement
      expect([response.status, receipt]).toMatchObject([
        200,
        {
          status: 'active',
          settlement: {
            network: 'eip155:8453',
            explorerUrl: `https://basescan.org/tx/${transaction}`,
          },
        },
      ])
      const amount = BigInt(paymentRequirements.amount)
      expect(await stateOf(there, customer)).toEqual({
        payer: before.payer - amount,
        payee: before.payee + amount,
        periods: 1,
      })
      expect(await stateOf(server, customer)).toEqual({ ...elsewhere, periods: 1 })
      const mined = await second.rpc('eth_getTransactionReceipt', [transaction])
      expect(mined).toMatchObject({ status: '0x1' })
      expect(await customer.tier()).toBe('pro')
    },
  )

  test('behavior: the same account pays on either chain, each payment once', async () => {
    const server = serverOf('local')
    const customer = await addCustomer(server, { on: second })
    await polygon.mintUsdc(customer.wallet.address, 100_000_000n)
    const payload = await customer.sign(await customer.quote('starter'))
    expect(outcomeOf(await customer.settle(payload))).toEqual([200, 'active'])
    expect(outcomeOf(await customer.settle(payload))).toEqual([200, 'active'])
    const secret = customer.wallet.key
    const other = await addCustomer(server, { secret, isLinked: false, funds: 0n })
    expect(outcomeOf(await other.settle(payload))).toEqual([
      409,
      'payment_conflict',
      'conflict',
      'abandon',
    ])
    expect(server.ledger.listSubscriptions(customer.accountId)).toHaveLength(1)
  })

  test('error: an offer on one chain is not paid on the other', async () => {
    const server = serverOf('local')
    const customer = await addCustomer(server, { on: second })
    const quote = await customer.quote('starter')
    const wallet = { secret: customer.wallet.key, isLinked: false }
    const here = await addCustomer(server, { ...wallet, on: polygon })
    const before = await stateOf({ chain: second, ledger: server.ledger }, customer)
    const asset = usdcOn(polygon.chain)
    const paymentRequirements = { ...quote.paymentRequirements, network: polygon.network, asset }
    const payload = await here.sign({ ...quote, paymentRequirements })
    expect(outcomeOf(await customer.settle(payload)).slice(0, 2)).toEqual([404, 'unknown_offer'])
    // Signed in the domain of the token on Polygon.
    const moved = { ...payload, accepted: quote.paymentRequirements }
    expect(outcomeOf(await customer.settle(moved)).slice(0, 3)).toEqual([
      402,
      'payment_rejected',
      'signature_invalid',
    ])
    expect(await stateOf({ chain: second, ledger: server.ledger }, customer)).toEqual(before)
  })

  test('error: a server that does not sell there lists nothing of it, quotes nothing, and takes no payment', async () => {
    const server = serverOf('one')
    const shop = serverOf('local')
    const response = await fetch(`${server.origin}/v1/billing/x402/chains`)
    expect(
      ((await response.json()) as { network: string }[]).map(({ network }) => network),
    ).toEqual(['eip155:137'])
    const customer = await addCustomer(server, { on: second })
    await expect(customer.quote('starter')).rejects.toThrow('unknown_network')
    const buyer = await addCustomer(shop, { on: second, secret: customer.wallet.key })
    const payload = await buyer.sign(await buyer.quote('starter'))
    const answer = await customer.settle(payload)
    expect([answer.status, answer.body.code]).toEqual([400, 'payment_invalid'])
    expect(server.ledger.payments.listPayments({ limit: 1 })).toEqual([])
  })

  test('behavior: money that no payment explains is found on either chain', async () => {
    const server = serverOf('local')
    await server.billing.watch()
    for (const chain of [polygon, second]) {
      const to = chain.payee.address
      await chain.transfer('USDC', { key: chain.payer.key, to, amount: 5_000_000n })
    }
    // A head that was just seen is not asked for again.
    server.time.skewMs = 20_000
    await server.billing.watch()
    const transfers = server.ledger.payments.listUnmatchedTransfers(false)
    expect(transfers.map(({ network }) => network).sort()).toEqual(['eip155:137', 'eip155:8453'])
  })
})
