import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { DAY_MS } from '#src/domain/time.ts'
import { openHistory } from '#src/history/open.ts'
import { simulate } from '#src/simulator/simulator.ts'

import { aSnapshot } from '../history/books.ts'
import {
  BROWSER_TEST_MS_MAX,
  chooseExport,
  chromiumPath,
  createBrowser,
  keepKey,
  until,
} from '../support/browser.ts'
import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'
import { conditionIdOf } from '../support/market-history.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const START_MS = Date.UTC(2026, 0, 1)
/** Markets of which Down alone is there, as most imported ones; that of Solana is the sample. */
const history = openHistory(':memory:')
const batches = simulate({
  seed: 'imported',
  coins: ['btc', 'sol'],
  timeframes: ['5m'],
  markets: 1,
  startMs: START_MS,
  statesPerSecond: 2,
  outcomes: 'down',
  maxSnapshotsPerMarket: 330,
})
for (const [index, { facts, snapshots }] of [...batches].entries()) {
  for (const fact of facts) await history.putMarket(fact)
  await history.append({ id: `batch ${index}`, source: 'simulated', snapshots })
  for (const id of new Set(snapshots.map(({ conditionId }) => conditionId))) await history.close(id)
}
/** Recorded on one day, and simulated until today. */
const TODAY_MS = START_MS + 400 * DAY_MS
for (const [source, windowStartMs, digit] of [
  ['recorded', START_MS, '1'],
  ['simulated', TODAY_MS - 600_000, '2'],
] as const) {
  const conditionId = conditionIdOf(digit)
  const window = { windowStartMs, windowEndMs: windowStartMs + 300_000 }
  await history.putMarket({ conditionId, coin: 'xrp', timeframe: '5m', source, ...window })
  const book = { conditionId, coin: 'xrp', timeframe: '5m', timestampMs: windowStartMs } as const
  await history.append({ id: source, source, snapshots: [aSnapshot(book)] })
}
const slug = `sim-sol-updown-5m-${START_MS / 1000}`
const harness = createHarness({
  history,
  config: readConfig({ BOOKFEED_SAMPLE_MARKET: slug, BOOKFEED_TRUSTED_PROXIES: '127.0.0.1' }),
})
// Long after all of it.
harness.time.nowMs = TODAY_MS
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: harness.app.fetch })
const browser = createBrowser(server.url.origin)
afterEach(browser.closeTabs)
afterAll(async () => {
  await browser.close()
  await server.stop(true)
})

