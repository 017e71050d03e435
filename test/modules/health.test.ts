import { describe, expect, test } from 'bun:test'

import { fakeHistory } from '../support/fake-history.ts'
import { createHarness } from '../support/harness.ts'

describe('GET /healthz', () => {
  test('default: answers while the process lives, whatever the store does', async () => {
    const history = fakeHistory({
      listMarkets: () => {
        throw new Error('disk')
      },
    })
    const response = await createHarness({ history }).send('/healthz')
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ status: 'ok', version: '0.0.0-test' })
  })
})

describe('GET /readyz', () => {
  test('default: is ready when the history can be read', async () => {
    const response = await createHarness().send('/readyz')
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(await response.json()).toEqual({
      ready: true,
      checks: { history: true, accepting: true },
    })
  })

  test('error: is not ready while draining', async () => {
    const { app, send } = createHarness()
    app.drain()
    const response = await send('/readyz')
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({
      code: 'unavailable',
      detail: 'Not ready: accepting.',
    })
  })

  test('error: is not ready when the history fails, without its reason', async () => {
    const history = fakeHistory({
      listMarkets: () => {
        throw new Error('secret disk')
      },
    })
    const response = await createHarness({ history }).send('/readyz')
    const text = await response.text()
    expect(response.status).toBe(503)
    expect(text).toContain('Not ready: history.')
    expect(text).not.toContain('secret')
  })
})
