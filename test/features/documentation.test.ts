import { describe, expect, spyOn, test } from 'bun:test'

import { errorCodes } from '#src/domain/errors.ts'

import { createHarness, NOW_MS } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { type Entry, readDocument } from '../support/openapi-document.ts'
import { fillPath } from '../support/operation-requests.ts'

describe('GET /errors', () => {
  test('default: has one section for each code, with its status', async () => {
    const response = await createHarness().send('/errors')
    expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    const sections = [...(await response.text()).matchAll(/^## (\w+)\n\n\*\*(\d+)\.\*\* /gm)]
    const documented = sections.map(([, code, status]) => [code, Number(status)])
    expect(documented).toEqual(
      Object.entries(errorCodes).map(([code, { status }]) => [code, status]),
    )
  })

  test('behavior: needs no key', async () => {
    expect((await createHarness().sendAs(undefined, '/errors')).status).toBe(200)
  })

  test.each(['text/html;q=0', 'text/markdown, text/html;q=0.5', '*/*'])(
    'behavior: whoever likes a page less gets Markdown: %s',
    async (accept) => {
      const { headers } = await createHarness().send('/errors', { headers: { accept } })
      expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    },
  )

  test('behavior: a browser gets a page in which every problem type is an anchor', async () => {
    const headers = { accept: 'text/html,*/*;q=0.8' }
    const html = await (await createHarness().send('/errors', { headers })).text()
    for (const code of Object.keys(errorCodes)) expect(html).toContain(`<h2 id="${code}">`)
  })

  test('behavior: the page may load nothing and run nothing; its style is known by a hash', async () => {
    const response = await createHarness().send('/errors', { headers: { accept: 'text/html' } })
    const policy = policyOf(response)
    const style = /<style>([\s\S]*)<\/style>/.exec(await response.text())?.[1] ?? ''
    const hash = new Bun.CryptoHasher('sha256').update(style).digest('base64')
    expect(policy['default-src']).toBe("'none'")
    expect(policy['style-src']).toBe(`'sha256-${hash}'`)
    expect(policy['frame-ancestors']).toBe("'none'")
  })
})

/** The directives of a response's Content-Security-Policy. */
function policyOf({ headers }: Response): Record<string, string> {
  const directives = (headers.get('content-security-policy') ?? '').split('; ')
  return Object.fromEntries(directives.map((each) => each.split(/ (.*)/s, 2)))
}

describe('GET /swagger', () => {
  test('behavior: runs nothing inline, and its bundle does not need to', async () => {
    const { send } = createHarness()
    const response = await send('/swagger')
    expect(policyOf(response)).toMatchObject({ 'style-src': "'self'" })
    expect(policyOf(response)['script-src']).not.toMatch(/unsafe|http/)
    const html = await response.text()
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/)
    const [bundle = ''] = /\/swagger\/assets\/[^"]*bundle\.js/.exec(html) ?? []
    const script = await (await send(bundle)).text()
    expect(script.length).toBeGreaterThan(1_000_000)
    // React sets styles as properties, which the policy allows. These it would not.
    expect(script).not.toMatch(
      /createElement\(["']style|setAttribute\(["']style|cssText|insertRule/,
    )
  })
})

describe('the assets of /swagger', () => {
  const { sendAs } = createHarness()
  const readAssets = async () => {
    const html = await (await sendAs(undefined, '/swagger')).text()
    return [...html.matchAll(/"(\/[^"]*assets\/[^"]+)"/g)].map(([, path = '']) => path)
  }

  test('default: are compressed, and kept for ever', async () => {
    const paths = await readAssets()
    expect(paths.length).toBeGreaterThan(4)
    for (const path of paths) {
      const plain = await sendAs(undefined, path)
      const gzip = await sendAs(undefined, path, { headers: { 'accept-encoding': 'gzip, br' } })
      for (const { status, headers } of [plain, gzip]) {
        expect(status).toBe(200)
        expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
        expect(headers.get('vary')).toContain('Accept-Encoding')
      }
      expect(gzip.headers.get('content-encoding')).toBe('gzip')
      const text = Bun.gunzipSync(new Uint8Array(await gzip.arrayBuffer()))
      expect(new TextDecoder().decode(text)).toBe(await plain.text())
    }
  })
})

describe('the examples of the document', () => {
  test('behavior: find something, however many newer markets have no books', async () => {
    const { history, both } = await createMarketHistory()
    for (let index = 0; index < 1000; index++) {
      const windowStartMs = NOW_MS + index * 300_000
      const [source, timeframe, coin] = ['simulated', '5m', 'btc'] as const
      const conditionId = `0x${String(index).padStart(64, '0')}`
      await history.putMarket({ conditionId, coin, timeframe, source, windowStartMs })
    }
    const { send } = createHarness({ history })
    const { entries } = await readDocument(send)
    const asked = entries.filter(
      ({ path, method }) => method === 'GET' && path.startsWith('/v1/{coin}/markets/'),
    )
    expect(asked.length).toBeGreaterThan(6)
    for (const entry of [...asked, ...entries.filter((each) => each.operationId === 'getPanel')]) {
      const address = addressByExamples(entry)
      const response = await send(address)
      expect([address, response.status]).toEqual([address, 200])
      const text = await response.text()
      if (entry.path.includes('{conditionId}')) expect(address).toContain(both.conditionId)
      expect(text.length).toBeGreaterThan(100)
      expect(text).not.toContain('"data":[]')
    }
  })
})

/** What a page fills in: the examples. */
function addressByExamples({ path, parameters = [] }: Entry): string {
  const shown = parameters.filter(({ example }) => example !== undefined)
  const pairs = (place: string) =>
    shown.flatMap(({ in: where, name, example }) =>
      where === place ? [[name, String(example)] as [string, string]] : [],
    )
  const query = new URLSearchParams(pairs('query'))
  return `${fillPath(path, Object.fromEntries(pairs('path')))}?${query}`
}

describe('texts that do not change', () => {
  const { send } = createHarness()
  const texts: [path: string, accept: string, vary: string][] = [
    ['/swagger/json', '*/*', 'Accept-Encoding, Origin'],
    ['/llms.txt', '*/*', 'Accept-Encoding, Origin'],
    ['/errors', '*/*', 'Accept, Accept-Encoding, Origin'],
    ['/errors', 'text/html', 'Accept, Accept-Encoding, Origin'],
  ]

  test.each(texts)('default: %s as %s comes in gzip, and is known by a tag', async (...of) => {
    const [path, accept, vary] = of
    const ask = (coding: string, tag = '""') =>
      send(path, { headers: { accept, 'accept-encoding': coding, 'if-none-match': tag } })
    const plain = await ask('identity')
    const gzip = await ask('gzip')
    expect([plain, gzip].map((each) => each.headers.get('content-encoding'))).toEqual([
      null,
      'gzip',
    ])
    const tags = [plain, gzip].map((each) => each.headers.get('etag') ?? '')
    expect(new Set(tags).size).toBe(2)
    const bytes = new Uint8Array(await gzip.arrayBuffer())
    expect(gzip.headers.get('content-length')).toBe(String(bytes.length))
    expect(Bun.gunzipSync(bytes)).toEqual(new Uint8Array(await plain.arrayBuffer()))
    for (const [index, coding] of ['identity', 'gzip'].entries()) {
      const again = await ask(coding, tags[index])
      expect([again.status, await again.text()]).toEqual([304, ''])
      expect(again.headers.get('etag')).toBe(tags[index] ?? '')
      expect(again.headers.get('cache-control')).toBe('public, max-age=300')
      expect(again.headers.get('vary')).toBe(vary)
    }
    // Each form has a tag of its own.
    expect((await ask('gzip', tags[0])).status).toBe(200)
  })

  test('behavior: the document is compressed once, however often it is asked for', async () => {
    const compress = spyOn(Bun, 'gzipSync')
    try {
      const own = createHarness()
      for (let count = 0; count < 3; count++) {
        await own.send('/swagger/json', { headers: { 'accept-encoding': 'gzip' } })
      }
      expect(compress).toHaveBeenCalledTimes(1)
    } finally {
      compress.mockRestore()
    }
  })
})
