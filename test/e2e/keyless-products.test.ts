/**
 * Tiers and packs without a key, where the answer is lost: nobody pays twice, and the key arrives.
 * Judged by the money that moved on a local chain.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'

import { wrapFetchWithPayment } from '@x402/fetch'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'

import { hasAnvil } from '../support/anvil.ts'
import { createHeldFacilitator } from '../support/held-facilitator.ts'
import { ask, type Buyer, newBuyer, openRequest, payFor } from '../support/keyless-buyer.ts'
import { type PaidServer, startPaidServer } from '../support/paid-server.ts'
import { createStockClient } from '../support/stock-client.ts'
import { until } from '../support/until.ts'

const TIER = '/v1/billing/buy/pro'
const PACK = '/v1/billing/packs/pack-1000'
const HOUR_MS = 3_600_000
const products = [
  { path: TIER, price: 49_000_000n },
  { path: PACK, price: 1_000_000n },
]

type Bought = {
  status: string
  key: string | null
  settlement: { paymentId: string }
  paymentId?: string
}

describe.skipIf(!hasAnvil)('tiers and packs whose answer is lost', () => {
  let chain: LittlePolygon
  let server: PaidServer
  let hold: ReturnType<typeof createHeldFacilitator>['hold']
  /** Whether the facilitator keeps payments back, and does not say so. */
  let isLosing = false
  let land: () => Promise<unknown> = async () => undefined

  beforeAll(async () => {
    chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
    const local = createLocalFacilitator({
      chain: chain.chain,
      rpcUrl: chain.url,
      gasKey: chain.facilitator.key,
      pollMs: 10,
    })
    const held = createHeldFacilitator({
      ...local,
      async settle(...given) {
        if (!isLosing) return local.settle(...given)
        land = () => local.settle(...given)
        return { kind: 'unknown', reason: 'none' }
      },
    })
    hold = held.hold
    server = await startPaidServer({ chain, facilitator: held.facilitator, isKeyless: true })
  })
  afterAll(async () => {
    await server?.stop()
    await chain?.stop()
  })
  afterEach(() => {
    server.time.skewMs = 0
    isLosing = false
    hold().release()
  })

  const received = () => chain.balanceOf('USDC', chain.payee.address)
  const sign = (path: string, buyer: Buyer) => payFor(server.origin + path, buyer, chain, 'POST')
  const post = (path: string, headers: Record<string, string>) =>
    ask(server.origin + path, { method: 'POST', headers })
  async function buy(path: string, headers: Record<string, string>) {
    const response = await post(path, headers)
    return { code: response.status, ...((await response.json()) as Bought) }
  }
  const accountOf = ({ address }: Buyer) =>
    server.ledger.findAccountByAddress(address.toLowerCase())
  const paymentsOf = (buyer: Buyer) =>
    server.ledger.payments.listPayments({ accountId: accountOf(buyer)?.id ?? '', limit: 10 })
  /** Sends a payment, and ends the connection while it is settled. */
  async function lose(path: string, buyer: Buyer, headers: Record<string, string>) {
    const { arrived, release } = hold()
    const socket = await openRequest(server.origin + path, headers, 'POST')
    await arrived
    socket.resetAndDestroy()
    await Bun.sleep(50)
    release()
    await until(() => paymentsOf(buyer)[0]?.state === 'provisioned')
    // The server learns that the answer went nowhere in a later round of its event loop.
    await Bun.sleep(50)
  }

  test.each(products)(
    'behavior: each new signature for $path after a lost answer costs nothing, until one arrives',
    async ({ path, price }) => {
      const buyer = await newBuyer(chain)
      const before = await received()
      await lose(path, buyer, await sign(path, buyer))
      const second = await sign(path, buyer)
      const answer = await buy(path, second)
      expect([answer.code, answer.status]).toEqual([200, 'active'])
      expect(answer.settlement.paymentId).toBe(paymentsOf(buyer)[0]?.id ?? '')
      expect((await received()) - before).toBe(price)
      // The second signature was answered with the first payment, and is not settled later either.
      const again = await buy(path, second)
      expect(again.settlement.paymentId).toBe(answer.settlement.paymentId)
      expect((await received()) - before).toBe(price)
      expect(paymentsOf(buyer)).toHaveLength(1)
      expect([...server.ledger.verifyAudit()]).toEqual([])
    },
  )

  test.each(products)(
    'behavior: a wallet that has spent its last money for $path is answered with that payment',
    async ({ path, price }) => {
      const key = generatePrivateKey()
      const buyer = { key, address: privateKeyToAccount(key).address }
      await chain.mintUsdc(buyer.address, price)
      const first = await sign(path, buyer)
      const second = await sign(path, buyer)
      const before = await received()
      await lose(path, buyer, first)
      expect(await chain.balanceOf('USDC', buyer.address)).toBe(0n)
      expect(await buy(path, second)).toMatchObject({ code: 200, status: 'active' })
      expect((await received()) - before).toBe(price)
    },
  )

  test.each(products)(
    'behavior: @x402/fetch with a timeout, run again and again, pays once for $path',
    async ({ path, price }) => {
      const buyer = await newBuyer(chain)
      const before = await received()
      const { release } = hold()
      const client = createStockClient(chain.url, buyer.key, chain.chain)
      const send = wrapFetchWithPayment(fetch, client)
      const headers = () => ({
        'x-forwarded-for': `10.${crypto.getRandomValues(new Uint8Array(3)).join('.')}`,
      })
      for (let run = 0; run < 3; run++) {
        const signal = AbortSignal.timeout(700)
        const sent = send(server.origin + path, { method: 'POST', headers: headers(), signal })
        expect(await sent.then(({ status }) => status).catch(() => 'timeout')).toBe('timeout')
      }
      release()
      const answer = await send(server.origin + path, { method: 'POST', headers: headers() })
      const { key } = (await answer.json()) as Bought
      expect([answer.status, key]).toEqual([200, expect.stringContaining('bf_live_')])
      expect((await received()) - before).toBe(price)
      expect(paymentsOf(buyer)).toHaveLength(1)
    },
  )

  test.each(products)(
    'behavior: while a payment for $path is undecided no other is settled, nor once it has landed',
    async ({ path, price }) => {
      const buyer = await newBuyer(chain)
      const first = await sign(path, buyer)
      const second = await sign(path, buyer)
      const third = await sign(path, buyer)
      const before = await received()
      isLosing = true
      expect(await buy(path, first)).toMatchObject({ code: 202, status: 'pending' })
      const paymentId = paymentsOf(buyer)[0]?.id ?? ''
      expect(await buy(path, second)).toMatchObject({ code: 202, status: 'pending', paymentId })
      expect(await received()).toBe(before)
      // It lands, with nobody here to say so.
      await land()
      const answer = await buy(path, third)
      expect([answer.code, answer.settlement.paymentId]).toEqual([200, paymentId])
      expect((await received()) - before).toBe(price)
    },
  )

  test('behavior: a wallet waits for its own payment of the same product alone', async () => {
    const buyer = await newBuyer(chain)
    const other = await newBuyer(chain)
    const first = await sign(PACK, buyer)
    const before = await received()
    isLosing = true
    expect(await buy(PACK, first)).toMatchObject({ code: 202 })
    isLosing = false
    expect(await buy(TIER, await sign(TIER, buyer))).toMatchObject({ code: 200 })
    expect(await buy(PACK, await sign(PACK, other))).toMatchObject({ code: 200 })
    expect((await received()) - before).toBe(50_000_000n)
  })

  test('default: within the hour, one more of the same is bought with the key', async () => {
    for (const { path, price } of products) {
      const buyer = await newBuyer(chain)
      const before = await received()
      const first = await buy(path, await sign(path, buyer))
      const bearer = { authorization: `Bearer ${first.key}` }
      const same = await buy(path, await sign(path, buyer))
      expect(same).toMatchObject({ code: 200, settlement: first.settlement })
      expect((await received()) - before).toBe(price)
      const asked = path === TIER ? `${path}?anotherPeriod=true` : path
      expect((await post(`${TIER}?anotherPeriod=true`, {})).status).toBe(400)
      const { paymentId } = first.settlement
      await until(() => server.ledger.payments.findPaidAnswer(paymentId) !== undefined)
      const other = await buy(asked, { ...bearer, ...(await sign(path, buyer)) })
      expect(other).toMatchObject({ code: 200, key: null })
      expect([(await received()) - before, other.settlement.paymentId]).toEqual([
        2n * price,
        expect.not.stringContaining(paymentId),
      ])
    }
  })

  test('behavior: an hour after a period was paid for, another one is sold', async () => {
    const buyer = await newBuyer(chain)
    const before = await received()
    await buy(TIER, await sign(TIER, buyer))
    const later = await sign(TIER, buyer)
    server.time.skewMs = HOUR_MS + 60_000
    expect(await buy(TIER, later)).toMatchObject({ code: 200 })
    expect((await received()) - before).toBe(2n * 49_000_000n)
  })

  test('behavior: of the same payment at the same time one answer has the key', async () => {
    const buyer = await newBuyer(chain)
    const headers = await sign(TIER, buyer)
    const answers = await Promise.all(Array.from({ length: 5 }, () => buy(TIER, headers)))
    const keys = answers.map(({ key }) => key).filter((key) => key !== null)
    expect(keys).toHaveLength(1)
    const bearer = { authorization: `Bearer ${keys[0]}` }
    expect((await ask(`${server.origin}/v1/sol/markets`, { headers: bearer })).status).toBe(200)
  })
})
