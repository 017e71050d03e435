/**
 * A browser for tests of pages. Every error that it reports, and every request that fails or goes
 * to another host, is a fault. Each page is checked for accessibility, and saved as a picture if
 * `SHOTS` names a folder.
 */
import { afterAll, afterEach } from 'bun:test'
import { join } from 'node:path'

import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

import type { App } from '#src/server/app.ts'

/**
 * Any installed Chromium; without one the tests are reported as skipped. The headless shell takes a
 * third of the processor time.
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
/** The time limit of one step of a page; a browser beside other tests is slow. */
export const BROWSER_MS_MAX = 60_000
/**
 * The time limit of a test. When it expires, Bun ends the browser, so that every later test fails.
 */
export const BROWSER_TEST_MS_MAX = 5 * BROWSER_MS_MAX
const flags = ['--no-sandbox', '--disable-gpu', '--disable-background-networking']

type Tab = {
  width?: number
  height?: number
  theme?: 'light' | 'dark'
  /** Omits a header that no browser sends, because a page of another origin may not send it. */
  isPlain?: boolean
  /** Called before anything is loaded. */
  prepare?: (page: Page) => Promise<void>
}
export type TestPage = Page & {
  /** Faults so far; `forgive` removes statuses that a test expects. */
  faults: string[]
  forgive: (pattern: RegExp) => void
}

/** Serves an app with its live streams, and a browser for its pages, until the end of the file. */
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

/** Pages of a server at `origin`; the browser starts with the first page. */
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
      // Far from UTC, which pages must show everywhere.
      timezoneId: 'Asia/Kolkata',
      // Each tab is a separate visitor, if the server trusts the header.
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
      // A page that navigates cancels its requests.
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
    /** Call it after each test: open tabs continue to work while other tests run. */
    async closeTabs(): Promise<void> {
      for (const context of contexts.splice(0)) await context.close()
    },
    async close(): Promise<void> {
      await (await browser)?.close()
    },
  }
}

/** A visitor whose tab has stored a key. */
export const keepKey = (key: string) => async (page: Page) => {
  await page.addInitScript(`sessionStorage.setItem('bookfeed.key', '${key}')`)
}

const POLL_MS = 50

/**
 * Resolves when an expression is true: our policy forbids the evaluation used by `waitForFunction`.
 */
export async function until(page: Page, expression: string): Promise<void> {
  const endMs = performance.now() + BROWSER_MS_MAX
  while (performance.now() < endMs) {
    if (await page.evaluate(expression)) return
    await page.waitForTimeout(POLL_MS)
  }
  throw new Error(`It never became true: ${expression}`)
}

/**
 * Begins to watch a page; what it returns resolves when an expression is true, or has been since.
 * For what is shown only for a time, which a slow machine would look for too late.
 */
export async function watchFor(page: Page, expression: string): Promise<() => Promise<unknown>> {
  const watch = await page.evaluateHandle(`({
    seen: new Promise((resolve) => {
      const look = () => (${expression}) && resolve()
      new MutationObserver(look).observe(document, {
        attributes: true, characterData: true, childList: true, subtree: true,
      })
      look()
    }),
  })`)
  return () => watch.evaluate(({ seen }: { seen: Promise<void> }) => seen)
}

/** Repeats a check of a page until it passes or the time is up. */
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

/** Faults that persist: a page may be between two states, for long on a slow machine. */
async function lasting(look: () => Promise<string[]>): Promise<string[]> {
  const endMs = performance.now() + LASTING_MS
  for (;;) {
    const found = await look()
    if (found.length === 0 || performance.now() >= endMs) return found
    await Bun.sleep(POLL_MS)
  }
}
const LASTING_MS = 20_000

/** Findings of axe-core, as `rule: elements`. */
export async function accessFaults(page: Page): Promise<string[]> {
  // Through the debugger, because the policy of the page forbids foreign scripts.
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

/** Chooses code or a file of the first figure with this title in the menu of the page. */
export async function chooseExport(
  page: Page,
  title: string,
  what: 'API' | 'PNG' | 'CSV',
): Promise<void> {
  if (!(await page.locator('.figure-list').isVisible()))
    await page.click('button:text-is("Export")')
  const row = page.locator(`.figure-list li:has(> span:text("${title}"))`).first()
  await row.locator(`> button:text-is("${what}")`).click()
}

/** Saves a picture of the whole page, if a folder is set. */
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
 * Text that is cut off or wider than its box, and invisible controls, as `fault: text`. Text may
 * scroll in its own box, and may end in an ellipsis if a `title` has the whole text; controls may
 * be in a scrolling table.
 */
export const layoutFaults = (page: Page): Promise<string[]> =>
  lasting(async () => page.evaluate<string[]>(`${await findLayoutFaults}\nfindLayoutFaults()`))

type Look = Pick<Tab, 'prepare'> & { name: string; ready: string; expected?: RegExp }

/**
 * Checks every width, and the narrowest and the widest in both themes, for a page that was opened at
 * the narrowest: no fault, nothing wider than the screen or its box, no finding of axe-core. A theme
 * changes colours, and nothing of the layout.
 */
export async function lookAtAll(
  { open }: ReturnType<typeof createBrowser>,
  path: string,
  { name, ready, expected, ...tab }: Look,
): Promise<string[]> {
  const found: string[] = []
  const [narrowest, widest] = [Math.min(...widths), Math.max(...widths)]
  const page = await open(path, { ...tab, width: narrowest })
  for (const width of widths) {
    await page.setViewportSize({ width, height: HEIGHT })
    for (const theme of width === narrowest || width === widest ? themes : themes.slice(0, 1)) {
      await page.emulateMedia({ colorScheme: theme })
      await page.waitForSelector(ready)
      found.push(...(await accessFaults(page)).map((fault) => `${width} ${theme}: ${fault}`))
      await keepShot(page, `${name}-${width}-${theme}`)
    }
    found.push(...(await lasting(() => sideways(page))).map((px) => `${width}: ${px} too wide`))
    found.push(...(await layoutFaults(page)).map((fault) => `${width}: ${fault}`))
  }
  if (expected) page.forgive(expected)
  return [...found, ...page.faults]
}
