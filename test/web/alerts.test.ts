import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Page } from 'playwright-core'

import { createTableStore } from '#src/extensions/calibration/store.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  keepKey,
  layoutFaults,
  servePages,
  soon,
  type TestPage,
} from '../support/browser.ts'
import { aCalibration } from '../support/calibration-tables.ts'
import { readConfig } from '../support/config.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-alerts-'))
const history = openHistory(':memory:', { lagMs: 0 })
const now = NOW_MS - (NOW_MS % 1000)
const conditionId = conditionIdOf(1)
const market = { conditionId, coin: 'btc', timeframe: '5m' } as const
await history.putMarket({
  ...market,
  source: 'recorded',
  windowStartMs: now - 200_000,
  windowEndMs: now + 100_000,
  strike: '64000.00',
})
createTableStore(folder).write('btc', [aCalibration({ coin: 'btc', timeframe: '5m' })])
const harness = createHarness({
  history,
  config: readConfig({ BOOKFEED_DATA: folder, BOOKFEED_TRUSTED_PROXIES: '127.0.0.1' }),
  timer: () => performance.now(),
})
const { browser } = servePages(harness.app)
afterAll(() => rmSync(folder, { recursive: true }))

let batches = 0
/** The next second, with a price of the coin and a probability of up. */
async function say({ price, percent }: { price: number; percent: number }): Promise<void> {
  const timestampMs = now + 1000 * ++batches
  harness.time.nowMs = timestampMs
  await history.putSpot([
    { coin: 'btc', source: 'chainlink', windowSeconds: 0, timestampMs, price: price.toFixed(2) },
  ])
  const mid = percent * 10_000
  const book = {
    ...market,
    timestampMs,
    bids: { prices: [mid - 5_000], sizes: [2_000_000] },
    asks: { prices: [mid + 5_000], sizes: [2_000_000] },
  }
  await history.append({ id: `${batches}`, source: 'recorded', snapshots: [aSnapshot(book)] })
}
await say({ price: 64_001, percent: 52 })

/** A browser that allows notifications, and counts them and its tones. */
const counting = `
  globalThis.seen = { notes: [], tones: 0 }
  globalThis.Notification = class extends EventTarget {
    static permission = 'granted'
    static requestPermission = async () => 'granted'
    constructor(title, { body }) { super(); globalThis.seen.notes.push(body) }
  }
  globalThis.AudioContext = class {
    currentTime = 0
    destination = {}
    createGain = () => ({ gain: { setValueAtTime() {}, exponentialRampToValueAtTime() {} }, connect() {} })
    createOscillator = () => ({ frequency: {}, connect() {}, start() { globalThis.seen.tones++ }, stop() {} })
  }`

const prepare = async (page: Page) => {
  await page.clock.setFixedTime(now)
  await keepKey(harness.key)(page)
  await page.addInitScript(counting)
}
const kept = (alerts: object[], more = {}) => `
  localStorage.getItem('bookfeed.alerts') ??
    localStorage.setItem('bookfeed.alerts', '${JSON.stringify({ alerts, sound: 'none', notifies: false, ...more })}')`

/** Fires at the first check. Other alerts compare with a check before. */
const first = { id: 'first', kind: 'above', value: 1, series: 'btc-5m' }
const FIRST = 'BTC 5m: Up is at 52.0 %'

async function open(alerts: object[]): Promise<TestPage> {
  const page = await browser.open('/', {
    prepare: async (tab) => {
      await prepare(tab)
      await tab.addInitScript(kept(alerts))
    },
  })
  await page.waitForSelector('.tag.live:text-is("Live")')
  await page.waitForSelector('.board-edge :is(.up, .down, .note)')
  return page
}
const news = (page: TestPage) => page.locator('.alert-news li a').allTextContents()
const seen = (page: TestPage) =>
  page.evaluate<{ notes: string[]; tones: number }>('globalThis.seen')
const clock = () => new Date(harness.time.nowMs).toISOString().slice(11, 19)

