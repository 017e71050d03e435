import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'
import { Elysia } from 'elysia'

import { AppError } from '#src/domain/errors.ts'
import { ClientGoneError, Problem } from '#src/http/problem.ts'
import type { PromisesOptions } from '#src/http/promises.ts'
import type { Gate } from '#src/http/rights.ts'

import { callFrom, promisedApp } from '../support/calls.ts'
import { createHarness } from '../support/harness.ts'

const SECRET = 'secret path /etc/x'

/** A small app with every way to fail. */
function createApp({
  logsAs = 'json',
  routes: counted = new Map(),
}: Partial<Pick<PromisesOptions, 'logsAs' | 'routes'>> = {}) {
  const lines: string[] = []
  const left: (number | undefined)[] = []
  const usages: string[] = []
  const gate: Gate = {
    admit: ({ request }) => callFrom({ address: request.method }),
    writeHeaders: ({ address = '' }, { headers }) => headers.set('X-Seen', address),
    count(_sender, usage, bytes) {
      usages.push(usage)
      left.push(bytes)
    },
    countMore() {},
  }
  const routes = new Elysia({ normalize: false })
    .get('/ok', () => new Response('héllo', { headers: { 'Content-Length': '6', ETag: '"1"' } }))
    .get('/object', () => ({ a: 1 }))
    .get('/coins/:coin', ({ params }) => params.coin)
    .post('/coins/new', () => 'made')
    .get('/throw', () => {
      throw new Error(SECRET, { cause: new Error('root cause') })
    })
    .get('/reject', async () => {
      await Promise.resolve()
      throw new TypeError(SECRET)
    })
    .get('/throw-string', () => {
      throw SECRET
    })
    .get('/expected', () => {
      throw new AppError('unavailable', 'Later.', {
        retryAfterSeconds: 7,
        cause: new Error(SECRET),
      })
    })
    .get('/gone', () => {
      throw new ClientGoneError()
    })
    .post('/body', () => new Response(null, { status: 204 }), { parse: 'none' })
  const log = (line: string) => void lines.push(line)
  const app = promisedApp(routes, { gate, logsAs, routes: counted, log })
  const send = async (path: string, init?: RequestInit) =>
    app.fetch(new Request(`http://localhost${path}`, init))
  return { send, lines, left, usages }
}

async function problemOf(response: Response): Promise<Problem> {
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  const body: unknown = await response.json()
  expect([...Value.Errors(Problem, body)]).toEqual([])
  const problem = body as Problem
  expect(problem.status).toBe(response.status)
  expect(problem.error).toBe(problem.code)
  expect(problem.type).toBe(`/errors#${problem.code}`)
  expect(problem.requestId).toBe(response.headers.get('x-request-id') ?? '')
  return problem
}

