/** The average that simulated windows settle on, as pages show it. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'
import { createMovingMarket } from '#src/simulator/moving-market.ts'
import { makeSampleWindows } from '#src/simulator/sample.ts'
import { averagesOf } from '#web/lib/settlement.ts'

import { BROWSER_TEST_MS_MAX, chromiumPath, servePages, until } from '../support/browser.ts'
import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const WINDOW_MS = 300_000
const START_MS = Date.UTC(2026, 10, 27, 10)
/** In the last minute of a window that moves, after two that are over. */
const NOW_MS = START_MS + 3 * WINDOW_MS - 20_000

const history = openHistory(':memory:')
makeSampleWindows(history, { coin: 'btc', count: 2, startMs: START_MS, statesPerSecond: 0.5 })
const moving = createMovingMarket(history)
while (moving.tick(NOW_MS) === 'behind');
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
      const page = await browser.open('/', { width })
      await page.waitForSelector('.board-needed')
      expect(await page.textContent('.board-needed')).toMatch(/^needs .+ for (Up|Down) in 20 s$/)
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
    const figure = page.locator('.figure:has-text("BTC spot price and strike")')
    const saved = page.waitForEvent('download')
    await figure.locator('button:has-text("CSV")').click()
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
