import { describe, expect, test } from 'bun:test'

import { readConfig } from '#src/config.ts'

import { createHarness, NOW_MS } from './support/harness.ts'

describe('createApp', () => {
  test('default: each route of the app passes through the front door', async () => {
    const { app, send, lines } = createHarness()
    const paths = app.elysia.routes.map(({ path }) => path)
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
})
