import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import type { Page } from 'playwright-core'

import type { SalesState } from '#src/billing/billing.ts'

import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  keepKey,
  lookAtAll,
  servePages,
} from '../support/browser.ts'
import { fakeBilling } from '../support/fake-billing.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

let state: SalesState['state'] = 'open'
const sales = (): SalesState => ({ state, sinceMs: NOW_MS, faults: [] })
const { app, key } = createHarness({ billing: fakeBilling({ sales }) })
const { browser } = servePages(app)
/** With a key, and a clock that the test moves. */
const prepare = async (page: Page) => {
  await page.clock.install()
  await keepKey(key)(page)
}
afterEach(() => {
  state = 'open'
})

describe.skipIf(chromiumPath === undefined)('/pricing of a server that no longer sells', () => {
  test('behavior: it says so, offers no tier, and the account has its payments', async () => {
    state = 'closed'
    const page = await browser.open('/pricing?tier=pro', { prepare })
    await page.waitForSelector('.tier')
    expect(await page.textContent('.intro')).toContain('Nothing is sold on this server')
    expect(await page.locator('text=Choose').count()).toBe(0)
    expect(await page.locator('.checkout, .paused').count()).toBe(0)
    const account = await browser.open('/account', { prepare })
    await account.waitForSelector('caption:has-text("Payments of this account")')
    expect([...page.faults, ...account.faults]).toEqual([])
  })
})

describe.skipIf(chromiumPath === undefined)('/pricing while purchases are paused', () => {
  test('default: it looks right at every width in both themes', async () => {
    state = 'paused'
    const look = { name: 'pricing-paused', ready: 'h2:has-text("Purchases are paused")' }
    expect(await lookAtAll(browser, '/pricing', look)).toEqual([])
  })

  test('behavior: it says since when, what to do and that nothing is charged, and offers no tier until it ends', async () => {
    state = 'paused'
    const page = await browser.open('/pricing?tier=pro', { prepare })
    await page.waitForSelector('.paused')
    const told = (await page.textContent('.paused'))?.replaceAll(/\s+/g, ' ')
    expect(told).toContain('Since Jan 2, 2026, 03:04:05 UTC this server cannot settle payments')
    expect(told).toContain('nothing is charged')
    expect(told).toContain('This page checks every minute')
    expect(await page.locator('.tier').count()).toBeGreaterThan(3)
    expect(await page.locator('text=Choose Pro').count()).toBe(0)
    expect(await page.locator('.checkout').count()).toBe(0)
    expect(await accessFaults(page)).toEqual([])
    state = 'open'
    await page.clock.fastForward(61_000)
    await page.waitForSelector('.checkout')
    await page.waitForSelector('text=Choose Starter')
    expect(await page.locator('.paused').count()).toBe(0)
    expect(page.faults).toEqual([])
  })

  test('behavior: one check that fails hides nothing, and a purchase that has begun stays', async () => {
    state = 'failing'
    const page = await browser.open('/pricing?tier=pro', { prepare })
    await page.waitForSelector('text=2. Choose the wallet that pays')
    expect(await page.locator('.paused').count()).toBe(0)
    state = 'paused'
    await page.clock.fastForward(61_000)
    await page.waitForSelector('.paused')
    expect(await page.locator('.checkout').count()).toBe(1)
    expect(await page.locator('text=Choose Starter').count()).toBe(0)
    expect(page.faults).toEqual([])
  })
})
