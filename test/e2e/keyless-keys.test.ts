/**
 * Who is shown a key: a signed payment is public once anyone but its payer has it, so a stranger who
 * sends it gets no key of the payer's account. Judged by a local chain, and by what keys read.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { appendPaymentIdentifierToExtensions } from '@x402/extensions/payment-identifier'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { parsePayment } from '#src/domain/selling/payload.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'

import { settle as sendPayment } from '../chain/signed-payments.ts'
import { hasAnvil } from '../support/anvil.ts'
import { createHeldFacilitator } from '../support/held-facilitator.ts'
import { ask, type Buyer, newBuyer, openRequest, payFor } from '../support/keyless-buyer.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { addCustomer, type PaidServer, startPaidServer, wallClock } from '../support/paid-server.ts'
import { asJson } from '../support/signup-client.ts'

const TIER = '/v1/billing/buy/pro'
const PACK = '/v1/billing/packs/pack-1000'
const DATA = '/v1/sol/markets'
const products = [
  { path: TIER, price: 49_000_000n, id: 'pro' },
  { path: PACK, price: 1_000_000n, id: 'pack-1000' },
]

type Headers = Record<string, string>
type Body = {
  status?: string
  code?: string
  reason?: string
  key?: string | null
  claim?: string
  subscription?: object | null
  requests?: object | null
  howToGetKey?: string | null
  settlement?: { paymentId: string }
}
type Payload = { accepted: object; payload: { signature: `0x${string}` } }

const read = (headers: Headers) =>
  JSON.parse(Buffer.from(headers['payment-signature'] ?? '', 'base64').toString()) as Payload
const write = (payload: object): Headers => ({
  'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64'),
})
/** What has a payload, and an offer of another challenge. */
const withOfferOf = (payment: Headers, challenge: Headers): Headers =>
  write({
    ...read(payment),
    accepted: read(challenge).accepted,
  })
const named = (headers: Headers, name: string): Headers => {
  const declared = {
    'payment-identifier': { info: { required: false }, schema: { type: 'object' } },
  }
  const extensions = appendPaymentIdentifierToExtensions(declared, name)
  return write({ ...read(headers), extensions })
}