describe.skipIf(chromiumPath === undefined)('what was recorded in part, in a browser', () => {
  test('default: the sample is found by its slug, and opens on the outcome that is there', async () => {
    const page = await browser.open(`/markets/sol/${slug}`)
    await page.waitForSelector('h2:has-text("Down heat map")')
    await page.waitForSelector('.ladder .ladder-bid')
    await page.click('button:has-text("Up (mirror)")')
    await page.waitForSelector('h2:has-text("Up heat map, mirror of Down")')
    await page.waitForURL('**/*outcome=up&view=consolidated*')
    await page.click('button:has-text("Down")')
    await page.waitForSelector('h2:has-text("Down heat map")')
    expect(new URL(page.url()).searchParams.has('outcome')).toBe(false)
    expect(page.faults).toEqual([])
  })

  test('behavior: the mirror of an outcome that is missing is offered, and marked', async () => {
    const atMs = START_MS + 60_000
    const page = await browser.open(`/markets/sol/${slug}?outcome=up&at=${atMs}`)
    await page.waitForSelector('.mirror-note:has-text("The Up order book was not recorded")')
    await page.waitForSelector('h2:has-text("Up heat map")')
    const bestBid = "document.querySelector('.ladder .ladder-bid td').textContent"
    expect(await page.evaluate<string>(bestBid)).not.toContain('¢')
    await page.click('button:has-text("Show the mirror of Down")')
    await page.waitForURL('**/*view=consolidated*')
    await page.waitForSelector('h2:has-text("Up heat map, mirror of Down")')
    await page.waitForSelector('h2:has-text("Up order book, mirror of Down")')
    await until(page, `${bestBid}.includes('¢')`)
    // What the ladder shows at the crosshair is what the API says of it.
    const shown = await page.evaluate<string>(bestBid)
    const path = `/v1/sol/markets/${slug}/snapshots/at?ts=${atMs}&outcome=up&view=consolidated`
    const { data } = (await (await harness.sendAs('sample', path)).json()) as {
      data: { bids: { price: number }[] }[]
    }
    const [best] = data[0]?.bids ?? []
    expect(shown).toBe(`${Math.round((best?.price ?? 0) * 1000) / 10}¢`)
    await page.click('button:has-text("Show what was recorded")')
    await page.waitForSelector('.mirror-note:has-text("was not recorded")')
    await page.click('button:has-text("Down")')
    await page.waitForSelector('h2:has-text("Down heat map")')
    expect(await page.locator('.mirror-note').count()).toBe(0)
    // The spread is that of the outcome shown.
    await until(
      page,
      `/Down spread\\d+(\\.\\d+)?¢/.test(document.querySelector('.readout').textContent)`,
    )
    expect(page.faults).toEqual([])
  })

  test('behavior: a file says that it is simulated, and a narrow picture has all of its caption', async () => {
    const heights: number[] = []
    for (const width of [1280, 390]) {
      const page = await browser.open(`/markets/sol/${slug}`, { width })
      await page.waitForSelector('.ladder .ladder-bid')
      const save = async (name: 'CSV' | 'PNG') => {
        const saved = page.waitForEvent('download')
        await chooseExport(page, 'heat map', name)
        return Buffer.from(await Bun.file((await (await saved).path()) ?? '').bytes())
      }
      const [head, first] = (await save('CSV')).toString().split('\n')
      expect(head).toBe('time,side,price,size,source')
      expect(first).toEndWith(',simulated')
      const shown = await page.evaluate<number>("document.querySelector('canvas.heat').height")
      heights.push((await save('PNG')).readUInt32BE(20) - shown)
      expect(page.faults).toEqual([])
    }
    // A line of title, one of legend and four of notes; more of each.
    expect(heights[0]).toBe(136)
    expect(heights[1]).toBeGreaterThanOrEqual(216)
  })

  test('behavior: an outcome without data has no price and no line, and its market is not uncovered', async () => {
    const page = await browser.open(`/markets/sol/${slug}?at=${START_MS + 60_000}`)
    await page.waitForSelector('.ladder .ladder-bid')
    await until(page, `/Down\\d+/.test(document.querySelector('.readout').textContent)`)
    // What the books of Down say of Up is named so; a market that is over has no time left.
    const names = await page.locator('.readout dt').allTextContents()
    expect(names).toEqual([
      'Up (mirror)',
      'Down',
      'Down spread',
      'Strike',
      'Spot',
      'Before the end',
    ])
    const price = async (index: number) =>
      Number(/[\d.]+/.exec((await page.locator('.readout dd').nth(index).textContent()) ?? '')?.[0])
    expect((await price(0)) + (await price(1))).toBeCloseTo(100)
    expect(await page.textContent('h1')).toBe('SOL 5m, Jan 1, 00:00 – 00:05 UTC')
    const legends = page.locator('.figure:has(.line-chart) .legend')
    expect((await legends.first().textContent())?.trim()).toBe('Down')
    await page.click('button:has-text("Up (mirror)")')
    await page.waitForSelector('.readout dt:text-is("Up")')
    await page.waitForSelector('.legend .up')
    await page.goto(new URL('/markets/btc', server.url).href)
    await page.waitForSelector('.market-list tbody tr')
    const covered = await page.locator('.market-list tbody td:nth-child(6)').allTextContents()
    expect(covered).toEqual([expect.stringMatching(/^Down [1-9][\d.]* %$/)])
    expect(page.faults).toEqual([])
  })

  test('behavior: one panel of calls is open at a time, and Escape closes it', async () => {
    const page = await browser.open(`/markets/sol/${slug}`)
    await page.waitForSelector('.ladder .ladder-bid')
    for (const title of ['heat map', 'Mid price']) {
      await chooseExport(page, title, 'API')
      await until(page, "document.querySelectorAll('.calls').length === 1")
    }
    const first = page.locator('.figure-list button:text-is("API")').first()
    expect(await first.getAttribute('aria-expanded')).toBe('false')
    await page.focus('.calls pre')
    await page.keyboard.press('Escape')
    await page.waitForSelector('.calls', { state: 'detached' })
    expect(await page.textContent(':focus')).toBe('Export')
    expect(page.faults).toEqual([])
  })

  test('behavior: coverage opens at the newest recorded day, also beside newer simulated markets', async () => {
    const page = await browser.open('/coverage/xrp', { prepare: keepKey(harness.key) })
    await page.waitForSelector('h2:has-text("182 days up to Jan 1, 2026")')
    await page.waitForSelector('.day-card:has-text("1 market")')
    expect(page.faults).toEqual([])
  })

  test('behavior: coverage ends with the last recorded day, and the address says which', async () => {
    const page = await browser.open('/coverage')
    await page.waitForSelector('h2:has-text("182 days up to Jan 1, 2026")')
    await page.waitForSelector('.day-card:has-text("Nothing was recorded or imported")')
    expect(await page.locator('button:has-text("Earlier")').isDisabled()).toBe(true)
    await page.click('button:has-text("Later")')
    await page.waitForSelector('h2:has-text("182 days up to Jul 2, 2026")')
    await page.waitForURL('**/coverage?until=2026-07-02')
    await page.reload()
    await page.click('button:has-text("Earlier"):enabled')
    await page.waitForSelector('h2:has-text("182 days up to Jan 1, 2026")')
    expect(page.faults).toEqual([])
  })

  // The last: it adds a market to those of the others.
  test('behavior: of a window to come the time left is that until its end', async () => {
    // Long after the clock of the browser, too.
    const windowStartMs = harness.time.nowMs + 10_000 * DAY_MS
    const facts = { coin: 'btc', timeframe: '5m', source: 'recorded' } as const
    const conditionId = conditionIdOf('7')
    const windowEndMs = windowStartMs + 300_000
    await history.putMarket({ ...facts, conditionId, windowStartMs, windowEndMs })
    const page = await browser.open(`/markets/btc/${conditionId}`, {
      prepare: keepKey(harness.key),
    })
    await page.waitForSelector('.readout dt:has-text("Time left")')
    const left = (await page.textContent('.readout div:has-text("Time left") dd')) ?? ''
    const seconds = left.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
    // The window itself is 300 seconds long.
    expect(seconds).toBeGreaterThan(400)
    await page.waitForSelector('text=/markets · opens in \\d/')
    await page.waitForSelector('.market-side >> text=Shown when the window opens')
    expect(await page.locator('text=trades are not recorded').count()).toBe(0)
    expect(page.faults).toEqual([])
  })
})
