import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import type { Page } from 'playwright-core'

import { coins, type Timeframe, timeframeMs } from '#src/domain/market.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import {
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  createBrowser,
  keepKey,
  keepShot,
  lookAtAll,
  soon,
  type TestPage,
} from '../support/browser.ts'
import { readConfig } from '../support/config.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { createSilences } from '../support/silences.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const history = openHistory(':memory:', { lagMs: 0 })
const HOUR_MS = 3_600_000
/** Longer than the page takes a connection without an event for live. */
const SILENT_MS = 16_000
const startMs = NOW_MS - 60_000
const { since, silences } = createSilences()
const harness = createHarness({
  history,
  config: readConfig({ BOOKFEED_TRUSTED_PROXIES: '127.0.0.1' }),
  timer: () => performance.now(),
  silences,
})
const { app, key } = harness
let number = 0
let batches = 0

/** An open window whose probability of up is a percentage. */
async function addWindow(
  coin: (typeof coins)[number],
  timeframe: Timeframe,
  percent: number,
  fromMs = startMs,
): Promise<string> {
  const conditionId = conditionIdOf(++number)
  await history.putMarket({
    conditionId,
    coin,
    timeframe,
    source: 'recorded',
    windowStartMs: fromMs,
    windowEndMs: fromMs + 2 * timeframeMs[timeframe] + HOUR_MS,
    strike: '64000.00',
    settlementRule: 'twap60',
  })
  await tell(conditionId, { coin, timeframe, percent })
  return conditionId
}

type Told = { coin: (typeof coins)[number]; timeframe: Timeframe; percent: number }

async function tell(conditionId: string, { coin, timeframe, percent }: Told): Promise<void> {
  const price = percent * 10_000
  const book = {
    conditionId,
    coin,
    timeframe,
    timestampMs: NOW_MS - 10_000 + batches,
    bids: { prices: [price - 5_000], sizes: [2_140_000_000] },
    asks: { prices: [price + 5_000], sizes: [980_000_000] },
  }
  await history.append({ id: `${++batches}`, source: 'recorded', snapshots: [aSnapshot(book)] })
}

await history.putSpot(
  coins.map((coin) => ({
    coin,
    source: 'chainlink',
    windowSeconds: 60,
    timestampMs: NOW_MS - (NOW_MS % 1000),
    price: '64019.75',
  })),
)
const five = await addWindow('btc', '5m', 60)
const fifteen = await addWindow('btc', '15m', 40)
await addWindow('eth', '5m', 75)
await history.putMarket({
  conditionId: conditionIdOf(99),
  coin: 'btc',
  timeframe: '5m',
  source: 'recorded',
  windowStartMs: NOW_MS - 900_000,
  windowEndMs: NOW_MS - 600_000,
  strike: '64000.00',
  finalPrice: '63360.00',
  winner: 'down',
  winnerSource: 'venue',
})
/** Adds a window that is over, of which nothing is recorded. */
async function addResolved(coin: (typeof coins)[number], endMs: number): Promise<string> {
  const conditionId = conditionIdOf(++number)
  await history.putMarket({
    conditionId,
    coin,
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: endMs - 300_000,
    windowEndMs: endMs,
    winner: 'up',
    winnerSource: 'venue',
  })
  return conditionId
}
number = 100
/** Over, with a book. */
const finished = await addWindow('btc', '4h', 50, startMs - 10 * HOUR_MS)
await history.putMarket({
  conditionId: finished,
  coin: 'btc',
  timeframe: '4h',
  source: 'recorded',
  winner: 'up',
  winnerSource: 'venue',
})
/** Its history is final before its end. */
const closedEarly = conditionIdOf(++number)
await history.putMarket({
  conditionId: closedEarly,
  coin: 'btc',
  timeframe: '4h',
  source: 'recorded',
  windowStartMs: startMs,
  windowEndMs: Date.UTC(2100, 0, 1),
})
await tell(closedEarly, { coin: 'btc', timeframe: '4h', percent: 50 })
await history.close(closedEarly)
await addResolved('sol', NOW_MS - 2_000_000)
/** More than a page of a list. */
const MANY = 1_100
for (let index = 0; index < MANY; index++) await addResolved('xrp', NOW_MS - 2_500_000 + index)

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: app.fetch })
let isSilent = false
const ticking = setInterval(() => isSilent || app.tick(), 5)
const browser = createBrowser(server.url.origin)
afterEach(async () => {
  since.copy = undefined
  isSilent = false
  await browser.closeTabs()
})
afterAll(async () => {
  clearInterval(ticking)
  await browser.close()
  app.drain()
  await server.stop(true)
})