describe.skipIf(!hasAnvil)('who is shown a key', () => {
  let chain: LittlePolygon
  let server: PaidServer
  let hold: ReturnType<typeof createHeldFacilitator>['hold']
  /** What the facilitator says, and does, in place of settling. */
  let instead:
    ((...given: Parameters<typeof local.settle>) => ReturnType<typeof local.settle>) | undefined
  let local: ReturnType<typeof createLocalFacilitator>

  beforeAll(async () => {
    chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
    local = createLocalFacilitator({
      chain: chain.chain,
      rpcUrl: chain.url,
      gasKey: chain.facilitator.key,
      pollMs: 10,
    })
    const held = createHeldFacilitator({
      ...local,
      settle: (...given) => (instead ?? local.settle)(...given),
    })
    hold = held.hold
    server = await startPaidServer({ chain, facilitator: held.facilitator, isKeyless: true })
  })
  afterAll(async () => {
    await server?.stop()
    await chain?.stop()
  })
  afterEach(() => {
    instead = undefined
    hold().release()
    expect([...server.ledger.verifyAudit()]).toEqual([])
  })

  const received = () => chain.balanceOf('USDC', chain.payee.address)
  const sign = (path: string, buyer: Buyer) => payFor(server.origin + path, buyer, chain, 'POST')
  /** As `sign`, in a later second: clients sign the end of a payment in whole seconds. */
  async function signAfter(path: string, buyer: Buyer, earlier: Headers): Promise<Headers> {
    const endOf = (headers: Headers) => parsePayment(read(headers)).signed.validBefore
    for (;;) {
      const later = await sign(path, buyer)
      if (endOf(later) > endOf(earlier)) return later
      await Bun.sleep(50)
    }
  }
  async function post(path: string, headers: Headers, body?: object) {
    const json = body === undefined ? {} : { body: JSON.stringify(body) }
    const type: Headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await ask(server.origin + path, {
      method: 'POST',
      headers: { ...headers, ...type },
      ...json,
    })
    return { code: response.status, body: (await response.json()) as Body }
  }
  /** As anybody can who has seen it: the payer himself, or another facilitator. */
  const submit = (headers: Headers) => {
    const payload = read(headers)
    const signed = { ...parsePayment(payload).signed, payload: '', payloadHash: '' }
    return sendPayment(chain, { signed, signature: payload.payload.signature })
  }
  const statusWith = async (key: string | null | undefined, path = DATA) =>
    (await ask(server.origin + path, { headers: { authorization: `Bearer ${key}` } })).status

  /** What a wallet's owner does: one signature. */
  async function getKey({ key, address }: Buyer, origin = server.origin): Promise<string> {
    const asked = await ask(`${origin}/v1/keys/challenge`, asJson({ address }))
    const { message } = (await asked.json()) as { message: string }
    const signature = await privateKeyToAccount(key).signMessage({ message })
    const made = await ask(`${origin}/v1/keys`, asJson({ message, signature }))
    return ((await made.json()) as { key: string }).key
  }

  const nothing = { key: null, subscription: null, requests: null }
  const shownNothing = {
    ...nothing,
    howToGetKey: expect.stringContaining('POST /v1/keys/challenge') as string,
  }

  test.each(products)(
    'error: a payment for $path that a stranger has seen on the chain shows no key, before its payer sends it and after',
    async ({ path, price }) => {
      const stranger = await newBuyer(chain)
      const payer = await newBuyer(chain)
      const before = await received()
      // He has a challenge of his own from before, as of any time.
      const own = await sign(path, stranger)
      const payment = await sign(path, payer)
      await submit(payment)
      // Challenges name the newest block of the last ten seconds.
      server.time.skewMs += 11_000
      const late = await sign(path, stranger)
      // An older transfer pays for nothing.
      expect(await post(path, withOfferOf(payment, late))).toMatchObject({
        code: 409,
        body: { code: 'payment_conflict' },
      })
      const theft = await post(path, withOfferOf(payment, own))
      expect([theft.code, theft.body]).toMatchObject([200, shownNothing])
      for (const headers of [
        payment,
        withOfferOf(payment, late),
        named(payment, 'order_2026_11_30_1'),
      ]) {
        expect(await post(path, headers)).toMatchObject({ code: 200, body: shownNothing })
      }
      expect((await received()) - before).toBe(price)
      // The wallet has what was bought, and only its owner gets a key.
      expect(await statusWith(await getKey(payer))).toBe(200)
      expect(await statusWith(await getKey(stranger))).toBe(403)
    },
  )

  test.each(products)(
    'error: a payment for $path that was sent here first shows no key to a stranger who sends it again',
    async ({ path, price }) => {
      const stranger = await newBuyer(chain)
      const payer = await newBuyer(chain)
      const before = await received()
      const own = await sign(path, stranger)
      const payment = await sign(path, payer)
      const bought = await post(path, payment)
      expect(bought).toMatchObject({ code: 200, body: { howToGetKey: null } })
      for (const headers of [
        payment,
        withOfferOf(payment, own),
        named(payment, 'order_2026_11_30_2'),
      ]) {
        expect(await post(path, headers)).toMatchObject({ code: 200, body: shownNothing })
      }
      expect(await statusWith(bought.body.key)).toBe(200)
      expect((await received()) - before).toBe(price)
    },
  )

  test.each(products)(
    'error: of an account that existed, no payment for $path shows a key, also to who sends it first',
    async ({ path, price }) => {
      const payer = await newBuyer(chain)
      const key = await getKey(payer)
      const before = await received()
      const payment = named(await sign(path, payer), 'order_2026_11_30_3')
      for (let times = 0; times < 2; times++) {
        expect(await post(path, payment)).toMatchObject({ code: 200, body: shownNothing })
      }
      expect(await post(path, await sign(path, payer))).toMatchObject({
        code: 200,
        body: shownNothing,
      })
      expect((await received()) - before).toBe(price)
      expect(await statusWith(key)).toBe(200)
      const { accountId } = server.ledger.payments.listPayments({ limit: 1 })[0] ?? {
        accountId: '',
      }
      expect(server.ledger.countValidKeys(accountId, wallClock())).toBe(1)
    },
  )

  test.each(products)(
    'error: a payment for $path that another transaction makes while it is submitted shows no key',
    async ({ path, price }) => {
      const payer = await newBuyer(chain)
      const before = await received()
      const payment = named(await sign(path, payer), 'order_2026_11_30_4')
      // The payer's transaction, which all could read before, is mined first.
      instead = async (...given) => {
        await submit(payment)
        return local.settle(...given)
      }
      expect(await post(path, payment)).toMatchObject({ code: 200, body: shownNothing })
      expect(await post(path, payment)).toMatchObject({ code: 200, body: shownNothing })
      expect((await received()) - before).toBe(price)
      expect(await statusWith(await getKey(payer))).toBe(200)
    },
  )

  test.each(products)(
    'behavior: the same payment-identifier and payment for $path returns the same key until it was used',
    async ({ path, price }) => {
      const payer = await newBuyer(chain)
      const before = await received()
      const payment = named(await sign(path, payer), 'order_2026_11_30_5')
      const { arrived, release } = hold()
      const socket = await openRequest(server.origin + path, payment, 'POST')
      await arrived
      socket.resetAndDestroy()
      release()
      const first = await post(path, payment)
      expect(first).toMatchObject({ code: 200, body: { howToGetKey: null } })
      const { key } = first.body
      expect((await post(path, payment)).body).toEqual(first.body)
      // Without it, or with another, it proves nothing.
      expect(await post(path, named(payment, 'order_2026_11_30_x'))).toMatchObject({
        body: shownNothing,
      })
      expect(await statusWith(key)).toBe(200)
      expect(await post(path, payment)).toMatchObject({ code: 200, body: shownNothing })
      expect(await statusWith(key)).toBe(200)
      expect((await received()) - before).toBe(price)
    },
  )

  test.each(products)(
    'behavior: a 202 for $path carries a claim, which returns the key until it was used',
    async ({ path, price, id }) => {
      const payer = await newBuyer(chain)
      const before = await received()
      const payment = await sign(path, payer)
      let land: () => Promise<unknown> = async () => undefined
      instead = async (...given) => {
        land = () => local.settle(...given)
        return { kind: 'unknown', reason: 'none' }
      }
      const pending = await post(path, payment)
      expect(pending).toMatchObject({
        code: 202,
        body: { status: 'pending', pollUrl: path },
      })
      const { claim } = pending.body
      // 128 bits behind the name of the payment.
      expect(Buffer.from(claim?.split('.')[1] ?? '', 'base64url')).toHaveLength(16)
      expect((await post(path, {}, { claim })).body).toEqual(pending.body)
      // The payment alone is no claim.
      const alone = await post(path, payment)
      expect([alone.code, 'claim' in alone.body]).toEqual([202, false])
      await land()
      const bought = await post(path, {}, { claim })
      expect(bought).toMatchObject({ code: 200, body: { howToGetKey: null } })
      expect((await post(path, {}, { claim })).body).toEqual(bought.body)
      expect(await post(path, payment)).toMatchObject({ code: 200, body: shownNothing })
      expect(await statusWith(bought.body.key)).toBe(200)
      expect(await post(path, {}, { claim })).toMatchObject({ code: 200, body: shownNothing })
      expect((await received()) - before).toBe(price)

      const elsewhere = path === TIER ? PACK : TIER
      const wrong = [
        claim?.replace('pay_', 'pay_0'),
        claim?.replace('.', '.0').slice(0, -1),
        'none',
        `pay_${id}.x`,
      ]
      for (const sent of wrong) {
        const refused = await post(path, {}, { claim: sent })
        expect(refused).toMatchObject({ code: 409, body: { reason: 'claim_unknown' } })
      }
      expect((await post(elsewhere, {}, { claim })).code).toBe(409)
    },
  )

  test.each(products)(
    'behavior: a new unspent signature for $path within the hour is not submitted, and gets the first purchase',
    async ({ path, price }) => {
      const payer = await newBuyer(chain)
      const before = await received()
      const paid = await sign(path, payer)
      const first = await post(path, paid)
      const again = await post(path, await signAfter(path, payer, paid))
      // Its wallet signed it, so it gets the same answer, until the key was used.
      expect(again).toEqual(first)
      expect(await statusWith(first.body.key)).toBe(200)
      expect(await post(path, await signAfter(path, payer, paid))).toMatchObject({
        code: 200,
        body: shownNothing,
      })
      expect((await received()) - before).toBe(price)
    },
  )

  /** A wallet with money, and a signature of it that was on the chain when it had none. */
  async function newReverted(path: string) {
    const key = generatePrivateKey()
    const payer: Buyer = { key, address: privateKeyToAccount(key).address }
    const reverted = await sign(path, payer)
    await expect(submit(reverted)).rejects.toThrow('transfer amount exceeds balance')
    await chain.mintUsdc(payer.address, 100_000_000n)
    return { payer, reverted }
  }

  test.each(products)(
    'error: an unspent signature for $path that a reverted transaction shows is no proof of the wallet that bought after it',
    async ({ path, price }) => {
      const stranger = await newBuyer(chain)
      const { payer, reverted } = await newReverted(path)
      const before = await received()
      const bought = await post(path, await sign(path, payer))
      expect(bought).toMatchObject({ code: 200, body: { howToGetKey: null } })
      const theft = withOfferOf(reverted, await sign(path, stranger))
      // With a name of its own, and a second time, it is the same.
      for (const headers of [theft, named(theft, 'order_2026_11_30_6'), reverted, reverted]) {
        expect(await post(path, headers)).toMatchObject({ code: 200, body: shownNothing })
      }
      expect((await received()) - before).toBe(price)
      expect(await statusWith(bought.body.key)).toBe(200)
    },
  )

  test.each(products)(
    'error: an unspent signature for $path that a reverted transaction shows gets no claim of a purchase in flight, nor ends its key',
    async ({ path, price }) => {
      const { payer, reverted } = await newReverted(path)
      const before = await received()
      let land: () => Promise<unknown> = async () => undefined
      instead = async (...given) => {
        land = () => local.settle(...given)
        return { kind: 'unknown', reason: 'none' }
      }
      const paid = await sign(path, payer)
      const pending = await post(path, paid)
      expect(pending).toMatchObject({ code: 202, body: { status: 'pending' } })
      const theft = await post(path, reverted)
      expect(theft).toMatchObject({ code: 202, body: { pollUrl: path } })
      expect(theft.body).not.toContainKey('claim')
      // The owner signs again, and has the claim.
      const again = await post(path, await signAfter(path, payer, paid))
      expect(again).toMatchObject({ code: 202, body: { claim: pending.body.claim } })
      await land()
      const shown = await post(path, reverted)
      expect(shown).toMatchObject({ code: 200, body: shownNothing })
      const bought = await post(path, {}, { claim: pending.body.claim })
      expect(bought).toMatchObject({ code: 200, body: { howToGetKey: null } })
      const owner = { authorization: `Bearer ${bought.body.key}` }
      const listed = await ask(`${server.origin}/v1/keys`, { headers: owner })
      const [{ id }] = ((await listed.json()) as { data: [{ id: string }] }).data
      const removed = await ask(`${server.origin}/v1/keys/${id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${shown.body.key}` },
      })
      expect(removed.status).toBe(401)
      expect(await statusWith(bought.body.key)).toBe(200)
      expect((await received()) - before).toBe(price)
    },
  )

  test('default: every offer, and each quote, gives a payment the same time', async () => {
    const customer = await addCustomer(server)
    const quoted = await customer.quote('pro')
    const seconds = [quoted.paymentRequirements.maxTimeoutSeconds]
    for (const { path } of products) {
      const response = await ask(server.origin + path, { method: 'POST' })
      const { paymentRequired } = (await response.json()) as {
        paymentRequired: { accepts: { maxTimeoutSeconds: number }[] }
      }
      // USDC, whose signature has `validBefore`, and USDT, whose signature has a deadline.
      expect(paymentRequired.accepts).toHaveLength(2)
      seconds.push(...paymentRequired.accepts.map((offer) => offer.maxTimeoutSeconds))
    }
    expect(new Set(seconds)).toEqual(new Set([600]))
  })

  test('error: a payment that matches an open quote of its payer is refused without a key', async () => {
    const customer = await addCustomer(server)
    const stranger = await newBuyer(chain)
    const before = await received()
    const own = await sign(TIER, stranger)
    const payload = await customer.sign(await customer.quote('pro'))
    const theft = withOfferOf(write(payload), own)
    const refused = { code: 409, body: { code: 'payment_conflict', reason: 'quoted' } }
    expect(await post(TIER, theft)).toMatchObject(refused)
    await submit(write(payload))
    expect(await post(TIER, theft)).toMatchObject(refused)
    expect(await customer.settle(payload)).toMatchObject({ status: 200 })
    expect(await post(TIER, theft)).toMatchObject({ code: 409, body: { code: 'payment_conflict' } })
    expect((await received()) - before).toBe(49_000_000n)
  })
})

