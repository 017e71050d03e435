import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import {
  BROWSER_MS_MAX,
  BROWSER_TEST_MS_MAX,
  chromiumPath as chromium,
} from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

const { app, key } = createHarness({ history: (await createMarketHistory()).history })
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
  await unfold(view)
  return Object.assign(view, { faults })
}
type Page = Awaited<ReturnType<typeof openPage>>

const click = async (view: Page, selector: string) => {
  await view.scrollTo(selector, wait)
  await view.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`)
}

/** Opens every tag, so that all operations are seen. */
async function unfold(view: Bun.WebView) {
  await view.scrollTo('.api-tag', wait)
  await view.evaluate(
    "document.querySelectorAll('.api-tag > summary').forEach((each) => each.click())",
  )
  await view.scrollTo('.api-row', wait)
}

/** As one who had the key kept in the tab. */
async function useKey(view: Page) {
  await view.evaluate(`sessionStorage.setItem('bookfeed.key', '${key}')`)
  await view.reload()
  await unfold(view)
}

/** Of each kind those with most parameters, the longest bodies, and most ways to fail. */
const LONGEST = ['listMarkets', 'listSnapshots', 'getPanel', 'exportDay', 'createKey', 'rotateKey']

/** Opens them; the height of the highest, and how far the page can be scrolled sideways. */
async function measure(view: Page) {
  for (const name of LONGEST) {
    await click(view, `[id$="-${name}"] .api-row`)
    await view.scrollTo(`[id$="-${name}"] .responses-table > tbody`, wait)
  }
  return await view.evaluate<{ height: number; sideways: number }>(`(() => {
    const heights = [...document.querySelectorAll('.api-operation')].map((each) => each.clientHeight)
    const { scrollWidth, clientWidth } = document.documentElement
    return { height: Math.max(...heights), sideways: scrollWidth - clientWidth }
  })()`)
}

describe.skipIf(chromium === undefined)('/swagger in a browser', () => {
  test('default: loads without a complaint, and from nowhere else', async () => {
    await using view = await openPage()
    await view.reload()
    await unfold(view)
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

  test('behavior: is framed by the documentation, in light and dark', async () => {
    await using view = await openPage()
    const here = "document.querySelector('.docs-nav [aria-current]').textContent"
    expect(await view.evaluate<string>(here)).toBe('API reference')
    await click(view, '.icon-button')
    const ground = "getComputedStyle(document.querySelector('.api-row')).color"
    const isDark = (is: boolean) =>
      view.evaluate(`(async () => {
        while ((document.documentElement.dataset.theme === 'dark') !== ${is})
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
    await useKey(view)
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
      await click(view, `${operation} .api-row`)
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
      await click(view, `${operation} .api-row`)
    }
    expect(view.faults).toEqual([])
  })
})

type Answer = { status: string; text: string; width: number }
