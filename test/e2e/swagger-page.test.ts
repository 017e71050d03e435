import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import {
  BROWSER_MS_MAX,
  BROWSER_TEST_MS_MAX,
  chromiumPath as chromium,
} from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

const { app, key } = createHarness({ history: createMarketHistory().history })
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
afterAll(async () => {
  Bun.WebView.closeAll()
  await server.stop(true)
})

setDefaultTimeout(BROWSER_TEST_MS_MAX)
/** How long an element is waited for. */
const wait = { timeout: BROWSER_MS_MAX }

const LAPTOP = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }

/** A tab with the page, and all that it reported or asked of another host. */
async function openPage(size = LAPTOP) {
  const argv = ['--no-sandbox', '--disable-background-networking']
  const backend = { type: 'chrome', path: chromium ?? '', argv } as const
  const view = new Bun.WebView({ ...size, backend })
  const faults: string[] = []
  await view.navigate('about:blank')
  for (const domain of ['Log', 'Runtime', 'Network']) await view.cdp(`${domain}.enable`)
  view.addEventListener<{ entry: { text: string } }>('Log.entryAdded', ({ data }) => {
    faults.push(data.entry.text)
  })
  view.addEventListener('Runtime.exceptionThrown', () => faults.push('exception'))
  view.addEventListener<{ request: { url: string } }>('Network.requestWillBeSent', ({ data }) => {
    const { url } = data.request
    if (!url.startsWith(server.url.href) && !url.startsWith('data:')) faults.push(url)
  })
  await view.navigate(`${server.url}swagger`)
  await view.scrollTo('.opblock', wait)
  return Object.assign(view, { faults })
}
type Page = Awaited<ReturnType<typeof openPage>>

const click = async (view: Page, selector: string) => {
  await view.scrollTo(selector, wait)
  await view.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`)
}

async function authorize(view: Page) {
  await click(view, '.btn.authorize')
  await view.click('.auth-container input', wait)
  await view.type(key)
  await click(view, '.auth-btn-wrapper .authorize')
  await click(view, '.auth-btn-wrapper .btn-done')
}

const storageOf = (view: Page) =>
  view.evaluate<{ session: string; elsewhere: string }>(`({
    session: JSON.stringify({ ...sessionStorage }),
    elsewhere: JSON.stringify({ ...localStorage }) + document.cookie + location.href,
  })`)

/** Of each kind those with most parameters, the longest bodies, and most ways to fail. */
const LONGEST = ['listMarkets', 'listSnapshots', 'getPanel', 'exportDay', 'createKey', 'rotateKey']

/** Opens them; the height of the highest, and how far the page can be scrolled sideways. */
async function measure(view: Page) {
  for (const name of LONGEST) {
    await click(view, `[id$="-${name}"] .opblock-summary-control`)
    await view.scrollTo(`[id$="-${name}"] .responses-table > tbody`, wait)
  }
  return await view.evaluate<{ height: number; sideways: number }>(`(() => {
    const heights = [...document.querySelectorAll('.opblock')].map((each) => each.clientHeight)
    const { scrollWidth, clientWidth } = document.documentElement
    return { height: Math.max(...heights), sideways: scrollWidth - clientWidth }
  })()`)
}

describe.skipIf(chromium === undefined)('/swagger in a browser', () => {
  test('default: loads without a complaint, and from nowhere else', async () => {
    await using view = await openPage()
    await view.reload()
    await view.scrollTo('.opblock', wait)
    expect(view.faults).toEqual([])
  })

  test('behavior: an opened operation fits on two screens', async () => {
    await using view = await openPage()
    const { height } = await measure(view)
    expect(height).toBeWithin(500, 2 * LAPTOP.height)
  })

  test('behavior: on a phone the page is not scrolled sideways', async () => {
    await using view = await openPage(PHONE)
    expect((await measure(view)).sideways).toBe(0)
  })

  test('behavior: uses the key of the tab, and the tab the key that is given there', async () => {
    await using view = await openPage()
    await authorize(view)
    await view.scrollTo('.btn.authorize.locked', wait)
    const shown = () => view.evaluate<string>("document.querySelector('.key-menu').textContent")
    expect(await shown()).toContain(`…${key.slice(-4)}`)
    expect(JSON.stringify(await storageOf(view))).not.toContain(key)
    await click(view, '.btn.authorize')
    await click(view, '.auth-btn-wrapper .auth')
    expect(await shown()).toContain('Use a key')
    await view.evaluate(`sessionStorage.setItem('bookfeed.key', '${key}')`)
    await view.reload()
    await view.scrollTo('.btn.authorize.locked', wait)
    await using other = await openPage()
    await other.scrollTo('.btn.authorize.unlocked', wait)
    expect(JSON.stringify(await storageOf(other))).not.toContain(key)
  })

  test('behavior: is framed by the documentation, in light and dark', async () => {
    await using view = await openPage()
    const here = "document.querySelector('.docs-nav [aria-current]').textContent"
    expect(await view.evaluate<string>(here)).toBe('API reference')
    await click(view, '.icon-button')
    const ground = "getComputedStyle(document.querySelector('.opblock')).color"
    const isDark = (is: boolean) =>
      view.evaluate(`(async () => {
        while (document.documentElement.matches('.dark-mode') !== ${is})
          await new Promise((next) => setTimeout(next, 20))
      })()`)
    await isDark(true)
    const dark = await view.evaluate<string>(ground)
    await click(view, '.icon-button')
    await isDark(false)
    expect(await view.evaluate<string>(ground)).not.toBe(dark)
  })

  test('behavior: what is filled in finds something, and the answer has room', async () => {
    await using view = await openPage()
    await authorize(view)
    for (const name of [
      'markets-listMarkets',
      'markets-getMarket',
      'markets-getMarketCoverage',
      'snapshots-listSnapshots',
      'snapshots-getSnapshotsAt',
      'snapshots-getFill',
      'snapshots-getPanel',
      'quotes-listQuotes',
      'prices-listPrices',
    ]) {
      const operation = `#operations-${name}`
      await click(view, `${operation} .opblock-summary-control`)
      const answer = `${operation} .live-responses-table .response`
      await view.evaluate(`(async () => {
        // An operation takes in its examples some time after it is there, and sends nothing before.
        // While a request is under way no other is sent: its answer would be drawn twice.
        while (document.querySelector('${answer} .microlight') === null) {
          const isUnderWay = document.querySelector('${operation} .loading') !== null
          if (!isUnderWay) document.querySelector('${operation} .execute')?.click()
          await new Promise((next) => setTimeout(next, 100))
        }
      })()`)
      const { status, text, width } = await view.evaluate<Answer>(`(() => {
        const answer = document.querySelector('${answer}')
        const body = answer.querySelector('.microlight')
        const status = answer.querySelector('.response-col_status').textContent
        return { status, text: body.textContent, width: body.clientWidth }
      })()`)
      expect([name, status]).toEqual([name, '200'])
      const { data = [0] }: { data?: unknown[] } = JSON.parse(text)
      expect(data.length).toBeGreaterThan(0)
      expect(width).toBeGreaterThan(LAPTOP.width / 2)
      await click(view, `${operation} .opblock-summary-control`)
    }
    expect(view.faults).toEqual([])
  })
})

type Answer = { status: string; text: string; width: number }
