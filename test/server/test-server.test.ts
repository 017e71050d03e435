/** Keys of test mode: simulated data alone, faults on request, and nothing real within reach. */
import { describe, expect, test } from 'bun:test'

import { createApiKey, PUBLIC_TEST_KEY, TEST_KEY_PREFIX } from '#src/domain/selling/api-key.ts'
import { SLOW_MS } from '#src/server/test-faults.ts'

import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { fileNameOf } from '../support/one-file.ts'
import { readProblem } from '../support/page-client.ts'
import { createTestGround, openMarket } from '../support/test-mode.ts'

const { slug, windowMs, endMs, iso } = openMarket
const market = `/v1/btc/markets/${slug}`
const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))
const nameOf = ([name]: [string, string]) => name

describe('keys of test mode', async () => {
  const known = await createMarketHistory()
  const ground = createTestGround({ history: known.history })
  const { ask, send, sendAs } = ground

  test('default: every kind of data answers, and says that it is test mode', async () => {
    const range = `from=${iso(windowMs)}&to=${iso(endMs)}`
    const paths = [
      '/v1/coins',
      '/v1/btc/markets',
      '/v1/usage',
      '/v1/keys',
      ...['', '/snapshots', '/quotes', '/prices', '/trades', '/coverage', '/export'].map(
        (part) => market + part,
      ),
      `${market}/snapshots/at?ts=${iso(windowMs + 60_000)}`,
      `${market}/fill?outcome=up&side=buy&size=10&ts=${iso(windowMs + 60_000)}`,
      `/v1/btc/spot?${range}`,
      `/v1/btc/panel?timeframe=5m&offsets=-60s&${range}`,
      `/v1/btc/export?timeframe=1h&day=${iso(windowMs).slice(0, 10)}`,
      `/v1/btc/coverage?timeframe=5m&${range}`,
      '/v1/billing/tiers',
      '/v1/billing/subscription',
      '/v1/sample',
      '/swagger/json',
      '/healthz',
      '/readyz',
      '/v1/btc/files',
    ]
    for (const path of paths) {
      const answer = await ask(path)
      expect([path, answer.status, answer.headers.get('bookfeed-mode')]).toEqual([
        path,
        200,
        'test',
      ])
      await answer.body?.cancel()
    }
    const head = await ask(market, { method: 'HEAD' })
    expect([head.status, head.headers.get('bookfeed-mode')]).toEqual([200, 'test'])
    expect(await (await ask(market)).json()).toMatchObject({ source: 'simulated', slug })
  })

  test('behavior: they are what an agent may ask with', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
    const params = { name: 'find_markets', arguments: { coin: 'btc', limit: 1 } }
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const sent = { method: 'POST', headers, body: JSON.stringify({ ...body, params }) }
    const answer = await ask('/mcp', sent)
    expect([answer.status, answer.headers.get('bookfeed-mode')]).toEqual([200, 'test'])
    expect(await answer.text()).toContain('simulated')
  })

  test('behavior: neither sees what the other does', async () => {
    const real = `/v1/${known.both.coin}/markets/${known.both.conditionId}`
    expect((await send(real)).status).toBe(200)
    expect((await readProblem(await ask(real))).code).toBe('unknown_market')
    expect((await readProblem(await send(market))).code).toBe('unknown_market')
    const { data } = (await (await ask('/v1/coins')).json()) as { data: { sources: string[] }[] }
    expect(data.filter(({ sources }) => sources.length > 0)).toMatchObject([{ symbol: 'btc' }])
    expect(JSON.stringify(data)).not.toContain('recorded')
    const file = `/v1/btc/files/${fileNameOf('btc')}`
    expect([(await send(file)).status, (await ask(file)).status]).toEqual([200, 404])
    expect(await (await ask('/v1/btc/files')).json()).toEqual({ data: [], nextCursor: null })
  })

  test('behavior: answers to real keys do not change by a byte, with the header or without', async () => {
    const without = createHarness({ history: known.history })
    const path = `/v1/${known.both.coin}/markets/${known.both.conditionId}/quotes`
    for (const fault of [{}, { 'bookfeed-fault': 'rate_limited' }, { 'bookfeed-fault': 'what' }]) {
      const headers = { ...fault, origin: 'https://example.com', 'x-request-id': 'mine' }
      const [answer, plain] = await Promise.all([
        send(path, { headers }),
        without.send(path, { headers: { ...headers, 'bookfeed-fault': '' } }),
      ])
      expect(answer.status).toBe(200)
      const changing = /^(x-ratelimit|ratelimit|date)/
      const list = ({ headers: sent }: Response) =>
        [...sent].filter((each) => !changing.test(nameOf(each)))
      expect(list(answer)).toEqual(list(plain))
      expect(await answer.text()).toBe(await plain.text())
    }
  })

  test('behavior: anybody gets one, every one is valid, and an address has one window', async () => {
    const made = await sendAs(undefined, '/v1/keys/test', { method: 'POST' })
    expect(made.status).toBe(201)
    const { key } = (await made.json()) as { key: string }
    expect(key).toStartWith(TEST_KEY_PREFIX)
    const left = async (each: string) =>
      Number((await sendAs(each, '/v1/coins')).headers.get('x-ratelimit-remaining'))
    const before = await left(PUBLIC_TEST_KEY)
    expect(await left(key)).toBe(before - 1)
    expect(await left(createApiKey(randomBytes, TEST_KEY_PREFIX))).toBe(before - 2)
    const { tier, days } = (await (await sendAs(key, '/v1/usage')).json()) as {
      tier: object
      days: object[]
    }
    expect(tier).toMatchObject({ id: 'test', requestsPerMinute: 120 })
    expect(days).toMatchObject([{ requests: 1 }])
  })

  test('error: a mistyped one, and every one where there is no test mode', async () => {
    const wrong = `${PUBLIC_TEST_KEY.slice(0, -1)}x`
    const answer = await sendAs(wrong, '/v1/btc/markets')
    expect([answer.status, answer.headers.get('bookfeed-mode')]).toEqual([401, null])
    const none = createHarness()
    expect((await none.sendAs(PUBLIC_TEST_KEY, '/v1/btc/markets')).status).toBe(401)
  })

  test('error: no key is made, or signed up for, in test mode', async () => {
    const body = JSON.stringify({ address: `0x${'1'.repeat(40)}` })
    const headers = { 'content-type': 'application/json' }
    const problem = await readProblem(
      await ask('/v1/keys/challenge', { method: 'POST', headers, body }),
    )
    expect([problem.status, problem.code]).toEqual([503, 'signup_closed'])
  })

  test('default: an agent reads the tools before there are data', async () => {
    const late = createTestGround()
    late.setData(false)
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const call = (method: string, params: object) =>
      late.ask('/mcp', {
        method: 'POST',
        headers,
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
    const clientInfo = { name: 'test', version: '1' }
    const asked = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
    for (const [method, params, part] of [
      ['initialize', asked, 'serverInfo'],
      ['tools/list', {}, 'find_markets'],
      ['tools/call', { name: 'find_markets', arguments: { coin: 'btc' } }, 'unavailable'],
    ] as const) {
      const answer = await call(method, params)
      expect([answer.status, answer.headers.get('bookfeed-mode')]).toEqual([200, 'test'])
      expect(await answer.text()).toContain(part)
    }
    late.setData(true)
    const found = await call('tools/call', { name: 'find_markets', arguments: { coin: 'btc' } })
    expect(await found.text()).toContain('simulated')
  })

  test('behavior: messages of an agent report and use the window of test keys', async () => {
    const agent = createTestGround()
    const post = (body: object, headers: Record<string, string> = {}) =>
      agent.ask('/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: JSON.stringify(body),
      })
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
    const listed = await post(list, { 'bookfeed-fault': 'slow' })
    expect(listed.headers.get('x-ratelimit-limit')).toBe('120')
    expect(agent.slept).toEqual([])
    await post([list, { ...list, id: 2 }])
    const after = await agent.ask('/v1/coins')
    expect(after.headers.get('x-ratelimit-remaining')).toBe('117')
    await agent.test.flushUsage()
    expect(await (await agent.ask('/v1/usage')).json()).toMatchObject({
      days: [{ requests: 3 }],
    })
  })

  test('error: 503 until its data are there, which begins nothing else', async () => {
    const late = createTestGround()
    late.setData(false)
    const answer = await late.ask('/v1/coins')
    expect(answer.headers.get('bookfeed-mode')).toBe('test')
    expect(answer.headers.get('retry-after')).toBe('3')
    expect((await readProblem(answer)).code).toBe('unavailable')
    late.setData(true)
    expect((await late.ask('/v1/coins')).status).toBe(200)
  })
})