describe.skipIf(chromiumPath === undefined)('alerts of the board, in a browser', () => {
  test('default: one that is set fires once, is seen, heard and kept with its time', async () => {
    await say({ price: 64_001, percent: 52 })
    const page = await open([])
    await page.click('button:has-text("Alerts")')
    await page.selectOption('.alert-form select >> nth=0', { label: 'Up is at or above' })
    await page.fill('.alert-form input', '70')
    await page.selectOption('.alert-form select[name=series]', 'btc-5m')
    await page.click('.alert-form button:has-text("Add")')
    await page.selectOption('.alert-sound select', 'chime')
    await page.check('.alert-panel input[type=checkbox]')
    expect(await accessFaults(page)).toEqual([])
    expect((await seen(page)).tones).toBe(2)
    await page.keyboard.press('Escape')
    await page.waitForSelector('button:has-text("Alerts (1)")')
    await say({ price: 64_001, percent: 69 })
    await page.waitForSelector('.board-up >> text=69.0 %')
    expect(await news(page)).toEqual([])
    await say({ price: 64_001, percent: 71 })
    await soon(async () => expect(await news(page)).toEqual(['BTC 5m: Up is at 71.0 %']))
    const at = clock()
    await soon(async () =>
      expect(await seen(page)).toEqual({ notes: ['BTC 5m: Up is at 71.0 %'], tones: 4 }),
    )
    await say({ price: 64_001, percent: 60 })
    await page.waitForSelector('.board-up >> text=60.0 %')
    await say({ price: 64_001, percent: 75 })
    await page.waitForSelector('.board-up >> text=75.0 %')
    await page.waitForTimeout(700)
    expect(await news(page)).toEqual(['BTC 5m: Up is at 71.0 %'])
    await page.reload()
    await page.click('button:has-text("Alerts")')
    await page.waitForSelector(`.alert-list >> text=${at} UTC`)
    for (const width of [390, 820, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await layoutFaults(page)).toEqual([])
    }
    await page.click('.alert-list button:has-text("Set again")')
    await soon(async () => expect(await news(page)).toEqual(['BTC 5m: Up is at 75.0 %']))
    await page.click('.alert-list button:has-text("Delete")')
    await page.waitForSelector('text=No alert is set.')
    expect(page.faults).toEqual([])
  })

  test('default: a strike that is crossed, a price below, and an edge', async () => {
    await say({ price: 64_001, percent: 52 })
    const alert = (kind: string, value = 0) => ({ id: kind, kind, value, series: '' })
    const page = await open([first, alert('below', 40), alert('edge', 20), alert('strike')])
    await soon(async () => expect(await news(page)).toEqual([FIRST]))
    await say({ price: 63_998.5, percent: 48 })
    const crossed = 'BTC 5m: $63,998.50 is below the strike'
    await soon(async () => expect((await news(page)).toSorted()).toEqual([crossed, FIRST]))
    await say({ price: 63_999, percent: 25 })
    await soon(async () => {
      const texts = await news(page)
      expect(texts).toContain('BTC 5m: Up is at 25.0 %')
      expect(texts.join()).toMatch(/BTC 5m: edge of 2\d\.\d¢ for Up/)
      expect(texts).toHaveLength(4)
    })
    expect(page.faults).toEqual([])
  })

  test('behavior: sixty seconds left, and a recording that stops', async () => {
    await say({ price: 64_001, percent: 52 })
    const alert = (kind: string) => ({ id: kind, kind, value: 0, series: 'btc-5m' })
    const page = await open([first, alert('left'), alert('recording')])
    await soon(async () => expect(await news(page)).toEqual([FIRST]))
    // Nothing is recorded from here on.
    harness.time.nowMs = now + 41_000
    await soon(async () => {
      const texts = (await news(page)).join()
      expect(texts).toContain('BTC 5m: 60 seconds are left')
      expect(texts).toMatch(/BTC 5m: not recorded: .* since \d\d:\d\d:\d\d UTC/)
    })
    expect((await news(page)).length).toBe(3)
    expect(page.faults).toEqual([])
  })
})
