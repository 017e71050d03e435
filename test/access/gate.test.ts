import { afterAll, describe, expect, test } from 'bun:test'

import { addKey, createHarness, NOW_MS } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { readProblem } from '../support/page-client.ts'

const MINUTE_MS = 60_000
const { history, both } = await createMarketHistory()
const market = `/v1/${both.coin}/markets/${both.conditionId}`

/** What the headers of a response say. */
const rateOf = ({ headers }: Response) => ({
  limit: Number(headers.get('x-ratelimit-limit')),
  remaining: Number(headers.get('x-ratelimit-remaining')),
  reset: Number(headers.get('x-ratelimit-reset')),
})

function createServer(tier: string | undefined) {
  const harness = createHarness({ history })
  const key = addKey(harness.ledger, tier)
  const send = (path: string, init?: RequestInit) => harness.sendAs(key, path, init)
  return { ...harness, key, send }
}

describe('rate windows of keys', () => {
  test.each([
    ['free', 10],
    ['starter', 60],
    ['pro', 300],
    ['enterprise', 1000],
  ])(
    'default: %s passes exactly %d requests a window, then 429 until it ends',
    async (tier, limit) => {
      const { send, advance } = createServer(tier)
      for (let window = 0; window < 2; window++) {
        for (let index = 1; index <= limit; index++) {
          const response = await send('/v1/btc/markets?limit=1')
          expect(response.status).toBe(200)
          expect(rateOf(response)).toMatchObject({ limit, remaining: limit - index })
        }
        for (let index = 0; index < 3; index++) {
          const response = await send('/v1/btc/markets?limit=1')
          expect([response.status, rateOf(response).remaining]).toEqual([429, 0])
        }
        advance(MINUTE_MS)
      }
    },
  )

  test('default: waiting exactly Retry-After seconds is enough, and no whole second less', async () => {
    for (const elapsedMs of [0, 1, 999, 1000, 1001, 30_500, 58_999, 59_000.5, 59_999.9]) {
      const { send, advance } = createServer('free')
      for (let index = 0; index < 10; index++) await send('/v1/btc/markets')
      advance(elapsedMs)
      const refused = await send('/v1/btc/markets')
      expect(refused.status).toBe(429)
      const problem = await readProblem(refused)
      const waitSeconds = Number(refused.headers.get('retry-after'))
      expect([problem.code, problem.retryAfterSeconds]).toEqual(['rate_limited', waitSeconds])
      expect(Number.isInteger(waitSeconds) && waitSeconds >= 1).toBe(true)
      expect(rateOf(refused).reset).toBe(Math.ceil((NOW_MS + MINUTE_MS) / 1000))
      advance((waitSeconds - 1) * 1000)
      if (waitSeconds > 1) expect((await send('/v1/btc/markets')).status).toBe(429)
      advance(1000)
      expect((await send('/v1/btc/markets')).status).toBe(200)
    }
  })

  test('behavior: the draft headers say the same as the three', async () => {
    const { send, advance } = createServer('starter')
    await send('/v1/btc/markets')
    advance(12_300)
    const { headers } = await send('/v1/btc/markets')
    expect(headers.get('ratelimit')).toBe('"minute";r=58;t=48')
    expect(headers.get('ratelimit-policy')).toBeNull()
    const refused = await send('/v1/nocoin/markets')
    expect(refused.headers.get('ratelimit-policy')).toBe('"minute";q=60;w=60')
    expect(headers.get('x-ratelimit-remaining')).toBe('58')
  })

  test('behavior: billing has a window of its own, of the same size', async () => {
    const { send } = createServer('free')
    for (let index = 0; index < 11; index++) await send('/v1/btc/markets')
    const first = await send('/v1/billing/tiers')
    const second = await send('/v1/billing/tiers')
    expect([first.status, rateOf(first).remaining, rateOf(second).remaining]).toEqual([200, 9, 8])
    for (let index = 0; index < 8; index++) await send('/v1/billing/tiers')
    expect((await send('/v1/billing/tiers')).status).toBe(429)
  })

  test('behavior: what is outside /v1 tells of the window and takes nothing from it', async () => {
    const { send } = createServer('free')
    await send('/v1/btc/markets')
    for (const path of [
      '/healthz',
      '/readyz',
      '/swagger',
      '/swagger/json',
      '/errors',
      '/nowhere',
      '/v2/x',
      '/',
    ]) {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
        expect([path, rateOf(await send(path, { method }))]).toEqual([
          path,
          expect.objectContaining({ limit: 10, remaining: 9 }),
        ])
      }
    }
    for (let index = 0; index < 9; index++) expect((await send('/v1/btc/markets')).status).toBe(200)
    expect((await send('/healthz')).status).toBe(200)
  })

  test('behavior: everything under /v1 takes one: unknown paths, errors, 304, HEAD, OPTIONS', async () => {
    const { send } = createServer('pro')
    const etag = (await send(`${market}/snapshots`)).headers.get('etag') ?? ''
    const requests: [string, RequestInit, number][] = [
      ['/v1/nowhere', {}, 404],
      ['/v1', {}, 404],
      ['/v1/btc/markets?x=1', {}, 400],
      ['/v1/%zz/markets', {}, 400],
      [`${market}/snapshots`, { headers: { 'if-none-match': etag } }, 304],
      [`${market}/snapshots`, { method: 'HEAD' }, 200],
      [market, { method: 'OPTIONS' }, 204],
      [market, { method: 'DELETE' }, 405],
    ]
    let remaining = 299
    for (const [path, init, status] of requests) {
      const response = await send(path, init)
      remaining--
      expect([path, response.status, rateOf(response).remaining]).toEqual([path, status, remaining])
    }
  })

  test('behavior: a preflight of a browser carries no key and takes nothing', async () => {
    const { sendAs } = createServer('free')
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
    for (let index = 0; index < 20; index++) {
      const response = await sendAs(undefined, '/v1/btc/markets', { method: 'OPTIONS', headers })
      expect([response.status, rateOf(response).remaining]).toEqual([204, 10])
      expect(response.headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS')
      expect(response.headers.get('access-control-allow-headers')).toContain('Authorization')
    }
  })

  test('behavior: a browser may read the headers of every response, refused ones too', async () => {
    const { send } = createServer('free')
    for (const path of ['/v1/btc/markets', '/v1/eth/markets', '/v1/nowhere', '/healthz']) {
      const { headers } = await send(path, { headers: { origin: 'https://a.example' } })
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-expose-headers')).toContain('X-RateLimit-Remaining')
      expect(headers.get('vary')).toContain('Origin')
      const plain = await send(path)
      expect([...plain.headers.keys()].join()).not.toContain('access-control')
    }
  })

  test('behavior: keys of one account have windows of their own; a rotated key shares that of the old', async () => {
    const { send, sendAs, key } = createServer('free')
    for (let index = 0; index < 8; index++) await send('/v1/btc/markets')
    const { data } = (await (await send('/v1/keys')).json()) as { data: { id: string }[] }
    const id = data[0]?.id
    const rotated = await send(`/v1/keys/${id}/rotate`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    expect([rotated.status, rateOf(rotated).remaining]).toEqual([201, 0])
    const { key: successor } = (await rotated.json()) as { key: string }
    expect((await sendAs(successor, '/v1/btc/markets')).status).toBe(429)
    expect((await sendAs(key, '/v1/btc/markets')).status).toBe(429)
  })

  test('behavior: a step of the wall clock opens no window and closes none', async () => {
    const { send, time } = createServer('free')
    for (let index = 0; index < 10; index++) await send('/v1/btc/markets')
    for (const stepMs of [-3_600_000, 7_200_000, -86_400_000]) {
      time.nowMs += stepMs
      expect((await send('/v1/btc/markets')).status).toBe(429)
    }
    time.timerMs += MINUTE_MS
    expect((await send('/v1/btc/markets')).status).toBe(200)
  })
})

describe('rate windows of callers without a valid key', () => {
  const from = (address: string) => ({ requestIP: () => ({ address }) })

  test('default: each address has the Free allowance, and bad keys take from it', async () => {
    const { app } = createServer('free')
    const bad = ['', 'Bearer x', 'Basic eDp5', `Bearer bf_live_${'0'.repeat(33)}`]
    const statuses: number[] = []
    for (let index = 0; index < 12; index++) {
      const headers = { authorization: bad[index % bad.length] ?? '' }
      const request = new Request('http://localhost/v1/btc/markets', { headers })
      statuses.push((await app.fetch(request, from('192.0.2.1'))).status)
    }
    expect(statuses).toEqual([...new Array<number>(10).fill(401), 429, 429])
    const other = await app.fetch(
      new Request('http://localhost/v1/billing/tiers'),
      from('192.0.2.2'),
    )
    expect([other.status, rateOf(other)]).toMatchObject([200, { limit: 10, remaining: 9 }])
  })

  test('behavior: the addresses of one /64 are one caller', async () => {
    const { app } = createServer('free')
    const statuses: number[] = []
    for (let index = 0; index < 12; index++) {
      const peer = from(`2001:db8::${index.toString(16)}:1`)
      statuses.push(
        (await app.fetch(new Request('http://localhost/v1/billing/tiers'), peer)).status,
      )
    }
    expect(statuses).toEqual([...new Array<number>(10).fill(200), 429, 429])
  })

  test('behavior: a used-up address does not touch the keys behind it', async () => {
    const { app, key } = createServer('free')
    for (let index = 0; index < 20; index++) {
      await app.fetch(new Request('http://localhost/v1/btc/markets'), from('192.0.2.1'))
    }
    const headers = { authorization: `Bearer ${key}` }
    const request = new Request('http://localhost/v1/btc/markets', { headers })
    expect((await app.fetch(request, from('192.0.2.1'))).status).toBe(200)
  })
})

describe('a flood over sockets', () => {
  const servers: ReturnType<typeof Bun.serve>[] = []
  afterAll(() => Promise.all(servers.map((server) => server.stop(true))))

  test.each([
    ['free', 10, 1, 100],
    ['starter', 60, 8, 400],
    ['pro', 300, 50, 1500],
  ])(
    'default: %s passes exactly %d, whatever comes at once: %d connections, %d requests',
    async (...[tier, limit, connections, requests]) => {
      const { app, key } = createServer(tier)
      const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: app.fetch })
      servers.push(server)
      const statuses = new Map<number, number>()
      let left = requests
      const attack = async () => {
        while (left-- > 0) {
          const response = await fetch(new URL('/v1/btc/markets?limit=1', server.url), {
            headers: { authorization: `Bearer ${key}` },
          })
          await response.arrayBuffer()
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
        }
      }
      await Promise.all(Array.from({ length: connections }, attack))
      expect(Object.fromEntries(statuses)).toEqual({ 200: limit, 429: requests - limit })
    },
  )
})
