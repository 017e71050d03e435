/** A wallet that pays for two purchases in the same moment: it gets what the chain has moved, no more. */
import { describe, expect, test } from 'bun:test'

import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'

import { hasAnvil } from '../support/anvil.ts'
import { useChain } from '../support/chain-ground.ts'
import {
  addCustomer,
  type Answer,
  type PaidServer,
  startPaidServer,
  stateOf,
} from '../support/paid-server.ts'

const MS_MAX = 300_000
const STARTER = 19_000_000n
const PRO = 49_000_000n
const ROUNDS = 4
const TRIES_MAX = 5
/** After this time the server sends a payment of unknown fate again. */
const RESEND_MS = 16_000
const ways = ['remote', 'local'] as const

describe.skipIf(!hasAnvil)('two purchases of one wallet at once', () => {
  const servers = new Map<string, PaidServer>()
  let chain: LittlePolygon
  useChain(async ({ keep, scripted, ...ground }) => {
    chain = ground.chain
    const gasKey = generatePrivateKey()
    await chain.setGas(privateKeyToAccount(gasKey).address, 10n ** 20n)
    const rpcUrl = chain.url
    const local = createLocalFacilitator({ chain: homeChain, rpcUrl, gasKey, pollMs: 10 })
    const remote = createRemoteFacilitator(scripted.url)
    servers.set('remote', keep(await startPaidServer({ chain, facilitator: remote })))
    servers.set('local', keep(await startPaidServer({ chain, facilitator: local })))
  })

  /** Buys both, and returns with the answers and what moved on the chain. */
  async function buyBoth(way: string, funds: bigint) {
    const server = servers.get(way)
    if (server === undefined) throw new Error(`No server is ${way}.`)
    const customer = await addCustomer(server, { funds })
    const before = await stateOf(server, customer)
    const quotes = [await customer.quote('starter'), await customer.quote('pro')]
    const payloads = await Promise.all(quotes.map(customer.sign))
    const answers = await Promise.all(payloads.map(customer.settle))
    const after = await stateOf(server, customer)
    expect([...server.ledger.verifyAudit()]).toEqual([])
    const paid = before.payer - after.payer
    expect(after.payee - before.payee).toBe(paid)
    return { server, customer, payloads, answers, paid }
  }

  const boughtBy = ({ server, customer }: Awaited<ReturnType<typeof buyBoth>>) =>
    server.ledger.listSubscriptions(customer.accountId).flatMap(({ paymentId }) => paymentId ?? [])

  const isPaid = ({ status }: Answer): boolean => status === 200

  test.each(ways)(
    'default: with the money for both, both are made (%s facilitator)',
    async (way) => {
      for (let round = 0; round < ROUNDS; round++) {
        const purchase = await buyBoth(way, STARTER + PRO)
        const { server, customer } = purchase
        // The facilitator of x402 may give two payments one number of its gas wallet, and fails with
        // one of them then; the server sends that one again.
        for (let tries = 0; tries < TRIES_MAX && boughtBy(purchase).length < 2; tries++) {
          server.time.skewMs += RESEND_MS
          await server.billing.reconcile()
        }
        expect(boughtBy(purchase)).toHaveLength(2)
        expect(await chain.balanceOf('USDC', customer.wallet.address)).toBe(0n)
        expect(await customer.tier()).toBe('pro')
      }
    },
    MS_MAX,
  )

  test.each(ways)(
    'error: with the money for one, the other moves nothing and says that the wallet lacks it (%s facilitator)',
    async (way) => {
      for (let round = 0; round < ROUNDS; round++) {
        const purchase = await buyBoth(way, PRO)
        const { answers, payloads, customer, paid } = purchase
        expect(answers.filter(isPaid)).toHaveLength(1)
        const made = answers.findIndex(isPaid)
        expect([paid, boughtBy(purchase).length]).toEqual([made === 0 ? STARTER : PRO, 1])
        const other = answers[1 - made]
        const told = { 402: 'payment_rejected', 202: 'poll' }[other?.status ?? 0]
        const { reason, code, retryAction, pollUrl } = other?.body ?? {}
        expect([told, reason]).toEqual([String(code ?? retryAction), 'insufficient_balance'])
        if (other?.status === 202)
          expect((await customer.get(String(pollUrl))).body).toMatchObject({ reason })
        // Sent again it finds itself, and moves no more.
        const again = await customer.settle(payloads[1 - made])
        expect([again.status, again.body.reason]).toEqual([other?.status ?? 0, reason])
        const balance = await chain.balanceOf('USDC', customer.wallet.address)
        expect(balance).toBe(PRO - paid)
      }
    },
    MS_MAX,
  )
})
