import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { BROWSER_MS_MAX, chromiumPath, createBrowser, lookAtAll } from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

setDefaultTimeout(BROWSER_MS_MAX)

const { app, key, sendAs } = createHarness({ history: createMarketHistory().history })
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
const browser = createBrowser(server.url.origin)
afterAll(async () => {
  await browser.close()
  await server.stop(true)
})

const FIRST_LOAD_BYTES_MAX = 120_000
const get = (path: string, headers: Record<string, string> = {}) =>
  sendAs(undefined, path, { headers: { 'accept-encoding': 'gzip', ...headers } })

describe('the files of the dashboard', () => {
  test('default: a page is known by its tag, and takes nothing from anywhere else', async () => {
    const page = await get('/')
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('cache-control')).toBe('no-cache')
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toStartWith("default-src 'none'; script-src 'self'")
    expect(policy).not.toMatch(/unsafe|https?:/)
    const again = await get('/', { 'if-none-match': page.headers.get('etag') ?? '' })
    expect(again.status).toBe(304)
  })

  test('default: every page is the same document, and no other path is one', async () => {
    const text = await (await get('/', { 'accept-encoding': 'identity' })).text()
    for (const path of [
      '/markets/btc',
      '/markets/btc/0xab',
      '/coverage/eth',
      '/docs/live',
      '/admin',
    ])
      expect(await (await get(path, { 'accept-encoding': 'identity' })).text()).toBe(text)
    for (const path of ['/nothing', '/markets', '/assets/main.js', '/markets/btc/0xab/more']) {
      const missing = await get(path, { accept: 'text/html' })
      expect([path, missing.status]).toEqual([path, 404])
      expect(missing.headers.get('content-type')).toBe('application/problem+json')
    }
  })

  test('behavior: files are compressed, kept for ever, and 120 kB in all', async () => {
    const html = await (await get('/', { 'accept-encoding': 'identity' })).text()
    const names = new Set(html.match(/\/assets\/[\w.-]+/g))
    let sum = Bun.gzipSync(html).length
    for (const name of names) {
      const file = await get(name)
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(file.headers.get('content-encoding')).toBe('gzip')
      sum += (await file.bytes()).length
    }
    expect(names.size).toBeGreaterThan(1)
    expect(sum).toBeWithin(1_000, FIRST_LOAD_BYTES_MAX)
  })
})

describe.skipIf(chromiumPath === undefined)('the dashboard in a browser', () => {
  test('behavior: links change the page without loading it again, and back works', async () => {
    const page = await browser.open('/')
    await page.evaluate('window.isSame = true')
    await page.click('nav >> text=Coverage')
    await page.waitForURL('**/coverage')
    expect(await page.textContent('h1')).toContain('Coverage')
    await page.goBack()
    await page.waitForSelector('nav a[aria-current]:has-text("Explore")')
    expect(await page.evaluate('window.isSame')).toBe(true)
    expect(page.faults).toEqual([])
  })

  test('behavior: a theme is chosen, and outlives a reload', async () => {
    const page = await browser.open('/')
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const light = await ground()
    await page.click('button[aria-label="Use the dark theme"]')
    const dark = await ground()
    expect(dark).not.toBe(light)
    await page.reload()
    await page.waitForSelector('button[aria-label="Use the light theme"]')
    expect(await ground()).toBe(dark)
  })

  test('behavior: a key is in memory, or in the session of the tab by choice', async () => {
    const page = await browser.open('/')
    const stored = () =>
      page.evaluate<[string, string]>(
        '[JSON.stringify({ ...sessionStorage }), JSON.stringify({ ...localStorage }) + document.cookie + location.href]',
      )
    const enter = async (isKept: boolean) => {
      await page.click('text=Use a key')
      await page.fill('input[name=key]', key)
      if (isKept) await page.check('input[name=keep]')
      await page.click('text=Use this key')
      await page.waitForSelector(`text=…${key.slice(-4)}`)
    }
    await enter(false)
    expect((await stored()).join('')).not.toContain(key)
    await page.reload()
    await enter(true)
    await page.reload()
    await page.waitForSelector(`text=…${key.slice(-4)}`)
    const [session, elsewhere] = await stored()
    expect(session).toContain(key)
    expect(elsewhere).not.toContain(key)
    await page.click(`text=…${key.slice(-4)}`)
    await page.click('text=Forget it')
    expect((await stored()).join('')).not.toContain(key)
  })

  test('behavior: a path without a page says so', async () => {
    const page = await browser.open('/')
    await page.evaluate(
      "history.pushState(null, '', '/nowhere'); dispatchEvent(new Event('popstate'))",
    )
    await page.waitForSelector('text=Nothing here')
  })

  test('default: pages that are not there yet look right', async () => {
    expect(await lookAtAll(browser, '/docs', { name: 'docs', ready: 'h1' })).toEqual([])
  })
})
