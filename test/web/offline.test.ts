/** The page of an open market whose server cannot be reached for a time. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import type { Page } from 'playwright-core'

import { missingTo } from '#web/charts/heat-live.ts'
import type { HeatColumn, Heatmap } from '#web/lib/bodies.ts'

import {
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  createBrowser,
  keepKey,
  servePages,
  until,
} from '../support/browser.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { createHarness } from '../support/harness.ts'
import { appendRows, createMarketHistory } from '../support/market-history.ts'
import { systemClock } from '../support/venue/venue.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const { history, open } = await createMarketHistory()
const harness = createHarness({ history })
const lastMs = () => open.rows.at(-1)?.timestampMs ?? 0
harness.time.nowMs = lastMs() + 1_000
const { server } = servePages(harness.app)
const proxy = await startCuttingProxy(server.port ?? 0)
const browser = createBrowser(proxy.origin)
afterAll(async () => {
  await browser.close()
  proxy.stop()
})

/** Adds a book of Up whose best bid is at a price in cents. */
async function append(cents: number): Promise<void> {
  const last = open.rows.findLast((row) => row.outcome === 'up')
  if (last === undefined) throw new Error('The market has a row.')
  const bids = { prices: [cents * 10_000], sizes: [7_000_000] }
  const asks = { prices: [(cents + 1) * 10_000], sizes: [7_000_000] }
  const timestampMs = lastMs() + 700
  await appendRows(history, open, [{ ...last, bids, asks, sourceHash: undefined, timestampMs }])
}

/** Points at a moment in the heat map; its axis is beside the plot. */
async function pointAt(page: Page, ms: number): Promise<void> {
  const { windowStartMs = 0, windowEndMs = 0 } = history.findMarket(open.conditionId) ?? {}
  const canvas = page.locator('canvas.heat')
  const width = (await canvas.boundingBox())?.width ?? 0
  const share = (ms - windowStartMs) / (windowEndMs - windowStartMs)
  await canvas.hover({ position: { x: share * (width - 64), y: 40 } })
}

const GREY = ['grayscale(1)']
const FITS = `[...document.querySelectorAll('.offline')].every((each) =>
  each.scrollWidth <= each.clientWidth && each.getBoundingClientRect().left >= 0)`
/** Whether prices and the book that were live have lost their colours. */
const filtersOf = (page: Page) =>
  page.evaluate<string[]>(
    "[...new Set([...document.querySelectorAll('.readout dd, .ladder, .depth')].map((each) => getComputedStyle(each).filter))]",
  )

describe.skipIf(chromiumPath === undefined)(
  'a market page without its server, in a browser',
  () => {
    test('behavior: it says so, shows nothing as live, and goes on as soon as the server answers again', async () => {
      const page = await browser.open(`/markets/${open.coin}/${open.conditionId}`, {
        prepare: async (tab) => {
          await tab.clock.install()
          await keepKey(harness.key)(tab)
        },
      })
      let failures = 0
      let isBack = false
      const answered: string[] = []
      const isLive = (url: string) => url.includes('/live')
      page.on('requestfailed', (request) => isLive(request.url()) && failures++)
      page.on('response', (response) => isBack && answered.push(response.url()))
      await page.waitForSelector('.tag.live:has-text("Live")')
      await page.waitForSelector('.ladder .ladder-bid')
      await append(57)
      await until(page, "document.querySelector('.ladder').textContent.includes('57¢')")
      proxy.refuse(true)
      proxy.cut()
      await page.waitForSelector('.offline:has-text("The page shows what it received before")')
      await page.waitForSelector('.tag:has-text("Offline")')
      const colors = await page.evaluate<string[]>(
        "[...document.querySelectorAll('.tag.live')].map((tag) => getComputedStyle(tag).color)",
      )
      const soft = await page.evaluate<string>(
        "getComputedStyle(document.querySelector('.note')).color",
      )
      for (const color of colors) expect(color).toBe(soft)
      expect(await filtersOf(page)).toEqual(GREY)
      // The whole sentence fits on a phone.
      await page.setViewportSize({ width: 390, height: 900 })
      expect(await page.evaluate<boolean>(FITS)).toBe(true)
      await page.setViewportSize({ width: 1280, height: 900 })
      // What happens now is not known: that nothing was recorded, neither.
      await page.click('[aria-label="Time shown"] >> text=Window')
      await pointAt(page, lastMs() + 20_000)
      await until(page, "/^[0-9:.]+$/.test(document.querySelector('.heat-readout').textContent)")
      // From here on the test moves its clock.
      await page.clock.pauseAt(systemClock() + 1_000)
      const passUntil = async (isOver: () => boolean) => {
        while (!isOver()) {
          await page.clock.runFor(200)
          await page.waitForTimeout(20)
        }
      }
      // The first was cut; after the fourth it waits for 12 seconds, unless it asks whether the
      // server is back, which it does every 5 seconds.
      await passUntil(() => failures >= 4)
      await append(61)
      isBack = true
      proxy.refuse(false)
      await passUntil(() => answered.length > 0)
      expect(answered.slice(0, 1).filter(isLive)).toEqual([])
      // Then at once: no time passes.
      while (!answered.some(isLive)) await page.waitForTimeout(20)
      await page.clock.resume()
      await until(page, "document.querySelector('.ladder').textContent.includes('61¢')")
      await page.waitForSelector('.tag.live:has-text("Live")')
      expect(await page.locator('.offline').count()).toBe(0)
      page.forgive(/net::ERR_/)
      expect(page.faults).toEqual([])
    })
  },
)

