/**
 * A browser for tests of pages. Whatever it complains about, and every request that fails or leaves
 * for another host, is a fault; each page is checked for accessibility, and its picture kept where
 * `SHOTS` names a folder.
 */
import { afterAll, afterEach } from 'bun:test'
import { join } from 'node:path'

import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

import type { App } from '#src/server/app.ts'

/**
 * Any Chromium that is installed; without one its tests are shown as skipped. The one without a
 * window takes a third of the processor time.
 */
export const chromiumPath = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]
  .map((name) => Bun.which(name))
  .find((path) => path !== null)

export const widths = [390, 820, 1440, 1920]
export const themes = ['light', 'dark'] as const
// biome-ignore lint/style/noProcessEnv: where pictures go is said by whoever runs the tests.
const { SHOTS } = process.env
const HEIGHT = 900
/** What a page may take for one thing; a browser beside other tests takes its time. */
export const BROWSER_MS_MAX = 60_000
/** Of a test. At its end Bun ends the browser, and with it every test that follows. */
export const BROWSER_TEST_MS_MAX = 5 * BROWSER_MS_MAX
const flags = ['--no-sandbox', '--disable-gpu', '--disable-background-networking']

type Tab = {
  width?: number
  height?: number
  theme?: 'light' | 'dark'
  /** Without a header that no browser sends: a page of another origin may not send it. */
  isPlain?: boolean
  /** Before anything is loaded. */
  prepare?: (page: Page) => Promise<void>
}
export type TestPage = Page & {
  /** What went wrong; statuses that a test expects are taken out by `forgive`. */
  faults: string[]
  forgive: (pattern: RegExp) => void
}

/** Serves an app with its live streams, and a browser for its pages, until the tests of the file end. */
export function servePages(app: Pick<App, 'fetch' | 'tick' | 'drain'>) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: app.fetch })
  const ticking = setInterval(() => app.tick(), 20)
  const browser = createBrowser(server.url.origin)
  afterEach(browser.closeTabs)
  afterAll(async () => {
    clearInterval(ticking)
    await browser.close()
    app.drain()
    await server.stop(true)
  })
  return { server, browser }
}

/** Pages of a server at `origin`; a browser is started with the first of them. */
export function createBrowser(origin: string) {
  let browser: Promise<Browser> | undefined
  const contexts: BrowserContext[] = []
  let visitors = 0

  async function open(path: string, tab: Tab = {}): Promise<TestPage> {
    browser ??= chromium.launch({ executablePath: chromiumPath ?? '', args: flags })
    const { width = 1280, height = HEIGHT, theme = 'light', isPlain = false, prepare } = tab
    const address = `10.0.${visitors >> 8}.${visitors++ & 255}`
    const context = await (
      await browser
    ).newContext({
      viewport: { width, height },
      colorScheme: theme,
      // Far from UTC, which pages show everywhere.
      timezoneId: 'Asia/Kolkata',
      // Each tab is a visitor of its own, where the server believes it.
      extraHTTPHeaders: isPlain ? {} : { 'X-Forwarded-For': address },
      reducedMotion: 'no-preference',
    })
    context.setDefaultTimeout(BROWSER_MS_MAX)
    contexts.push(context)
    const page = await context.newPage()
    const faults: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
    })
    page.on('pageerror', (error) => faults.push(String(error)))
    page.on('request', (request) => {
      if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url()))
        faults.push(`leaves for ${request.url()}`)
    })
    page.on('requestfailed', (request) => {
      // A page that goes elsewhere gives up what it asked for.
      const why = request.failure()?.errorText ?? ''
      if (why !== 'net::ERR_ABORTED') faults.push(`${why} ${request.url()}`)
    })
    await prepare?.(page)
    await page.goto(new URL(path, origin).href)
    const forgive = (pattern: RegExp) => {
      for (const [index, fault] of [...faults.entries()].reverse())
        if (pattern.test(fault)) faults.splice(index, 1)
    }
    return Object.assign(page, { faults, forgive })
  }

  return {
    open,
    /** To be called after each test: what is left open goes on working, while others are tested. */
    async closeTabs(): Promise<void> {
      for (const context of contexts.splice(0)) await context.close()
    },
    async close(): Promise<void> {
      await (await browser)?.close()
    },
  }
}

