import { describe, expect, setDefaultTimeout, test } from 'bun:test'

import type { Snapshot } from '#src/domain/snapshot.ts'

import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  keepKey,
  keepShot,
  servePages,
  soon,
  type TestPage,
  themes,
  until,
  watchFor,
  widths,
} from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { appendRows, conditionIdOf, createMarketHistory } from '../support/market-history.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const WINDOW_MS = 300_000
const { history, both, single, open } = await createMarketHistory()
const harness = createHarness({ history })
const { app, key, time } = harness
const held = (conditionId: string) => {
  const market = history.findMarket(conditionId)
  if (market === undefined) throw new Error('The market is held.')
  return market
}
const first = held(both.conditionId)
const live = held(open.conditionId)
const startMs = first.windowStartMs ?? 0
const endMs = live.windowEndMs ?? 0
const day = new Date(startMs).toISOString().slice(0, 10)
const clock = new Date(startMs).toISOString().slice(11, 16)

/** A market of the source of `open`, whose rows are those of it, put at another window. */
async function addWindow(letter: string, windowStartMs: number, hasBooks: boolean) {
  const conditionId = conditionIdOf(letter)
  const slug = `sim-btc-updown-5m-${windowStartMs / 1000}`
  const window = { windowStartMs, windowEndMs: windowStartMs + WINDOW_MS }
  await history.putMarket({
    ...live,
    ...window,
    conditionId,
    slug,
    assetIds: {},
    winner: undefined,
  })
  const rows = hasBooks ? open.rows.slice(0, 2) : []
  const shift = windowStartMs - (live.windowStartMs ?? 0)
  const moved = rows.map((row): Snapshot => ({
    ...row,
    conditionId,
    timestampMs: row.timestampMs + shift,
  }))
  await appendRows(history, { ...open, conditionId, rows: [] }, moved)
  return conditionId
}
/** Ethereum has books of a window to come, as the recorder has of long windows. */
const ethereum = held(single.conditionId)
const aheadId = conditionIdOf('9')
const aheadMs = Date.UTC(2100, 0, 1)
await history.putMarket({
  ...ethereum,
  conditionId: aheadId,
  slug: undefined,
  assetIds: {},
  winner: undefined,
  windowStartMs: aheadMs,
  windowEndMs: aheadMs + WINDOW_MS,
})
const aheadRows = single.rows.slice(0, 2).map((row): Snapshot => ({
  ...row,
  conditionId: aheadId,
  timestampMs: row.timestampMs - startMs + aheadMs,
}))
await appendRows(history, { ...single, conditionId: aheadId, rows: [] }, aheadRows)
/** Between the two, one that only a list names. */
const unheld = await addWindow('1', startMs + WINDOW_MS, false)
const recorded = conditionIdOf('2')
await history.putMarket({
  conditionId: recorded,
  coin: 'doge',
  timeframe: '5m',
  source: 'recorded',
  slug: 'doge-updown-5m-1776153600',
  windowStartMs: 1_776_153_600_000,
  windowEndMs: 1_776_153_900_000,
})

/** More than the search shows. */
for (let number = 0; number < 10; number++) {
  const windowStartMs = startMs - number * WINDOW_MS
  await history.putMarket({
    conditionId: `0x${`${number}`.padStart(64, 'f')}`,
    coin: 'xrp',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs,
    windowEndMs: windowStartMs + WINDOW_MS,
  })
}

time.nowMs = (open.rows.at(-1)?.timestampMs ?? 0) + 1_000
const { server, browser } = servePages(app)

