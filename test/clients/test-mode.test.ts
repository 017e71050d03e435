/** The TypeScript client with a key of test mode: each fault as it is documented. */
import { afterAll, describe, expect, test } from 'bun:test'

import { privateKeyToAccount } from 'viem/accounts'

import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'
import { testChain } from '#src/domain/selling/payment-chain.ts'
import type { StreamData } from '#src/features/stream/sockets.ts'
import { SLOW_MS } from '#src/server/test-faults.ts'

import {
  Bookfeed,
  BookfeedError,
  type Fault,
  type Options,
} from '../../clients/typescript/src/bookfeed.ts'
import { passWaits } from '../support/pass-waits.ts'
import { createTestGround, openMarket } from '../support/test-mode.ts'
import { transferTypes } from '../support/typed-data.ts'

const { slug, windowMs, iso } = openMarket
const ground = createTestGround()
const server = Bun.serve<StreamData>({
  port: 0,
  fetch: ground.app.fetch,
  websocket: ground.app.stream.websocket,
})
const timer = setInterval(ground.test.tick, 1)
afterAll(async () => {
  clearInterval(timer)
  await server.stop(true)
})

const clientOf = (fault?: Options['fault'], more: Partial<Options> = {}) =>
  new Bookfeed({ server: server.url.origin, key: PUBLIC_TEST_KEY, fault, attempts: 3, ...more })
/** For so many attempts, then none. */
const faulty = (fault: Fault, times: number) => {
  let asked = 0
  return { fault: () => (++asked <= times ? fault : undefined), asked: () => asked }
}
const codeOf = async (promise: Promise<unknown>): Promise<string> => {
  const error = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  if (error instanceof BookfeedError) return error.code
  throw new Error(`No failure of the client: ${error}`)
}
const book = { coin: 'btc', conditionId: slug, ts: windowMs + 150_000, outcome: 'up' } as const

describe('the TypeScript client in test mode', () => {
  test('default: reads, walks and follows the simulated day', async () => {
    const bookfeed = clientOf()
    const rows = []
    const walk = { coin: 'btc', conditionId: slug, outcome: 'up', depth: 1, limit: 20 } as const
    for await (const row of bookfeed.snapshots(walk)) rows.push(row)
    expect(rows.length).toBe(61)
    const stop = new AbortController()
    const query = { channel: 'quotes', coin: 'btc', timeframe: '5m', signal: stop.signal } as const
    for await (const message of bookfeed.live(query)) {
      expect(['subscribed', 'snapshot']).toContain(message.type)
      if (message.type === 'snapshot') break
    }
    stop.abort()
  })

  test('default: rate_limited is tried again after Retry-After, and is an error of its code', async () => {
    const { fault, asked } = faulty('rate_limited', 1)
    using waits = passWaits()
    expect((await clientOf(fault).get('/v1/coins', {})).data.length).toBeGreaterThan(0)
    expect(asked()).toBe(2)
    expect(waits.seconds).toEqual([1])
    expect(await codeOf(clientOf('rate_limited', { attempts: 1 }).get('/v1/coins', {}))).toBe(
      'rate_limited',
    )
  })

  test('default: stale is not tried again', async () => {
    expect((await clientOf().bookAt(book)).data).toHaveLength(1)
    const { fault, asked } = faulty('stale', 9)
    expect(await codeOf(clientOf(fault).bookAt({ ...book, maxAgeMs: 10_000 }))).toBe('stale')
    expect(asked()).toBe(1)
  })

  test('default: gap is in the coverage of a page, and in that of a market', async () => {
    const pages = clientOf('gap').quotes({ coin: 'btc', conditionId: slug }).pages()
    for await (const { coverage } of pages) expect(coverage).toContain('recorder_down')
    const path = '/v1/{coin}/markets/{conditionId}/coverage'
    const { outcomes } = await clientOf('gap').get(path, { coin: 'btc', conditionId: slug })
    expect(outcomes[0]?.gaps).toMatchObject([{ to: iso(windowMs + 180_000) }])
  })

  test('default: slow is an answer like any other', async () => {
    expect((await clientOf('slow').get('/v1/coins', {})).data.length).toBeGreaterThan(0)
    expect(ground.slept).toEqual([SLOW_MS])
  })

  test('error: a fault that there is not', async () => {
    expect(await codeOf(clientOf('gone' as never).get('/v1/coins', {}))).toBe('invalid_parameter')
  })

  test('default: payment_pending is followed to its end', async () => {
    const account = privateKeyToAccount(`0x${'8'.repeat(64)}`)
    // The answer to the payment, and one look at it.
    let settled = 0
    const fetchSoon = async (url: string, init: RequestInit) => {
      if (/settle$|payments\//.test(url)) settled++
      const answer = await fetch(url, init)
      const headers = new Headers(answer.headers)
      if (headers.has('retry-after')) headers.set('retry-after', '0')
      return new Response(answer.body, { status: answer.status, headers })
    }
    const fault = () => (settled < 2 ? 'payment_pending' : undefined)
    const order = {
      tierId: 'pro',
      network: testChain.network,
      token: 'USDC',
      payer: account.address,
    }
    const payment = await clientOf(fault, { fetch: fetchSoon }).pay(
      async ({ accepts }) => {
        const [accepted] = accepts
        if (accepted === undefined) throw new Error('Nothing is accepted.')
        const nowSeconds = Math.floor(ground.time.nowMs / 1000)
        const message = {
          from: account.address,
          to: accepted.payTo as `0x${string}`,
          value: BigInt(accepted.amount),
          validAfter: BigInt(nowSeconds - 60),
          validBefore: BigInt(nowSeconds + 500),
          nonce: `0x${'5'.repeat(64)}` as const,
        }
        const signature = await account.signTypedData({
          domain: {
            name: 'USD Coin',
            version: '2',
            chainId: testChain.chainId,
            verifyingContract: accepted.asset as `0x${string}`,
          },
          types: transferTypes,
          primaryType: 'TransferWithAuthorization',
          message,
        })
        const texts = Object.entries(message).map(([name, value]) => [name, String(value)])
        const payload = { signature, authorization: Object.fromEntries(texts) as object }
        return { x402Version: 2, accepted, payload }
      },
      { ...order, maxAmount: 100_000_000n },
    )
    expect(payment.status).toBe('active')
    expect(settled).toBeGreaterThan(2)
  }, 300_000)
})
