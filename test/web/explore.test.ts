import { describe, expect, setDefaultTimeout, test } from 'bun:test'

import {
  BROWSER_TEST_MS_MAX,
  chooseExport,
  chromiumPath,
  keepKey,
  lookAtAll,
  servePages,
  soon,
  type TestPage,
  until,
} from '../support/browser.ts'
import { readConfig } from '../support/config.ts'
import { addKey, createHarness } from '../support/harness.ts'
import {
  appendRows,
  createMarketHistory,
  type KnownMarket,
  someTicks,
} from '../support/market-history.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const { history, both, open } = await createMarketHistory()
// What is simulated goes with what is simulated alone.
await history.putSpot(someTicks('btc', 40).map((tick) => ({ ...tick, source: 'simulated' })))
const harness = createHarness({
  history,
  config: readConfig({ BOOKFEED_TRUSTED_PROXIES: '127.0.0.1' }),
})
/** In the window of the open market, after its last row. */
const nowMs = (open.rows.at(-1)?.timestampMs ?? 0) + 1_000
harness.time.nowMs = nowMs
const { app, key } = harness
const { server, browser } = servePages(app)

const fail = (): never => {
  throw new Error('The market has no row.')
}
const pageOf = ({ coin, conditionId }: KnownMarket) => `/markets/${coin}/${conditionId}`
const FIRST_LOAD_BYTES_MAX = 120_000

/** Shares of a picture that look like bids and like asks. */
const hues = (page: TestPage, selector: string) =>
  page.evaluate<{ bids: number; asks: number }>(`(() => {
    const { width, height } = document.querySelector('${selector}')
    // Of a copy: Chromium warns of pictures that are read again and again.
    const copy = Object.assign(document.createElement('canvas'), { width, height })
    const context = copy.getContext('2d', { willReadFrequently: true })
    context.drawImage(document.querySelector('${selector}'), 0, 0)
    const { data } = context.getImageData(0, 0, width, height)
    const counts = { bids: 0, asks: 0 }
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 1] - data[at] > 20) counts.bids++
      if (data[at] - data[at + 1] > 20) counts.asks++
    }
    return { bids: (4 * counts.bids) / data.length, asks: (4 * counts.asks) / data.length }
  })()`)

/** As somebody runs what he has copied; a status that is no success is a failure. */
const runners: Record<string, (code: string) => string[]> = {
  curl: (code) => ['sh', '-ec', code.replaceAll('curl ', 'curl --fail -sS -o /dev/null ')],
  TypeScript: (code) => [process.execPath, '-e', code],
  ...(Bun.which('python3') === null ? {} : { Python: (code: string) => ['python3', '-c', code] }),
}
const exitCodeOf = (command: string[]): Promise<number> =>
  Bun.spawn(command, { stdout: 'ignore', stderr: 'inherit' }).exited

async function openMarket(market = both, tab = {}, query = ''): Promise<TestPage> {
  const page = await browser.open(pageOf(market) + query, tab)
  await until(page, "performance.getEntriesByName('heat-drawn').length > 0")
  await page.waitForSelector('.ladder .ladder-bid')
  return page
}

async function useKey(page: TestPage): Promise<void> {
  await page.click('text=Use a key')
  await page.fill('input[name=key]', key)
  await page.click('text=Use this key')
}

