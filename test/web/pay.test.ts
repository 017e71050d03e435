import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import type { Page } from 'playwright-core'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { RESEND_UNKNOWN_MS } from '#src/billing/payment-machine.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'
import { showStamp } from '#web/lib/format.ts'

import { type FaultyNode, startFaultyNode } from '../chain/faulty-node.ts'
import { hasAnvil } from '../support/anvil.ts'
import {
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  createBrowser,
  keepKey,
  lookAtAll,
} from '../support/browser.ts'
import { useChain } from '../support/chain-ground.ts'
import { addWallet } from '../support/page-wallet.ts'
import {
  addCustomer,
  type Customer,
  type PaidServer,
  startPaidServer,
  stateOf,
  wallClock,
} from '../support/paid-server.ts'
import { shoot, sign, type Visitor, visitWith, waitForState } from '../support/paying-page.ts'
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const STEP_MS = 500

/** Statuses that Chromium writes to its console by itself. */
const failed = (status: number) => new RegExp(`the server responded with a status of ${status}`)

describe.skipIf(!hasAnvil || chromiumPath === undefined)('paying in a browser', () => {
  let chain: LittlePolygon
  let relay: ScriptedFacilitator
  let node: FaultyNode
  let server: PaidServer
  let browser: ReturnType<typeof createBrowser>
  let isDead: () => boolean = () => false
  useChain(async ({ keep, ...ground }) => {
    ;({ chain, scripted: relay } = ground)
    node = keep(startFaultyNode(chain.url, () => (isDead() ? 'dead' : undefined)))
    const facilitator = createRemoteFacilitator(relay.url)
    server = keep(await startPaidServer({ chain, facilitator, rpcUrl: node.url }))
  })
  beforeAll(() => {
    browser = createBrowser(server.origin)
  })
  afterAll(async () => browser?.close())
  afterEach(async () => {
    isDead = () => false
    server.time.skewMs = 0
    await browser?.closeTabs()
  })

  const visit = (path: string, visitor: Visitor) => visitWith({ browser, chain }, path, visitor)

  /** A customer with money, whose page is at the quote. */
  async function atQuote(token = 'USDC', more: Partial<Visitor & { funds: bigint }> = {}) {
    const { funds, ...visitor } = more
    const customer = await addCustomer(server, funds === undefined ? {} : { funds })
    const { key, wallet } = customer
    const at = await visit('/pricing?tier=starter', { secret: wallet.key, key, ...visitor })
    await at.page.click('text=Pay with Test Wallet')
    await at.page.click(`.way:has-text("${token}") input`)
    await at.page.click('text=Get a quote')
    await at.page.waitForSelector('text=Review your payment')
    const before = await stateOf(server, customer)
    return { ...at, customer, before }
  }
  const moved = async (customer: Customer, before: { payer: bigint; payee: bigint }) => {
    const { payer, payee, periods } = await stateOf(server, customer)
    return { paid: before.payer - payer, got: payee - before.payee, periods }
  }
  /** Time passes faster on a page whose clock is ours, until something has happened. */
  const hasten = async (page: Page, happened: Promise<unknown>) => {
    const isOver = happened.then(() => true)
    while (!(await Promise.race([isOver, Bun.sleep(STEP_MS)])))
      await page.clock.fastForward(RESEND_UNKNOWN_MS)
  }
  const once = { paid: 19_000_000n, got: 19_000_000n, periods: 1 }
  const nothing = { paid: 0n, got: 0n, periods: 0 }
  test('default: checkout looks right at every width in both themes', async () => {
    const { key, wallet } = await addCustomer(server)
    const look = {
      name: 'checkout',
      ready: 'text=Pay with Test Wallet',
      async prepare(page: Page) {
        await addWallet(page, { chain, key: wallet.key })
        await keepKey(key)(page)
      },
    }
    expect(await lookAtAll(browser, '/pricing?tier=pro', look)).toEqual([])
  })

  test('default: an account with a receipt looks right at every width in both themes', async () => {
    const customer = await addCustomer(server)
    const payload = await customer.sign(await customer.quote())
    expect((await customer.settle(payload)).status).toBe(200)
    const look = { name: 'account', ready: 'text=provisioned', prepare: keepKey(customer.key) }
    expect(await lookAtAll(browser, '/account', look)).toEqual([])
  })

  test('default: USDT is approved once, and then signed', async () => {
    const { page, wallet, customer } = await atQuote('USDT')
    await page.waitForSelector('text=USDT needs an approval first')
    await shoot(page, 'approval')
    const before = await stateOf(server, customer, 'USDT')
    await page.click('text=Approve 19 USDT')
    await sign(page)
    await waitForState(page, 'provisioned')
    const receipt = await page.textContent('.checkout')
    expect(receipt).toContain('Paid19 USDT')
    expect(receipt).toContain('The period begins at once')
    const after = await stateOf(server, customer, 'USDT')
    expect([before.payer - after.payer, after.periods]).toEqual([19_000_000n, 1])
    expect(wallet.asked.filter((method) => method === 'eth_sendTransaction')).toHaveLength(1)
    expect(page.faults).toEqual([])
  })

  test('behavior: a lower tier is said to begin after the higher one, before signing and after', async () => {
    const customer = await addCustomer(server)
    const paid = await customer.settle(await customer.sign(await customer.quote('pro')))
    const { endsAt } = paid.body.subscription as { endsAt: string }
    const { key, wallet } = customer
    const { page } = await visit('/pricing?tier=starter', { secret: wallet.key, key })
    await page.click('text=Pay with Test Wallet')
    await page.click('text=Get a quote')
    await page.waitForSelector('text=Review your payment')
    const begins = `on ${showStamp(endsAt)}`
    expect(await page.textContent('.checkout')).toContain(begins)
    await sign(page)
    await waitForState(page, 'provisioned')
    const receipt = await page.textContent('.checkout')
    expect(receipt).toContain(`The period begins ${begins}`)
    expect(receipt).not.toContain('at once')
    expect(page.faults).toEqual([])
  })

  test.each([
    ['pending', 'settlement_pending'],
    ['unknown', 'cut-after-broadcast'],
  ] as const)(
    'behavior: a payment that is %s recovers, and is not signed again',
    async (state, script) => {
      const { page, wallet, customer, before } = await atQuote()
      await page.clock.install()
      relay.next(script)
      const settles = relay.settles().length
      isDead = () => relay.settles().length > settles
      await sign(page)
      await waitForState(page, state)
      expect(await page.textContent('main')).not.toMatch(/try again|Sign and pay/i)
      await shoot(page, state)
      isDead = () => false
      // The server looks again, and the page asks again, some seconds later.
      server.time.skewMs = RESEND_UNKNOWN_MS
      await hasten(page, waitForState(page, 'provisioned'))
      expect(await moved(customer, before)).toEqual(once)
      expect(wallet.asked.filter((method) => method === 'eth_signTypedData_v4')).toHaveLength(1)
      expect(page.faults).toEqual([])
    },
  )

  test('behavior: whoever comes back meets the payment that is on its way, and is not asked to sign', async () => {
    const { page, customer, before } = await atQuote()
    await page.clock.install()
    relay.next('settlement_pending')
    const settles = relay.settles().length
    isDead = () => relay.settles().length > settles
    await sign(page)
    await waitForState(page, 'pending')
    await page.reload()
    isDead = () => false
    server.time.skewMs = RESEND_UNKNOWN_MS
    await page.click('text=Pay with Test Wallet')
    await page.click('text=Get a quote')
    await page.waitForSelector('text=this account already has a payment')
    await hasten(page, waitForState(page, 'provisioned'))
    expect(await moved(customer, before)).toEqual(once)
  })

  test('behavior: while nothing is known the same payment is submitted again by itself', async () => {
    const { page, wallet, customer, before } = await atQuote()
    await page.clock.install()
    isDead = () => true
    await sign(page)
    await page.waitForSelector('[data-remedy="same_by_itself"]')
    expect(await page.textContent('main')).toContain('Do not sign another')
    await shoot(page, 'held')
    isDead = () => false
    await hasten(page, waitForState(page, 'provisioned'))
    expect(await moved(customer, before)).toEqual(once)
    expect(wallet.asked.filter((method) => method === 'eth_signTypedData_v4')).toHaveLength(1)
    page.forgive(failed(503))
    expect(page.faults).toEqual([])
  })

  test('behavior: a lost answer says that the payment may be on its way, and never to try again', async () => {
    const { page, wallet, customer, before } = await atQuote()
    await page.clock.install()
    await page.route(
      '**/settle',
      async (route) => {
        await route.fetch()
        await route.abort('connectionreset')
      },
      { times: 1 },
    )
    await sign(page)
    await page.waitForSelector('text=Your payment may be on its way')
    expect(await page.textContent('main')).not.toMatch(/try again|cannot be reached|Sign and pay/i)
    await shoot(page, 'lost')
    await hasten(page, waitForState(page, 'provisioned'))
    expect(await moved(customer, before)).toEqual(once)
    expect(wallet.asked.filter((method) => method === 'eth_signTypedData_v4')).toHaveLength(1)
    page.forgive(/ERR_CONNECTION_RESET/)
    expect(page.faults).toEqual([])
  })

  test('error: a quote that is too old to be signed is replaced by a new one', async () => {
    const customer = await addCustomer(server)
    const { key, wallet } = customer
    const { page } = await visit('/pricing?tier=starter', { secret: wallet.key, key })
    await page.route(
      '**/quote',
      async (route) => {
        const response = await route.fetch()
        const expiresAt = new Date(wallClock() + 30_000).toISOString()
        await route.fulfill({ response, json: { ...(await response.json()), expiresAt } })
      },
      { times: 1 },
    )
    await page.click('text=Pay with Test Wallet')
    await page.click('text=Get a quote')
    await page.waitForSelector('text=This quote can no longer be signed')
    expect(await page.isVisible('text=Sign and pay')).toBe(false)
    await page.click('text=Get a new quote')
    const before = await stateOf(server, customer)
    await sign(page)
    await waitForState(page, 'provisioned')
    expect(await moved(customer, before)).toEqual(once)
    expect(page.faults).toEqual([])
  })

  test('error: a wallet on another network is asked to switch before anything is signed', async () => {
    const { page, wallet, customer, before } = await atQuote('USDC', { onChain: 1 })
    await page.waitForSelector('text=Your wallet is on another network')
    expect(await page.isVisible('text=Sign and pay')).toBe(false)
    await shoot(page, 'wrong-chain')
    wallet.refuse('wallet_switchEthereumChain')
    await page.click('text=Switch to Polygon')
    await page.waitForSelector('text=You declined in the wallet')
    await page.click('text=Switch to Polygon')
    await page.waitForSelector('text=Sign and pay')
    // By keyboard alone: what replaced the form has the focus.
    await page.click('text=Change token or wallet')
    await page.click('text=Get a quote')
    await page.waitForSelector('text=Sign and pay')
    await page.waitForFunction('document.activeElement !== document.body')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await waitForState(page, 'provisioned')
    expect([wallet.chainId(), await moved(customer, before)]).toEqual([137, once])
    expect(page.faults).toEqual([])
  })

  test('error: a refused signature sends nothing, and the quote stays', async () => {
    const { page, wallet, customer, before } = await atQuote()
    wallet.refuse('eth_signTypedData_v4')
    await sign(page)
    await page.waitForSelector('text=Nothing was signed, and nothing was sent')
    await shoot(page, 'refused')
    expect(await moved(customer, before)).toEqual(nothing)
    await sign(page)
    await waitForState(page, 'provisioned')
    expect(await moved(customer, before)).toEqual(once)
    expect(page.faults).toEqual([])
  })

  test('error: a wallet that holds too little signs nothing until it is funded', async () => {
    const { page, wallet, customer, before } = await atQuote('USDC', { funds: 1_000_000n })
    await page.waitForSelector('text=This wallet holds 1 USDC')
    expect(await page.isVisible('text=Sign and pay')).toBe(false)
    await shoot(page, 'too-little')
    expect([wallet.signed(), await moved(customer, before)]).toEqual([{}, nothing])
    await chain.mintUsdc(customer.wallet.address, 30_000_000n)
    await page.click('text=Check again')
    await sign(page)
    await waitForState(page, 'provisioned')
    expect(await moved(customer, { ...before, payer: 31_000_000n })).toEqual(once)
    expect(page.faults).toEqual([])
  })

  test('error: a wallet that is emptied after it was looked at submits the same payment when it is funded', async () => {
    const { page, wallet, customer } = await atQuote()
    const { key, address } = customer.wallet
    await page.waitForSelector('text=Sign and pay')
    await chain.transfer('USDC', { key, to: `0x${'e1'.repeat(20)}`, amount: 100_000_000n })
    const before = await stateOf(server, customer)
    await sign(page)
    await page.waitForSelector('[data-remedy="same_by_hand"]')
    await shoot(page, 'emptied')
    expect(await moved(customer, before)).toEqual(nothing)
    await chain.mintUsdc(address, 30_000_000n)
    await page.click('text=Submit the same payment again')
    await waitForState(page, 'provisioned')
    expect(await moved(customer, { ...before, payer: 30_000_000n })).toEqual(once)
    expect(wallet.asked.filter((method) => method === 'eth_signTypedData_v4')).toHaveLength(1)
    page.forgive(failed(402))
    expect(page.faults).toEqual([])
  })

  test('error: a wallet on a sanctions list gets no key, and pays for nothing', async () => {
    const { page, customer, before } = await atQuote()
    await chain.sanction(customer.wallet.address)
    await sign(page)
    await page.waitForSelector('[data-remedy="stop"]')
    await shoot(page, 'sanctioned')
    expect(await moved(customer, before)).toEqual(nothing)
    const stranger = await visit('/account', { secret: customer.wallet.key })
    await stranger.page.click('text=Sign in with Test Wallet')
    await stranger.page.waitForSelector('text=The address is on a sanctions list')
    for (const { faults, forgive } of [page, stranger.page]) {
      forgive(failed(451))
      expect(faults).toEqual([])
    }
  })

  test('error: without a wallet the page says what to do', async () => {
    const page = await browser.open('/account')
    await page.waitForSelector('text=No wallet was found in this browser')
    await shoot(page, 'no-wallet')
    expect(page.faults).toEqual([])
  })

  // The last, because a chain's time never goes back.
  test('error: a payment that ended before it came is void, and a new quote is paid once', async () => {
    const { page, customer, before } = await atQuote()
    await page.waitForSelector('text=Sign and pay')
    server.time.skewMs = 11 * 60_000
    await chain.setTime((await chain.time()) + 11 * 60)
    await sign(page)
    await page.waitForSelector('[data-remedy="new_quote"]')
    await shoot(page, 'expired')
    expect(await moved(customer, before)).toEqual(nothing)
    await page.click('text=Get a new quote')
    await sign(page)
    await waitForState(page, 'provisioned')
    expect(await moved(customer, before)).toEqual(once)
    page.forgive(/status of 4(02|10)/)
    expect(page.faults).toEqual([])
  })
})