describe('Bookfeed-Fault', () => {
  const { ask, askFor, slept } = createTestGround()
  const moment = `${market}/snapshots/at?outcome=up&ts=${iso(windowMs + 150_000)}`

  test('default: rate_limited is 429 with the headers of a window that is used up', async () => {
    const answer = await askFor('rate_limited', '/v1/coins')
    const { headers } = answer
    expect(answer.status).toBe(429)
    expect(headers.get('retry-after')).toBe('1')
    expect(headers.get('ratelimit')).toBe('"minute";r=0;t=1')
    expect(headers.get('x-ratelimit-remaining')).toBe('0')
    expect(await readProblem(answer)).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 1 })
    expect((await ask('/v1/coins')).status).toBe(200)
  })

  test('default: slow is late by a fixed time, and nothing waits for it', async () => {
    const answer = await askFor('slow', '/v1/coins')
    expect([answer.status, slept.splice(0)]).toEqual([200, [SLOW_MS]])
    expect((await askFor('slow', '/v1/btc/markets/nothing')).status).toBe(404)
    expect(slept).toEqual([])
  })

  test('default: stale is an old book, 404 with maxAgeMs, and coverage says so', async () => {
    const { data } = (await (await ask(moment)).json()) as { data: { ageMs: number }[] }
    expect(data[0]?.ageMs).toBeLessThan(5001)
    const old = await askFor('stale', moment)
    const found = (await old.json()) as { data: { ageMs: number }[] }
    expect(found.data[0]?.ageMs).toBeGreaterThan(60_000)
    expect(old.headers.get('x-coverage')).toContain('recorder_down')
    const refused = await askFor('stale', `${moment}&maxAgeMs=10000`)
    expect([refused.status, (await readProblem(refused)).code]).toEqual([404, 'stale'])
  })

  test('default: gap is one in every window, in coverage and in the header', async () => {
    const path = `${market}/coverage`
    const gapsIn = async (answer: Response) =>
      ((await answer.json()) as { outcomes: { gaps: object[] }[] }).outcomes[0]?.gaps
    expect(await gapsIn(await ask(path))).toEqual([])
    expect(await gapsIn(await askFor('gap', path))).toMatchObject([
      { from: iso(windowMs + 115_001), to: iso(windowMs + 180_000), reason: 'recorder_down' },
    ])
    const header = (await askFor('gap', `${market}/quotes`)).headers.get('x-coverage')
    expect(header).toMatch(/^partial;.*gaps=2/)
  })

  test('error: any other is refused by name, with those that there are', async () => {
    for (const fault of ['', 'gaps', 'RATE_LIMITED']) {
      const problem = await readProblem(await askFor(fault, '/v1/coins'))
      expect([problem.status, problem.code, problem.param]).toEqual([
        400,
        'invalid_parameter',
        'Bookfeed-Fault',
      ])
      expect(problem.detail).toContain('rate_limited, stale, gap, slow, payment_pending')
    }
  })
})

describe('the beginning of test mode', () => {
  test('behavior: others are answered between its parts, and what is not there yet is 503', async () => {
    const ground = createTestGround()
    const order: string[] = []
    const first = Promise.resolve(ground.ask('/v1/coins')).then(() => order.push('test'))
    await ground.send('/healthz').then(() => order.push('other'))
    await first
    expect(order).toEqual(['other', 'test'])
    ground.setData(false)
    const refused = await ground.askFor('gap', '/v1/coins')
    expect(refused.headers.get('bookfeed-mode')).toBe('test')
    expect(await readProblem(refused)).toMatchObject({ code: 'unavailable' })
  })
})
