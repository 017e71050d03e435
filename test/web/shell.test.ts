import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { AppError } from '#src/domain/errors.ts'
import {
  createApiKey,
  KEY_PREFIX,
  PUBLIC_TEST_KEY,
  TEST_KEY_PREFIX,
} from '#src/domain/selling/api-key.ts'
import { keyFaultOf } from '#web/lib/key-checksum.ts'

import {
  BROWSER_TEST_MS_MAX,
  chooseExport,
  chromiumPath,
  createBrowser,
  keepKey,
  lookAtAll,
  soon,
} from '../support/browser.ts'
import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'
import { conditionIdOf, createMarketHistory } from '../support/market-history.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const { app, key, sendAs } = createHarness({
  history: (await createMarketHistory()).history,
  config: readConfig({ BOOKFEED_TRUSTED_PROXIES: '127.0.0.1' }),
})
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
const browser = createBrowser(server.url.origin)
afterEach(browser.closeTabs)
afterAll(async () => {
  await browser.close()
  await server.stop(true)
})

const FIRST_LOAD_BYTES_MAX = 120_000
const get = (path: string, headers: Record<string, string> = {}) =>
  sendAs(undefined, path, { headers: { 'accept-encoding': 'gzip', ...headers } })

describe('keyFaultOf', () => {
  test('default: it is what the server says of a key', () => {
    const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))
    for (let index = 0; index < 200; index++) {
      const sound = createApiKey(randomBytes, index % 2 === 0 ? KEY_PREFIX : TEST_KEY_PREFIX)
      expect([sound, keyFaultOf(sound)]).toEqual([sound, undefined])
      const place = 8 + (index % 33)
      const other = sound[place] === 'a' ? 'b' : 'a'
      const mistyped = sound.slice(0, place) + other + sound.slice(place + 1)
      expect([mistyped, keyFaultOf(mistyped)]).toEqual([mistyped, 'checksum'])
    }
    for (const text of ['', 'sample', 'bf_live_', `${PUBLIC_TEST_KEY} `, `x${PUBLIC_TEST_KEY}`]) {
      expect([text, keyFaultOf(text)]).toEqual([text, 'shape'])
    }
    expect(keyFaultOf(PUBLIC_TEST_KEY)).toBeUndefined()
  })
})

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

  test('default: every page has its own code in its document, and HEAD answers as GET', async () => {
    for (const [path, module] of [
      ['/', 'board-page'],
      ['/markets/btc', 'explore-page'],
      ['/markets/btc/0xab', 'market-page'],
      ['/coverage/eth', 'coverage-page'],
      ['/docs/live', 'docs-page'],
      ['/admin', 'admin-page'],
    ] as const) {
      const page = await get(path, { 'accept-encoding': 'identity' })
      expect(await page.text()).toMatch(
        new RegExp(`<link rel="modulepreload" href="/assets/${module}-\\w+.js">`),
      )
      const head = await sendAs(undefined, path, { method: 'HEAD' })
      // No such market is there.
      const status = path === '/markets/btc/0xab' ? 404 : 200
      expect([path, head.status, await head.text()]).toEqual([path, status, ''])
      expect(head.headers.get('content-length')).toBe(page.headers.get('content-length'))
    }
  })

  test('behavior: another path gives a person a page, and a program a problem', async () => {
    for (const path of ['/nothing', '/markets', '/markets/btc/0xab/more']) {
      const page = await get(path, { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
      expect([path, page.status]).toEqual([path, 404])
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(page.headers.get('content-security-policy')).toStartWith("default-src 'none'")
      const problem = await get(path, { accept: '*/*' })
      expect([path, problem.status]).toEqual([path, 404])
      expect(problem.headers.get('content-type')).toBe('application/problem+json')
    }
    for (const path of [
      '/v1/nothing',
      '/v1/btc/nothing',
      '/admin/api/nothing',
      '/assets/main.js',
    ]) {
      const problem = await get(path, { accept: 'text/html' })
      expect([path, problem.status]).toEqual([path, 404])
      expect(problem.headers.get('content-type')).toBe('application/problem+json')
    }
  })

  test('error: a coin that does not exist has no page', async () => {
    for (const path of ['/markets/nocoin', '/markets/nocoin/0xab', '/calibration/nocoin']) {
      const headers = { accept: 'text/html', 'accept-encoding': 'identity' }
      const page = await get(path, headers)
      expect([path, page.status]).toEqual([path, 404])
      expect(await page.text()).toContain('<title>Page not found · Bookfeed</title>')
    }
    expect((await get('/markets/BTC', { accept: 'text/html' })).status).toBe(200)
  })

  test('default: a document says what may be read without a key', async () => {
    const text = await (await get('/', { 'accept-encoding': 'identity' })).text()
    const [, facts = ''] =
      /<script type="application\/json" id="facts">(.*)<\/script>/.exec(text) ?? []
    const sample = await (await get('/v1/sample')).json()
    expect(JSON.parse(facts)).toEqual({
      coins: expect.objectContaining({ btc: 'Bitcoin', zec: 'Zcash' }),
      sample,
      venue: { name: 'Polymarket', marketPage: 'polymarket.com/event/' },
      isSelling: false,
      hasPayments: false,
      isSignupOpen: true,
      operator: 'off',
    })
  })

  test('default: the head of a document names its page, and of a market what everybody may know', async () => {
    const { history, both } = await createMarketHistory()
    const market = history.findMarket(both.conditionId)
    if (market === undefined) throw new Error('The market is held.')
    const slug = '"><script>alert(1)</script>'
    const sold = { strike: '64123.45', finalPrice: '64200.55' }
    await history.putMarket({
      strike: sold.strike,
      finalPrice: sold.finalPrice,
      conditionId: conditionIdOf('9'),
      coin: 'eth',
      timeframe: '5m',
      source: 'recorded',
      slug,
      windowStartMs: Date.UTC(2026, 3, 14, 8),
      windowEndMs: Date.UTC(2026, 3, 14, 8, 5),
    })
    const own = createHarness({ history })
    const headOf = async (path: string) => {
      const response = await own.sendAs(undefined, path, { headers: { accept: 'text/html' } })
      const text = await response.text()
      const of = (name: string) =>
        new RegExp(`<meta property="og:${name}" content="([^"]*)">`).exec(text)?.[1]
      return {
        title: /<title>(.*)<\/title>/.exec(text)?.[1],
        og: ['title', 'description'].map(of),
        head: text.slice(0, text.indexOf('id="facts"')),
      }
    }
    expect((await headOf('/pricing')).title).toBe('Pricing · Bookfeed')
    expect((await headOf('/coverage/ETH')).title).toBe('Ethereum coverage · Bookfeed')
    expect((await headOf('/docs')).title).toBe('Docs · Bookfeed')
    for (const [name, file] of [
      ['live', 'docs/live.md'],
      ['examples', 'examples/README.md'],
      ['0030-gaps-follow-from-evidence', 'docs/decisions/0030-gaps-follow-from-evidence.md'],
    ] as const) {
      const source = await Bun.file(new URL(`../../${file}`, import.meta.url)).text()
      const title = /^# (.+)$/m.exec(source)?.[1] ?? ''
      const guide = await headOf(`/docs/${name}`)
      expect([name, guide.title, guide.og[0]]).toEqual([name, `${title} · Bookfeed`, title])
    }
    expect((await headOf('/nothing')).title).toBe('Page not found · Bookfeed')
    const path = `/markets/btc/${both.conditionId}`
    const { title, og } = await headOf(`${path}?at=1`)
    expect(title).toBe('BTC 5m, Jan 1, 00:00 – 00:05 UTC · Bookfeed')
    expect(og).toEqual([
      'BTC 5m, Jan 1, 00:00 – 00:05 UTC',
      `Simulated market ${market.slug} (resolved): order books at full depth, heat map, trades and replay.`,
    ])
    const odd = await headOf(`/markets/eth/${conditionIdOf('9')}`)
    expect(odd.og[1]).toContain('&lt;script&gt;')
    expect(odd.head).not.toContain('<script>alert')
    // What tiers sell is not in it.
    for (const secret of Object.values(sold)) expect(odd.head).not.toContain(secret)
    // A market of another coin is not the one of the address.
    expect((await headOf(`/markets/eth/${both.conditionId}`)).title).toBe(
      'Ethereum market · Bookfeed',
    )
  })

  test('error: the page of what is not there is a 404 that says so, also to a browser that has it', async () => {
    const { history, both } = await createMarketHistory()
    const own = createHarness({ history })
    const ask = (path: string, headers: Record<string, string> = {}) =>
      own.sendAs(undefined, path, { headers: { accept: 'text/html', ...headers } })
    const unknown = conditionIdOf('7')
    for (const [path, status] of [
      [`/markets/btc/${both.conditionId}`, 200],
      [`/markets/btc/${unknown}`, 404],
      [`/markets/eth/${both.conditionId}`, 404],
      ['/markets/btc/no-such-slug', 404],
      [`/markets/nocoin/${both.conditionId}`, 404],
      ['/markets/nocoin', 404],
      ['/coverage/nocoin', 404],
      ['/calibration/nocoin', 404],
      ['/docs/live', 200],
      ['/docs/nothing', 404],
      ['/docs/constructor', 404],
      ['/nothing', 404],
    ] as const)
      expect([path, (await ask(path)).status]).toEqual([path, status])
    const missing = await ask(`/markets/btc/${unknown}`)
    // Of the page of a market, which names it.
    expect(await missing.text()).toContain('<title>Bitcoin market · Bookfeed</title>')
    const etag = missing.headers.get('etag') ?? ''
    expect((await ask(`/markets/btc/${unknown}`, { 'if-none-match': etag })).status).toBe(404)
    const damaged = createHarness({
      history: {
        ...history,
        findMarket() {
          throw new AppError('damaged', 'The market is damaged.')
        },
      },
    })
    const response = await damaged.sendAs(undefined, `/markets/btc/${both.conditionId}`, {
      headers: { accept: 'text/html' },
    })
    expect(response.status).toBe(200)
  })

  test('behavior: a card has the one address of its page, and a picture, if the server knows its own', async () => {
    const { history, both } = await createMarketHistory()
    const slug = history.findMarket(both.conditionId)?.slug
    const config = readConfig({ BOOKFEED_PUBLIC_URL: 'https://books.example.com' })
    const own = createHarness({ history, config })
    const cardOf = async (path: string) => {
      const text = await (
        await own.sendAs(undefined, path, { headers: { accept: 'text/html' } })
      ).text()
      const tags = text.matchAll(
        /<meta (?:property|name)="((?:og|twitter):[\w:]+)" content="([^"]*)">/g,
      )
      return Object.fromEntries([...tags].map(([, name, content]) => [name, content]))
    }
    const market = `https://books.example.com/markets/btc/${both.conditionId}`
    for (const [path, url] of [
      ['/', 'https://books.example.com/'],
      ['/coverage/ETH?until=2026-01-01', 'https://books.example.com/coverage/eth'],
      ['/docs/live', 'https://books.example.com/docs/live'],
      [`/markets/btc/${both.conditionId}?at=1`, market],
      [`/markets/BTC/${slug}`, market],
      ['/nothing', undefined],
    ] as const)
      expect([path, (await cardOf(path))['og:url']]).toEqual([path, url])
    const card = await cardOf('/')
    expect(card['twitter:card']).toBe('summary_large_image')
    const image = new URL(card['og:image'] ?? '')
    expect(image.origin).toBe('https://books.example.com')
    const picture = await own.sendAs(undefined, image.pathname)
    expect(picture.headers.get('content-type')).toBe('image/png')
    expect(picture.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const bytes = Buffer.from(await picture.bytes())
    expect(bytes.length).toBeWithin(1_000, 60_001)
    // The header of a PNG has its size.
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)].map(String)).toEqual([
      card['og:image:width'] ?? '',
      card['og:image:height'] ?? '',
    ])
    const unknown = await (await get('/', { 'accept-encoding': 'identity' })).text()
    expect(unknown).not.toMatch(/og:(url|image)/)
    expect(unknown).toContain('<meta name="twitter:card" content="summary">')
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
    await page.waitForSelector('h1')
    await page.keyboard.press('Tab')
    expect(await page.textContent(':focus')).toBe('Skip to content')
    await page.click('nav >> text=Coverage')
    await page.waitForURL('**/coverage')
    await page.waitForSelector('#content:focus')
    await page.waitForSelector('h1:has-text("Coverage")')
    await page.goBack()
    await page.waitForSelector('nav a[aria-current]:has-text("Board")')
    expect(await page.evaluate('window.isSame')).toBe(true)
    expect(page.faults).toEqual([])
  })

  test.each([390, 1280])(
    'behavior: nothing moves after the first paint, %d px wide',
    async (width) => {
      const shifts: string[] = []
      for (const path of ['/', '/coverage', '/pricing', '/account', '/docs', '/docs/errors']) {
        const page = await browser.open('/llms.txt', { width })
        // Slow enough that each page is painted before its data is there.
        await page.route('**/v1/**', async (route) => {
          await Bun.sleep(200)
          await route.continue()
        })
        await page.goto(new URL(path, server.url).href)
        // The board has a stream, so it is never idle.
        if (path === '/') await page.waitForSelector('.away-place, .finished')
        else await page.waitForLoadState('networkidle')
        const shift = await page.evaluate(`new Promise((resolve) => {
        new PerformanceObserver((list) => {
          const moved = ({ value, sources }) => value + ' ' + sources.map(({ node }) => node?.outerHTML)
          resolve(list.getEntries().map(moved).join())
        }).observe({ type: 'layout-shift', buffered: true })
        setTimeout(() => resolve(''), 200)
      })`)
        if (shift !== '') shifts.push(`${path}: ${shift}`)
        await page.unrouteAll({ behavior: 'ignoreErrors' })
        await page.context().close()
      }
      expect(shifts).toEqual([])
    },
  )

  test('behavior: a theme is chosen, and outlives a reload', async () => {
    const page = await browser.open('/')
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const light = await ground()
    await page.click('button[aria-label="Use the dark theme"]')
    await page.waitForSelector('button[aria-label="Use the light theme"]')
    await soon(async () => expect(await ground()).not.toBe(light))
    const dark = await ground()
    await page.reload()
    await page.waitForSelector('button[aria-label="Use the light theme"]')
    await soon(async () => expect(await ground()).toBe(dark))
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
    await page.click('text=Forget the key')
    await soon(async () => expect((await stored()).join('')).not.toContain(key))
  })

  test('behavior: the focus goes into the panel of the key, and back', async () => {
    const page = await browser.open('/')
    await page.click('text=Use a key')
    await page.waitForSelector('input[name=key]:focus')
    await page.keyboard.type(key)
    await page.keyboard.press('Enter')
    const shown = `text=…${key.slice(-4)}`
    await page.waitForSelector(shown)
    await page.click(shown)
    await page.waitForSelector('#key-panel:focus')
    await page.keyboard.press('Escape')
    await page.waitForSelector(`button:has-text("…${key.slice(-4)}"):focus`)
    expect(page.faults).toEqual([])
  })

  test('behavior: the title of the tab follows the page', async () => {
    const page = await browser.open('/')
    await page.click('nav >> text=Coverage')
    await soon(async () => expect(await page.title()).toBe('Coverage · Bookfeed'))
    const guide = await browser.open('/docs/errors')
    await soon(async () => expect(await guide.title()).toBe('Errors · Bookfeed'))
    await guide.click('a[href="/docs/payments"]')
    await soon(async () => expect(await guide.title()).toBe('Payments · Bookfeed'))
    await guide.click('a[href="/docs"]')
    await soon(async () => expect(await guide.title()).toBe('Docs · Bookfeed'))
    await page.goBack()
    await soon(async () => expect(await page.title()).toBe('Open windows · Bookfeed'))
  })

  test('error: the title of a market that does not exist says so', async () => {
    const page = await browser.open('/markets/btc/nope')
    await soon(async () => expect(await page.title()).toBe('Market not found · Bookfeed'))
    page.forgive(/status of 404/)
  })

  test('error: a key whose checksum is wrong is refused with a message', async () => {
    const page = await browser.open('/')
    const last = key.endsWith('x') ? 'y' : 'x'
    await page.click('text=Use a key')
    for (const [typed, message] of [
      [key.slice(0, -1) + last, 'last six characters do not match'],
      [key.slice(0, -1), 'has 41 characters'],
      ['sample', 'begins with bf_live_'],
    ] as const) {
      await page.fill('input[name=key]', typed)
      await page.click('text=Use this key')
      await page.waitForSelector(`[role=alert] >> text=${message}`)
      expect(await page.locator('.dot-on').count()).toBe(0)
    }
    await page.fill('input[name=key]', key)
    await page.click('text=Use this key')
    await page.waitForSelector('.dot-on')
    expect(page.faults).toEqual([])
  })

  test('behavior: a call that is copied reads the key from KEY, as the examples do', async () => {
    const page = await browser.open('/coverage', { prepare: keepKey(key) })
    await chooseExport(page, 'coverage', 'API')
    await page.waitForSelector('.calls >> text=export KEY=')
    for (const [language, command] of [
      ['curl', ['sh', '-ec']],
      ['TypeScript', [process.execPath, '-e']],
      ['Python', ['python3', '-c']],
    ] as const) {
      await page.click(`.calls .tabs >> text=${language}`)
      await page.waitForSelector(`.calls .tabs [aria-pressed="true"]:has-text("${language}")`)
      const code = (await page.textContent('.calls pre'))?.replace('curl ', 'curl --fail ') ?? ''
      if (Bun.which(command[0]) === null) continue
      const run = Bun.spawn(['env', `KEY=${key}`, ...command, code], { stdout: 'ignore' })
      expect([code, await run.exited]).toEqual([code, 0])
    }
    expect(page.faults).toEqual([])
  })

  test('behavior: a picture that is saved has a caption above it and notes below', async () => {
    const page = await browser.open('/coverage')
    await page.waitForSelector('.calendar rect.chosen')
    const saved = page.waitForEvent('download')
    await chooseExport(page, 'coverage', 'PNG')
    const png = Buffer.from(await Bun.file((await (await saved).path()) ?? '').bytes())
    // The calendar alone is seven squares of 24 pixels and a border of four; both have two lines.
    expect(png.readUInt32BE(20)).toBe(172 + 48 + 48)
    expect(page.faults).toEqual([])
  })

  test('behavior: a path without a page says so', async () => {
    const page = await browser.open('/')
    await page.evaluate(
      "history.pushState(null, '', '/nowhere'); dispatchEvent(new Event('popstate'))",
    )
    await page.waitForSelector('h1:has-text("Page not found")')
    for (const path of ['/markets/nocoin', '/markets/nocoin/0xab', '/coverage/nocoin']) {
      const none = await browser.open(path)
      await none.waitForSelector('text=There is no coin nocoin here')
      await soon(async () => {
        expect(await none.title()).toBe('Page not found · Bookfeed')
        none.forgive(/status of 404/)
        expect(none.faults).toEqual([])
      })
    }
    const other = await browser.open('/nowhere')
    await other.waitForSelector('h1:has-text("Page not found")')
    await soon(async () => {
      other.forgive(/status of 404/)
      expect(other.faults).toEqual([])
    })
  })

  test('default: pages that are not there yet look right', async () => {
    expect(await lookAtAll(browser, '/docs', { name: 'docs', ready: 'h1' })).toEqual([])
  })
})
