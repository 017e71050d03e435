import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Page } from 'playwright-core'

import { type Coin, type Timeframe, timeframeMs } from '#src/domain/market.ts'
import type { CalibrationList } from '#src/extensions/calibration/schema.ts'
import { createTableStore } from '#src/extensions/calibration/store.ts'
import type { Board } from '#src/features/board/schema.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import {
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  keepKey,
  lookAtAll,
  servePages,
  soon,
} from '../support/browser.ts'
import { aCalibration } from '../support/calibration-tables.ts'
import { readConfig } from '../support/config.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-board-'))
const history = openHistory(':memory:', { lagMs: 0 })
const now = NOW_MS - (NOW_MS % 1000)
const strike = 64_000
const priceAt = (second: number) => 64_012.5 + 3 * Math.sin(second)
const gone = 19
const left = 41

/** An open window with a book around a probability of up; it ends after so many seconds. */
async function addWindow(
  coin: Coin,
  timeframe: Timeframe,
  percent: number,
  seconds: number,
): Promise<string> {
  const conditionId = conditionIdOf(coin.charCodeAt(0) * 100 + timeframe.charCodeAt(0))
  const windowEndMs = now + seconds * 1000
  const windowStartMs = windowEndMs - timeframeMs[timeframe]
  await history.putMarket({
    conditionId,
    coin,
    timeframe,
    source: 'recorded',
    slug: `${coin}-updown-${timeframe}-${windowStartMs / 1000}`,
    windowStartMs,
    windowEndMs,
    strike: strike.toFixed(2),
    settlementRule: 'twap60',
  })
  const price = percent * 10_000
  const book = {
    conditionId,
    coin,
    timeframe,
    bids: { prices: [price - 5_000], sizes: [2_140_000_000] },
    asks: { prices: [price + 5_000], sizes: [980_000_000] },
  }
  // The second says that nothing was missed until now.
  const snapshots = [windowStartMs, now].map((timestampMs) => aSnapshot({ ...book, timestampMs }))
  await history.append({ id: conditionId, source: 'recorded', snapshots })
  return conditionId
}

for (const coin of ['btc', 'eth', 'sol'] as const) {
  await history.putSpot(
    Array.from({ length: 120 }, (_, ago) => ({
      coin,
      source: 'chainlink',
      windowSeconds: 0,
      timestampMs: now - ago * 1000,
      price: priceAt(ago).toFixed(2),
    })),
  )
}
const cheap = await addWindow('btc', '5m', 40, 200)
const dear = await addWindow('btc', '1h', 90, 1_000)
const few = await addWindow('eth', '5m', 40, 200)
const unknown = await addWindow('eth', '1h', 50, 1_000)
const last = await addWindow('sol', '5m', 60, left)
const tables = createTableStore(folder)
tables.write('btc', [
  aCalibration({ coin: 'btc', timeframe: '5m' }),
  aCalibration({ coin: 'btc', timeframe: '1h', deviation: 0.004 }),
])
tables.write('eth', [aCalibration({ coin: 'eth', timeframe: '5m', count: 20 })])
const harness = createHarness({
  history,
  config: readConfig({ BOOKFEED_DATA: folder, BOOKFEED_TRUSTED_PROXIES: '127.0.0.1' }),
  timer: () => performance.now(),
})
harness.time.nowMs = now
const { browser } = servePages(harness.app)
afterAll(() => rmSync(folder, { recursive: true }))

const prepare = async (page: Page) => {
  await page.clock.setFixedTime(now)
  await keepKey(harness.key)(page)
}
const rowOf = (conditionId: string) => `tr:has(a[href$="${conditionId}"])`

async function open(path = '/') {
  const page = await browser.open(path, { width: 1440, prepare })
  await page.waitForSelector(`${rowOf(cheap)} .board-edge .up, ${rowOf(cheap)} .board-edge .down`)
  const cell = async (conditionId: string, name: string) =>
    ((await page.textContent(`${rowOf(conditionId)} .board-${name}`)) ?? '').trim()
  return { page, cell }
}

/** Fair and edge of a window, from what the API says of it and its coin. */
async function recount(conditionId: string): Promise<{ fair: string; edge: string }> {
  const board = (await (await harness.send('/v1/board')).json()) as Board
  const row = board.data.find((each) => each.conditionId === conditionId)
  if (row?.spot == null || row.mid === null) throw new Error('The row has a price and a book.')
  const path = `/v1/${row.symbol}/calibration?timeframe=${row.timeframe}`
  const { data } = (await (await harness.send(path)).json()) as CalibrationList
  const seconds = (Date.parse(row.windowEnd ?? '') - now) / 1000
  const { edges = [], moments = [] } = data[0] ?? {}
  const apart = moments.map(({ beforeEndMs }) => Math.abs(beforeEndMs / 1000 - seconds))
  const moment = moments[apart.indexOf(Math.min(...apart))]
  if (moment === undefined) return { fair: '–', edge: '–' }
  const spread = moment.deviation * Math.sqrt(seconds / (moment.beforeEndMs / 1000))
  const distance = Math.log(row.spot.price / strike) / spread
  const index = edges.filter((edge) => edge <= distance).length
  const [count = 0, ups = 0] = [moment.windows[index], moment.ups[index]]
  const edge = ups / count - row.mid
  return {
    fair: `${((100 * ups) / count).toFixed(1)} % of ${count}`,
    edge: `${edge > 0 ? 'Up' : 'Down'} +${(100 * Math.abs(edge)).toFixed(1)}¢`,
  }
}

