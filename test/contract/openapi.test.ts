import { describe, expect, test } from 'bun:test'

import { pagePaths } from '#web/paths.ts'

import { createHarness } from '../support/harness.ts'
import { readDocument as readOperations } from '../support/openapi-document.ts'

type Document = {
  openapi: string
  paths: Record<string, object>
  tags: { name: string }[]
  components: { schemas: Record<string, unknown>; headers: Record<string, unknown> }
}

async function readDocument() {
  const response = await createHarness().send('/swagger/json')
  expect(response.headers.get('content-type')).toStartWith('application/json')
  const text = await response.text()
  return { text, document: JSON.parse(text) as Document }
}

/** For people, or another address of the document. */
const isPage = (path: string): boolean =>
  /^\/(swagger|assets|openapi\.json|\*)(\/|$)/.test(path) || pagePaths.some((page) => page === path)

describe('GET /swagger/json', () => {
  test('default: describes every public route of the app, and no other', async () => {
    const { app } = createHarness()
    const { document } = await readDocument()
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const { routes: declared = [] } = (await app.pages?.load()) ?? {}
    const routes = declared
      .filter(({ path }) => !isPage(path))
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
    expect(described.sort()).toEqual(routes.sort())
  })

  test('behavior: a page of another origin may send and read every header that is described', async () => {
    const { send } = createHarness()
    const origin = { origin: 'https://page.example' }
    const preflight = await send('/v1/btc/live', {
      method: 'OPTIONS',
      headers: { ...origin, 'access-control-request-method': 'GET' },
    })
    const answer = await send('/healthz', { headers: origin })
    const namesIn = ({ headers }: Response, name: string) =>
      (headers.get(name) ?? '').toLowerCase().split(', ')
    const { entries: operations } = await readOperations(send)
    const sent = operations
      .flatMap(({ parameters = [] }) => parameters)
      .flatMap(({ in: place, name }) => (place === 'header' ? [name.toLowerCase()] : []))
    const read = operations
      .flatMap(({ responses }) => Object.values(responses))
      .flatMap(({ headers = {} }) => Object.keys(headers).map((name) => name.toLowerCase()))
    // For the browser and proxies, or what it lets every page read.
    const others =
      /^(access-control-.*|cache-control|content-(length|type|security-policy)|vary|x-(accel-buffering|content-type-options))$/
    expect(sent).toContain('last-event-id')
    expect(namesIn(preflight, 'access-control-allow-headers')).toEqual(
      expect.arrayContaining([...new Set(sent), 'mcp-protocol-version']),
    )
    expect(namesIn(answer, 'access-control-expose-headers')).toEqual(
      expect.arrayContaining([...read.filter((name) => !others.test(name)), 'bookfeed-mode']),
    )
  })

  test('behavior: each operation has a name, a summary, a known tag and documented answers', async () => {
    const { document } = await readDocument()
    const { entries } = await readOperations(createHarness().send)
    const tags = document.tags.map(({ name }) => name)
    for (const { path, ...operation } of entries) {
      expect([path, typeof operation.operationId]).toEqual([path, 'string'])
      expect([path, typeof operation.summary]).toEqual([path, 'string'])
      expect(tags).toContainValues(operation.tags ?? ['none'])
      for (const [status, answer] of Object.entries(operation.responses)) {
        const { description, headers, content } = answer
        expect([path, status, description]).not.toEqual([path, status, ''])
        expect(headers).toHaveProperty('X-Request-Id')
        if (Number(status) >= 400) expect(content).toHaveProperty('application/problem+json')
      }
    }
  })

  test('behavior: holds no JSON Schema that OpenAPI 3.0 lacks, and every reference resolves', async () => {
    const { text, document } = await readDocument()
    expect(document.openapi).toStartWith('3.0')
    expect(text).not.toMatch(/"const":|"examples":\[/)
    for (const [, kind, name] of text.matchAll(/"#\/components\/(\w+)\/([\w.-]+)"/g)) {
      const parts: Record<string, Record<string, unknown>> = document.components
      expect(parts[kind ?? '']).toHaveProperty([name ?? ''])
    }
  })

  test('behavior: keywords of our own stay inside', async () => {
    expect((await readDocument()).text).not.toMatch(/"x-[\w-]+":/)
  })

  test('behavior: components have names with a meaning, and each 304 is one of them', async () => {
    const { document } = await readDocument()
    const names = Object.values(document.components).flatMap((each) => Object.keys(each))
    expect(names.filter((name) => /-\d+$/.test(name) && !/max-age/.test(name))).toEqual([])
    expect(names).toContainValues(['Cache-Control.no-store', 'NotModified'])
    const { text } = await readDocument()
    for (const [, shown] of text.matchAll(/"304":\{(.{50})/g)) {
      expect(shown).toStartWith('"$ref":"#/components/responses/NotModified')
    }
  })

  test('behavior: all servers of a process are described alike', async () => {
    const first = await readDocument()
    expect((await readDocument()).text).toBe(first.text)
  })
})

describe('GET /swagger', () => {
  test('default: the page and everything it loads come from this server', async () => {
    const { send } = createHarness()
    const response = await send('/swagger')
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const html = await response.text()
    expect(html).not.toContain('//')
    const loaded = [...html.matchAll(/(?:src|href)="(\/[^"]*assets[^"]+)"/g)].map(
      (match) => match[1] ?? '',
    )
    // Swagger UI is loaded when an operation is opened.
    const [, index = ''] =
      /<script type="application\/json" id="api">(.*?)<\/script>/.exec(html) ?? []
    const { script, styles } = JSON.parse(index) as { script: string; styles: string[] }
    const paths = [...loaded, script, ...styles]
    expect(paths.filter((path) => path.startsWith('/swagger/'))).toHaveLength(3)
    for (const path of paths) {
      const asset = await send(path)
      expect([path, asset.status]).toEqual([path, 200])
      expect(asset.headers.get('cache-control')).toContain('immutable')
      expect(asset.headers.get('content-type')).toMatch(/^text\/(javascript|css); charset=utf-8$/)
      const length = (await asset.arrayBuffer()).byteLength
      expect(length).toBeGreaterThan(10)
      const gzip = await send(path, { headers: { 'accept-encoding': 'gzip' } })
      expect(gzip.headers.get('content-encoding')).toBe('gzip')
      expect((await gzip.arrayBuffer()).byteLength).toBeLessThan(length + 30)
    }
  })
})
