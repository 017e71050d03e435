import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { renderGuide } from '#web/guide-plugin.ts'

import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  createBrowser,
  lookAtAll,
  soon,
  until,
  watchFor,
} from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const root = new URL('../..', import.meta.url).pathname
const read = (path: string) => Bun.file(root + path).text()

const { app, key } = createHarness()
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
const browser = createBrowser(server.url.origin)
afterEach(browser.closeTabs)
afterAll(async () => {
  await browser.close()
  await server.stop(true)
})

describe('renderGuide', () => {
  const render = (text: string, file = 'docs/a.md') => renderGuide(file, text).html

  test('default: links lead to the pages of the dashboard, and what is not served is no link', () => {
    expect(render('[a](errors.md#offer_expired)')).toContain('href="/docs/errors#offer_expired"')
    expect(render('[a](decisions/README.md)')).toContain('href="/docs/decisions"')
    expect(render('[a](../data.md)', 'docs/decisions/1.md')).toContain('href="/docs/data"')
    expect(render('[a](../examples/curl/markets.sh)')).toContain('"/docs/examples#curl-markets-sh"')
    expect(render('[a](https://a.example/)')).toContain('href="https://a.example/"')
    expect(render('[the map](../CONTRIBUTING.md)')).toBe('<p>the map</p>\n')
    expect(render('[the pool](design/pool.md)')).toBe('<p>the pool</p>\n')
  })

  test('default: a heading has the anchor that it has elsewhere, codes with their underscores', () => {
    const { html, headings } = renderGuide('docs/a.md', '## `offer_expired`\n\n## What & why')
    expect(headings).toEqual([
      { id: 'offer_expired', text: 'offer_expired' },
      { id: 'what--why', text: 'What & why' },
    ])
    expect(html).toContain('<h2 id="offer_expired">')
  })

  test('behavior: text is never markup, and nothing has a style of its own', () => {
    const html = render('```sh\ncurl <url> & "x"\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |')
    expect(html).toContain('curl &lt;url&gt; &amp;')
    expect(html).not.toContain('style=')
    expect(render('| a | |\n|---|--:|\n| 1 | 2 |')).toContain('<th>a</th><td></td>')
  })
})

