import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { wrapFetchWithPayment } from '@x402/fetch'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { type FacilitatorProcess, startFacilitatorProcess } from '#dev/sandbox/http-facilitator.ts'
import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'

import { hasAnvil } from '../support/anvil.ts'
import {
  addCustomer,
  type PaidServer,
  type QuoteAnswer,
  startPaidServer,
  stateOf,
} from '../support/paid-server.ts'
import { asJson } from '../support/signup-client.ts'

const SETTLE = '/v1/billing/x402/settle'
type Receipt = { status: string; settlement: { transaction: string; amount: string } }

const ways = ['remote', 'local'] as const
const purchases = [
  ['starter', 'USDC', '/v1/eth/markets'],
  ['pro', 'USDC', '/v1/sol/markets'],
  ['pro', 'USDT', '/v1/xrp/markets'],
] as const
const cases = ways.flatMap((way) =>
  purchases.map(([tierId, token, path]) => ({ way, tierId, token, path })),
)

const fromHeader = (response: Response, name: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(response.headers.get(name) ?? '', 'base64').toString())

describe.skipIf(!hasAnvil)(`POST ${SETTLE}`, () => {
  let chain: LittlePolygon
  let relay: FacilitatorProcess
  const servers = new Map<string, PaidServer>()
  beforeAll(async () => {
    chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
    const { url, facilitator } = chain
    relay = await startFacilitatorProcess({ rpcUrl: url, key: facilitator.key })
    // Another account than the other facilitator's: each counts its own transactions.
    const gasKey = generatePrivateKey()
    await chain.setGas(privateKeyToAccount(gasKey).address, 10n ** 20n)
    const local = createLocalFacilitator({ chain: homeChain, rpcUrl: url, gasKey, pollMs: 10 })
    const remote = createRemoteFacilitator(relay.url)
    servers.set('remote', await startPaidServer({ chain, facilitator: remote }))
    servers.set('local', await startPaidServer({ chain, facilitator: local }))
  })
  afterAll(async () => {
    for (const server of servers.values()) await server.stop()
    await relay.stop()
    await chain.stop()
  })
  const serverOf = (way: string): PaidServer => {
    const server = servers.get(way)
    if (!server) throw new Error(`No server is ${way}.`)
    return server
  }

  test.each(cases)(
    'default: by $way, @x402/fetch buys $tierId with $token: 403 becomes 200, and the exact amount has moved',
    async ({ way, tierId, token, path }) => {
      const server = serverOf(way)
      const customer = await addCustomer(server)
      expect([await customer.tier(), (await customer.get(path)).status]).toEqual(['free', 403])
      if (token === 'USDT') await chain.approvePermit2(customer.wallet.key)
      const before = await stateOf(server, customer, token)
      const { quoteId, paymentRequirements } = await customer.quote(tierId, token)

      const pay = wrapFetchWithPayment(fetch, customer.client)
      const response = await pay(server.origin + SETTLE, asJson({ quoteId }, customer.headers))

      const receipt = (await response.json()) as Receipt
      expect([response.status, receipt.status]).toEqual([200, 'active'])
      const amount = BigInt(paymentRequirements.amount)
      const list = tierId === 'pro' ? 49_000_000n : 19_000_000n
      expect([amount <= list, amount > list - 10_000n]).toEqual([true, true])
      expect(await stateOf(server, customer, token)).toEqual({
        payer: before.payer - amount,
        payee: before.payee + amount,
        periods: 1,
      })
      expect(fromHeader(response, 'payment-response')).toEqual({
        success: true,
        payer: customer.wallet.address.toLowerCase(),
        transaction: receipt.settlement.transaction,
        network: 'eip155:137',
        amount: String(amount),
      })
      const mined = await chain.rpc('eth_getTransactionReceipt', [receipt.settlement.transaction])
      expect(mined).toMatchObject({ status: '0x1' })
      expect([await customer.tier(), (await customer.get(path)).status]).toEqual([tierId, 200])
    },
  )

  test.each(ways)(
    'default: by %s, a payload that x402Client made is taken in the body as well',
    async (way) => {
      const server = serverOf(way)
      const customer = await addCustomer(server)
      const before = await stateOf(server, customer)
      const quote = await customer.quote('pro')
      const { status, body } = await customer.settle(await customer.sign(quote))
      expect([status, body.status]).toEqual([200, 'active'])
      const amount = BigInt(quote.paymentRequirements.amount)
      expect(await stateOf(server, customer)).toEqual({
        payer: before.payer - amount,
        payee: before.payee + amount,
        periods: 1,
      })
      expect(await customer.tier()).toBe('pro')
    },
  )

  test('behavior: the offer holds the challenge that x402Client signs, and its receipt names the offer', async () => {
    const customer = await addCustomer(serverOf('remote'))
    const quote: QuoteAnswer = await customer.quote()
    const payload = await customer.client.createPaymentPayload(quote.paymentRequired as never)
    expect((await customer.settle(payload)).status).toBe(200)
    const { body } = await customer.get('/v1/billing/payments')
    const [receipt, ...others] = body.data as Record<string, unknown>[]
    expect(receipt).toMatchObject({ status: 'active', quoteId: quote.quoteId, token: 'USDC' })
    expect(others).toEqual([])
  })

  test('behavior: buying again extends the period, and a higher tier takes its place at once', async () => {
    const server = serverOf('local')
    const customer = await addCustomer(server)
    for (const [count, tierId] of ['starter', 'starter', 'pro'].entries()) {
      const quote = await customer.quote(tierId, 'USDC', undefined, count === 1)
      const payload = await customer.sign(quote)
      expect((await customer.settle(payload)).status).toBe(200)
    }
    expect(await customer.tier()).toBe('pro')
    const paid = server.ledger
      .listSubscriptions(customer.accountId)
      .filter(({ tierId }) => tierId === 'starter')
      .reduce((ms, { startMs, endMs = 0 }) => ms + endMs - startMs, 0)
    expect(paid).toBe(60 * 86_400_000)
  })
})
