import { describe, expect, test } from 'bun:test'

import { readConfig } from '../support/config.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

describe('createApp', () => {
  test('default: each route of the app keeps the promises', async () => {
    const { app, send, lines } = createHarness()
    const { routes = [] } = (await app.pages?.load()) ?? {}
    const paths = routes.map(({ path }) => path)
    expect(paths).toContainValues(['/healthz', '/readyz', '/errors', '/swagger', '/swagger/json'])
    for (const path of paths) {
      const { headers } = await send(path)
      expect([path, headers.get('x-request-id')]).toEqual([path, `req_minted${lines.length}`])
      const line = JSON.parse(lines.at(-1) ?? '')
      expect(line).toMatchObject({ path, time: new Date(NOW_MS).toISOString() })
    }
    expect(lines).toHaveLength(paths.length)
  })

  test('behavior: without an access log nothing is written for what succeeds or is refused', async () => {
    const { send, lines } = createHarness({ config: readConfig({ BOOKFEED_LOG: 'off' }) })
    await send('/healthz')
    await send('/nope')
    expect(lines).toEqual([])
  })

  test('behavior: the same page answers twice', async () => {
    const { send } = createHarness()
    const bodies = [await send('/swagger'), await send('/swagger')].map((response) =>
      response.text(),
    )
    const [first, second] = await Promise.all(bodies)
    expect(first).toContain('swagger-ui')
    expect(second).toBe(first ?? '')
  })

  test('behavior: a host name of one character does not move the path', async () => {
    const { app } = createHarness()
    expect((await app.fetch(new Request('http://x/healthz'))).status).toBe(200)
  })

  test('behavior: a page that was asked for before is answered without a promise', async () => {
    const { history, both } = await createMarketHistory()
    const { app, key } = createHarness({ history })
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'gzip' }
    for (const path of [both.path, both.path.replace('snapshots', 'quotes')]) {
      const ask = () => app.fetch(new Request(`http://localhost${path}`, { headers }))
      // The second one keeps the page, the third its answer.
      for (let times = 0; times < 3; times++) await ask()
      expect([path, ask()]).toEqual([path, expect.any(Response)])
    }
  })

  test('behavior: a page that is kept is an answer to GET and HEAD alone', async () => {
    const { history, both } = await createMarketHistory()
    const { send } = createHarness({ history })
    const ask = (method: string, headers = {}) =>
      send(both.path, { method, headers: { 'accept-encoding': 'gzip', ...headers } })
    for (let times = 0; times < 4; times++) expect((await ask('GET')).status).toBe(200)
    const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
    expect((await ask('OPTIONS', preflight)).status).toBe(204)
    expect((await ask('HEAD')).status).toBe(200)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect([method, (await ask(method)).status]).toEqual([method, 405])
  })

  test('behavior: the document leaves the objects of answers open, also after they were sent', async () => {
    const { history, both } = await createMarketHistory()
    const { send } = createHarness({ history })
    const market = both.path.replace('/snapshots', '')
    for (const path of ['/readyz', '/v1/coins', market, both.path, '/v1/usage'])
      expect((await send(path)).status).toBe(200)
    const { components } = (await (await send('/swagger/json')).json()) as {
      components: { schemas: Record<string, object> }
    }
    expect(Object.keys(components.schemas)).toContain('Readiness')
    expect(JSON.stringify(components.schemas)).not.toContain('"additionalProperties":false')
  })

  test('behavior: messages of agents have one address', async () => {
    const { send } = createHarness()
    expect((await send('/mcp/', { method: 'POST', body: '{}' })).status).toBe(405)
  })
})