describe.skipIf(chromiumPath === undefined)('explore, in a browser', () => {
  test('default: lists markets, and a click opens one', async () => {
    const page = await browser.open('/markets/btc')
    await page.waitForSelector('.open-market .open-prices')
    await page.click(`a[href="${pageOf(both)}"] >> nth=-1`)
    await page.waitForSelector('.heat')
    expect(page.faults).toEqual([])
  })

  test('behavior: what is simulated has a mark wherever it is shown, and what is recorded has none', async () => {
    const marks = (page: TestPage, within: string) =>
      page.evaluate<number>(
        `[...document.querySelectorAll('${within} .tag.warn')].filter(({ textContent }) => textContent === 'simulated').length`,
      )
    const page = await browser.open('/markets/btc', { prepare: keepKey(key) })
    await page.waitForSelector('.market-list tbody tr')
    await page.waitForSelector('a.open-market')
    const rows = await page.evaluate<number>(
      `document.querySelectorAll('.market-list tbody tr').length`,
    )
    expect(await marks(page, '.market-list tbody tr')).toBe(rows)
    expect(await marks(page, 'a.open-market')).toBeGreaterThan(0)
    const simulated = await browser.open('/coverage/btc', { prepare: keepKey(key) })
    await simulated.waitForSelector('h1 .tag.warn')
    const recorded = await browser.open('/markets/xrp', { prepare: keepKey(key) })
    await recorded.waitForSelector('.market-list tbody tr')
    expect(await marks(recorded, '.market-list')).toBe(0)
  })

  test('behavior: without a key another coin says what would show it', async () => {
    const page = await browser.open('/markets/sol')
    await page.waitForSelector('.tier-card >> text=Get a key')
    expect(page.faults).toEqual([])
    await useKey(page)
    await page.waitForSelector('.market-list tbody tr')
    expect(page.faults).toEqual([])
  })

  test('default: a market is drawn: bids and asks, prices, the book of a moment', async () => {
    const page = await openMarket()
    await soon(async () => {
      const heat = await hues(page, 'canvas.heat')
      expect(heat.bids).toBeGreaterThan(0.05)
      expect(heat.asks).toBeGreaterThan(0.05)
      const prices = await hues(page, '.line-chart canvas')
      expect(prices.bids).toBeGreaterThan(0.0005)
      expect(prices.asks).toBeGreaterThan(0.0005)
      // Most of this market is a gap, in which no book is known.
      expect(await page.textContent('.market-side')).toContain('No book: gap since')
    })
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    await soon(async () => {
      expect(await page.textContent('.market-side')).toContain('As of')
      const depth = await hues(page, 'canvas.depth')
      expect(depth.bids + depth.asks).toBeGreaterThan(0.02)
      expect(await page.locator('.ladder-bid').count()).toBe(8)
    })
    expect(page.faults).toEqual([])
  })

  test('behavior: the slider, the average and the outcome change what is drawn', async () => {
    const page = await openMarket()
    const { coin, conditionId } = both
    await page.waitForLoadState('networkidle')
    const drawn = new Set<string>()
    const isDrawnAnew = () =>
      soon(async () => {
        const sum = await page.evaluate<string>("document.querySelector('canvas.heat').toDataURL()")
        expect(drawn).not.toContain(sum)
        drawn.add(sum)
      })
    await isDrawnAnew()
    await page.click('button:text-is("View")')
    await page.locator('.cut-off input').fill('60')
    await isDrawnAnew()
    const heatmap = (query: string) =>
      page.waitForResponse(`**/v1/${coin}/markets/${conditionId}/heatmap?${query}*`)
    const averages = heatmap('outcome=up&agg=time-weighted')
    await page.click('text=Average')
    await averages
    await isDrawnAnew()
    await page.click('button:has-text("Down")')
    await page.waitForSelector('h2:has-text("Down heat map")')
    await isDrawnAnew()
    await page.waitForURL('**/*outcome=down*')
    expect(page.faults).toEqual([])
  })

  test('behavior: nothing of one coin or outcome is ever under the name of another', async () => {
    const page = await openMarket(both, { prepare: keepKey(key) })
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => (release = resolve))
    // Whatever is asked for from now on.
    await page.route('**/v1/**', async (route) => {
      await isReleased
      await route.continue()
    })
    await page.click('button:has-text("Down")')
    await page.waitForSelector('.market-side:has-text("Down order book"):has-text("Loading…")')
    expect(await page.locator('h2:has-text("Up heat map")').count()).toBe(1)
    release()
    await page.waitForSelector('h2:has-text("Down heat map")')
    await page.waitForSelector('.market-side:not(:has-text("Loading…"))')
    await page.unrouteAll({ behavior: 'wait' })
    await page.click('nav >> text=Explore')
    await page.waitForSelector('.open-prices')
    await page.waitForSelector('.market-list tbody tr')
    await page.route('**/v1/sol/**', () => {})
    await page.click('.tabs a:has-text("SOL")')
    await page.waitForSelector('h1:has-text("Solana")')
    expect(await page.locator('a[href^="/markets/sol/"]').count()).toBe(0)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    expect(page.faults).toEqual([])
  })

  test('behavior: a first view of a market takes few requests of an allowance', async () => {
    const first = async (market: KnownMarket, key?: string) => {
      const page = await browser.open(
        '/llms.txt',
        key === undefined ? {} : { prepare: keepKey(key) },
      )
      const asked: string[] = []
      page.on('request', (request) => asked.push(new URL(request.url()).pathname))
      await page.goto(new URL(pageOf(market), server.url).href)
      // The last of them.
      const last = market === open ? '.tag.live:has-text("Live")' : '.ladder .ladder-bid'
      await page.waitForSelector(last)
      if (market !== open) {
        // The windows beside it are looked for when the page is at rest.
        await page.waitForSelector('a[aria-label="Next window"][href*="/0x"]')
        await page.waitForLoadState('networkidle')
      }
      return () => {
        const [own, ...others] = asked.filter((path) => path.startsWith('/v1/'))
        // What it is itself is asked again while its winner is not known.
        return [own, ...others.filter((path) => path !== own)]
      }
    }
    // One of them because it has gaps, one for the price of the coin at the moment shown, and two for
    // the windows beside it.
    const ofBoth = await first(both)
    await soon(async () => expect(ofBoth().length).toBeGreaterThan(8))
    expect(ofBoth()).toHaveLength(9)
    // With one for its gaps, and the stream of what comes; what is asked again by then is one, and the
    // windows beside it are one if they were looked for by then. It is simulated, so its books are read from the sample, beside the allowance of the key.
    const ofOpen = await first(open, addKey(harness.ledger, undefined))
    expect(new Set(ofOpen()).size).toBeWithin(4, 11)
  })

  test('behavior: a link to a moment shows that moment, zoom and cut-off', async () => {
    const page = await openMarket()
    await page.click('button:text-is("View")')
    await page.locator('.cut-off input').fill('60')
    await page.click('button[aria-label="Zoom in"]')
    await page.keyboard.press('Home')
    await page.keyboard.press('Shift+ArrowRight')
    await page.waitForURL(/at=\d+&from=\d+&to=\d+/)
    await until(page, `document.querySelector('.player > output').textContent === '00:00:10.000'`)
    await page.waitForURL(({ searchParams }) => Number(searchParams.get('at')) % 300_000 === 10_000)
    const { pathname, search, searchParams } = new URL(page.url())
    expect(searchParams.get('full')).toBe('60')
    expect(Number(searchParams.get('to')) - Number(searchParams.get('from'))).toBeLessThan(250_000)
    const other = await browser.open(pathname + search)
    await other.waitForSelector('.player > output:has-text("00:00:10.000")')
    await other.click('button:text-is("View")')
    expect(await other.inputValue('.cut-off input')).toBe('60')
    await other.keyboard.press('Escape')
    const picture = (tab: TestPage) =>
      tab.evaluate<string>("document.querySelector('canvas.heat').toDataURL()")
    await page.mouse.move(5, 5)
    await soon(async () => expect(await picture(other)).toBe(await picture(page)))
    const beyond = await openMarket(both, {}, '?at=17&from=5&to=9&full=2')
    await beyond.waitForSelector('.player > output:has-text("00:02:30.000")')
    expect([...page.faults, ...other.faults, ...beyond.faults]).toEqual([])
  })

  test('behavior: a crosshair in one picture is that of all', async () => {
    const page = await openMarket()
    const crosshairs = () =>
      page.evaluate<string[]>(
        "[...document.querySelectorAll('.line-chart .u-cursor-x')].map((line) => line.style.transform)",
      )
    const moment = () => page.textContent('.player > output')
    const before = await crosshairs()
    const then = await moment()
    await page.locator('.heat').hover({ position: { x: 80, y: 60 } })
    await soon(async () => {
      expect(await moment()).not.toBe(then)
      const after = await crosshairs()
      expect(after.length).toBeGreaterThanOrEqual(2)
      expect(new Set(after).size).toBe(1)
      expect(after).not.toEqual(before)
    })
    // The other way round.
    const second = await moment()
    await page
      .locator('.line-chart .u-over')
      .first()
      .hover({ position: { x: 300, y: 40 } })
    await soon(async () => {
      expect(await moment()).not.toBe(second)
      expect(new Set(await crosshairs()).size).toBe(1)
    })
    expect(page.faults).toEqual([])
  })

  test('behavior: plays with the keyboard, and the book follows', async () => {
    const page = await openMarket()
    const clock = () => page.textContent('.player > output')
    const book = () => page.textContent('.market-side')
    await page.keyboard.press('Home')
    await until(page, `document.querySelector('.player > output').textContent === '00:00:00.000'`)
    const start = await clock()
    const first = await book()
    await page.selectOption('.speed select', '60')
    await page.locator('h1').click()
    await page.keyboard.press(' ')
    await until(page, `document.querySelector('.player > output').textContent > '00:01'`)
    await page.keyboard.press(' ')
    await page.waitForSelector('button[aria-label="Play"]')
    expect(await clock()).not.toBe(start)
    await soon(async () => expect(await book()).not.toBe(first))
    await page.keyboard.press('Home')
    await page.keyboard.press('Shift+ArrowRight')
    await until(page, `document.querySelector('.player > output').textContent === '00:00:10.000'`)
    expect(page.faults).toEqual([])
  })

  test('behavior: every picture names its calls, which work, and is saved', async () => {
    const page = await openMarket()
    // Asked for when it would be seen.
    await page.locator('footer').scrollIntoViewIfNeeded()
    await page.waitForSelector('text=BTC spot price and strike')
    const titles = await page.locator('.figure h2').allTextContents()
    expect(titles.length).toBeGreaterThanOrEqual(4)
    for (const title of titles) {
      await chooseExport(page, title, 'API')
      const figure = page.locator('.figure-list .calls')
      for (const [language, run] of Object.entries(runners)) {
        await figure.locator(`.tabs button:has-text("${language}")`).click()
        await figure.locator(`.tabs [aria-pressed="true"]:has-text("${language}")`).waitFor()
        const code = (await figure.locator('pre').textContent()) ?? ''
        expect([code, await exitCodeOf(run(code))]).toEqual([code, 0])
      }
      await chooseExport(page, title, 'API')
    }
    for (const [name, start] of [
      ['PNG', '\x89PNG'],
      ['CSV', 'time,side,price,size,source\n20'],
    ] as const) {
      const saved = page.waitForEvent('download')
      await chooseExport(page, 'heat map', name)
      const path = (await (await saved).path()) ?? ''
      const text = Buffer.from(await Bun.file(path).bytes()).toString('latin1')
      expect(text.slice(0, start.length)).toBe(start)
      expect(text.length).toBeGreaterThan(1_000)
    }
    expect(page.faults).toEqual([])
  })

  test('error: code that is loaded later and cannot be is said', async () => {
    const page = await openMarket(both, {
      // From the start: after ten seconds the page loads it by itself.
      prepare: (tab: TestPage) =>
        tab.route(/\/assets\/(save|call-code)-/, (route) => route.abort()),
    })
    await chooseExport(page, 'heat map', 'CSV')
    await page.waitForSelector('[role=alert] >> text=could not be loaded')
    await chooseExport(page, 'heat map', 'API')
    await page.waitForSelector('.calls >> text=The code could not be loaded.')
    page.forgive(/ERR_FAILED|dynamically imported/)
    expect(page.faults).toEqual([])
  })

  test('behavior: a row that is written shows while the market is open', async () => {
    const page = await openMarket(both)
    await useKey(page)
    await page.evaluate(
      `history.pushState(null, '', '${pageOf(open)}'); dispatchEvent(new Event('popstate'))`,
    )
    await page.waitForSelector('.tag.live:has-text("Live")')
    await page.waitForSelector('.ladder .ladder-bid')
    const before = await page.textContent('.market-side')
    const last = open.rows.findLast(({ outcome }) => outcome === 'up')
    const asks = { prices: [], sizes: [] }
    const row = { ...(last ?? fail()), asks, sourceHash: undefined, timestampMs: nowMs }
    await appendRows(history, open, [row])
    await until(
      page,
      `document.querySelector('.market-side .ladder').textContent.includes('one side only')`,
    )
    expect(await page.textContent('.market-side')).not.toBe(before)
    expect(page.faults).toEqual([])
  })

  test('behavior: the calendar says why a day is not whole', async () => {
    const page = await browser.open('/coverage')
    await page.locator('.calendar rect.chosen').waitFor()
    await page.locator('.day-slider input').focus()
    // Without the words for each kind, which are loaded later.
    const card = () => page.locator('.day-card strong, .day-card ul').allTextContents()
    await page.keyboard.press('Home')
    await until(page, "document.querySelector('.calendar-wrap rect').matches('.chosen')")
    const first = await card()
    await page.keyboard.press('End')
    await soon(async () => expect(await card()).not.toEqual(first))
    await page.locator('.calendar-wrap rect').first().hover()
    await soon(async () => expect(await card()).toEqual(first))
    expect(page.faults).toEqual([])
  })

  test('behavior: a first load is 120 kB at most, and nothing moves after the first paint', async () => {
    for (const path of ['/', '/markets/btc', pageOf(both), '/coverage']) {
      const page = await browser.open('/llms.txt')
      const sizes: Promise<number>[] = []
      page.on('response', (response) => {
        if (/\/v1\//.test(response.url())) return
        sizes.push(
          response
            .request()
            .sizes()
            .then(({ responseBodySize }) => responseBodySize),
        )
      })
      await page.goto(new URL(path, server.url).href)
      // The board has a stream, so it is never idle.
      if (path === '/') await page.waitForSelector('.away-place')
      else await page.waitForLoadState('networkidle')
      const shift = await page.evaluate(`new Promise((resolve) => {
        new PerformanceObserver((list) => {
          const sources = ({ value, sources }) => value + ' ' + sources.map(({ node }) => node?.outerHTML)
          resolve(list.getEntries().map(sources).join())
        }).observe({ type: 'layout-shift', buffered: true })
        setTimeout(() => resolve(''), 500)
      })`)
      expect([path, shift]).toEqual([path, ''])
      const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
      expect([path, bytes < FIRST_LOAD_BYTES_MAX && bytes > 5_000]).toEqual([path, true])
    }
  })

  for (const [name, path, ready] of [
    ['explore', '/markets/btc', '.market-list tbody tr'],
    ['market', pageOf(both), '.ladder .ladder-bid'],
    ['coverage', '/coverage', '.calendar rect.chosen'],
    ['refused', '/markets/sol', '.tier-card a'],
  ] as const) {
    test(`default: ${name} looks right at every width, in both themes`, async () => {
      expect(await lookAtAll(browser, path, { name, ready })).toEqual([])
    })
  }
})
