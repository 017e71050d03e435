/** Pages with a well-formed key that the server does not know. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'

import { createApiKey } from '#src/domain/selling/api-key.ts'

import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  keepKey,
  servePages,
  until,
} from '../support/browser.ts'
import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

// Each tab is a visitor of its own: what is refused has a small allowance.
const config = readConfig({ BOOKFEED_TRUSTED_PROXIES: '127.0.0.1' })
const harness = createHarness({ history: (await createMarketHistory()).history, config })
const { browser } = servePages(harness.app)
const unknown = createApiKey((length) => crypto.getRandomValues(new Uint8Array(length)))

describe.skipIf(chromiumPath === undefined)('a key that the server does not know', () => {
  test('error: is refused when it is typed, and a known one is not', async () => {
    const page = await browser.open('/')
    await page.click('text=Use a key')
    await page.fill('input[name=key]', unknown)
    await page.click('text=Use this key')
    await page.waitForSelector('[role=alert] >> text=The server does not know this key')
    expect(await page.locator('.dot-on').count()).toBe(0)
    await page.fill('input[name=key]', harness.key)
    await page.click('text=Use this key')
    await page.waitForSelector('.key-menu .dot-on')
    page.forgive(/401/)
    expect(page.faults).toEqual([])
  })

  test.each(['/', '/markets/btc', '/coverage', '/calibration/btc', '/account'])(
    'error: %s says so where it was kept, asks no more with it, and shows the sample without it',
    async (path) => {
      const page = await browser.open(path, { prepare: keepKey(unknown) })
      await page.waitForSelector('.problem:has-text("The server does not know this key")')
      await page.waitForSelector('.key-menu button:has-text("unknown")')
      expect(await page.locator('main .live, .dot-on').count()).toBe(0)
      expect(await accessFaults(page)).toEqual([])
      // That of the rights, and one that is on its way by then.
      const refused = page.faults.filter((fault) => fault.includes('401'))
      expect(refused.length).toBeWithin(1, 3)
      await page.locator('button:has-text("Forget this key")').first().click()
      await page.waitForSelector('.key-menu button:has-text("Use a key")')
      await until(page, "!document.body.textContent.includes('does not know this key')")
      page.forgive(/401/)
      expect(page.faults).toEqual([])
    },
  )
})