describe('promises', () => {
  test('behavior: a request whose client was gone is logged as that, and is no problem', async () => {
    const { send, lines } = createApp()
    expect((await send('/gone')).status).toBe(499)
    const [line = ''] = lines
    expect(JSON.parse(line)).toMatchObject({ level: 'info', status: 499, bytes: 0 })
    expect(line).not.toContain('error')
  })

  test('default: every response has an id, nosniff unless it is JSON, the added headers and one line', async () => {
    const cases: [string, RequestInit?][] = [
      ['/ok'],
      ['/object'],
      ['/nope'],
      ['/throw'],
      ['/reject'],
      ['/throw-string'],
      ['/expected'],
      ['/coins/%zz'],
      ['/ok', { method: 'PUT' }],
      ['/ok', { method: 'HEAD' }],
      ['/nope', { method: 'HEAD' }],
      ['/ok', { method: 'OPTIONS' }],
      ['/nope', { method: 'OPTIONS' }],
      ['/body', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }],
    ]
    const { send, lines, left } = createApp()
    for (const [path, init] of cases) {
      const { headers, status } = await send(path, init)
      const method = init?.method ?? 'GET'
      expect([path, headers.get('x-request-id')]).toEqual([path, 'req_minted'])
      const isJson = headers.get('content-type') === 'application/json'
      expect(headers.get('x-content-type-options')).toBe(isJson ? null : 'nosniff')
      expect(headers.get('x-seen')).toBe(method)
      expect(headers.has('access-control-allow-origin')).toBe(false)
      expect(left.splice(0)).toHaveLength(1)
      expect(lines).toHaveLength(1)
      expect(JSON.parse(lines.pop() ?? '')).toMatchObject({ path, method, status })
    }
  })

  test.each(['a', 'A.b_c-9', 'x'.repeat(64)])('behavior: takes over the id %s', async (id) => {
    const response = await createApp().send('/nope', { headers: { 'X-Request-Id': id } })
    expect((await problemOf(response)).requestId).toBe(id)
  })

  test.each(['', 'x'.repeat(65), 'a b', 'a"b', '<i>', 'é'])(
    'behavior: replaces the id %p',
    async (id) => {
      const response = await createApp().send('/ok', { headers: { 'X-Request-Id': id } })
      expect(response.headers.get('x-request-id')).toBe('req_minted')
    },
  )

  const trace = '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  test.each([`00-${trace}`, `01-${trace}-more`])(
    'behavior: a trace goes back to the caller and into the log: %s',
    async (traceparent) => {
      const { send, lines } = createApp()
      const response = await send('/ok', { headers: { traceparent } })
      expect(response.headers.get('traceparent')).toBe(traceparent)
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({ traceparent })
    },
  )

  test.each([
    '',
    `ff-${trace}`,
    `00-${trace}-more`,
    `00-${trace.toUpperCase()}`,
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-${trace.slice(0, 33)}${'0'.repeat(16)}-01`,
    `01-${trace}-${'x'.repeat(100)}`,
    `00-${trace}"`,
  ])('behavior: what is no trace is dropped: %p', async (traceparent) => {
    const { send, lines } = createApp()
    const response = await send('/ok', { headers: { traceparent } })
    expect(response.headers.has('traceparent')).toBe(false)
    expect(lines[0]).not.toContain('traceparent')
  })

  test.each(['/ok', '/object', '/nope', '/throw', '/coins/btc'])(
    'behavior: HEAD %s is GET without the body',
    async (path) => {
      const { send } = createApp()
      const get = await send(path)
      const head = await send(path, { method: 'HEAD' })
      expect(head.status).toBe(get.status)
      expect(await head.text()).toBe('')
      const length = String((await get.arrayBuffer()).byteLength)
      const expected = {
        ...Object.fromEntries(get.headers),
        'content-length': length,
        'x-seen': 'HEAD',
      }
      expect(Object.fromEntries(head.headers)).toEqual(expected)
    },
  )

  test('behavior: OPTIONS on a known path lists its methods', async () => {
    const response = await createApp().send('/ok', { method: 'OPTIONS' })
    expect([response.status, response.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
  })

  test.each(['/throw', '/reject', '/throw-string'])(
    'error: %s tells the caller nothing and the log everything, once',
    async (path) => {
      const { send, lines } = createApp({ logsAs: 'off' })
      const response = await send(path)
      const problem = await problemOf(response)
      expect([problem.status, problem.code]).toEqual([500, 'internal'])
      expect(JSON.stringify(problem)).not.toContain('secret')
      expect(lines).toHaveLength(1)
      expect(JSON.parse(lines[0] ?? '').error).toContain(SECRET)
    },
  )

  test.each([
    ['/ok', 'ok', undefined],
    ['/object', 'ok', undefined],
    ['/reject', 'ok', SECRET],
    ['/nope', 'other', undefined],
  ])('behavior: HEAD %s is counted and logged as GET', async (path, usage, fault) => {
    const counted = { row: 0, usageOf: () => 'ok', isShared: false }
    const routes = new Map(['/ok', '/object', '/reject'].map((path) => [`GET ${path}`, counted]))
    const { send, lines, usages } = createApp({ routes })
    await send(path, { method: 'HEAD' })
    expect(usages).toEqual([usage])
    const { error } = JSON.parse(lines[0] ?? '') as { error?: string }
    if (fault === undefined) expect(error).toBeUndefined()
    else expect(error).toContain(fault)
  })

  test('error: the log has the cause behind the error', async () => {
    const { send, lines } = createApp()
    await send('/throw')
    expect(JSON.parse(lines[0] ?? '').error).toContain('Caused by: Error: root cause')
  })

  test('error: a known failure keeps its code, message and extras, and hides its cause', async () => {
    const response = await createApp().send('/expected')
    const problem = await problemOf(response)
    expect(problem).toMatchObject({ status: 503, code: 'unavailable', detail: 'Later.' })
    expect(problem.retryAfterSeconds).toBe(7)
    expect(response.headers.get('retry-after')).toBe('7')
    expect(JSON.stringify(problem)).not.toContain('secret')
  })

  test('error: a known failure is one short line in the log, without a stack', async () => {
    const { send, lines } = createApp()
    await send('/expected')
    const { error } = JSON.parse(lines[0] ?? '') as { error: string }
    expect(error).toStartWith('unavailable: Later.')
    expect(error).not.toMatch(/^\s+at /m)
  })

  test('error: an unknown path is 404, and a huge one comes back short', async () => {
    const problem = await problemOf(await createApp().send(`/nope/${'x'.repeat(50_000)}`))
    expect([problem.status, problem.code]).toEqual([404, 'not_found'])
    expect(problem.detail.length).toBeLessThan(120)
  })

  test.each([
    ['PUT', '/ok', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/coins/btc', 'GET, HEAD, OPTIONS'],
    ['PUT', '/coins/new', 'GET, HEAD, OPTIONS, POST'],
    ['PUT', '/coins/new/', 'GET, HEAD, OPTIONS, POST'],
    ['GET', '/body', 'OPTIONS, POST'],
    ['HEAD', '/body', 'OPTIONS, POST'],
  ])('error: %s %s is 405 and says what is allowed', async (method, path, allow) => {
    const response = await createApp().send(path, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
    if (method !== 'HEAD') expect((await problemOf(response)).code).toBe('method_not_allowed')
  })

  test.each(['/coins/%', '/coins/%zz', '/coins/%C3'])('error: %s is 400', async (path) => {
    expect((await problemOf(await createApp().send(path))).code).toBe('invalid_request')
  })
})

test('behavior: a payment may be silent for longer, but not without a valid key', async () => {
  const { app, key } = createHarness()
  const waits: number[] = []
  const timeout = (_: Request, seconds: number) => void waits.push(seconds)
  const settle = (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    const url = 'http://localhost/v1/billing/x402/settle'
    return app.fetch(new Request(url, { method: 'POST', headers }), {
      requestIP: () => null,
      timeout,
    })
  }
  await settle('bf_live_x')
  expect(waits).toEqual([])
  await settle(key)
  expect(waits).toEqual([120])
})
