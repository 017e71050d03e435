/** The API reference for a keyboard, a screen reader, and eyes that need contrast. */

import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  createBrowser,
  keepKey,
  keepShot,
  layoutFaults,
  soon,
  type TestPage,
  themes,
} from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const { app, key } = createHarness({ history: (await createMarketHistory()).history })
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
const browser = createBrowser(server.url.origin)
afterEach(browser.closeTabs)
afterAll(async () => {
  await browser.close()
  await server.stop(true)
})

/** What axe-core finds in both themes. */
async function findFaults(page: TestPage, name: string): Promise<string[]> {
  const found: string[] = []
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme })
    found.push(...(await accessFaults(page)).map((fault) => `${name} ${theme}: ${fault}`))
    found.push(...(await layoutFaults(page)).map((fault) => `${name} ${theme}: ${fault}`))
    await keepShot(page, `${name}-${theme}`)
  }
  return found
}

const LIST = '#operations-markets-listMarkets'
const CREATE = '#operations-account-createKey'

async function openOperation(page: TestPage, operation: string) {
  const tag = page.locator(`.api-tag:has(summary h2:text-is("${operation.split('-')[1]}"))`)
  if ((await tag.getAttribute('open')) === null) await tag.locator('summary').click()
  await page.click(`${operation} .api-row`)
  await page.waitForSelector(`${operation} .responses-table`)
  await page.waitForSelector(`${operation} .calls pre`)
}

describe.skipIf(chromiumPath === undefined)('the API reference in a browser', () => {
  test.each([1440, 820, 390])(
    'behavior: at %i px axe-core finds no fault, folded, open, or answered',
    async (width) => {
      const page = await browser.open('/swagger', { width, prepare: keepKey(key) })
      await page.waitForSelector('.api-tag')
      expect(await findFaults(page, `swagger-${width}`)).toEqual([])
      await openOperation(page, LIST)
      expect(await findFaults(page, `swagger-open-${width}`)).toEqual([])
      await page.click(`${LIST} .execute`)
      await page.waitForSelector(`${LIST} .live-responses-table .microlight`)
      // With the body of a request.
      await openOperation(page, CREATE)
      expect(await findFaults(page, `swagger-answered-${width}`)).toEqual([])
      expect(page.faults).toEqual([])
    },
  )

  test('default: operations are folded by tag, and the first load is below 300 kB', async () => {
    const sizes: Promise<number>[] = []
    const page = await browser.open('/llms.txt')
    page.on('requestfinished', (request) =>
      sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize)),
    )
    await page.goto(new URL('/swagger', server.url).href)
    await page.waitForLoadState('networkidle')
    const { tags, paths } = (await (
      await app.fetch(new Request(`${server.url}swagger/json`))
    ).json()) as {
      tags: { name: string }[]
      paths: Record<string, Record<string, unknown>>
    }
    expect(await page.locator('.api-tag h2').allTextContents()).toEqual(
      tags.map(({ name }) => name),
    )
    expect(await page.locator('.api-row').count()).toBe(0)
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
    expect(bytes).toBeLessThan(300_000)
    // All of them are below the tags.
    for (const summary of await page.locator('.api-tag > summary').all()) await summary.click()
    const operations = Object.values(paths).flatMap((methods) => Object.keys(methods))
    await soon(async () => expect(await page.locator('.api-row').count()).toBe(operations.length))
    expect(await page.textContent('.api > header')).toContain('Licence: proprietary')
    expect(page.faults).toEqual([])
  })

  test('behavior: an operation is one stop of the keyboard, which opens it and has its address', async () => {
    const page = await browser.open('/swagger')
    await page.click('.api-tag summary >> text=markets')
    const control = page.getByRole('button', { name: /^GET .*List markets of a coin/ })
    await control.focus()
    await page.keyboard.press('Enter')
    await page.waitForSelector(`${LIST} .responses-table`)
    expect(new URL(page.url()).hash).toBe('#/markets/listMarkets')
    await page.getByLabel('limit', { exact: true }).fill('1')
    await control.focus()
    await page.keyboard.press('Space')
    await page.waitForSelector(`${LIST} .responses-table`, { state: 'detached' })
    expect(page.faults).toEqual([])
  })

  test('behavior: the code of an operation is as it is filled in, in three languages, and works', async () => {
    const page = await browser.open('/swagger', { prepare: keepKey(key) })
    await page.waitForSelector('.api-tag')
    await openOperation(page, LIST)
    await page.locator(LIST).getByLabel('limit', { exact: true }).fill('1')
    await page.locator(LIST).getByLabel('coin', { exact: true }).fill('eth')
    const code = page.locator(`${LIST} .calls pre`)
    for (const [language, command, said] of [
      ['curl', ['sh', '-ec'], 'curl '],
      ['TypeScript', [process.execPath, '-e'], 'const answer'],
      ['Python', ['python3', '-c'], 'urllib'],
    ] as const) {
      await page.click(`${LIST} .calls .tabs >> text=${language}`)
      await soon(async () => {
        expect(await code.textContent()).toContain(said)
        expect(await code.textContent()).toMatch(/\/v1\/eth\/markets\?.*limit=1\b/)
      })
      if (Bun.which(command[0]) === null) continue
      const text = ((await code.textContent()) ?? '').replace('curl ', 'curl --fail ')
      const run = Bun.spawn(['env', `KEY=${key}`, ...command, text], { stdout: 'ignore' })
      expect([text, await run.exited]).toEqual([text, 0])
    }
    // A request with a body.
    await openOperation(page, '#operations-snapshots-listSnapshotsAt')
    const many = '#operations-snapshots-listSnapshotsAt .calls'
    for (const [language, command] of [
      ['curl', ['sh', '-ec']],
      ['TypeScript', [process.execPath, '-e']],
      ['Python', ['python3', '-c']],
    ] as const) {
      await page.click(`${many} .tabs >> text=${language}`)
      await page.waitForSelector(`${many} .tabs [aria-pressed="true"]:has-text("${language}")`)
      if (Bun.which(command[0]) === null) continue
      const shown = (await page.textContent(`${many} pre`)) ?? ''
      const text = shown.replace('curl ', 'curl --fail ')
      const run = Bun.spawn(['env', `KEY=${key}`, ...command, text], { stdout: 'ignore' })
      expect([text, await run.exited]).toEqual([text, 0])
    }
    expect(page.faults).toEqual([])
  })

  test('default: an address with an operation opens it', async () => {
    const page = await browser.open('/swagger#/markets/listMarkets')
    await page.waitForSelector(`${LIST} .responses-table`)
    expect(page.faults).toEqual([])
  })
})