/** A visitor with a key, as one who had it kept in the tab. */
export const keepKey = (key: string) => async (page: Page) => {
  await page.addInitScript(`sessionStorage.setItem('bookfeed.key', '${key}')`)
}

const POLL_MS = 50

/** Resolves when an expression is true: our policy forbids what `waitForFunction` evaluates. */
export async function until(page: Page, expression: string): Promise<void> {
  const endMs = performance.now() + BROWSER_MS_MAX
  while (performance.now() < endMs) {
    if (await page.evaluate(expression)) return
    await page.waitForTimeout(POLL_MS)
  }
  throw new Error(`It never became true: ${expression}`)
}

/** Checks what a page shows a moment later: again and again, until it holds or the time is up. */
export async function soon(check: () => Promise<void>): Promise<void> {
  const endMs = performance.now() + BROWSER_MS_MAX
  for (;;) {
    try {
      await check()
      return
    } catch (error) {
      if (performance.now() >= endMs) throw error
    }
    await Bun.sleep(POLL_MS)
  }
}

/** What is still wrong when it is looked at again: a page may be on its way from state to state. */
async function lasting(look: () => Promise<string[]>): Promise<string[]> {
  let found: string[] = []
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    found = await look()
    if (found.length === 0) break
    await Bun.sleep(LOOK_MS)
  }
  return found
}
const LOOKS_MAX = 5
const LOOK_MS = 400

/** What axe-core finds, as `rule: elements`. */
export async function accessFaults(page: Page): Promise<string[]> {
  // Through the debugger, as the policy of the page takes no script of others.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source)
  return lasting(() => runAxe(page))
}
const runAxe = (page: Page): Promise<string[]> =>
  page.evaluate(async () => {
    const inPage = globalThis as unknown as { axe: Axe }
    const { violations } = await inPage.axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  })
type Axe = { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }

/** Keeps a picture of the whole page, where a folder for them is named. */
export async function keepShot(page: Page, name: string): Promise<void> {
  if (SHOTS !== undefined)
    await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true })
}

const sideways = async (page: Page): Promise<string[]> => {
  const { scrollWidth, clientWidth } = await page.evaluate<{
    scrollWidth: number
    clientWidth: number
  }>('(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }))(document.documentElement)')
  return scrollWidth > clientWidth ? [`${scrollWidth - clientWidth} px`] : []
}

/** Runs in the page, so it is read as text: only `web` is checked with the types of a browser. */
const findLayoutFaults = Bun.file(new URL('layout-faults.js', import.meta.url)).text()

/**
 * Text that is wider than its box or cut off, and controls that cannot be seen, as `fault: text`. Text
 * may scroll in its own box, and may end in an ellipsis where a `title` has all of it; controls may be
 * in a table that scrolls.
 */
export const layoutFaults = (page: Page): Promise<string[]> =>
  lasting(async () => page.evaluate<string[]>(`${await findLayoutFaults}\nfindLayoutFaults()`))

type Look = Pick<Tab, 'prepare'> & { name: string; ready: string; expected?: RegExp }

/**
 * Every width in both themes, of a page that was opened on the narrowest: no fault, nothing wider
 * than the screen or its box, no finding of axe-core.
 */
export async function lookAtAll(
  { open }: ReturnType<typeof createBrowser>,
  path: string,
  { name, ready, expected, ...tab }: Look,
): Promise<string[]> {
  const found: string[] = []
  const page = await open(path, { ...tab, width: Math.min(...widths) })
  for (const width of widths) {
    for (const theme of themes) {
      await page.setViewportSize({ width, height: HEIGHT })
      await page.emulateMedia({ colorScheme: theme })
      await page.waitForSelector(ready)
      found.push(...(await lasting(() => sideways(page))).map((px) => `${width}: ${px} too wide`))
      found.push(...(await layoutFaults(page)).map((fault) => `${width}: ${fault}`))
      found.push(...(await accessFaults(page)).map((fault) => `${width} ${theme}: ${fault}`))
      await keepShot(page, `${name}-${width}-${theme}`)
    }
  }
  if (expected) page.forgive(expected)
  return [...found, ...page.faults]
}
