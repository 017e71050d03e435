/** The commands of the quick start, as a visitor copies them, on a server with imported data. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { createImportHarness } from '../ingest/import-harness.ts'
import {
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  lookAtAll,
  servePages,
  type TestPage,
  until,
} from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { aRecord } from '../support/snapshot-lines.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const { run } = createImportHarness()
const conditionId = `0x${'1a'.repeat(32)}`
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-quick-start-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Imports a market of books, and puts a later one that only the catalogue names. */
async function fill(history: MarketHistory): Promise<void> {
  const startMs = Date.UTC(2026, 3, 14, 8)
  const lines = Array.from({ length: 40 }, (_, index) => {
    const timestamp = new Date(startMs + index * 1000).toISOString()
    return JSON.stringify(aRecord({ id: `row-${index}`, symbol: 'eth', timestamp }))
  })
  const path = join(folder, 'books.ndjson')
  await Bun.write(path, lines.join('\n'))
  expect((await run([path], { history })).faults).toEqual([])
  await history.putMarket({
    conditionId: `0x${'2b'.repeat(32)}`,
    coin: 'eth',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: startMs + 600_000,
    windowEndMs: startMs + 900_000,
  })
}

const history = openHistory(':memory:')
const { app, key } = createHarness({ history })
const { browser } = servePages(app)
const empty = createHarness()
const { browser: browserOfEmpty } = servePages(empty.app)

const commandsOf = (page: TestPage) =>
  page.$$eval('section', (sections) =>
    sections.map((section) => ({
      command: section.querySelector('.code pre')?.textContent ?? '',
      answer: section.querySelector('.answer')?.textContent ?? '',
    })),
  )

async function runCommand(command: string): Promise<string> {
  expect(command).toMatch(/^curl [^\n]+$/)
  const child = Bun.spawn(['sh', '-c', command], { stdout: 'pipe', stderr: 'pipe' })
  return await new Response(child.stdout).text()
}

const canRun = chromiumPath !== undefined && Bun.which('curl') !== null

describe.skipIf(!canRun)('the quick start', () => {
  test('default: three commands run as they stand, and answer as it says below them', async () => {
    await fill(history)
    for (const given of [undefined, key]) {
      const page = await browser.open('/docs')
      if (given !== undefined) {
        await page.click('text=Use a key')
        await page.fill('input[name=key]', given)
        await page.click('text=Use this key')
      }
      const bearer = JSON.stringify(`Bearer ${given ?? 'sample'}"`)
      await until(
        page,
        `document.querySelector('section .code')?.textContent.includes(${bearer}) === true`,
      )
      const commands = await commandsOf(page)
      expect(commands).toHaveLength(3)
      for (const { command, answer } of commands) {
        expect(command).toContain(`"Authorization: Bearer ${given ?? 'sample'}"`)
        const text = await runCommand(command)
        expect([command, text.slice(0, answer.length - 1)]).toEqual([command, answer.slice(0, -1)])
        expect(text).toContain(conditionId)
      }
      expect(page.faults).toEqual([])
    }
  })

  test('default: looks right at every width in both themes', async () => {
    const look = { name: 'quick-start', ready: '.answer' }
    expect(await lookAtAll(browser, '/docs', look)).toEqual([])
  })

  test('default: of a server without books there is one command', async () => {
    const page = await browserOfEmpty.open('/docs')
    await page.click('text=Use a key')
    await page.fill('input[name=key]', empty.key)
    await page.click('text=Use this key')
    await page.waitForSelector('text=The server has no books yet.')
    const [{ command } = { command: '' }, ...others] = await commandsOf(page)
    expect(others).toEqual([])
    expect(JSON.parse(await runCommand(command))).toEqual({ data: [], nextCursor: null })
    expect(page.faults).toEqual([])
  })
})
