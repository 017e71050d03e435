import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'
import { pagePaths } from '#web/paths.ts'

import {
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  createBrowser,
  keepShot,
  layoutFaults,
  until,
} from '../support/browser.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { createOperatorServer } from '../support/operator-server.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const WIDTHS = [390, 820, 1440]
const { history, both } = await createMarketHistory()
const { app } = createOperatorServer({ history })
const site = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch(request, peers) {
    request.headers.delete('x-forwarded-for')
    return app.fetch(request, { requestIP: (asked) => peers.requestIP(asked) })
  },
})
const browser = createBrowser(site.url.origin)
afterEach(browser.closeTabs)
afterAll(async () => {
  await browser.close()
  app.drain()
  await site.stop(true)
})

/** One that the page refuses by itself: servers bound how many wrong keys they answer. */
const mistypedKey = `${PUBLIC_TEST_KEY.slice(0, -1)}x`
const pathOf = (pattern: string): string =>
  pattern.replace(':coin', 'btc').replace(':market', both.conditionId).replace(':name', 'live')

describe.skipIf(chromiumPath === undefined)('every page at three widths, in a browser', () => {
  for (const path of pagePaths.map(pathOf)) {
    test(`default: ${path} cuts off nothing, also with the key panel and the search open`, async () => {
      const found: string[] = []
      const page = await browser.open(path, { width: Math.min(...WIDTHS) })
      await page.waitForSelector('h1')
      await until(page, "document.querySelector('#content [aria-busy=true]') === null")
      const look = async (state: string) => {
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 900 })
          found.push(...(await layoutFaults(page)).map((fault) => `${state} ${width}: ${fault}`))
          await keepShot(page, `layout${path.replaceAll('/', '-')}-${state}-${width}`)
        }
      }
      await look('page')
      await page.click('.key-menu > button')
      await page.fill('#key-panel input[name=key]', mistypedKey)
      await page.click('#key-panel button[type=submit]')
      await page.waitForSelector('#key-panel [role=alert]')
      await look('key')
      await page.keyboard.press('Escape')
      await page.click('.find-button')
      await page.fill('.find input[role=combobox]', 'a market that is not here')
      await look('search')
      // The calibration of a visitor reads hours of the public test key, which are not served here.
      page.forgive(/401/)
      expect([...found, ...page.faults]).toEqual([])
    })
  }
})
