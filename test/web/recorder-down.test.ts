/** Pages while the recorder of what they show has stopped. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'

import type { Page } from 'playwright-core'

import { openHistory } from '#src/history/open.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  keepKey,
  servePages,
  until,
} from '../support/browser.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { silentRecorder } from '../support/silences.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const START_MS = NOW_MS - (NOW_MS % 60_000) - 60_000
const conditionId = conditionIdOf(1)
const history = openHistory(':memory:')
await history.putMarket({
  conditionId,
  coin: 'btc',
  timeframe: '5m',
  source: 'recorded',
  windowStartMs: START_MS,
  windowEndMs: START_MS + 300_000,
  strike: '64000.00',
})
const silent: { sinceMs: number | undefined } = { sinceMs: undefined }
const harness = createHarness({
  history,
  timer: () => performance.now(),
  silences: silentRecorder(() => silent.sinceMs),
})
const { time, key } = harness
const { browser } = servePages(harness.app)

let batches = 0
/** A book of each outcome as of now. */
async function record(): Promise<void> {
  const snapshots = (['up', 'down'] as const).map((outcome) =>
    aSnapshot({ conditionId, outcome, timestampMs: time.nowMs - 100 }, ++batches * 1_000_000),
  )
  const spot = { coin: 'btc', source: 'chainlink', windowSeconds: 0, price: '64010.00' } as const
  await history.putSpot([{ ...spot, timestampMs: time.nowMs - 100, receivedMs: time.nowMs - 50 }])
  await history.append({ id: `${batches}`, source: 'recorded', snapshots })
}
await record()

const clock = (ms: number) => new Date(ms).toISOString().slice(11, 19)

/** Colours of what is green while it is live. */
const colorsOf = (page: Page) =>
  page.evaluate<string[]>(
    "[...document.querySelectorAll('main .tag.live, main .board-up b, main .board-spot :is(.up, .down)')].map((each) => getComputedStyle(each).color)",
  )
const softOf = (page: Page) =>
  page.evaluate<string>("getComputedStyle(document.querySelector('.note')).color")

describe.skipIf(chromiumPath === undefined)('what a recorder that stopped does not record', () => {
  test.each(['/', `/markets/btc/${conditionId}`])(
    'default: %s says so in words and shows nothing in green, until it records again',
    async (path) => {
      silent.sinceMs = undefined
      await record()
      const page = await browser.open(path, { prepare: keepKey(key) })
      await page.waitForSelector('.tag.live:has-text("Live")')
      silent.sinceMs = time.nowMs
      time.nowMs += 3_000
      const since = clock(silent.sinceMs - 99)
      const said = path === '/' ? `recorder down since ${since}` : `Not recorded since ${since}`
      await page.waitForSelector(`[role="status"]:has-text("${said}"), .tag:has-text("${said}")`)
      await until(page, "document.querySelector('.tag.live:not(.is-silent *)') === null")
      const soft = await softOf(page)
      const colors = await colorsOf(page)
      // The board has a probability and a move of the coin.
      if (path === '/') expect(colors).toHaveLength(2)
      for (const color of colors) expect(color).toBe(soft)
      expect(await accessFaults(page)).toEqual([])
      silent.sinceMs = undefined
      time.nowMs += 1_000
      await record()
      await page.waitForSelector('.tag.live:has-text("Live")')
      expect(page.faults).toEqual([])
    },
  )
})