const pageOf = (conditionId: string, coin = 'btc') => `/markets/${coin}/${conditionId}`
const prepare = keepKey(key)
const say = (page: TestPage) => page.textContent('.find-say')
const optionTexts = (page: TestPage) =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('dialog [role=option]')].map(({ textContent }) => textContent)`,
  )

describe.skipIf(chromiumPath === undefined)('the search, in a browser', () => {
  test('default: `/` and Ctrl-K open it, Escape closes it, and the focus is where it was', async () => {
    const page = await browser.open('/docs', { prepare })
    await page.waitForSelector('.find-button')
    for (const shortcut of ['/', 'Control+k']) {
      await page.focus('nav >> text=Coverage')
      await page.keyboard.press(shortcut)
      await page.waitForSelector('dialog[open] input[role=combobox]:focus')
      // What is behind cannot be reached.
      for (let presses = 0; presses < 8; presses++) {
        await page.keyboard.press('Tab')
        expect(await page.evaluate("document.activeElement.closest('main, nav') === null")).toBe(
          true,
        )
      }
      await page.keyboard.press('Escape')
      await page.waitForSelector('dialog', { state: 'detached' })
      expect(await page.textContent(':focus')).toBe('Coverage')
    }
    // Where text is typed, a slash is one.
    await page.keyboard.press('/')
    await page.keyboard.type('a/b')
    expect(await page.inputValue('dialog input[role=combobox]')).toBe('a/b')
    expect(page.faults).toEqual([])
  })

  test('behavior: letters that are typed before its code is loaded are kept', async () => {
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => (release = resolve))
    const page = await browser.open(pageOf(both.conditionId), {
      async prepare(tab) {
        await prepare(tab)
        await tab.route('**/assets/find-dialog-*', async (route) => {
          await isReleased
          await route.continue()
        })
      },
    })
    await page.waitForSelector('.ladder .ladder-bid')
    await page.keyboard.press('/')
    await page.keyboard.type('btcc')
    await page.keyboard.press('Backspace')
    await page.keyboard.type(' 5m /')
    // The space is a letter, and plays nothing.
    expect(await page.locator('button[aria-label="Play"]').count()).toBe(1)
    release()
    await page.waitForSelector('dialog[open] input[role=combobox]:focus')
    await page.keyboard.type('x')
    expect(await page.inputValue('dialog input[role=combobox]')).toBe('btc 5m /x')
    await page.keyboard.press('Escape')
    // The browser takes the focus from the field that it has hidden with the next frame.
    await until(page, 'document.activeElement === document.body')
    await page.keyboard.press(' ')
    await page.waitForSelector('button[aria-label="Pause"]')
    expect(page.faults).toEqual([])
  })

  test('default: a slug, or a coin with a day and a time, leads to its market by the keyboard alone', async () => {
    const page = await browser.open('/docs', { prepare })
    await page.waitForSelector('.find-button')
    // A time without a day is of the last day that has books.
    const typed = [`btc 5m ${day} ${clock}`, `${day}T${clock} bitcoin`, `5m ${clock}`]
    for (const text of [first.slug ?? '', ...typed, both.conditionId.slice(0, 62)]) {
      await page.keyboard.press('Control+k')
      await page.waitForSelector('dialog[open] input[role=combobox]:focus')
      await page.keyboard.type(text)
      await soon(async () => expect(await say(page)).toStartWith('1 market.'))
      await page.keyboard.press('Enter')
      await page.waitForURL(`**${pageOf(first.slug ?? '')}`)
      await page.waitForSelector('h1')
    }
    expect(page.faults).toEqual([])
  })

  test('behavior: a time without a day is not of a window to come that has books', async () => {
    const page = await browser.open('/docs', { prepare })
    await page.waitForSelector('.find-button')
    await page.keyboard.press('/')
    await page.locator('dialog input[role=combobox]').fill(`eth 5m ${clock}`)
    await soon(async () => expect(await say(page)).toStartWith('1 market.'))
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${pageOf(ethereum.slug ?? single.conditionId, 'eth')}`)
    expect(page.faults).toEqual([])
  })

  test('default: a coin is also its pages, and pages and guides are found by their names', async () => {
    const page = await browser.open('/docs', { prepare })
    const listed = async (text: string) => {
      await page.keyboard.press('Control+k')
      await page.waitForSelector('dialog[open] input[role=combobox]:focus')
      await page.fill('dialog input[role=combobox]', text)
      await page.waitForSelector('dialog [role=option]')
      return page.locator('dialog [role=option] .num').allTextContents()
    }
    await page.waitForSelector('.find-button')
    expect((await listed('eth')).slice(0, 3)).toEqual([
      'Ethereum markets',
      'Ethereum coverage',
      'Ethereum calibration',
    ])
    await page.keyboard.press('Escape')
    await page.waitForSelector('dialog', { state: 'detached' })
    expect(await listed('api ref')).toEqual(['API reference'])
    await page.keyboard.press('Enter')
    await page.waitForURL('**/swagger')
    await page.goto(new URL('/pricing', server.url).href)
    await page.waitForSelector('.find-button')
    expect(await listed('dashboard')).toContain('Dashboard')
    expect(page.faults).toEqual([])
  })

  test('behavior: a day leads to the list of its markets, of which those with books can be chosen', async () => {
    const page = await browser.open('/markets/btc', { prepare })
    await page.waitForSelector('.find-button')
    await page.keyboard.press('/')
    await page.locator('dialog input[type=date]').fill(day)
    await page.locator('dialog input[type=date]').dispatchEvent('change')
    await page.click(`dialog [role=option]:has-text("All BTC markets of")`)
    await page.waitForURL(`**/markets/btc?date=${day}`)
    const rows = page.locator('.market-list tbody tr')
    await page.waitForSelector(`.market-list a[href="${pageOf(both.conditionId)}"]`)
    expect(await rows.count()).toBe(2)
    await page.uncheck('text=With books')
    await page.waitForSelector(`.market-list a[href="${pageOf(unheld)}"]`)
    expect(await rows.count()).toBe(3)
    expect(new URL(page.url()).search).toBe(`?date=${day}&books=no`)
    await page.check('text=With books')
    await page.waitForSelector(`.market-list a[href="${pageOf(unheld)}"]`, { state: 'detached' })
    expect(new URL(page.url()).search).toBe(`?date=${day}`)
    await page.click('button[aria-label="Day before"]')
    await page.waitForSelector('.market-list >> text=No market with books matches.')
    await page.click('.market-list button:has-text("Show all")')
    await page.waitForSelector('.market-list >> text=No market matches.')
    expect(page.faults).toEqual([])
  })

  test('behavior: a day of the calendar leads to its markets, with the mouse and with the keyboard', async () => {
    const page = await browser.open(`/coverage/btc?until=${day}`, { prepare })
    const link = page.locator('.day-card a')
    await page.locator('.day-slider input').focus()
    await page.keyboard.press('End')
    await link.waitFor()
    expect(await link.getAttribute('href')).toBe(`/markets/btc?date=${day}`)
    await page.locator('.calendar-wrap rect').last().click()
    await page.waitForURL(`**/markets/btc?date=${day}`)
    await page.waitForSelector(`.market-list a[href="${pageOf(both.conditionId)}"]`)
    expect(page.faults).toEqual([])
  })

  test('behavior: markets that were opened or marked are there before anything is typed', async () => {
    const page = await browser.open(pageOf(both.conditionId), { prepare })
    await page.click('.market-tools button:has-text("Favourite")')
    await page.waitForSelector('.market-tools button[aria-pressed=true]')
    await page.goto(new URL(pageOf(open.conditionId), server.url).href)
    await page.waitForSelector('.market-tools button[aria-pressed=false]')
    await page.reload()
    await page.waitForSelector('.market-tools')
    await page.keyboard.press('/')
    await page.waitForSelector('dialog [role=option]')
    const [favourite, recent, ...others] = await optionTexts(page)
    expect(favourite).toEndWith('Favourite')
    expect(recent).toEndWith('Opened before')
    expect(others).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${pageOf(first.slug ?? '')}`)
    await page.click('.market-tools button:has-text("Favourite")')
    await page.waitForSelector('.market-tools button[aria-pressed=false]')
    expect(page.faults).toEqual([])
  })

  test('error: what is not there, not understood or not included is said', async () => {
    const page = await browser.open('/', { prepare })
    await page.waitForSelector('.find-button')
    await page.keyboard.press('/')
    const type = async (text: string, answer: string) => {
      await page.locator('dialog input[role=combobox]').fill(text)
      await soon(async () => expect(await say(page)).toBe(answer))
    }
    await type('btc-updown-5m-1', 'No market matches.')
    await type('hello', 'Type a slug, a page, or a coin with a length, a day and a time (UTC).')
    await type('btc 5m hello', '3 markets. Not understood: hello.')
    await type('xrp 5m', 'The first 8 markets of more.')
    const visitor = await browser.open('/')
    await visitor.waitForSelector('.find-button')
    await visitor.keyboard.press('/')
    await visitor.locator('dialog input[role=combobox]').fill('doge 5m')
    await soon(async () => expect(await say(visitor)).toStartWith('Dogecoin markets are not'))
    expect([...page.faults, ...visitor.faults]).toEqual([])
  })

  test('default: it looks right at every width, in both themes', async () => {
    const page = await browser.open(pageOf(both.conditionId), { prepare, width: 390 })
    await page.waitForSelector('.ladder .ladder-bid')
    await page.keyboard.press('/')
    await page.locator('dialog input[role=combobox]').fill('btc')
    await page.waitForSelector('dialog [role=option]')
    // What is typed is above the day.
    const topOf = async (input: string) => (await page.locator(input).boundingBox())?.y ?? NaN
    expect(await topOf('dialog input[role=combobox]')).toBeLessThan(
      await topOf('dialog input[type=date]'),
    )
    for (const width of widths) {
      for (const theme of themes) {
        await page.setViewportSize({ width, height: 900 })
        await page.emulateMedia({ colorScheme: theme })
        expect([width, theme, ...(await accessFaults(page))]).toEqual([width, theme])
        await keepShot(page, `find-${width}-${theme}`)
      }
    }
    expect(page.faults).toEqual([])
  })
})

describe.skipIf(chromiumPath === undefined)('the head of a market, in a browser', () => {
  test('behavior: the windows before and after, among those with books', async () => {
    const page = await browser.open(`${pageOf(both.conditionId)}?outcome=down&at=${startMs}`, {
      prepare,
    })
    await page.click('a[aria-label="Previous window"]')
    await page.waitForSelector('.market-tools >> text=There is no earlier window with books.')
    // Once the page is at rest, its address is known, and a middle click opens a tab.
    const next = page.locator('a[aria-label="Next window"][href*="/0x"]')
    expect(await next.getAttribute('href')).toBe(`${pageOf(open.conditionId)}?outcome=down`)
    const opened = page.context().waitForEvent('page')
    await next.click({ button: 'middle' })
    // Where it goes is up to the browser, which loads a tab in the background when it likes.
    await (await opened).close()
    await next.click()
    await page.waitForURL(`**${pageOf(open.conditionId)}?outcome=down`)
    // It is followed again without looking for it.
    await page.waitForSelector('a[aria-label="Next window"]:focus')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.market-tools >> text=There is no later window with books.')
    expect(page.faults).toEqual([])
  })

  test('behavior: a window beside is found by the keyboard before its address is known', async () => {
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => (release = resolve))
    const page = await browser.open(pageOf(both.conditionId), {
      async prepare(tab) {
        await prepare(tab)
        await tab.route('**/v1/btc/markets?*', async (route) => {
          await isReleased
          await route.continue()
        })
      },
    })
    const next = page.locator('a[aria-label="Next window"]')
    await next.focus()
    await page.keyboard.press('Enter')
    expect(await next.getAttribute('href')).toBe('/markets/btc?timeframe=5m')
    release()
    await page.waitForURL(`**${pageOf(open.conditionId)}`)
    await page.waitForSelector('a[aria-label="Next window"]:focus')
    expect(page.faults).toEqual([])
  })

  test('behavior: only a recorded market has a link to the page of the venue', async () => {
    const page = await browser.open(pageOf(recorded, 'doge'), { prepare })
    const link = page.locator('.market-tools a[target]')
    await link.waitFor()
    expect(await link.getAttribute('href')).toBe(
      'https://polymarket.com/event/doge-updown-5m-1776153600',
    )
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
    const simulated = await browser.open(pageOf(both.conditionId), { prepare })
    await simulated.waitForSelector('.market-tools')
    expect(await simulated.locator('.market-tools a[target]').count()).toBe(0)
    expect([...page.faults, ...simulated.faults]).toEqual([])
  })

  test('behavior: the depth chart is drawn anew for another width', async () => {
    const page = await browser.open(pageOf(both.conditionId), { prepare })
    await page.waitForSelector('.ladder .ladder-bid')
    await page.setViewportSize({ width: 900, height: 900 })
    await until(
      page,
      `(() => { const { width, clientWidth } = document.querySelector('canvas.depth'); return clientWidth > 380 && width === clientWidth })()`,
    )
    expect(page.faults).toEqual([])
  })

  test('behavior: on a phone the book is above the heat map, and nothing moves when it comes', async () => {
    const page = await browser.open('/llms.txt', { width: 390, prepare })
    await page.goto(new URL(pageOf(both.conditionId), server.url).href)
    await page.waitForSelector('.ladder .ladder-bid')
    await page.waitForSelector('canvas.heat')
    const tops = await page.evaluate<number[]>(
      `['.ladder', 'canvas.heat'].map((name) => document.querySelector(name).getBoundingClientRect().top)`,
    )
    expect(tops[0]).toBeLessThan(tops[1] ?? 0)
    const shift = await page.evaluate(`new Promise((resolve) => {
      new PerformanceObserver((list) => {
        resolve(list.getEntries().map(({ sources }) => sources.map(({ node }) => node?.outerHTML)).join())
      }).observe({ type: 'layout-shift', buffered: true })
      setTimeout(() => resolve(''), 500)
    })`)
    expect(shift).toBe('')
    expect(page.faults).toEqual([])
  })

  test('behavior: a stream that is silent or lost is not called live, nor shown green', async () => {
    const page = await browser.open(pageOf(open.conditionId), {
      prepare: async (opened) => {
        await prepare(opened)
        await opened.clock.install()
      },
    })
    await page.waitForSelector('.tag.live:has-text("Live")')
    await page.clock.fastForward(40_000)
    await page.waitForSelector('.tag:not(.live):has-text("No new row for ")')
    await page.context().setOffline(true)
    await page.waitForSelector('.tag:not(.live):text-is("Offline")')
    await page.waitForSelector('header .offline:has-text("Offline since")')
    const green = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.tag.live, .dot-on')].filter((each) => {
        const [red, green] = getComputedStyle(each).backgroundColor.match(/[\\d.]+/g).map(Number)
        return green - red > 10
      }).map(({ outerHTML }) => outerHTML)`,
    )
    expect(green).toEqual([])
    await page.context().setOffline(false)
    await page.clock.fastForward(10_000)
    await page.waitForSelector('header .offline:has-text("Offline since")', { state: 'detached' })
    page.forgive(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/)
    expect(page.faults).toEqual([])
  })

  test('behavior: who follows a window goes on with the next, and may stay', async () => {
    const following = await addWindow('3', endMs, false)
    const [follower, stayer, reader] = await Promise.all(
      [1, 2, 3].map(() => browser.open(pageOf(open.conditionId), { prepare })),
    )
    if (!follower || !stayer || !reader) throw new Error('Three tabs are open.')
    for (const page of [follower, stayer, reader]) {
      await page.waitForSelector('.tag.live:has-text("Live")')
    }
    // Somebody who points at a moment is not taken away.
    await reader.click('h1')
    // The offer is there for eight seconds, in which a slow machine may not look at it.
    const stayed = await watchFor(
      stayer,
      `(() => {
        const button = document.querySelector('.next-window button')
        button?.click()
        return button !== null
      })()`,
    )
    const isOffered = await watchFor(follower, `document.querySelector('.next-window') !== null`)
    time.nowMs = endMs + 1
    await stayed()
    await isOffered()
    await follower.waitForURL(`**${pageOf(following)}`)
    await reader.waitForSelector('.tag:has-text("closed")')
    for (const page of [stayer, reader]) {
      expect(new URL(page.url()).pathname).toBe(pageOf(open.conditionId))
      expect(await page.locator('.next-window').count()).toBe(0)
    }
    expect([...follower.faults, ...stayer.faults, ...reader.faults]).toEqual([])
  })
})
