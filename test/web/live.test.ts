import { beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { ENDLESS_MS } from '#src/domain/coverage.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'

import {
  BROWSER_TEST_MS_MAX,
  chooseExport,
  chromiumPath,
  keepKey,
  servePages,
  soon,
  type TestPage,
  until,
} from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { appendRows, createMarketHistory } from '../support/market-history.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const WINDOW_MS = 300_000
const GAP_MS = 60_000
/** Beside and below the plot. */
const AXIS_WIDTH = 64
const AXIS_HEIGHT = 22
const { history, open } = await createMarketHistory()
const harness = createHarness({ history })
const { app, key, time } = harness
const market = history.findMarket(open.conditionId)
const endMs = market?.windowEndMs ?? 0
const { browser } = servePages(app)

const lastMs = () => open.rows.at(-1)?.timestampMs ?? 0
beforeEach(() => {
  time.nowMs = Math.max(time.nowMs, lastMs() + 1_000)
})
time.nowMs = lastMs() + 1_000

const page = `/markets/${open.coin}/${open.conditionId}`
const clock = (ms: number) => new Date(ms).toISOString().slice(11, 23)

/** A book that no other is like, by its price. */
async function append(
  outcome: Snapshot['outcome'],
  timestampMs: number,
  price: number,
): Promise<void> {
  const last = open.rows.findLast((row) => row.outcome === outcome)
  if (last === undefined) throw new Error('The market has a row.')
  const bids = { prices: [price * 10_000], sizes: [7_000_000] }
  const asks = { prices: [(price + 1) * 10_000], sizes: [7_000_000] }
  await appendRows(history, open, [{ ...last, bids, asks, sourceHash: undefined, timestampMs }])
}

async function watch() {
  const tab = await browser.open(page, { prepare: keepKey(key) })
  await tab.waitForSelector('.tag.live:has-text("Live")')
  await tab.waitForSelector('.ladder .ladder-bid')
  return tab
}
const has = (selector: string, text: string) =>
  `document.querySelector('${selector}')?.textContent.includes('${text}')`

describe.skipIf(chromiumPath === undefined)('an open market, in a browser', () => {
  test('behavior: the price of the coin moves', async () => {
    const tab = await watch()
    const tick = { coin: 'btc', source: 'simulated', windowSeconds: 0 } as const
    for (const [index, price] of ['64123.25', '65123.75'].entries()) {
      const timestampMs = lastMs() + index * 700
      await history.putSpot([{ ...tick, price, timestampMs, receivedMs: timestampMs }])
      await until(tab, has('.readout', price.replace(/(\d{3}\.)/, ',$1')))
    }
    expect(tab.faults).toEqual([])
  })

  test('behavior: one that is simulated opens without a key, is marked, and moves', async () => {
    const tab = await browser.open(page)
    await tab.waitForSelector('.tag.live:has-text("Live")')
    await tab.waitForSelector('.tag:has-text("simulated")')
    await tab.waitForSelector('.ladder .ladder-bid')
    await append('up', lastMs() + 700, 57)
    await until(tab, has('.market-side .ladder', '57¢'))
    expect(tab.faults).toEqual([])
  })

  /** The times of the cells that the heat map shows. */
  const shownTimes = async (tab: TestPage): Promise<number[]> => {
    const saved = tab.waitForEvent('download')
    await chooseExport(tab, 'heat map', 'CSV')
    const rows = (await Bun.file((await (await saved).path()) ?? '').text()).trim().split('\n')
    return rows.slice(1).map((row) => Date.parse(row.split(',')[0] ?? ''))
  }
  /** The price that is said of a part of the height of the heat map, from above. */
  const priceAt = async (tab: TestPage, part: number): Promise<number> => {
    const box = await tab.locator('canvas.heat').boundingBox()
    if (box === null) throw new Error('The heat map is seen.')
    const height = box.height - AXIS_HEIGHT
    // The window has just begun.
    const x = box.x + 0.08 * (box.width - AXIS_WIDTH)
    await tab.mouse.move(x, box.y + Math.round(part * height))
    const text = (await tab.textContent('.heat-readout')) ?? ''
    return Number(/ · ([\d.]+)¢/.exec(text)?.[1] ?? text)
  }

  test('default: the last two minutes fill the picture, with room for what comes, and move along', async () => {
    const tab = await watch()
    await append('up', lastMs() + 500, 55)
    const newestMs = lastMs()
    await until(tab, has('.player > output', clock(newestMs)))
    // With the crosshair, not when something else draws the page again.
    expect(await tab.textContent('.market-side .ladder')).toContain('55¢')
    const isPressed = (name: string) =>
      tab.getAttribute(`[aria-label="Time shown"] >> text=${name}`, 'aria-pressed')
    expect([await isPressed('Follow'), await isPressed('Window')]).toEqual(['true', 'false'])
    expect(new URL(tab.url()).search).toBe('')
    const times = await shownTimes(tab)
    const lengthMs = Math.max(...times) - Math.min(...times)
    expect(lengthMs).toBeGreaterThan(140_000)
    expect(lengthMs).toBeLessThanOrEqual(150_000)
    // A fifth of it is to come, or what is left of the window.
    const roomMs = Math.max(...times) - newestMs
    expect(roomMs).toBeGreaterThan(Math.min(25_000, endMs - newestMs - 5_000))
    await tab.click('[aria-label="Time shown"] >> text=Window')
    await soon(async () => {
      const all = await shownTimes(tab)
      expect(Math.max(...all) - Math.min(...all)).toBeGreaterThan(WINDOW_MS - 5_000)
    })
    expect(tab.faults).toEqual([])
  })

  test('default: prices fit the mid, are zoomed with Shift and reset by a double click', async () => {
    const tab = await watch()
    await append('up', lastMs() + 500, 55)
    await until(tab, has('.market-side .ladder', '55¢'))
    const expectPrice = (part: number, [fromCents, toCents]: [number, number]) =>
      soon(async () => expect(await priceAt(tab, part)).toBeWithin(fromCents, toCents))
    // Up to here it followed; pointing ends that, and the picture stays.
    await soon(async () => {
      const [top, bottom] = [await priceAt(tab, 0.01), await priceAt(tab, 0.99)]
      expect((top + bottom) / 2).toBeGreaterThan(40)
      expect(top - bottom).toBeWithin(1, 90)
    })
    await tab.locator('canvas.heat').dblclick({ position: { x: 300, y: 100 } })
    await expectPrice(0.01, [98, 101])
    await expectPrice(0.99, [0, 3])
    await tab.keyboard.down('Shift')
    for (let turns = 0; turns < 5; turns++) await tab.mouse.wheel(0, -100)
    await tab.keyboard.up('Shift')
    await expectPrice(0.01, [0, 60])
    await expectPrice(0.99, [0, 3])
    await tab.focus('.heat-frame')
    await tab.keyboard.press('f')
    await tab.waitForSelector('button[aria-pressed="true"]:has-text("Fit")')
    await expectPrice(0.99, [4, 100])
    expect(tab.faults).toEqual([])
  })

  test('default: colours are by the root or the logarithm of sizes, which this browser keeps', async () => {
    const tab = await watch()
    const half = () => tab.textContent('.scale b:nth-of-type(2)')
    await tab.click('button:text-is("View")')
    const byRoot = await half()
    await tab.click('[aria-label="Colour by"] >> text=Log')
    await soon(async () => expect(await half()).not.toBe(byRoot))
    await tab.reload()
    await tab.click('button:text-is("View")')
    await tab.waitForSelector('[aria-label="Colour by"] button[aria-pressed=true]:has-text("Log")')
    expect(tab.faults).toEqual([])
  })

  test('behavior: a gap that comes is drawn as one, and the book of before ends with it', async () => {
    const tab = await watch()
    const fromMs = lastMs() + 1
    const toMs = fromMs + GAP_MS
    const gap = { outcome: 'up', reason: 'recorder_down', fromMs } as const
    await history.record({
      snapshots: [],
      trades: [],
      gaps: [{ kind: 'opened', conditionId: open.conditionId, gap: { ...gap, toMs: ENDLESS_MS } }],
    })
    time.nowMs = toMs + 1_000
    await append('down', fromMs + 1_000, 31)
    await until(tab, has('.market-side', `No book: gap since ${clock(fromMs)} UTC`))
    expect(await tab.textContent('.market-side')).not.toContain('one side only')
    await history.record({
      snapshots: [],
      trades: [],
      gaps: [{ kind: 'ended', conditionId: open.conditionId, outcome: 'up', atMs: toMs }],
    })
    await append('up', toMs, 69)
    await until(tab, has('.market-side .ladder', '69¢'))
    await soon(async () => {
      const saved = tab.waitForEvent('download')
      await chooseExport(tab, 'heat map', 'CSV')
      const rows = (await Bun.file((await (await saved).path()) ?? '').text()).split('\n')
      const times = (pattern: RegExp) =>
        rows.flatMap((row) => {
          const ms = Date.parse(row.split(',')[0] ?? '')
          return pattern.test(row) && ms > fromMs && ms < toMs - 1_000 ? [ms] : []
        })
      expect(times(/,unknown,/).length).toBeGreaterThan(50)
      expect(times(/,bid,/)).toEqual([])
    })
    expect(tab.faults).toEqual([])
  })

  test('behavior: dots are at what prevailed, never later, and none in a gap', async () => {
    const tab = await watch()
    // While the page follows, each row that comes takes the crosshair along.
    await tab.click('h1')
    await tab.waitForSelector('.player button[aria-pressed="false"]:has-text("Live")')
    const overs = tab.locator('.line-chart .u-over')
    const box = await overs.first().boundingBox()
    const width = box?.width ?? 0
    const xAt = (ms: number) => ((ms - (endMs - WINDOW_MS)) / WINDOW_MS) * width
    const dots = () =>
      tab.evaluate<number[]>(`[...document.querySelectorAll('.line-chart')].slice(0, 2).flatMap(
        (chart) => [...chart.querySelectorAll('.u-cursor-pt:not(.u-off)')].map(
          (dot) => new DOMMatrix(getComputedStyle(dot).transform).e))`)
    const moments = Array.from(
      { length: 24 },
      (_, index) => endMs - WINDOW_MS + index * 4_000 + 137,
    )
    let seen = 0
    for (const ms of moments) {
      await overs.first().hover({ position: { x: xAt(ms), y: 40 } })
      await soon(async () => {
        const at = (await dots()).filter((x) => x > 0)
        // A dot is put at the next whole pixel.
        expect(Math.max(0, ...at)).toBeLessThanOrEqual(Math.ceil(xAt(ms)))
        seen += at.length
      })
    }
    expect(seen).toBeGreaterThan(24)
    expect(tab.faults).toEqual([])
  })

  test('behavior: trades that come are drawn by their side, and the legend names them', async () => {
    const tab = await watch()
    await tab.click('[aria-label="Time shown"] >> text=Window')
    expect(await tab.locator('.legend .trade-sizes.unseen').count()).toBe(1)
    const timestampMs = endMs - 60_000
    const trade = { timestampMs, outcome: 'up', side: 'sell', price: 970_000 } as const
    const trades = [{ ...trade, size: 9_000_000_000 }]
    await history.putTrades({ id: 'big', conditionId: open.conditionId, trades })
    await tab.waitForSelector('.legend .trade-sizes:not(.unseen)')
    // Its dot is redder than anything else where no book is.
    const isRed = `(() => {
      const canvas = document.querySelector('canvas.heat')
      const [width, height] = [canvas.width - ${AXIS_WIDTH}, canvas.height - ${AXIS_HEIGHT}]
      const copy = Object.assign(document.createElement('canvas'), { width: 1, height: 1 })
      const context = copy.getContext('2d', { willReadFrequently: true })
      context.drawImage(canvas, -Math.floor(width * 0.8), -Math.floor(height * 0.03))
      const [red, green] = context.getImageData(0, 0, 1, 1).data
      return red - green > 60
    })()`
    await until(tab, isRed)
    expect(tab.faults).toEqual([])
  })

  test('behavior: when the window ends lists say so, its history is loaded, and then who won', async () => {
    const tab = await watch()
    const list = await browser.open(`/markets/${open.coin}`, { prepare: keepKey(key) })
    const row = list.locator('tr', { has: list.locator(`a[href="${page}"]`) })
    await row.locator('.tag:has-text("open")').waitFor()
    const asked: string[] = []
    tab.on('response', (response) => asked.push(new URL(response.url()).pathname))
    time.nowMs = endMs - 1
    await append('up', endMs - 2_000, 97)
    await until(tab, has('.market-side .ladder', '97¢'))
    await list.waitForSelector('.open-prices .up:has-text("97.5¢")')
    time.nowMs = endMs + 1
    await row.locator('.tag:has-text("closed")').waitFor()
    await tab.waitForSelector('.tag:has-text("closed")')
    // What was streamed is there until then.
    expect(await tab.textContent('.market-side .ladder')).toContain('97¢')
    const names = ['heatmap', 'snapshots', 'quotes', 'trades', 'coverage']
    await soon(async () => {
      const base = `/v1/${open.coin}/markets/${open.conditionId}`
      expect(names.filter((name) => !asked.includes(`${base}/${name}`))).toEqual([])
    })
    await until(tab, `performance.getEntriesByName('heat-data').length > 1`)
    expect(await tab.textContent('.market-side .ladder')).toContain('97¢')
    // Who comes when it is over is not told by a stream.
    const late = await browser.open(page, { prepare: (opened) => opened.clock.install() })
    await late.waitForSelector('.tag:has-text("closed")')
    if (market) await history.putMarket({ ...market, winner: 'up' })
    await tab.waitForSelector('.tag.up:has-text("won")')
    // One answer that is lost takes nothing away.
    await late.route(`**/v1/**/${open.conditionId}`, (route) => route.abort('connectionreset'), {
      times: 1,
    })
    const isLost = late.waitForEvent('requestfailed')
    await late.clock.fastForward(31_000)
    await isLost
    await late.waitForSelector('.tag:has-text("closed")')
    await late.clock.fastForward(31_000)
    await late.waitForSelector('.tag.up:has-text("won")')
    late.forgive(/ERR_CONNECTION_RESET/)
    expect([...tab.faults, ...list.faults, ...late.faults]).toEqual([])
  })
})
