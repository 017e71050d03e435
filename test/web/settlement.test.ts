/** The average that simulated windows settle on, as pages show it. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'
import { createMovingMarket } from '#src/simulator/moving-market.ts'
import { makeSampleWindows } from '#src/simulator/sample.ts'
import type { Spot } from '#web/lib/bodies.ts'
import { neededOfMarket } from '#web/lib/needed.ts'
import { averagesOf } from '#web/lib/settlement.ts'
import { pickSeries } from '#web/lib/spot-series.ts'

import {
  BROWSER_TEST_MS_MAX,
  chooseExport,
  chromiumPath,
  servePages,
  until,
} from '../support/browser.ts'
import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const WINDOW_MS = 300_000
const START_MS = Date.UTC(2026, 10, 27, 10)
/** In the last minute of a window that moves, after two that are over. */
const NOW_MS = START_MS + 3 * WINDOW_MS - 20_000

const history = openHistory(':memory:')
await makeSampleWindows(history, { coin: 'btc', count: 2, startMs: START_MS, statesPerSecond: 0.5 })
const moving = createMovingMarket(history)
while ((await moving.tick(NOW_MS)) === 'behind');
const harness = createHarness({
  history,
  config: readConfig({ BOOKFEED_TRUSTED_PROXIES: '127.0.0.1' }),
})
harness.time.nowMs = NOW_MS
const { browser } = servePages(harness.app)
const [over] = history.listMarkets({
  coin: 'btc',
  fromMs: START_MS + WINDOW_MS,
  order: 'asc',
  limit: 1,
})

describe.skipIf(chromiumPath === undefined)('the settlement average of simulated windows', () => {
  test.each([1440, 390])(
    'default: the board draws it, and in the last minute says what the rest must average, at %i px',
    async (width) => {
      const page = await browser.open('/', {
        width,
        // By a clock that goes on, the window would end on a slow machine.
        prepare: (tab) => tab.clock.setFixedTime(NOW_MS),
      })
      await page.waitForSelector('.needed')
      const [needed, left] = await page.evaluate<string[]>(`
        (() => {
          const needed = document.querySelector('.needed')
          return [needed, needed.closest('tr').querySelector('.board-left')].map((each) => each.textContent)
        })()`)
      expect(left).toBe('0:20')
      expect(needed).toMatch(/^needs .+ for (Up|Down) in 20 s$/)
      await page.waitForSelector('.legend:has-text("settlement average so far")')
      expect(page.faults).toEqual([])
    },
  )

  test('behavior: the axis of its chart has prices as they are shown elsewhere, with cents', async () => {
    const page = await browser.open(`/markets/btc/${over?.conditionId}`, {
      prepare: async (tab) => {
        await tab.addInitScript(`
          globalThis.drawnTexts = new Set()
          const { fillText } = CanvasRenderingContext2D.prototype
          CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            drawnTexts.add(text)
            return fillText.call(this, text, ...rest)
          }`)
      },
    })
    await page.waitForSelector('.legend .average')
    await until(page, "[...drawnTexts].some((text) => text.startsWith('$'))")
    const texts = await page.evaluate<string[]>('[...drawnTexts]')
    for (const text of texts.filter((each) => each.startsWith('$')))
      expect(text).toMatch(/^\$6\d,\d{3}\.\d\d$/)
    expect(page.faults).toEqual([])
  })

  test('default: at the end of a window its line is at the final price', async () => {
    const page = await browser.open(`/markets/btc/${over?.conditionId}`)
    const legend = '.legend .average'
    await page.waitForSelector(legend)
    await page.locator('h1').click()
    await page.keyboard.press('End')
    const final = Number(over?.finalPrice).toLocaleString('en-US', { minimumFractionDigits: 2 })
    const shown = `settlement average $${final}, 60 s`
    await until(page, `document.querySelector('${legend}').textContent.trim() === '${shown}'`)
    await page.waitForSelector(`.readout:has-text("Final$${final}")`)
    const saved = page.waitForEvent('download')
    await chooseExport(page, 'BTC spot price and strike', 'CSV')
    const lines = (await Bun.file((await (await saved).path()) ?? '').text()).trim().split('\n')
    expect(lines[0]).toBe('time,spot,strike,average,source')
    expect(lines.at(-1)?.split(',')[3]).toBe(String(Number(over?.finalPrice)))
    expect(page.faults).toEqual([])
  })
})