describe.skipIf(chromiumPath === undefined)('the documentation in a browser', () => {
  test('default: the quick start shows the very files that a test runs, in two languages', async () => {
    const page = await browser.open('/docs')
    for (const [language, folder, ending] of [
      ['TypeScript', 'typescript', 'ts'],
      ['Python', 'python', 'py'],
    ] as const) {
      await page.click(`.tabs >> text=${language}`)
      const text = await read(`examples/${folder}/history.${ending}`)
      const isShown = `[...document.querySelectorAll('pre')].some((pre) => pre.textContent === ${JSON.stringify(text)})`
      await until(page, isShown)
    }
    expect(page.faults).toEqual([])
  })

  test('default: every guide opens, and every link between them finds its page and anchor', async () => {
    const page = await browser.open('/docs')
    await page.waitForSelector('.docs-nav a')
    const hrefsIn = (selector: string) =>
      page.$$eval(selector, (links) => links.map((link) => link.getAttribute('href') ?? ''))
    const guides = (await hrefsIn('.docs-nav a')).filter((href) => href.startsWith('/docs/'))
    expect(guides.length).toBeGreaterThan(25)
    // It is for whoever uses the service.
    expect(guides.indexOf('/docs/agents')).toBeLessThan(guides.indexOf('/docs/recording'))
    const ids = new Map<string, string[]>()
    const links: [from: string, path: string, hash: string][] = []
    for (const path of guides) {
      await page.evaluate(
        `history.pushState(null, '', '${path}'); dispatchEvent(new Event('popstate'))`,
      )
      await page.waitForSelector(`.docs-nav [aria-current][href="${path}"]`, { state: 'attached' })
      await page.waitForSelector('article.prose h1')
      ids.set(path, await page.$$eval('article [id]', (found) => found.map(({ id }) => id)))
      for (const href of await hrefsIn('article a, .docs-toc a')) {
        if (!/^(\/docs\/|#)/.test(href)) continue
        const [to = '', hash = ''] = href.split('#')
        links.push([path, to === '' ? path : to, decodeURIComponent(hash)])
      }
    }
    const dead = links.filter(([, to, hash]) => {
      const there = ids.get(to)
      return there === undefined || (hash !== '' && !there.includes(hash))
    })
    expect(dead).toEqual([])
    expect(page.faults).toEqual([])
  })

  test('behavior: an address with a code shows that code, and a block of code is copied', async () => {
    const page = await browser.open('/docs/errors#offer_expired')
    await page.waitForSelector('#offer_expired')
    await until(page, 'scrollY > 1000')
    await soon(async () => {
      const top = await page.$eval('#offer_expired', (found) => found.getBoundingClientRect().top)
      expect(top).toBeWithin(50, 400)
    })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(`${server.url.origin}/docs/access`)
    const isCopied = await watchFor(page, "document.body.textContent.includes('Copied')")
    await page.click('[data-copy] >> nth=0')
    await isCopied()
    await soon(async () => expect(await page.locator('text=Copied').count()).toBe(0))
    expect(await page.evaluate('navigator.clipboard.readText()')).toStartWith('curl -H')
    await page.goto(`${server.url.origin}/docs/nothing`)
    await page.waitForSelector('text=No such guide')
    page.forgive(/status of 404/)
    expect(page.faults).toEqual([])
  })

  test.each([390, 820, 1440])(
    'behavior: no line of a code is below its button, wherever it is scrolled to, %d px wide',
    async (width) => {
      const page = await browser.open('/docs/access', { width })
      await page.waitForSelector('.code pre')
      const covered = await page.evaluate<number>(`(() => {
        let covered = 0
        for (const block of document.querySelectorAll('.code')) {
          const pre = block.querySelector('pre')
          const button = block.querySelector('button').getBoundingClientRect()
          const range = document.createRange()
          range.selectNodeContents(pre)
          for (const left of [0, pre.scrollWidth]) {
            pre.scrollTo({ left })
            // What is outside of the block cannot be seen.
            const seen = pre.getBoundingClientRect()
            for (const line of range.getClientRects())
              if (
                Math.min(line.right, seen.right) > button.left && line.left < button.right &&
                line.bottom > button.top && line.top < button.bottom
              ) covered++
          }
        }
        return covered
      })()`)
      expect(covered).toBe(0)
      expect(page.faults).toEqual([])
    },
  )

  test('behavior: on a phone the list of guides is a menu that names the page, and closes', async () => {
    for (const [path, title] of [
      ['/docs/scale', 'More than one machine'],
      ['/swagger', 'API reference'],
    ] as const) {
      const page = await browser.open(path, { width: 390 })
      const menu = page.locator('.docs-toggle')
      await menu.locator(`b:text-is("${title}")`).waitFor()
      expect(await page.locator('.docs-nav [aria-current]').isVisible()).toBe(false)
      await menu.click()
      expect(await page.locator('.docs-nav [aria-current]').isVisible()).toBe(true)
      expect(await accessFaults(page)).toEqual([])
      await page.click('.docs-nav >> text=Examples')
      await menu.locator('b:text-is("Examples")').waitFor()
      expect(await page.locator('.docs-nav [aria-current]').isVisible()).toBe(false)
      expect(page.faults).toEqual([])
    }
  })

  test('behavior: a key that is in memory alone is used by the reference', async () => {
    const page = await browser.open('/docs')
    await page.click('text=Use a key')
    await page.fill('input[name=key]', key)
    await page.click('text=Use this key')
    await page.waitForSelector('.dot-on')
    await page.click('.docs-nav >> text=API reference')
    await page.click('.api-tag summary >> text=account')
    const asked = page.waitForRequest((request) => request.url().endsWith('/v1/usage'))
    await page.click('#operations-account-getUsage .api-row')
    await page.click('#operations-account-getUsage >> text=Execute')
    expect((await asked).headers().authorization).toBe(`Bearer ${key}`)
    expect(await page.locator('.dot-on').count()).toBe(1)
    expect(page.faults).toEqual([])
  })

  test.each(['', '/payments', '/examples', '/dashboard'])(
    'default: /docs%s looks right at every width in both themes',
    async (name) => {
      const look = { name: `docs${name.replace('/', '-')}`, ready: 'article h1' }
      expect(await lookAtAll(browser, `/docs${name}`, look)).toEqual([])
    },
  )
})