describe.skipIf(chromiumPath === undefined)('a market page to which no row comes', () => {
  test('behavior: after 30 seconds nothing is green, and with the next row it is again', async () => {
    const page = await browser.open(`/markets/${open.coin}/${open.conditionId}`, {
      prepare: async (tab) => {
        await tab.clock.install()
        await keepKey(harness.key)(tab)
      },
    })
    await page.waitForSelector('.tag.live:has-text("Live")')
    await page.waitForSelector('.ladder .ladder-bid')
    expect(await filtersOf(page)).toEqual(['none'])
    await page.clock.fastForward(31_000)
    await page.waitForSelector('.tag:has-text("No new row for ")')
    await page.waitForSelector('.page.is-silent')
    expect(await filtersOf(page)).toEqual(GREY)
    await append(63)
    await page.waitForSelector('.page:not(.is-silent) .tag.live:has-text("Live")')
    expect(page.faults).toEqual([])
  })
})

describe('the edge of a heat map of an open market', () => {
  const startMs = Date.UTC(2026, 10, 27, 10)
  const side = { from: 50, sizes: [1] }
  const column: HeatColumn = { covered: 1, bid: 0.5, ask: 0.51, bids: side, asks: side }
  const heat = {
    outcome: 'up',
    from: new Date(startMs).toISOString(),
    to: new Date(startMs + 10_000).toISOString(),
    stepMs: 1_000,
    priceStep: 0.01,
    columns: [null, column, column, ...Array.from({ length: 7 }, () => null)],
  } as unknown as Heatmap
  const gap = (from: number, to: number) =>
    ({ outcome: 'up', fromMs: startMs + from, toMs: startMs + to }) as const

  test('default: that no book came is no gap; one that is stated reaches to what is known', () => {
    const knownToMs = startMs + 8_000
    expect(missingTo(heat, undefined, [], knownToMs)).toBe(startMs + 3_000)
    expect(missingTo(heat, undefined, [gap(0, 1_000)], knownToMs)).toBe(startMs + 3_000)
    expect(missingTo(heat, undefined, [gap(2_500, Infinity)], knownToMs)).toBe(knownToMs)
    expect(missingTo(heat, undefined, [gap(2_500, 6_000)], knownToMs)).toBe(startMs + 6_000)
  })

  test('behavior: finer columns that end before the coarse one are not missing after their end', () => {
    const finerOf = (seconds: number) => ({
      ...heat,
      to: new Date(startMs + seconds * 1000).toISOString(),
      stepMs: 500,
      columns: Array.from({ length: 2 * seconds }, (_, index) => (index < 5 ? column : null)),
    })
    expect(missingTo(heat, finerOf(10), [], startMs + 8_000)).toBe(startMs + 2_500)
    // Finer columns of a time before it say nothing of the end.
    expect(missingTo(heat, finerOf(2.5), [], startMs + 8_000)).toBe(startMs + 3_000)
  })

  test('behavior: without any book all of the past is missing', () => {
    const empty = { ...heat, columns: heat.columns.map(() => null) }
    expect(missingTo(empty, undefined, [], startMs + 8_000)).toBe(startMs + 8_000)
  })
})
