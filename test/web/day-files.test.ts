/** Files of days on the page of coverage: links, and programs that read them. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { makeDayFiles } from '#src/extensions/day-files/maker.ts'
import { createFileStore } from '#src/extensions/day-files/store.ts'

import { aSnapshot } from '../history/books.ts'
import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  keepKey,
  keepShot,
  layoutFaults,
  servePages,
  type TestPage,
  watchFor,
} from '../support/browser.ts'
import { readConfig } from '../support/config.ts'
import { askDuckDb } from '../support/duckdb.ts'
import { addKey, createHarness, NOW_MS } from '../support/harness.ts'
import { conditionIdOf, createMarketHistory } from '../support/market-history.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const { history, open, edge } = await createMarketHistory()
/** A market of BNB during which the recorder was down. */
const downMs = Date.UTC(2026, 0, 1, 8, 1)
const down = { conditionId: conditionIdOf('b'), coin: 'bnb', timeframe: '5m' } as const
const window = { windowStartMs: downMs - 60_000, windowEndMs: downMs + 240_000 }
await history.putMarket({ ...down, source: 'recorded', ...window })
for (const outcome of ['up', 'down'] as const) {
  const snapshots = [aSnapshot({ ...down, outcome, timestampMs: window.windowStartMs })]
  await history.append({ id: outcome, source: 'recorded', snapshots })
  const gap = { outcome, fromMs: downMs, toMs: downMs + 130_000, reason: 'recorder_down' } as const
  await history.putGaps(down.conditionId, [gap])
}
for (const { conditionId } of [open, edge]) await history.close(conditionId)
const root = mkdtempSync(join(tmpdir(), 'bookfeed-files-page-'))
const files = createFileStore(root)
const nowMs = NOW_MS + 5 * 86_400_000
makeDayFiles({ history, store: files, nowMs, assertMayWrite: () => {} })
const harness = createHarness({
  history,
  files,
  config: readConfig({ BOOKFEED_TRUSTED_PROXIES: '127.0.0.1' }),
})
harness.time.nowMs = nowMs
const { key, ledger } = harness
const { browser } = servePages(harness.app)
afterAll(() => rmSync(root, { recursive: true }))

/** The code that the page shows, run by a shell in a folder of its own. */
async function run(page: TestPage, env: Record<string, string>): Promise<string> {
  const code = (await page.textContent('.file-list pre'))?.split('&& duckdb')[0] ?? ''
  const cwd = mkdtempSync(join(root, 'run-'))
  const child = Bun.spawn(['sh', '-ec', code], { cwd, env: { PATH: '/usr/bin:/bin', ...env } })
  expect(await child.exited).toBe(0)
  return cwd
}

describe.skipIf(chromiumPath === undefined)('files of days, in a browser', () => {
  test('default: a link and each program read the chosen kind', async () => {
    const page = await browser.open('/coverage/btc', { prepare: keepKey(key), width: 390 })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.selectOption('.file-filters select >> nth=0', 'trades')
    const file = page.locator('.file-rows a:has-text("trades")')
    await file.focus()
    const name = (await file.textContent()) ?? ''
    const bytes = await Bun.file(join(root, 'btc/5m', name)).bytes()
    await page.keyboard.press('Tab')
    const isCopied = await watchFor(page, "document.body.textContent.includes('Copied')")
    await page.keyboard.press('Enter')
    await isCopied()
    const link = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(await (await fetch(link)).bytes()).toEqual(bytes)

    const statement = await Bun.file(join(await run(page, { KEY: key }), 'archive.sql')).text()
    const local = statement.replace(/'http[^']+\/([^/']+)'/g, `'${root}/btc/5m/$1'`)
    const [found] = await askDuckDb(`${local} SELECT count(*) AS rows FROM btc_5m_trades`)
    const rows = await page.textContent('.file-rows [data-name="Rows"]')
    expect(rows).toBe(String(found?.rows))

    await page.click('.file-list button:text-is("curl")')
    expect(await Bun.file(join(await run(page, {}), name)).bytes()).toEqual(bytes)
    for (const program of ['polars', 'pandas']) {
      await page.click(`.file-list button:text-is("${program}")`)
      expect(await page.textContent('.file-list pre')).toContain(`import ${program}`)
      expect(await page.textContent('.file-list pre')).toContain(`/${name}"`)
    }
    expect(await layoutFaults(page)).toEqual([])
    expect(await accessFaults(page)).toEqual([])
    await keepShot(page, 'day-files-390')
    expect(page.faults).toEqual([])
  })

  test('behavior: a day without files, a tier without them and a failure each say so', async () => {
    const page = await browser.open('/coverage/btc', { prepare: keepKey(key) })
    await page.fill('.file-filters input >> nth=0', '2026-02-01')
    await page.waitForSelector('.file-list >> text=No day of this range has a file.')
    expect(page.faults).toEqual([])

    const empty = await browser.open('/coverage/doge', { prepare: keepKey(key) })
    await empty.waitForSelector('.file-list >> text=No file yet.')
    expect(empty.faults).toEqual([])

    const tier = { tierId: 'own', name: 'Own', rank: 77, requestsPerMinute: 1000, isForSale: false }
    const routes = ['markets', 'snapshots'] as const
    const books = addKey(ledger, { ...tier, coins: ['btc'], routes: [...routes] })
    const refused = await browser.open('/coverage/btc', { prepare: keepKey(books) })
    await refused.waitForSelector('.file-list .tier-card:has-text("Files of quotes")')
    await refused.selectOption('.file-filters select >> nth=0', 'levels')
    await refused.waitForSelector('.file-rows a:has-text("levels")')
    expect(refused.faults).toEqual([])

    const failing = await browser.open('/coverage/btc', {
      prepare: async (tab) => {
        await keepKey(key)(tab)
        await tab.route('**/v1/btc/files*', (route) => route.abort(), { times: 1 })
      },
    })
    await failing.click('.file-list button:text-is("Try again")')
    await failing.waitForSelector('.file-rows a')
  })

  test('behavior: without a key the files of the sample day are there', async () => {
    const page = await browser.open('/coverage/btc')
    await page.waitForSelector('h2:has-text("Files of a sample day")')
    const link = await page.getAttribute('.file-rows a', 'href')
    expect((await fetch(link ?? '')).status).toBe(200)
    expect(page.faults).toEqual([])
  })

  test('default: a day has one word for each kind, and the outage of the recorder is listed', async () => {
    const page = await browser.open('/coverage/bnb', { prepare: keepKey(key) })
    const answer = await harness.send(`/v1/bnb/days?from=${downMs}&to=${downMs + 1}`)
    const { data } = (await answer.json()) as { data: { state: string }[] }
    expect(data).toHaveLength(3)
    await page.waitForSelector('.day-kinds:has-text("recorder down")')
    expect(await page.locator('.day-kinds .state').allTextContents()).toEqual(
      data.map(({ state }) => state),
    )
    const row = page.locator('tr:has-text("The recorder was not connected")')
    const from = new Date(downMs).toISOString().slice(11, 19)
    expect(await row.textContent()).toContain(`${from} UTC`)
    expect(await row.textContent()).toContain('2:10The recorder was not connected1 market: BNB 5m')
    expect(page.faults).toEqual([])
    await keepShot(page, 'coverage-whole')
  })
})