const rowOf = (conditionId: string) => `tr:has(a[href$="${conditionId}"])`
const order = (page: TestPage) =>
  page.evaluate<string[]>(
    "[...document.querySelectorAll('.board tbody a')].map(({ textContent }) => textContent)",
  )

/** A visitor with a key whose clock stands still, as that of the server. */
const prepare = async (page: Page) => {
  await page.clock.setFixedTime(NOW_MS)
  await keepKey(key)(page)
}

async function open(path = '/', prepared = prepare): Promise<TestPage> {
  const page = await browser.open(path, { prepare: prepared })
  await page.waitForSelector('.board tbody tr')
  await page.waitForSelector('.tag.live:text-is("Live")')
  return page
}

/** The path of a line of a chart. */
const pathOf = (page: TestPage, line: string) => page.getAttribute(`${rowOf(five)} ${line}`, 'd')

describe.skipIf(chromiumPath === undefined)('the board, in a browser', () => {
  test('default: every open window with its figures and charts, and a click opens the market', async () => {
    const page = await open()
    expect(await order(page)).toEqual(['BTC 5m', 'ETH 5m', 'BTC 15m'])
    const text = (await page.textContent(rowOf(five))) ?? ''
    for (const part of ['$64,019.75', '+$19.75', '60.0 %', '1¢']) expect(text).toContain(part)
    expect(text).toContain('2.1K / 980')
    for (const line of ['.spot', '.strike', '.half', '.board-up .dot'])
      expect(await pathOf(page, line), line).toMatch(/^M\d+ \d+/)
    expect(await page.getAttribute(`${rowOf(five)} .board-up svg`, 'aria-label')).toBe('Up 60.0 %')
    await page.click(`${rowOf(fifteen)} .board-spread`)
    await page.waitForURL(`**/markets/btc/${fifteen}`)
    expect(page.faults).toEqual([])
  })

  test('behavior: rows of three lines have all there is, which this browser keeps', async () => {
    const page = await open()
    await page.click('[aria-label=Rows] >> text=Three lines')
    await page.reload()
    await page.waitForSelector(`${rowOf(five)} >> text=avg`)
    const text = (await page.textContent(rowOf(five))) ?? ''
    for (const part of ['$64,019.75', '+$19.75 (+0.03 %)', 'avg $64,019.75', '60.0 %', '1¢'])
      expect(text).toContain(part)
    expect(page.faults).toEqual([])
  })

  test('default: what changes is shown', async () => {
    const page = await open()
    await tell(five, { coin: 'btc', timeframe: '5m', percent: 61 })
    await page.waitForSelector(`${rowOf(five)} >> text=61.0 %`)
    await tell(five, { coin: 'btc', timeframe: '5m', percent: 60 })
    await page.waitForSelector(`${rowOf(five)} >> text=60.0 %`)
    expect(page.faults).toEqual([])
  })

  test('behavior: is sorted and filtered, which the address keeps', async () => {
    const page = await open()
    await page.click('th button:has-text("Up")')
    await soon(async () => expect(await order(page)).toEqual(['ETH 5m', 'BTC 5m', 'BTC 15m']))
    expect(await page.getAttribute('th:has-text("Up")', 'aria-sort')).toBe('ascending')
    await page.click('th button:has-text("Up")')
    await soon(async () => expect(await order(page)).toEqual(['BTC 15m', 'BTC 5m', 'ETH 5m']))
    await page.click('[aria-label=Coin] >> text=BTC')
    await soon(async () => expect(await order(page)).toEqual(['BTC 15m', 'BTC 5m']))
    expect(new URL(page.url()).search).toBe('?sort=up&reversed=&coin=btc')
    await page.reload()
    await soon(async () => expect(await order(page)).toEqual(['BTC 15m', 'BTC 5m']))
    await page.click('[aria-label="Length of the window"] >> text=15m')
    await soon(async () => expect(await order(page)).toEqual(['BTC 15m']))
    expect(page.faults).toEqual([])
  })

  test('behavior: rows keep their places while the pointer is over them, or the focus within', async () => {
    const page = await open('/?sort=up')
    expect(await order(page)).toEqual(['ETH 5m', 'BTC 5m', 'BTC 15m'])
    await page.hover(rowOf(fifteen))
    await tell(fifteen, { coin: 'btc', timeframe: '15m', percent: 90 })
    await page.waitForSelector(`${rowOf(fifteen)} >> text=90.0 %`)
    const late = await addWindow('eth', '15m', 95)
    await page.waitForSelector(rowOf(late))
    await page.waitForTimeout(1_500)
    expect(await order(page)).toEqual(['ETH 5m', 'BTC 5m', 'BTC 15m', 'ETH 15m'])
    await page.focus(`${rowOf(five)} a`)
    await page.mouse.move(0, 0)
    await history.putMarket({
      conditionId: late,
      coin: 'eth',
      timeframe: '15m',
      source: 'recorded',
      winner: 'up',
      winnerSource: 'venue',
    })
    await page.waitForSelector(`${rowOf(late)}.is-over >> text=over`)
    expect(await order(page)).toEqual(['ETH 5m', 'BTC 5m', 'BTC 15m', 'ETH 15m'])
    await page.evaluate('document.activeElement.blur()')
    await soon(async () => expect(await order(page)).toEqual(['BTC 15m', 'ETH 5m', 'BTC 5m']))
    await tell(fifteen, { coin: 'btc', timeframe: '15m', percent: 40 })
    expect(page.faults).toEqual([])
  })

  test('behavior: a star puts the windows of a coin and length first, also at the next visit', async () => {
    const page = await open()
    await page.click(`${rowOf(fifteen)} .star`)
    await page.mouse.move(0, 0)
    await page.evaluate('document.activeElement.blur()')
    await soon(async () => expect((await order(page))[0]).toBe('BTC 15m'))
    await page.reload()
    await soon(async () => expect((await order(page))[0]).toBe('BTC 15m'))
    expect(await page.getAttribute(`${rowOf(fifteen)} .star`, 'aria-pressed')).toBe('true')
    expect(page.faults).toEqual([])
  })

  test('behavior: without a key it shows the coins of the sample, and says so', async () => {
    const page = await open('/', (tab) => tab.clock.setFixedTime(NOW_MS))
    expect(await order(page)).toEqual(['BTC 5m', 'BTC 15m'])
    await page.waitForSelector('text=Without a key, you see lists and prices of BTC')
    await page.click('[aria-label=Coin] >> text=ETH')
    await page.waitForSelector('.tier-card >> text=Get a key')
    expect(page.faults).toEqual([])
  })

  test('error: with a wrong key it says what is wrong', async () => {
    const wrong = `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`
    const page = await browser.open('/', { prepare: keepKey(wrong) })
    await page.waitForSelector('[role=alert] >> text=Get a key')
    page.forgive(/401/)
    expect(page.faults).toEqual([])
  })

  test('behavior: a server that is behind, and none at all, are said in words, and end', async () => {
    const page = await open()
    const isGrey = () =>
      page.evaluate<boolean>(
        "getComputedStyle(document.querySelector('.board tbody')).filter === 'grayscale(1)'",
      )
    expect(await isGrey()).toBe(false)
    since.copy = NOW_MS - 5000
    await page.waitForSelector('.board >> text=copy is behind')
    since.copy = undefined
    await page.waitForSelector('.board >> text=copy is behind', { state: 'detached' })
    await page.waitForSelector('.tag.live:text-is("Live")')
    expect(await isGrey()).toBe(false)
    await page.context().setOffline(true)
    await page.waitForSelector('[role=status] >> text=Values are as of')
    expect(await isGrey()).toBe(true)
    await page.context().setOffline(false)
    await page.waitForSelector('.tag.live:text-is("Live")')
    page.forgive(/ERR_|Failed to load/)
    expect(page.faults).toEqual([])
  })

  test('behavior: a connection that is silent is not called live, and begins anew', async () => {
    // It measures the silence by its clock.
    const page = await open('/', async (tab) => {
      await tab.clock.install()
      await keepKey(key)(tab)
    })
    await page.evaluate(`(() => {
      window.said = []
      const status = document.querySelector('h1 + [role=status]')
      new MutationObserver(() => window.said.push(status.textContent)).observe(status, { subtree: true, childList: true, characterData: true })
    })()`)
    isSilent = true
    await page.clock.fastForward(SILENT_MS)
    await soon(async () => {
      const said = (await page.evaluate<string[]>('window.said')).join()
      expect(said).toContain('DisconnectedThe server does not answer. Values are as of')
    })
    isSilent = false
    await page.waitForSelector('.tag.live:text-is("Live")')
    await tell(five, { coin: 'btc', timeframe: '5m', percent: 61 })
    await page.waitForSelector(`${rowOf(five)} >> text=61.0 %`)
    await tell(five, { coin: 'btc', timeframe: '5m', percent: 60 })
    expect(page.faults).toEqual([])
  })

  test('default: what happened since the last visit, which the browser keeps', async () => {
    const visitMs = NOW_MS - 2 * HOUR_MS
    const page = await open('/', async (tab) => {
      await prepare(tab)
      await tab.addInitScript(
        `localStorage.getItem('bookfeed.visit') ?? localStorage.setItem('bookfeed.visit', '${visitMs}')`,
      )
    })
    await page.locator('h2:has-text("What happened")').scrollIntoViewIfNeeded()
    await page.waitForSelector('[aria-pressed="true"] >> text=Since your last visit')
    await page.waitForSelector('.away li')
    const text = (await page.textContent('.away')) ?? ''
    expect(text).toContain('−1.00 %')
    expect(text).toContain('won')
    await page.reload()
    await page.waitForSelector('.away')
    // A visit has just been.
    expect(await page.locator('text=Since your last visit').count()).toBe(0)
    const kept = await page.evaluate<string>("localStorage.getItem('bookfeed.visit')")
    expect(Number(kept)).toBeGreaterThan(visitMs + HOUR_MS)
    expect(page.faults).toEqual([])
  })

  test('default: says that nothing was recorded, and counts windows of all pages', async () => {
    const page = await open()
    await page.click('[aria-label=Coin] >> text=SOL')
    await page.locator('h2:has-text("What happened")').scrollIntoViewIfNeeded()
    await page.waitForSelector('.away-place >> text=Nothing was recorded in this time.')
    await page.waitForSelector('text=1 of them were not recorded.')
    await page.click('[aria-label=Coin] >> text=XRP')
    await page.waitForSelector('text=1,100 windows began and resolved since')
    expect(await page.textContent('.away-place')).not.toContain('all of it was recorded')
    expect(page.faults).toEqual([])
  })

  test('behavior: while no window is open it leads to the newest finished ones', async () => {
    const page = await browser.open('/?timeframe=4h', { prepare })
    await page.waitForSelector('text=No 4h window is open now.')
    await page.waitForSelector(`section:has-text("Newest finished windows") a[href$="${finished}"]`)
    expect(await page.locator(`.finished a[href$="${closedEarly}"]`).count()).toBe(0)
    await page.click(`section:has-text("Newest finished windows") a[href$="${finished}"]`)
    await page.waitForURL(`**/markets/btc/${finished}`)
    expect(page.faults).toEqual([])
  })

  test('error: a board that is refused says why and when it is asked for again, and then is there', async () => {
    let isBusy = true
    const page = await browser.open('/', {
      prepare: async (tab) => {
        await keepKey(key)(tab)
        const problem = {
          status: 503,
          code: 'unavailable',
          title: 'Busy',
          detail: 'Too much to do.',
        }
        await tab.route('**/v1/board*', (route) =>
          isBusy ? route.fulfill({ status: 503, json: problem }) : route.continue(),
        )
        await tab.route('**/v1/board/live*', (route) =>
          route.fulfill({ status: 503, json: problem }),
        )
      },
    })
    await page.waitForSelector('[role=alert] >> text=Too much to do.')
    await page.waitForSelector('[role=status] >> text=/The page tries again (in \\d+ s|now)/')
    expect(await page.locator('text=is open now').count()).toBe(0)
    expect(await page.locator('.board').count()).toBe(0)
    isBusy = false
    await page.waitForSelector(rowOf(five))
    // In place of a sentence, which would move the table.
    await page.waitForSelector('[role=status] .tag[title="Too much to do."]')
    page.forgive(/503/)
    expect(page.faults).toEqual([])
  })

  test('default: the API button shows how a bot reads the board', async () => {
    const page = await open('/?timeframe=5m')
    await page.click('.board-tools button:text-is("API")')
    await page.waitForSelector('.calls:has-text("/v1/board?timeframe=5m")')
    // Every link of the menu is within a phone's screen.
    await page.setViewportSize({ width: 390, height: 844 })
    await soon(async () =>
      expect(
        await page.evaluate<boolean>(
          "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('nav[aria-label=Main]'))",
        ),
      ).toBe(true),
    )
    expect(page.faults).toEqual([])
  })

  test('error: what happened says which coins could not be read, or why none could', async () => {
    let failing = /\/v1\/sol\/markets\?/
    const page = await open('/', async (tab) => {
      await prepare(tab)
      const problem = { status: 503, code: 'unavailable', title: 'Busy', detail: 'Too much to do.' }
      await tab.route(
        (url) => failing.test(url.href),
        (route) => route.fulfill({ status: 503, json: problem }),
      )
    })
    await page.locator('h2:has-text("What happened")').scrollIntoViewIfNeeded()
    await page.waitForSelector('text=Could not be read: SOL.')
    failing = /\/v1\/\w+\/markets\?/
    await page.click('[aria-label=Time] >> text=Today')
    await page.waitForSelector('[role=alert] >> text=Too much to do.')
    expect(await page.locator('text=No gaps').count()).toBe(0)
    page.forgive(/503/)
    expect(page.faults).toEqual([])
  })

  test.each([1440, 820, 390])(
    'behavior: nothing moves when what happened arrives, %d px wide',
    async (width) => {
      for (const path of ['/', '/?timeframe=4h']) {
        let release = () => {}
        const isReleased = new Promise<void>((resolve) => (release = resolve))
        const page = await browser.open(path, {
          width,
          async prepare(tab) {
            await prepare(tab)
            await tab.addInitScript(`
              const moved = []
              const note = (entries) => {
                for (const { sources, value } of entries)
                  moved.push([value, ...sources.map(({ node }) => node?.className)].join(' '))
              }
              const observer = new PerformanceObserver((list) => note(list.getEntries()))
              addEventListener('DOMContentLoaded', () => observer.observe({ type: 'layout-shift' }))
              /** What has moved up to the next frames, since the last call. */
              globalThis.takeMoved = async () => {
                for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame)
                note(observer.takeRecords())
                return moved.splice(0)
              }`)
            await tab.route(/\/v1\/\w+\/markets\?/, async (route) => {
              await isReleased
              await route.continue()
            })
          },
        })
        if (path === '/') {
          await page.waitForSelector('.board tbody tr')
          await page.waitForSelector('.away-place >> text=Loading…')
          await page.evaluate('scrollTo(0, document.body.scrollHeight)')
        } else await page.waitForSelector('text=No 4h window is open now.')
        await page.waitForSelector('.tag.live:text-is("Live")')
        await page.waitForTimeout(300)
        await page.evaluate('takeMoved()')
        release()
        await page.waitForSelector('.away:not(.finished) li')
        if (path !== '/') await page.waitForSelector('.finished li')
        await page.waitForTimeout(300)
        expect([path, await page.evaluate<string[]>('takeMoved()')]).toEqual([path, []])
        await keepShot(page, `board-arrived-${width}${path === '/' ? '' : '-none'}`)
        expect(page.faults).toEqual([])
        await browser.closeTabs()
      }
    },
  )

  test.each([1440, 820, 390])(
    'behavior: short lists leave no empty area in their card, %d px wide',
    async (width) => {
      const page = await browser.open('/?coin=sol&timeframe=4h', { width, prepare })
      await page.locator('.away-place').scrollIntoViewIfNeeded()
      await page.waitForSelector('.away-place li')
      const empty = (card: string) =>
        page.evaluate<number>(`(() => {
          const bottom = (each) => each.getBoundingClientRect().bottom
          const card = document.querySelector('${card}')
          return bottom(card) - Math.max(...[...card.querySelectorAll('li, p')].map(bottom))
        })()`)
      for (const card of ['.away-place .card', '[aria-label="Open windows"]'])
        await soon(async () => expect(await empty(card)).toBeLessThan(40))
      expect(page.faults).toEqual([])
    },
  )

  test('default: the windows of all lists are in UTC', async () => {
    const page = await open()
    await page.locator('.away-place').scrollIntoViewIfNeeded()
    await page.waitForSelector('.away-place li')
    const windows = await page.locator('.away-place li > .note').allTextContents()
    for (const note of await page.locator('.board th .note').all())
      windows.push((await note.getAttribute('title')) ?? '')
    expect(windows.length).toBeGreaterThan(3)
    for (const text of windows) expect(text).toMatch(/^\w+ \d+, \d\d:\d\d – .*\d\d:\d\d UTC$/)
    expect(page.faults).toEqual([])
  })

  test('behavior: the legend keeps its height when a row has an average', async () => {
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => (release = resolve))
    const page = await browser.open('/', {
      width: 1440,
      async prepare(tab) {
        await prepare(tab)
        await tab.route('**/v1/board*', async (route) => {
          await isReleased
          await route.continue()
        })
        await tab.route('**/v1/board/live*', async (route) => {
          await isReleased
          await route.continue()
        })
      },
    })
    const height = async () => (await page.locator('.board-legend').boundingBox())?.height
    const before = await height()
    expect(await page.locator('.board-legend .average').isVisible()).toBe(false)
    release()
    await page.locator('.board-legend .average').waitFor()
    expect(await height()).toBe(before ?? 0)
    expect(page.faults).toEqual([])
  })

  test('behavior: what has no gaps is said of the windows that are held alone', async () => {
    const path = '/v1/xrp/markets?status=resolved&limit=1'
    const { data } = (await (await harness.send(path)).json()) as {
      data: { outcomes: { outcome: string; coverage: object }[] }[]
    }
    const whole = data.map((market) => ({
      ...market,
      symbol: 'eth',
      source: 'simulated',
      outcomes: ['up', 'down'].map((outcome) => ({ outcome, coverage: { covered: 1, gaps: 0 } })),
    }))
    const page = await open('/', async (tab) => {
      await prepare(tab)
      await tab.route(
        (url) => url.pathname === '/v1/eth/markets',
        (route) => route.fulfill({ json: { data: whole, nextCursor: null } }),
      )
    })
    await page.click('[aria-label=Coin] >> text=ETH')
    await page.locator('.away-place').scrollIntoViewIfNeeded()
    await page.waitForSelector('text=No gaps in 1 simulated window, of ETH.')
    expect(page.faults).toEqual([])
  })

  test('behavior: what happened is renewed each minute while the page is open', async () => {
    const page = await open('/', async (tab) => {
      await tab.clock.install({ time: NOW_MS })
      await keepKey(key)(tab)
    })
    await page.click('[aria-label=Coin] >> text=SOL')
    await page.locator('h2:has-text("What happened")').scrollIntoViewIfNeeded()
    await page.waitForSelector('text=1 window began and resolved since')
    const next = await addResolved('sol', NOW_MS - 1_000)
    await page.clock.fastForward(61_000)
    await page.waitForSelector('text=2 windows began and resolved since')
    expect(await page.getAttribute('.away:not(.finished) a', 'href')).toBe(`/markets/sol/${next}`)
    expect(page.faults).toEqual([])
  })

  test('default: looks right at every width, in both themes', async () => {
    for (const rows of ['line', 'full']) {
      const keepRows = async (page: Page) => {
        await prepare(page)
        await page.addInitScript(`localStorage.setItem('bookfeed.rows', '"${rows}"')`)
      }
      const look = { name: `board-${rows}`, ready: '.board tbody tr', prepare: keepRows }
      expect(await lookAtAll(browser, '/', look)).toEqual([])
    }
  })
})
