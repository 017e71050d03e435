/** Payments of test mode: the whole way of a real one, and no real row changes. */
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

import { testChain } from '#src/domain/selling/payment-chain.ts'
import { openLedger } from '#src/ledger/open.ts'

import { NOW_MS } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'
import { createTestGround } from '../support/test-mode.ts'
import { transferTypes } from '../support/typed-data.ts'
import { systemClock } from '../support/venue/venue.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-test-mode-'))
afterAll(() => rmSync(folder, { recursive: true }))
const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))

describe('payments of test mode', () => {
  const payer = privateKeyToAccount(`0x${'7'.repeat(64)}`)
  const headers = { 'content-type': 'application/json' }
  const path = join(folder, 'ledger.db')
  const ledger = openLedger(path, { nowMs: NOW_MS })
  const ground = createTestGround({ ledger })
  const { ask, askFor } = ground

  /** All that is in a ledger. */
  function contents(): unknown[] {
    using db = new Database(path, { readonly: true })
    const tables = db
      .query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .all()
    return tables.map((table) => {
      const { name } = table as { name: string }
      return [name, db.query(`SELECT * FROM "${name}"`).all()]
    })
  }

  async function buy() {
    const order = {
      tierId: 'pro',
      network: testChain.network,
      token: 'USDC',
      payer: payer.address,
      anotherPeriod: true,
    }
    const quoted = await ask('/v1/billing/x402/quote', {
      method: 'POST',
      headers,
      body: JSON.stringify(order),
    })
    expect(quoted.status).toBe(200)
    const { paymentRequired } = (await quoted.json()) as {
      paymentRequired: { accepts: Record<'amount' | 'asset' | 'payTo', string>[] }
    }
    const accepted = paymentRequired.accepts[0]
    if (accepted === undefined) throw new Error('Nothing is accepted.')
    const nowSeconds = Math.floor(ground.time.nowMs / 1000)
    const authorization = {
      from: payer.address,
      to: accepted.payTo as `0x${string}`,
      value: BigInt(accepted.amount),
      validAfter: BigInt(nowSeconds - 60),
      validBefore: BigInt(nowSeconds + 500),
      nonce: `0x${randomBytes(32).toHex()}` as const,
    }
    const signature = await payer.signTypedData({
      domain: {
        name: 'USD Coin',
        version: '2',
        chainId: testChain.chainId,
        verifyingContract: accepted.asset as `0x${string}`,
      },
      types: transferTypes,
      primaryType: 'TransferWithAuthorization',
      message: authorization,
    })
    const texts = Object.fromEntries(
      Object.entries(authorization).map(([name, value]) => [name, String(value)]),
    )
    const payload = { signature, authorization: texts }
    return { x402Version: 2, accepted, payload }
  }
  const bodyOf = (paymentPayload: object) => ({
    method: 'POST',
    headers,
    body: JSON.stringify({ paymentPayload }),
  })

  test('default: the whole way, with 202 where that is asked for, and no real row changes', async () => {
    const before = contents()
    const payment = bodyOf(await buy())
    const pending = await askFor('payment_pending', '/v1/billing/x402/settle', payment)
    expect(pending.status).toBe(202)
    expect(pending.headers.get('retry-after')).toBe('10')
    const { pollUrl } = (await pending.json()) as { pollUrl: string }
    const still = await askFor('payment_pending', pollUrl)
    expect(await still.json()).toMatchObject({ status: 'pending' })
    const settled = await ask('/v1/billing/x402/settle', payment)
    expect(settled.status).toBe(200)
    expect(settled.headers.has('payment-response')).toBe(true)
    expect(await (await ask(pollUrl)).json()).toMatchObject({ status: 'active' })
    const { tier } = (await (await ask('/v1/billing/subscription')).json()) as { tier: object }
    expect(tier).toMatchObject({ id: 'pro' })
    // It is for play: the window stays that of everybody in test mode.
    expect((await ask('/v1/coins')).headers.get('x-ratelimit-limit')).toBe('120')
    expect(await ground.app.flushUsage()).toBe(false)
    expect(contents()).toEqual(before)
    expect(ledger.payments.listPayments({ limit: 1 })).toEqual([])
  })

  test('behavior: it settles at once without the fault, and a wrong signature is refused', async () => {
    const before = contents()
    expect((await ask('/v1/billing/x402/settle', bodyOf(await buy()))).status).toBe(200)
    const forged = await buy()
    forged.payload.signature = `0x${'1'.repeat(128)}1b`
    const refused = await readProblem(await ask('/v1/billing/x402/settle', bodyOf(forged)))
    expect([refused.status, refused.code]).toEqual([402, 'payment_rejected'])
    expect(contents()).toEqual(before)
  })

  test('default: @x402/fetch as it is buys with the settings that the documents name', async () => {
    const later = createTestGround()
    // The stock client goes by the wall clock.
    later.time.nowMs = systemClock()
    const client = new x402Client().register(testChain.network, new ExactEvmScheme(payer))
    const [asset = ''] = testChain.tokens.map(({ address }) => address)
    client.setSpendControls({
      maxAmountPerPayment: '$50',
      allowedAssets: [{ network: testChain.network, asset, maxAmountPerPayment: '50000000' }],
    })
    const documents = await Bun.file(new URL('../../docs/payments.md', import.meta.url)).text()
    expect(documents).toContain(
      `{ network: '${testChain.network}', asset: '${asset}', maxAmountPerPayment: '50000000' }`,
    )
    const send = async (request: Request): Promise<Response> => {
      const { pathname } = new URL(request.url)
      return later.ask(pathname, {
        method: 'POST',
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      })
    }
    const order = { tierId: 'pro', network: testChain.network, token: 'USDC', payer: payer.address }
    const init = { method: 'POST', headers }
    const quoted = await later.ask('/v1/billing/x402/quote', {
      ...init,
      body: JSON.stringify(order),
    })
    const { quoteId } = (await quoted.json()) as { quoteId: string }
    const pay = wrapFetchWithPayment(send as unknown as typeof fetch, client)
    const url = 'http://127.0.0.1/v1/billing/x402/settle'
    const bought = await pay(url, { ...init, body: JSON.stringify({ quoteId }) })
    expect([bought.status, await bought.json()]).toMatchObject([200, { status: 'active' }])
  })

  test('behavior: so many a day are kept, then all of them are forgotten', async () => {
    const few = createTestGround({}, 3)
    const order = { tierId: 'pro', network: testChain.network, token: 'USDC' }
    const quote = async () => {
      const sent = { method: 'POST', headers, body: JSON.stringify(order) }
      const answer = await few.ask('/v1/billing/x402/quote', sent)
      return ((await answer.json()) as { quoteId: string }).quoteId
    }
    const first = await quote()
    expect([await quote(), await quote()]).toEqual([first, first])
    expect(await quote()).not.toBe(first)
  })

  test('behavior: what can be paid with is known before anybody asks for a quote', async () => {
    const chains = await createTestGround().ask('/v1/billing/x402/chains')
    expect(await chains.text()).toContain('"enabled":true')
  })

  test('behavior: what is quoted is of no chain that there is', async () => {
    const chains = (await (await ask('/v1/billing/x402/chains')).json()) as { network: string }[]
    expect(JSON.stringify(chains)).toContain(testChain.network)
    expect(JSON.stringify(chains)).not.toMatch(/eip155:(137|8453)"/)
    const { accepted } = await buy()
    expect(accepted).toMatchObject({
      network: testChain.network,
      asset: testChain.tokens[0]?.address,
    })
  })
})