describe.skipIf(!hasAnvil)('a purchase whose server is killed', () => {
  test.each(products)(
    'behavior: at any moment, $path is paid once, and its owner reads',
    async ({ path, price }) => {
      const chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
      const data = mkdtempSync(join(tmpdir(), 'bookfeed-keys-'))
      const start = (workers: string) =>
        startKillableServer({
          BOOKFEED_DATA: data,
          BOOKFEED_PORT: '0',
          BOOKFEED_LOG: 'off',
          BOOKFEED_SAMPLE: 'off',
          BOOKFEED_WORKERS: workers,
          BOOKFEED_KEYLESS: 'on',
          BOOKFEED_RPC_URL: chain.url,
          BOOKFEED_PAY_TO: chain.payee.address,
          BOOKFEED_FACILITATOR: 'local',
          BOOKFEED_GAS_KEY: chain.facilitator.key,
        })
      let server = await start('0')
      try {
        for (const [index, delayMs] of [0, 5, 15, 40, 100, 250].entries()) {
          const payer = await newBuyer(chain)
          const before = await chain.balanceOf('USDC', chain.payee.address)
          const name = `order_2026_11_30_${index}`
          const signed = await payFor(server.origin + path, payer, chain, 'POST')
          const payment = named(signed, name)
          const sent = fetch(server.origin + path, { method: 'POST', headers: payment })
          const lost = sent.then((answer) => answer.arrayBuffer()).catch(() => undefined)
          await Bun.sleep(delayMs)
          await server.kill()
          await lost
          server = await start(index % 2 === 0 ? '1' : '0')
          let bought: Body = {}
          while (bought.status !== 'active') {
            await Bun.sleep(50)
            const answer = await ask(server.origin + path, { method: 'POST', headers: payment })
            bought = (await answer.json()) as Body
          }
          const bearer = { authorization: `Bearer ${bought.key}` }
          expect([index, (await ask(server.origin + DATA, { headers: bearer })).status]).toEqual([
            index,
            200,
          ])
          const paid = (await chain.balanceOf('USDC', chain.payee.address)) - before
          expect([index, paid]).toEqual([index, price])
        }
      } finally {
        await server.kill()
        await chain.stop()
        rmSync(data, { recursive: true })
      }
    },
    600_000,
  )
})