describe('averagesOf', () => {
  const window = {
    settlementRule: 'twap30',
    windowEnd: '2026-11-27T10:05:00.000Z',
    source: 'recorded',
  } as const
  const endMs = Date.parse(window.windowEnd)
  const tick = (beforeMs: number, price: number, windowSeconds = 0) => ({
    id: '1',
    source: 'chainlink',
    windowSeconds,
    timestamp: new Date(endMs - beforeMs).toISOString(),
    price,
    receivedAt: null,
    sequence: null,
    dropped: 0,
  })

  test('default: it is what the feed publishes, or of prices, in the settlement of those since that began', () => {
    const ticks = Array.from({ length: 61 }, (_, second) => tick((60 - second) * 1000, second))
    const published = [tick(50_000, 7, 30), tick(50_000, 8, 60), tick(20_000, 9, 30)]
    const averages = averagesOf(window, ticks, published)
    // Nothing is known of the half minute before; what is published holds for five seconds.
    expect(averages?.slice(8, 17)).toEqual([null, null, 7, 7, 7, 7, 7, 7, null])
    // From here on the half minute is known: 14.5, with the digits that the prices have.
    expect(averages?.[30]).toBe(15)
    // Of one second, whose price is 30; of two; of all thirty.
    expect([31, 32, 60].map((second) => averages?.[second])).toEqual([30, 31, 45])
  })

  test('behavior: what is published decides to the end, and no other source takes its place', () => {
    const ticks = Array.from({ length: 31 }, (_, second) => tick((30 - second) * 1000, second))
    const other = (each: ReturnType<typeof tick>) => ({ ...each, source: 'pyth' })
    const last = [tick(0, 77, 30)]
    expect(averagesOf(window, ticks, last)?.at(-1)).toBe(77)
    expect(averagesOf(window, ticks.map(other), last)?.slice(-2)).toEqual([null, 77])
    expect(averagesOf(window, ticks.map(other), last.map(other))?.at(-1)).toBeNull()
  })

  test('behavior: there is none for a window that settles on a price or a candle', () => {
    const ticks = [tick(1000, 1)]
    for (const settlementRule of [null, 'spot', 'binance-1h'] as const)
      expect(averagesOf({ ...window, settlementRule }, ticks, [])).toBeUndefined()
  })
})

describe('neededOfMarket', () => {
  const endMs = Date.UTC(2026, 10, 27, 10, 5)
  const market = {
    settlementRule: 'twap30',
    windowEnd: new Date(endMs).toISOString(),
    source: 'recorded',
    strike: 100,
  } as const
  const ticks = Array.from({ length: 51 }, (_, second) => ({
    id: String(second),
    source: 'chainlink',
    windowSeconds: 0,
    timestamp: new Date(endMs - (60 - second) * 1000).toISOString(),
    price: second < 40 ? 98 : 99,
  })) as Spot[]
  const at = (beforeMs: number) =>
    neededOfMarket(
      market,
      ticks.filter(({ timestamp }) => Date.parse(timestamp) <= endMs - beforeMs),
      endMs - beforeMs,
    )

  test('default: before the settlement it is the strike, then what the rest must average', () => {
    expect(at(61_000)).toBeUndefined()
    expect(at(45_000)).toMatchObject({ price: 100, side: 'up', seconds: 45, change: '+$2.00' })
    // Ten seconds at 98: the other twenty must average 101.
    expect(at(20_000)).toMatchObject({ price: 101, side: 'up', seconds: 20 })
    // Ten seconds at 98, ten at 99: the last ten must average 103.
    expect(at(10_000)).toMatchObject({ price: 103, side: 'up', seconds: 10, change: '+$4.00' })
    expect(at(0)).toBeUndefined()
  })

  test('behavior: without the prices of the settlement nothing is claimed', () => {
    expect(neededOfMarket(market, ticks.slice(0, 10), endMs - 10_000)).toBeUndefined()
    expect(neededOfMarket({ ...market, strike: null }, ticks, endMs - 10_000)).toBeUndefined()
  })
})

describe('pickSeries', () => {
  const startMs = Date.UTC(2026, 10, 29, 4, 30)
  const price = (source: string, windowSeconds: number, second: number) =>
    ({
      id: `${source} ${windowSeconds} ${second}`,
      source,
      windowSeconds,
      timestamp: new Date(startMs + second * 1000).toISOString(),
      price: 64_000 + second,
    }) as Spot
  const each = (seconds: number[], ...series: [source: string, windowSeconds: number][]) =>
    seconds.flatMap((second) => series.map(([source, length]) => price(source, length, second)))
  const all = Array.from({ length: 300 }, (_, second) => second)

  test('default: the prices of the moment, although the page has one for each end of the window', () => {
    const ends = each([0, 300], ['price_page', 0], ['price_page', 60])
    const rows = [...each(all, ['chainlink', 0], ['chainlink', 60]), ...ends].toSorted((a, b) =>
      a.timestamp.localeCompare(b.timestamp),
    )
    const shown = pickSeries(rows, 'recorded')
    expect(shown).toHaveLength(300)
    expect(new Set(shown.map(({ source, windowSeconds }) => `${source} ${windowSeconds}`))).toEqual(
      new Set(['chainlink 0']),
    )
  })

  test('behavior: averages alone are shown in place of two prices of the page', () => {
    const rows = [...each(all, ['chainlink', 60]), ...each([300], ['price_page', 0])]
    expect(pickSeries(rows, 'recorded')).toHaveLength(300)
  })

  test('behavior: a series that ended is not shown, and simulated prices are of simulated windows', () => {
    const early = each(all.slice(0, 200), ['chainlink', 0])
    const rows = [...early, ...each(all.slice(200), ['chainlink', 60])]
    expect(pickSeries(rows, 'recorded').at(-1)?.windowSeconds).toBe(60)
    expect(pickSeries(rows, 'simulated')).toEqual([])
  })
})