describe.skipIf(chromiumPath === undefined)('what the board means, in a browser', () => {
  test('default: fair and edge follow from the calibration, the price and the time left', async () => {
    const { page, cell } = await open()
    const shown: string[] = []
    for (const conditionId of [cheap, dear, few, unknown]) {
      const { fair, edge } = await recount(conditionId)
      expect(await cell(conditionId, 'fair')).toBe(fair)
      expect(await cell(conditionId, 'edge')).toBe(edge)
      shown.push(edge.split(' ')[0] ?? '')
    }
    expect(shown).toEqual(['Up', 'Down', 'Up', '–'])
    // Grey: the price may differ from so few windows by chance.
    const tone = (conditionId: string) =>
      page.getAttribute(`${rowOf(conditionId)} .board-edge span`, 'class')
    expect([await tone(cheap), await tone(dear), await tone(few)]).toEqual(['up', 'down', 'note'])
    expect(page.faults).toEqual([])
  })

  test('behavior: is sorted by edge, those that may be chance after those that are none', async () => {
    const { page } = await open()
    await page.click('th button:has-text("Edge")')
    await soon(async () =>
      expect(
        await page.evaluate<string[]>(
          "[...document.querySelectorAll('.board tbody tr')].map(({ dataset }) => dataset.window)",
        ),
      ).toEqual([dear, cheap, few, unknown, last]),
    )
    expect(new URL(page.url()).search).toBe('?sort=edge')
    expect(page.faults).toEqual([])
  })

  test('default: in the last minute a row says what is needed, which is just enough', async () => {
    const { page, cell } = await open()
    const text = await cell(last, 'spot')
    const [, sign, dollars, side, seconds] =
      /^needs ([+−])\$([\d.]+) for (Up|Down) in (\d+) s$/.exec(text) ?? []
    expect([sign, side, seconds]).toEqual(['−', 'Down', String(left)])
    // Each price of the minute so far holds for a second; the rest is the price of now less that.
    const prices = Array.from({ length: gone }, (_, index) => Number(priceAt(index + 1).toFixed(2)))
    const soFar = prices.reduce((sum, price) => sum + price, 0)
    const average = (rest: number) => (soFar + left * rest) / (gone + left)
    const rest = Number(priceAt(0).toFixed(2)) - Number(dollars)
    expect(average(rest)).toBeGreaterThanOrEqual(strike)
    expect(average(rest - 0.01)).toBeLessThan(strike)
    expect(page.faults).toEqual([])
  })

  test('default: a window is a line of 28 px with a link to the venue', async () => {
    const { page } = await open()
    const heights = await page.evaluate<number[]>(
      "[...document.querySelectorAll('.board tbody tr')].map((row) => row.getBoundingClientRect().height)",
    )
    expect(new Set(heights)).toEqual(new Set([28]))
    const [link] = await page.locator(`${rowOf(cheap)} .board-venue`).all()
    expect(await link?.getAttribute('href')).toBe(
      `https://polymarket.com/event/btc-updown-5m-${now / 1000 - 100}`,
    )
    expect(page.faults).toEqual([])
  })

  test('default: all charts of prices have one scale, three deviations of the window on each side', async () => {
    const { page } = await open()
    const heightOf = async (conditionId: string) => {
      const path = await page.getAttribute(`${rowOf(conditionId)} .spot.dot`, 'd')
      return Number(/^M\d+ (\d+)h0$/.exec(path ?? '')?.[1])
    }
    const price = Number(priceAt(0).toFixed(2))
    for (const [conditionId, deviation] of [
      [cheap, 0.001],
      [dear, 0.004],
    ] as const) {
      const share = (price / strike - 1) / (2 * 3 * deviation)
      expect(await heightOf(conditionId)).toBe(Math.round(1000 * (0.5 - share)))
    }
    expect(page.faults).toEqual([])
  })

  test('default: looks right at every width, in both themes', async () => {
    const ready = `${rowOf(cheap)} .board-edge :is(.up, .down)`
    expect(await lookAtAll(browser, '/', { name: 'board-fair', ready, prepare })).toEqual([])
  })
})
