/** The API reference for a keyboard, a screen reader, and eyes that need contrast. */

import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  createBrowser,
  keepKey,
  keepShot,
  type TestPage,
  themes,
  until,
} from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const { app, key } = createHarness({ history: createMarketHistory().history })
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
const browser = createBrowser(server.url.origin)
afterEach(browser.closeTabs)
afterAll(async () => {
  await browser.close()
  await server.stop(true)
})

/** What axe-core finds in both themes. */
async function findFaults(page: TestPage, name: string): Promise<string[]> {
  const found: string[] = []
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme })
    await until(page, `document.documentElement.matches('.dark-mode') === ${theme === 'dark'}`)
    found.push(...(await accessFaults(page)).map((fault) => `${name} ${theme}: ${fault}`))
    await keepShot(page, `${name}-${theme}`)
  }
  return found
}

const LIST = '#operations-markets-listMarkets'
const CREATE = '#operations-account-createKey'

async function openOperation(page: TestPage, operation: string) {
  await page.click(`${operation} .opblock-summary-control`)
  await page.waitForSelector(`${operation} .responses-table`)
}

describe.skipIf(chromiumPath === undefined)('the API reference in a browser', () => {
  test.each([1440, 390])(
    'behavior: at %i px axe-core finds no fault, closed, open, answered, or asking for a key',
    async (width) => {
      const page = await browser.open('/swagger', { width, prepare: keepKey(key) })
      await page.waitForSelector('.btn.authorize.locked')
      expect(await findFaults(page, `swagger-${width}`)).toEqual([])
      await openOperation(page, LIST)
      expect(await findFaults(page, `swagger-open-${width}`)).toEqual([])
      await page.click(`${LIST} .execute`)
      await page.waitForSelector(`${LIST} .live-responses-table .microlight`)
      // With the body of a request.
      await openOperation(page, CREATE)
      expect(await findFaults(page, `swagger-answered-${width}`)).toEqual([])
      await page.click('.btn.authorize')
      await page.waitForSelector('.modal-ux')
      expect(await findFaults(page, `swagger-key-${width}`)).toEqual([])
      await page.click('.auth-btn-wrapper >> text=Logout')
      await page.waitForSelector('.modal-ux input')
      expect(await findFaults(page, `swagger-no-key-${width}`)).toEqual([])
      expect(page.faults).toEqual([])
    },
  )

  test('behavior: an operation is one stop of the keyboard, which opens it and has its address', async () => {
    const page = await browser.open('/swagger')
    const control = page.getByRole('button', { name: /^GET .*Markets of a coin/ })
    await control.focus()
    await page.keyboard.press('Enter')
    await page.waitForSelector(`${LIST} .responses-table`)
    expect(new URL(page.url()).hash).toBe('#/markets/listMarkets')
    await page.keyboard.press('Tab')
    const focused = 'document.activeElement.closest(".opblock-summary-control")'
    expect(await page.evaluate(`${focused} === null`)).toBe(true)
    await page.getByLabel('limit', { exact: true }).fill('1')
    await control.focus()
    await page.keyboard.press('Space')
    await page.waitForSelector(`${LIST} .responses-table`, { state: 'detached' })
    expect(page.faults).toEqual([])
  })

  test('default: an address with an operation opens it', async () => {
    const page = await browser.open('/swagger#/markets/listMarkets')
    await page.waitForSelector(`${LIST} .responses-table`)
    expect(page.faults).toEqual([])
  })
})
