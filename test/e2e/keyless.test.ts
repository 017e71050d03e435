/**
 * Buying without a key, by clients that we did not write, on two local chains: judged by the money
 * that moved there, and by what was answered.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type DiscoveryExtension, validateDiscoveryExtension } from '@x402/extensions/bazaar'
import { appendPaymentIdentifierToExtensions } from '@x402/extensions/payment-identifier'
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import type { PaymentRequired } from '#src/billing/billing.ts'
import { findChain } from '#src/domain/selling/payment-chain.ts'
import { defaultPacks } from '#src/domain/selling/tier.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'

import { hasAnvil } from '../support/anvil.ts'
import { fakeHistory } from '../support/fake-history.ts'
import { type PaidServer, startPaidServer, wallClock } from '../support/paid-server.ts'
import { createStockClient, signPayment } from '../support/stock-client.ts'

const LIST = '/v1/btc/markets'
const PACK = '/v1/billing/packs/pack-1000'
/** Prices of the catalogue in millionths: a list, and a pack of 1,000. */
const LIST_PRICE = 1000n
const PACK_PRICE = 1_000_000n
const PRO_PRICE = 49_000_000n
const GAS = 10n ** 20n
const found = findChain('eip155:8453')
if (!found) throw new Error('The table of chains has no Base.')
const base = found

type Wallet = { key: `0x${string}`; address: `0x${string}` }

