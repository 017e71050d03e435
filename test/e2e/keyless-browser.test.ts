/** A page of another origin buys without a key, in Chromium, by the stock client of x402. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'

import { hasAnvil } from '../support/anvil.ts'
import {
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  createBrowser,
  type TestPage,
  until,
} from '../support/browser.ts'
import { newBuyer } from '../support/keyless-buyer.ts'
import { type PaidServer, startPaidServer } from '../support/paid-server.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

type Answer = { status: number; body: { code?: string; status?: string; data?: unknown[] } } & {
  receipt: string | null
}

describe.skipIf(!hasAnvil || chromiumPath === undefined)('buying from a page elsewhere', () => {
  let chain: LittlePolygon
  let server: PaidServer
  let shop: Bun.Server<undefined>
  let browser: ReturnType<typeof createBrowser>

  beforeAll(async () => {
    chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
    const facilitator = createLocalFacilitator({
      chain: chain.chain,
      rpcUrl: chain.url,
      gasKey: chain.facilitator.key,
      pollMs: 10,
    })
    server = await startPaidServer({ chain, facilitator, isKeyless: true })
    const entry = new URL('../support/buying-page.ts', import.meta.url).pathname
    const { outputs } = await Bun.build({ entrypoints: [entry], target: 'browser' })
    const script = await outputs[0]?.text()
    const pages: Record<string, [text: string | undefined, type: string]> = {
      '/': [
        '<!doctype html><title>Shop</title><script type=module src=/buy.js></script>',
        'text/html',
      ],
      '/buy.js': [script, 'text/javascript'],
    }
    shop = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        const [text, type] = pages[new URL(request.url).pathname] ?? ['', 'text/plain']
        return new Response(text, { headers: { 'Content-Type': type } })
      },
    })
    browser = createBrowser(shop.url.origin)
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.stop(true)
    await server?.stop()
    await chain?.stop()
  })

  const buyIn = (page: TestPage, wish: { url: string; key: string; method?: string }) =>
    page.evaluate(`buy(${JSON.stringify(wish)})`) as Promise<Answer>
  const received = () => chain.balanceOf('USDC', chain.payee.address)

  test('default: nothing is paid for a wrong request; a request and a pack are bought', async () => {
    const { key } = await newBuyer(chain)
    const page = await browser.open('/', { isPlain: true })
    await until(page, "typeof buy === 'function'")
    const wrong = await buyIn(page, { url: `${server.origin}/v1/btc/markets?limit=0`, key })
    expect([wrong.status, wrong.body.code]).toEqual([400, 'invalid_parameter'])
    expect(await received()).toBe(0n)

    const list = await buyIn(page, { url: `${server.origin}/v1/btc/markets`, key })
    expect([list.status, list.body.data, list.receipt]).toEqual([200, [], expect.any(String)])
    expect(await received()).toBe(1000n)

    const path = '/v1/billing/packs/pack-1000'
    const pack = await buyIn(page, { url: server.origin + path, key, method: 'POST' })
    expect([pack.status, pack.body.status]).toEqual([200, 'active'])
    expect(await received()).toBe(1_001_000n)
    // Chromium reports statuses to its console, and the page goes to another origin.
    page.forgive(/status of 40[02]|^leaves for http:\/\/127/)
    expect(page.faults).toEqual([])
  })
})
