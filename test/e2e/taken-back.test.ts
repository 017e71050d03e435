/** A server that waits for one block, on a chain that takes a paid block back. */
import { beforeEach, describe, expect, test } from 'bun:test'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { parsePayment } from '#src/domain/selling/payload.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'

import { settle as sendPayment } from '../chain/signed-payments.ts'
import { hasAnvil } from '../support/anvil.ts'
import { useChain } from '../support/chain-ground.ts'
import {
  addCustomer,
  outcomeOf,
  type PaidServer,
  signAs,
  startPaidServer,
  wallClock,
} from '../support/paid-server.ts'
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts'

describe.skipIf(!hasAnvil)('with BOOKFEED_CONFIRMATIONS=1', () => {
  let chain: LittlePolygon
  let server: PaidServer
  let relay: ScriptedFacilitator
  useChain(
    async ({ keep, ...ground }) => {
      ;({ chain, scripted: relay } = ground)
      const facilitator = createRemoteFacilitator(relay.url)
      server = keep(await startPaidServer({ chain, facilitator, confirmations: 1 }))
    },
    { slotsInAnEpoch: 1 },
  )
  beforeEach(async () => {
    await chain.finalize()
    await server.billing.watch()
    server.lines.length = 0
  })

  /** Buys, of a payment that ends soon. */
  async function buy() {
    const customer = await addCustomer(server)
    const quote = await customer.quote()
    const validBefore = BigInt((await chain.time()) + 60)
    const payload = await signAs(server, { quote, key: customer.wallet.key }, { validBefore })
    const answer = await customer.settle(payload)
    expect(outcomeOf(answer)).toEqual([200, 'active'])
    const [payment] = server.ledger.payments.listPayments({
      accountId: customer.accountId,
      limit: 1,
    })
    if (payment === undefined) throw new Error('There is no payment.')
    return { customer, payload, id: payment.id }
  }
  const stateOf = (id: string) => server.ledger.payments.findPayment(id)?.state
  const told = (id: string) => server.lines.filter((line) => line.includes(id))

  test('default: a payment that stays is seen again when it is final, and nothing is said', async () => {
    const { id } = await buy()
    server.lines.length = 0
    await chain.finalize()
    await server.billing.watch()
    await server.billing.watch()
    expect([stateOf(id), told(id)]).toEqual(['provisioned', []])
  })

  test('behavior: money that is mined again counts, and nothing is left for the operator', async () => {
    const { payload, id } = await buy()
    await chain.reorg(1)
    const signed = { ...parsePayment(payload).signed, payload: '', payloadHash: '' }
    const signature = payload.payload.signature as `0x${string}`
    await sendPayment(chain, { signed, signature })
    await chain.finalize()
    await server.billing.watch()
    expect(stateOf(id)).toBe('provisioned')
    expect(server.ledger.payments.listUnmatchedTransfers(false)).toEqual([])
  })

  test('error: money that a reorganisation has taken back is told, and is for the operator once it cannot come', async () => {
    const { customer, payload, id } = await buy()
    await chain.reorg(1)
    expect(await chain.balanceOf('USDC', customer.wallet.address)).toBe(100_000_000n)
    await chain.finalize()
    server.lines.length = 0
    for (const _ of [1, 2]) await server.billing.watch()
    expect(stateOf(id)).toBe('provisioned')
    expect(told(id)).toEqual([
      expect.stringContaining('a reorganisation has taken its payment back'),
    ])
    const afterMs = wallClock() + 120_000
    await chain.setTime(Math.ceil(afterMs / 1000))
    await chain.finalize()
    server.time.skewMs = 120_000
    await server.billing.watch()
    expect(server.ledger.payments.findPayment(id)).toMatchObject({
      state: 'review',
      reason: 'reorganised',
    })
    expect(outcomeOf(await customer.settle(payload)).slice(0, 2)).toEqual([
      409,
      'payment_in_review',
    ])
    // The operator decides about the tier.
    expect(server.ledger.payments.findSubscriptionOf(id)).toBeDefined()
    expect([...server.ledger.verifyAudit()]).toEqual([])
  })
})