describe.skipIf(!hasAnvil)('buying without a key', () => {
  let polygon: LittlePolygon
  let second: LittlePolygon
  let server: PaidServer
  /** `goodReads`: after so many, reading fails. */
  const faults: { isFailing: boolean; goodReads: number | undefined } = {
    isFailing: false,
    goodReads: undefined,
  }

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
    const history = fakeHistory({
      listMarkets: () => {
        if (faults.isFailing || faults.goodReads === 0) throw new Error('The disk is gone.')
        if (faults.goodReads !== undefined) faults.goodReads--
        return []
      },
    })
    server = await startPaidServer({
      chain: polygon,
      facilitator: localOn(polygon),
      history,
      isKeyless: true,
      others: [{ chain: second, facilitator: localOn(second) }],
    })
  })
  afterAll(async () => {
    await server?.stop()
    await polygon?.stop()
    await second?.stop()
  })

  async function newWallet(on = polygon): Promise<Wallet> {
    const key = generatePrivateKey()
    const { address } = privateKeyToAccount(key)
    await on.mintUsdc(address, 100_000_000n)
    await on.mintUsdt(address, 100_000_000n)
    return { key, address }
  }

  const clientOf = ({ key }: Wallet, on = polygon) => createStockClient(on.url, key, on.chain)

  /** Each from elsewhere, or the allowance of one address would end the test. */
  const anyAddress = () => {
    const [a, b, c] = crypto.getRandomValues(new Uint8Array(3))
    return { 'x-forwarded-for': `10.${a}.${b}.${c}` }
  }

  const send = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(server.origin + path, { method, headers: { ...anyAddress(), ...headers } })

  /** Again where the server has too much to do, on a machine that has. */
  async function ask(...sent: Parameters<typeof send>): Promise<Response> {
    for (let tries = 0; ; tries++) {
      const response = await send(...sent)
      if (response.status !== 503 || tries === 1_000) return response
      await Bun.sleep(20)
    }
  }

  async function demandOf(path: string, method = 'GET'): Promise<PaymentRequired> {
    const response = await ask(path, {}, method)
    expect(response.status).toBe(402)
    const header = response.headers.get('payment-required') ?? ''
    const { paymentRequired } = (await response.json()) as { paymentRequired: PaymentRequired }
    const { extensions = {}, ...challenge } = JSON.parse(
      Buffer.from(header, 'base64').toString(),
    ) as PaymentRequired
    const { extensions: _, ...whole } = paymentRequired
    expect(challenge).toEqual(whole)
    // What directories read is in the body alone.
    expect(Object.keys(extensions)).toEqual(['payment-identifier'])
    return paymentRequired
  }

  /** A header that pays what is demanded, by a stock client. */
  async function payFor(path: string, wallet: Wallet, symbol = 'USDC') {
    const { accepts } = await demandOf(path, path.includes('/billing/') ? 'POST' : 'GET')
    const token = polygon.chain.tokens.find((each) => each.symbol === symbol)
    const wanted = accepts.find(
      ({ network, asset }) => network === polygon.network && asset === token?.address,
    )
    if (!wanted) throw new Error(`${symbol} is not accepted.`)
    const payload = await signPayment(clientOf(wallet), wanted)
    return { 'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64') }
  }

  const received = (on = polygon, symbol: 'USDC' | 'USDT' = 'USDC') =>
    on.balanceOf(symbol, on.payee.address)

  const keyOf = async (response: Response) => {
    const { key } = (await response.json()) as { key: string }
    return { authorization: `Bearer ${key}` }
  }

  const usageOf = async (bearer: Record<string, string>) =>
    (await (await ask('/v1/usage', bearer)).json()) as {
      tier: { id: string }
      packs?: { requests: number; used: number }[]
      days: { requests: number }[]
    }

  test('default: without anything it is 402 with what to sign in every token and chain', async () => {
    const { accepts, resource, extensions } = await demandOf(LIST)
    expect(accepts.map(({ network, amount }) => [network, amount])).toEqual([
      ['eip155:137', '1000'],
      ['eip155:8453', '1000'],
      ['eip155:137', '1000'],
    ])
    expect(resource).toMatchObject({ url: server.origin + LIST, serviceName: 'Bookfeed' })
    expect(Object.keys(extensions ?? {}).toSorted()).toEqual(['bazaar', 'payment-identifier'])
    // A key that is wrong is still that.
    expect((await ask(LIST, { authorization: 'Bearer bf_live_none' })).status).toBe(401)
    expect((await ask('/v1/usage')).status).toBe(401)
    expect((await ask('/v1/nocoin/markets')).status).toBe(404)
  })

  test.each([
    { symbol: 'USDC', on: () => polygon },
    { symbol: 'USDT', on: () => polygon },
    { symbol: 'USDC', on: () => second },
  ] as const)(
    'default: @x402/fetch as it is pays a request in $symbol and reads',
    async ({ symbol, on }) => {
      const chain = on()
      const wallet = await newWallet(chain)
      if (symbol === 'USDT') await chain.approvePermit2(wallet.key)
      const client = clientOf(wallet, chain).registerPolicy((_, accepts) =>
        accepts.filter(({ asset, network }) => {
          const token = chain.chain.tokens.find((each) => each.symbol === symbol)
          return network === chain.network && asset === token?.address
        }),
      )
      const before = await received(chain, symbol)
      const response = await wrapFetchWithPayment(fetch, client)(server.origin + LIST)
      expect([response.status, await response.json()]).toEqual([
        200,
        { data: [], nextCursor: null },
      ])
      const receipt = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
      expect(receipt).toMatchObject({ success: true, payer: wallet.address.toLowerCase() })
      expect((await received(chain, symbol)) - before).toBe(LIST_PRICE)
    },
  )

  test('behavior: a fault of ours counts nothing, before a payment and after it', async () => {
    const wallet = await newWallet()
    const headers = await payFor(LIST, wallet)
    const before = await received()
    faults.isFailing = true
    const failed = await ask(LIST, headers).finally(() => (faults.isFailing = false))
    expect([failed.status, failed.headers.has('payment-response')]).toEqual([500, false])
    expect(await received()).toBe(before)
    // The look before the payment finds nothing wrong, and the answer after it fails.
    faults.goodReads = 1
    const late = await ask(LIST, headers).finally(() => (faults.goodReads = undefined))
    expect([late.status, late.headers.has('payment-response'), await late.json()]).toMatchObject([
      500,
      true,
      { code: 'internal', retryAction: 'retry_same_payment' },
    ])
    expect((await ask(LIST, headers)).status).toBe(200)
    expect((await received()) - before).toBe(LIST_PRICE)
  })

  /** Sells packs of so few requests while `body` runs. */
  async function withPackOf<T>(requests: number, body: () => Promise<T>): Promise<T> {
    const [pack] = defaultPacks.filter(({ tierId }) => tierId === 'pack-1000')
    if (pack === undefined) throw new Error('There is a pack.')
    const by = { actor: 'operator', nowMs: wallClock() } as const
    for (const each of defaultPacks) await server.ledger.putTier(each, by)
    await server.ledger.putTier({ ...pack, requests }, by)
    return body().finally(() => server.ledger.putTier(pack, by))
  }

  test('behavior: of a pack no more is answered than was bought, and then it asks for money', async () => {
    const wallet = await newWallet()
    const bearer = await withPackOf(3, async () =>
      keyOf(await ask(PACK, await payFor(PACK, wallet), 'POST')),
    )
    const all = await Promise.all(Array.from({ length: 8 }, () => ask(LIST, bearer)))
    const outcomes = await Promise.all(
      all.map(async (response) => {
        const { code } = (await response.json()) as { code?: string }
        return `${response.status} ${code ?? ''}`
      }),
    )
    expect(outcomes.toSorted()).toEqual([
      ...Array<string>(3).fill('200 '),
      ...Array<string>(5).fill('402 payment_required'),
    ])
  })

  test('behavior: a used-up pack offers itself, and a purchase with its key adds to it', async () => {
    const wallet = await newWallet()
    const before = await received()
    const bearer = await withPackOf(2, async () => {
      const own = await keyOf(await ask(PACK, await payFor(PACK, wallet), 'POST'))
      const send = wrapFetchWithPayment(fetch, clientOf(wallet))
      // The stock client pays when it is asked to, and reads on.
      for (const paid of [1n, 1n, 2n, 2n, 3n]) {
        const response = await send(server.origin + LIST, { headers: { ...anyAddress(), ...own } })
        expect([response.status, (await received()) - before]).toEqual([200, paid * PACK_PRICE])
      }
      return own
    })
    const left = async () => ((await usageOf(bearer)).packs ?? []).map(({ used }) => used)
    expect(await left()).toEqual([1])
    // Also before it is used up, and without a key in the answer.
    const more = await ask(PACK, { ...bearer, ...(await payFor(PACK, wallet)) }, 'POST')
    expect([more.status, await more.json()]).toMatchObject([200, { key: null }])
    expect(await left()).toEqual([1, 0])
    expect((await received()) - before).toBe(4n * PACK_PRICE)
    const headers = await payFor(PACK, await newWallet())
    const foreign = await ask(PACK, { ...bearer, ...headers }, 'POST')
    expect([foreign.status, await foreign.json()]).toMatchObject([
      409,
      { code: 'payment_conflict', reason: 'foreign_wallet' },
    ])
    expect((await received()) - before).toBe(4n * PACK_PRICE)
    expect([...server.ledger.verifyAudit()]).toEqual([])
  })

  test('default: a pack has a key with its terms, and is shown as usage', async () => {
    const wallet = await newWallet()
    const before = await received()
    const bought = await ask(PACK, await payFor(PACK, wallet), 'POST')
    const body = (await bought.json()) as { key: string }
    expect([bought.status, body]).toMatchObject([
      200,
      { status: 'active', subscription: null, requests: { requests: 1000, used: 0 } },
    ])
    const bearer = { authorization: `Bearer ${body.key}` }
    expect((await received()) - before).toBe(PACK_PRICE)

    const read: Response[] = []
    // A server that has too much to do refuses some (503), which count as nothing.
    for (let tries = 0; read.length < 25 && tries < 1000; tries++) {
      const all = await Promise.all(Array.from({ length: 5 }, () => send(LIST, bearer)))
      expect(all.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
      read.push(...all.filter(({ status }) => status === 200))
    }
    expect((await ask(`${LIST}?limit=0`, bearer)).status).toBe(400)
    const exported = await ask(`${LIST}/0x${'ab'.repeat(32)}/export`, bearer)
    expect([exported.status, await exported.json()]).toMatchObject([403, { code: 'tier_route' }])
    const usage = await usageOf(bearer)
    expect([usage.tier.id, usage.packs]).toMatchObject([
      'pack-1000',
      [{ requests: 1000, used: read.length }],
    ])
    expect((await received()) - before).toBe(PACK_PRICE)
    expect(read[0]?.headers.get('x-ratelimit-limit')).toBe('120')
  })

  test('default: a tier gives a key once', async () => {
    const wallet = await newWallet()
    const before = await received()
    const path = '/v1/billing/buy/pro'
    const headers = await payFor(path, wallet)
    const first = await ask(path, headers, 'POST')
    const { key, subscription } = (await first.json()) as { key: string; subscription: object }
    expect([first.status, subscription]).toMatchObject([200, { tierId: 'pro' }])
    expect((await received()) - before).toBe(PRO_PRICE)
    const bearer = { authorization: `Bearer ${key}` }
    expect((await ask('/v1/sol/markets', bearer)).status).toBe(200)
    const again = (await (await ask(path, headers, 'POST')).json()) as { key: null }
    expect(again.key).toBeNull()
    expect((await ask(PACK, await payFor(PACK, wallet), 'POST')).status).toBe(200)
    const receipts = await (await ask('/v1/billing/payments', bearer)).text()
    expect(receipts).toContain('"periodDays":0,"requests":1000')
    expect((await received()) - before).toBe(PRO_PRICE + PACK_PRICE)
    expect([...server.ledger.verifyAudit()]).toEqual([])
  })

  test('error: a payment for one thing buys no other, nor does one with another offer', async () => {
    const wallet = await newWallet()
    const before = await received()
    const ofList = await payFor(LIST, wallet)
    expect((await ask(PACK, ofList, 'POST')).status).toBe(400)
    // As seen on the chain by somebody who asks for an offer of his own.
    const headers = await payFor(PACK, wallet)
    expect((await ask(PACK, headers, 'POST')).status).toBe(200)
    const [mine, other] = [headers, await payFor(PACK, wallet)].map(
      ({ 'payment-signature': text }) =>
        JSON.parse(Buffer.from(text, 'base64').toString()) as { accepted: object; payload: object },
    )
    const stolen = { ...mine, accepted: other?.accepted }
    const theft = { 'payment-signature': Buffer.from(JSON.stringify(stolen)).toString('base64') }
    const stranger = await ask(PACK, theft, 'POST')
    expect([stranger.status, await stranger.json()]).toMatchObject([200, { key: null }])
    expect((await ask(LIST, theft)).status).toBe(409)
    expect((await received()) - before).toBe(PACK_PRICE)
  })

  test('behavior: a payment that has the identifier of another one is not taken', async () => {
    const wallet = await newWallet()
    const before = await received()
    const named = async () => {
      const { 'payment-signature': text } = await payFor(LIST, wallet)
      const payload = JSON.parse(Buffer.from(text, 'base64').toString()) as object
      const { extensions = {} } = await demandOf(LIST)
      const echoed = appendPaymentIdentifierToExtensions({ ...extensions }, 'order_2026_11_23_1')
      const sent = JSON.stringify({ ...payload, extensions: echoed })
      return { 'payment-signature': Buffer.from(sent).toString('base64') }
    }
    const first = await named()
    const second = await named()
    expect((await ask(LIST, first)).status).toBe(200)
    const refused = await ask(LIST, second)
    expect([refused.status, await refused.json()]).toMatchObject([
      409,
      {
        code: 'payment_conflict',
        retryAction: 'abandon',
        detail: expect.not.stringMatching(/send that one again/i) as string,
      },
    ])
    expect((await received()) - before).toBe(LIST_PRICE)
  })

  test('default: what comes with an offer is what directories read', async () => {
    for (const [path, method] of [
      [LIST, 'GET'],
      [PACK, 'POST'],
    ] as const) {
      const { extensions } = await demandOf(path, method)
      const { bazaar } = extensions as { bazaar: DiscoveryExtension }
      expect(validateDiscoveryExtension(bazaar)).toMatchObject({ valid: true })
      expect(bazaar.info.input).toMatchObject({ type: 'http', method })
    }
  })

  test('error: who cannot pay is told so, and nothing is written down', async () => {
    const key = generatePrivateKey()
    const wallet = { key, address: privateKeyToAccount(key).address }
    const poor = await ask(LIST, await payFor(LIST, wallet))
    expect([poor.status, await poor.json()]).toMatchObject([
      402,
      { code: 'payment_rejected', reason: 'insufficient_balance' },
    ])
    const unapproved = await newWallet()
    const usdt = await ask(LIST, await payFor(LIST, unapproved, 'USDT'))
    expect(usdt.status).toBe(412)
    for (const { address } of [wallet, unapproved]) {
      expect(server.ledger.findAccountByAddress(address.toLowerCase())).toBeUndefined()
    }
  })

  test('error: a sanctioned wallet is served nothing, and its payment is for the operator', async () => {
    const wallet = await newWallet()
    const headers = await payFor(LIST, wallet)
    await polygon.sanction(wallet.address)
    expect((await ask(LIST, headers)).status).toBe(451)
  })

  test('default: an agent pays for a tool in MCP, by a client that is not ours', async () => {
    const wallet = await newWallet()
    const agent = new Client({ name: 'test', version: '1' })
    await agent.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.origin)))
    const call = async (payment?: unknown, more: object = {}) => {
      const asked = { name: 'find_markets', arguments: { coin: 'btc', ...more } }
      for (let tries = 0; ; tries++) {
        const answer = await agent.callTool({ ...asked, _meta: { 'x402/payment': payment } })
        const { code } = (answer.structuredContent ?? {}) as { code?: string }
        if (code !== 'unavailable' || tries === 1_000) return answer
        await Bun.sleep(20)
      }
    }
    const before = await received()
    const demanded = await call()
    const { accepts } = demanded.structuredContent as PaymentRequired
    expect([demanded.isError, demanded.content]).toEqual([
      true,
      [{ type: 'text', text: JSON.stringify(demanded.structuredContent) }],
    ])
    const [first] = accepts
    if (first === undefined) throw new Error('Something is accepted.')
    const payment = await signPayment(clientOf(wallet), first)
    const paid = await call(payment)
    expect(paid).toMatchObject({
      structuredContent: { data: [] },
      _meta: { 'x402/payment-response': { success: true, payer: wallet.address.toLowerCase() } },
    })
    // The same payment reads the same again, and nothing else.
    expect((await call(payment)).structuredContent).toMatchObject({ data: [] })
    expect((await call(payment, { limit: 5 })).structuredContent).toMatchObject({
      code: 'payment_conflict',
    })
    expect((await received()) - before).toBe(LIST_PRICE)
    await agent.close()
  })

  test('error: a client of x402 v1 finds what it reads, and is then answered a sentence', async () => {
    const asked = await ask(LIST)
    const { x402Version, accepts } = (await asked.json()) as { x402Version: 1; accepts: object[] }
    expect([x402Version, accepts]).toMatchObject([
      1,
      [
        { scheme: 'exact', network: 'polygon', maxAmountRequired: '1000' },
        { scheme: 'exact', network: 'base', maxAmountRequired: '1000' },
      ],
    ])
    const refused = await ask(LIST, { 'x-payment': 'e30=' })
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { code: 'payment_invalid', param: 'X-PAYMENT', retryAction: 'sign_anew' },
    ])
  })

  test('default: a page of any origin may send what a stock client sends', async () => {
    for (const path of [LIST, PACK, '/v1/billing/x402/settle', '/mcp']) {
      const preflight = await fetch(server.origin + path, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://elsewhere.example',
          'access-control-request-method': path === LIST ? 'GET' : 'POST',
          'access-control-request-headers': 'access-control-expose-headers,payment-signature',
        },
      })
      const allowed = preflight.headers.get('access-control-allow-headers')?.toLowerCase()
      expect([path, allowed?.split(', ')]).toEqual([
        path,
        expect.arrayContaining(['access-control-expose-headers', 'payment-signature']),
      ])
    }
  })

  test('default: the API document has the prices of what is sold without a key, which a 402 asks for', async () => {
    type Info = { offers: { amount: string | null; currency: string; method: string }[] }
    const { paths } = (await (await ask('/openapi.json')).json()) as {
      paths: Record<
        string,
        Record<string, { 'x-payment-info'?: Info; responses: Record<string, object> }>
      >
    }
    const { get: list } = paths['/v1/{coin}/markets'] ?? {}
    const { accepts } = await demandOf(LIST)
    const usdc = accepts.filter(({ extra }) => extra.name !== undefined)
    expect(list?.['x-payment-info']?.offers).toMatchObject(
      usdc.map(({ amount, asset }) => ({ method: 'evm', amount, currency: asset })),
    )
    const priced = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, each]) =>
        each['x-payment-info'] === undefined ? [] : [{ path, method, each }],
      ),
    )
    // Every one of them may answer 402, and files and streams, which only tiers have, are none.
    expect(priced.filter(({ each }) => each.responses['402'] === undefined)).toEqual([])
    const keys = priced.map(({ method, path }) => `${method} ${path}`)
    expect(keys).toContain('post /v1/billing/packs/{id}')
    expect(keys).toContain('get /v1/{coin}/markets/{conditionId}/snapshots')
    expect(keys.filter((key) => /export|live|files\/|usage|keys/.test(key))).toEqual([])
  })

  test('default: directories find what is sold', async () => {
    const wellKnown = (await (await ask('/.well-known/x402')).json()) as { resources: string[] }
    expect(wellKnown.resources).toEqual([
      '/v1/billing/packs/pack-1000',
      '/v1/billing/packs/pack-20000',
      '/v1/billing/buy/starter',
      '/v1/billing/buy/pro',
    ])
    for (const path of wellKnown.resources) await demandOf(path, 'POST')
    expect(await (await ask('/openapi.json')).text()).toBe(
      await (await ask('/swagger/json')).text(),
    )
  })
})
