import { describe, expect, setDefaultTimeout, test } from 'bun:test'

import { DAY_MS } from '#src/domain/time.ts'
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
import { createHarness, NOW_MS } from '../support/harness.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const history = openHistory(':memory:', { lagMs: 0 })
/** The last day that is recorded is some days ago; the coin moved by so many tenths of a percent. */
const dayMs = NOW_MS - (NOW_MS % DAY_MS) - 3 * DAY_MS
const moves = [1, -7, 3, 0, 5, 2]
for (const [index, move] of [...moves, 40].entries()) {
  // The last one is of the day before.
  const windowStartMs = dayMs + (index === moves.length ? -1 : index) * 300_000
  const market = { conditionId: conditionIdOf(index + 1), coin: 'btc', timeframe: '5m' } as const
  const book = (second: number, mid: number) =>
    aSnapshot({
      ...market,
      timestampMs: windowStartMs + second * 1000,
      bids: { prices: [mid - 5_000], sizes: [2_000_000] },
      asks: { prices: [mid + 5_000], sizes: [2_000_000] },
    })
  await history.putMarket({
    ...market,
    source: 'recorded',
    windowStartMs,
    windowEndMs: windowStartMs + 300_000,
    strike: '64000.00',
    finalPrice: (64_000 * (1 + move / 1000)).toFixed(2),
    winner: move >= 0 ? 'up' : 'down',
    winnerSource: 'venue',
  })
  const snapshots = [book(0, 500_000), book(100, 600_000), book(299, 900_000)]
  await history.append({ id: `${index}`, source: 'recorded', snapshots })
  await history.close(market.conditionId)
}
const { app, key } = createHarness({ history })
const { browser } = servePages(app)

describe.skipIf(chromiumPath === undefined)('the board without an open window', () => {
  test('default: is a page of history: what is recorded, and the largest moves of its last day', async () => {
    const page = await browser.open('/', { prepare: keepKey(key) })
    await page.waitForSelector('.tag:text-is("Nothing open")')
    await page.waitForSelector('text=No window is open now.')
    expect(await page.locator('table.board, .tag.live').count()).toBe(0)
    const strip = page.locator('.strip')
    expect(await strip.count()).toBe(1)
    expect(await strip.getAttribute('href')).toMatch(/^\/coverage\/btc\?until=2025-12-30$/)
    expect(await page.locator('.strip svg').getAttribute('aria-label')).toMatch(
      /^2 of 60 days recorded, the last one \d/,
    )
    const section = page.locator('section:has(h3:has-text("Largest moves of Dec 30, 2025"))')
    const changes = await section.locator('li .move-chart > span').allTextContents()
    expect(changes).toEqual(['−0.70 %', '+0.50 %', '+0.30 %', '+0.20 %', '+0.10 %'])
    await soon(async () =>
      expect(await section.locator('path.bid >> nth=0').getAttribute('d')).toMatch(/^M0 500/),
    )
    expect(page.faults).toEqual([])
  })

  test('behavior: a guest takes few requests of the allowance that all guests of an address share', async () => {
    const asked: string[] = []
    const page = await browser.open('/', {
      prepare: async (tab) => {
        tab.on('request', (request) => {
          const { pathname, search } = new URL(request.url())
          if (pathname.startsWith('/v1/')) asked.push(pathname + search)
        })
      },
    })
    await page.waitForSelector('section:has(h3:has-text("Largest moves")) li')
    await page.waitForSelector('.strip')
    // Longer than the page waits for anything.
    await page.waitForTimeout(2_000)
    expect(asked.length, asked.join('\n')).toBeLessThanOrEqual(4)
    expect(page.faults).toEqual([])
  })

  test('default: looks right at every width, in both themes', async () => {
    const look = { name: 'nothing-open', ready: '.move-chart', prepare: keepKey(key) }
    expect(await lookAtAll(browser, '/', look)).toEqual([])
  })
})
