import { describe, expect, test } from 'bun:test'

import {
  Client as Modern,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client as Legacy } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

import { createHarness } from '../../support/harness.ts'
import { createMarketHistory } from '../../support/market-history.ts'
import { createTestGround, openMarket, testHistories } from '../../support/test-mode.ts'

const known = await createMarketHistory()
const { both } = known
const server = createHarness({ history: known.history })
const { conditionId, rows } = both
const { assetIds } = known.history.findMarket(conditionId) ?? {}
/** Another name of the market. */
const otherName = assetIds?.up

const url = new URL('http://localhost/mcp')
const me = { name: 'test', version: '1' }
type Answer = {
  structuredContent?: Record<string, unknown>
  content?: unknown
  isError?: boolean
}
type Agent = {
  call: (name: string, args: Record<string, unknown>) => Promise<Answer>
  client: Modern | Legacy
}

/**
 * Clients that others wrote: of the stateless revision, and of those before it. Both compare what
 * tools answer with the schemas that were listed.
 */
const clients = {
  async modern(key: string | undefined): Promise<Agent> {
    const client = new Modern(me, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    await client.connect(new ModernTransport(url, { fetch: fetchAs(key) }))
    await client.listTools()
    const call = async (name: string, args: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args })) as Answer
    return { client, call }
  },
  async legacy(key: string | undefined): Promise<Agent> {
    const client = new Legacy(me)
    await client.connect(new LegacyTransport(url, { fetch: fetchAs(key) }) as never)
    await client.listTools()
    const call = async (name: string, args: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args })) as Answer
    return { client, call }
  },
}
/** What the answer to the last message of a client said is left. */
let leftNow = Number.NaN
const fetchAs = (key: string | undefined) => async (asked: string | URL, init?: RequestInit) => {
  const response = await server.sendAs(key, new URL(asked).pathname, init)
  leftNow = remainingIn(response)
  return response
}
const remainingIn = ({ headers }: Response) => Number(headers.get('x-ratelimit-remaining'))

const dataOf = ({ structuredContent }: Answer) =>
  structuredContent?.data as Record<string, unknown>[]

describe.each(['modern', 'legacy'] as const)('POST /mcp, by a %s client', (kind) => {
  test('default: lists tools and documents without a key', async () => {
    const { client } = await clients[kind](undefined)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'find_markets',
      'book_as_of',
      'quotes',
      'trades',
      'fill_cost',
      'panel',
      'coverage',
      'spot',
      'export_link',
    ])
    for (const { name, description, inputSchema, outputSchema, annotations } of tools) {
      expect([(description ?? '').length > 60, inputSchema.type]).toEqual([true, 'object'])
      const [answer] = (outputSchema?.anyOf ?? []) as { properties: object }[]
      const members = Object.keys(answer?.properties ?? {})
      expect([name, outputSchema?.type, members.length > 1]).toEqual([name, 'object', true])
      expect(annotations?.readOnlyHint).toBeTrue()
    }
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toContain('bookfeed://docs/data')
    const { contents } = await client.readResource({ uri: 'bookfeed://docs/overview' })
    expect((contents[0] as { text: string }).text).toStartWith('# Bookfeed')
  })

  test('behavior: an answer is that of the route, with its coverage', async () => {
    const { call } = await clients[kind](server.key)
    const found = await call('find_markets', { coin: 'btc', limit: 1 })
    expect(dataOf(found)).toHaveLength(1)
    const quotes = await call('quotes', { coin: 'btc', market: conditionId, limit: 3, full: true })
    const path = `/v1/btc/markets/${conditionId}/quotes?limit=3`
    const route = await server.send(path)
    expect(quotes.structuredContent).toEqual({
      ...((await route.json()) as object),
      coverage: route.headers.get('x-coverage'),
    })
    expect(quotes.content).toEqual([
      { type: 'text', text: JSON.stringify(quotes.structuredContent) },
    ])
  })

  test('behavior: a list has twenty rows, a book five levels a side', async () => {
    const { call } = await clients[kind](server.key)
    expect(dataOf(await call('quotes', { coin: 'btc', market: conditionId }))).toHaveLength(20)
    const ts = rows.at(-1)?.timestampMs
    const book = await call('book_as_of', { coin: 'btc', market: conditionId, ts, outcome: 'up' })
    const deepest = Math.max(
      ...(JSON.stringify(book.structuredContent).match(/"(bids|asks)":\[[^\]]*\]/g) ?? []).map(
        (side) => side.split('"price"').length - 1,
      ),
    )
    expect(deepest).toBe(5)
  })

  test('behavior: each tool answers', async () => {
    const { call } = await clients[kind](server.key)
    const ts = rows.at(-1)?.timestampMs
    const market = { coin: 'btc', market: conditionId }
    for (const [name, args] of [
      ['find_markets', { coin: 'btc' }],
      ['book_as_of', { ...market, ts }],
      ['quotes', { ...market, interval: '10s' }],
      ['trades', { ...market, order: 'desc' }],
      ['fill_cost', { ...market, ts, outcome: 'up', side: 'buy', size: '1' }],
      ['panel', { coin: 'btc', timeframe: '5m', offsets: '-60s' }],
      ['coverage', market],
      ['spot', { coin: 'btc' }],
      ['spot', { coin: 'btc', interval: '1m' }],
    ] as const) {
      for (const full of [false, true]) {
        const { isError = false, structuredContent } = await call(name, { ...args, full })
        expect([name, isError, structuredContent]).toEqual([name, false, expect.any(Object)])
      }
    }
    const { structuredContent: link } = await call('export_link', { ...market, format: 'csv' })
    expect(link?.url).toBe(`http://127.0.0.1:3000/v1/btc/markets/${conditionId}/export?format=csv`)
    expect((await server.send(new URL(String(link?.url)).href.slice(21))).status).toBe(200)
  })

  test('behavior: a request is metered and limited as one of the route', async () => {
    const { call } = await clients[kind](server.key)
    const leftOf = async () => remainingIn(await server.send('/v1/usage'))
    const before = await leftOf()
    await call('coverage', { coin: 'btc', market: conditionId })
    expect(leftNow).toBe(before - 1)
    // The tool's and the last look.
    expect(before - (await leftOf())).toBe(2)
  })

  test('default: a market, a number, a list and a moment are taken in any form', async () => {
    const { call } = await clients[kind](server.key)
    const ts = rows.at(-1)?.timestampMs ?? 0
    const same = async (name: string, forms: readonly Record<string, unknown>[]) => {
      const answers = []
      for (const args of forms) answers.push((await call(name, args)).structuredContent)
      const [first] = answers
      expect(first).not.toHaveProperty('code')
      expect(answers).toEqual(forms.map(() => first))
    }
    await same('quotes', [
      { coin: 'btc', market: conditionId, limit: 3, outcome: 'up' },
      { coin: 'BTC', conditionId, limit: '3', outcome: 'Up' },
      { coin: [' Btc '], market: otherName, limit: 3.0, outcome: ['up'], full: 'false', to: null },
      {
        coin: 'btc',
        conditionId: conditionId.toUpperCase().replace('0X', '0x'),
        limit: 3,
        outcome: 'UP',
        full: false,
      },
    ])
    await same('book_as_of', [
      { coin: 'btc', market: conditionId, ts },
      { coin: 'btc', market: conditionId, ts: String(ts), depth: '5' },
      { coin: 'btc', market: conditionId, ts: ts / 1000 },
      { coin: 'btc', market: conditionId, ts: new Date(ts).toISOString() },
    ])
    await same('book_as_of', [
      { coin: 'btc', market: conditionId, ts: 'now' },
      { coin: 'btc', market: conditionId, ts: server.time.nowMs },
    ])
    const fill = { coin: 'btc', market: conditionId, ts, outcome: 'up', side: 'buy' }
    await same('fill_cost', [
      { ...fill, size: 1.5 },
      { ...fill, size: '1.5' },
    ])
    await same('find_markets', [
      { coin: 'btc', source: 'simulated' },
      { coin: 'btc', source: 'Simulated' },
      { coin: 'btc', source: 'all' },
    ])
    const recorded = await call('find_markets', { coin: 'btc', source: 'recorded' })
    expect(recorded.structuredContent).toMatchObject({ data: [] })
    const panel = { coin: 'btc', timeframe: '5m', limit: 2 }
    await same('panel', [
      { ...panel, offsets: '-240s,-60s' },
      { ...panel, offsets: ['-240s', '-60s'] },
      { ...panel, offsets: [240, '-60'] },
      { ...panel, offsets: ' -240s, -60 ' },
      { ...panel, offsets: ['4 minutes', '-1 minute'] },
      { ...panel, offsets: '240 sec, 60S' },
    ])
    await same('find_markets', [
      { coin: 'btc', market: conditionId },
      { coin: 'btc', conditionId: otherName },
    ])
  })

  test('default: what models send is taken at the first attempt', async () => {
    const { call } = await clients[kind](server.key)
    const ts = '2026-01-01T00:00:30Z'
    const slug = known.history.findMarket(conditionId)?.slug ?? ''
    const page = `https://polymarket.com/event/${slug}`
    const week = { coin: 'btc', from: '2026-01-01', to: '2026-01-02' }
    for (const [name, args, same] of [
      ['find_markets', { coin: 'bitcoin' }, { coin: 'btc' }],
      [
        'find_markets',
        { coin: 'Bitcoin', timeframe: '5 minutes' },
        { coin: 'btc', timeframe: '5m' },
      ],
      ['find_markets', { coin: 'btc', timeframe: 'day' }, { coin: 'btc', timeframe: '1d' }],
      ['find_markets', { coin: 'btc', day: '2026-01-01' }, week],
      ['find_markets', { ...week, withBooks: true }, { ...week, withBooks: 'true' }],
      ['find_markets', { market: page }, { coin: 'btc', market: slug }],
      ['coverage', { market: slug }, { coin: 'btc', market: slug }],
      ['coverage', { market: conditionId }, { coin: 'btc', market: slug }],
      ['coverage', { market: page }, { coin: 'btc', market: slug }],
      ['coverage', { conditionId: `${page}/${slug}?tid=1#top` }, { coin: 'btc', market: slug }],
      ['coverage', { market: `polymarket.com/event/${slug}/` }, { coin: 'btc', market: slug }],
      ['trades', { market: slug, limit: 3 }, { coin: 'btc', market: slug, limit: 3 }],
      ['quotes', { market: slug, interval: 10 }, { coin: 'btc', market: slug, interval: '10s' }],
      ['quotes', { market: slug, interval: 60 }, { coin: 'btc', market: slug, interval: '1m' }],
      [
        'quotes',
        { market: slug, interval: '1 min' },
        { coin: 'btc', market: slug, interval: '1m' },
      ],
      ['quotes', { market: slug, interval: 'hour' }, { coin: 'btc', market: slug, interval: '1h' }],
      ['quotes', { market: slug, day: '2026-01-01' }, { ...week, market: slug }],
      ['quotes', { market: slug, day: '2026-01-01T12:00:00Z' }, { ...week, market: slug }],
      ['spot', { coin: 'BITCOIN', day: '2026-01-01' }, week],
      ['coverage', { market: slug, day: '2026-01-01' }, { ...week, market: slug }],
      ['coverage', { slug }, { market: slug }],
      ['coverage', { condition_id: conditionId, symbol: 'btc' }, { market: slug }],
      [
        'quotes',
        { slug, start: '2026-01-01', end: '2026-01-02', order: 'ascending' },
        { ...week, market: slug, order: 'asc' },
      ],
      ['find_markets', { ...week, with_books: true }, { ...week, withBooks: 'true' }],
      ['find_markets', { ...week, status: 'Active' }, { ...week, status: 'open' }],
      ['find_markets', { coin: 'btc', slug }, { coin: 'btc', slug, symbol: null }],
      [
        'book_as_of',
        { slug, time: ts, max_age_ms: 60_000 },
        { market: slug, ts, maxAgeMs: 60_000 },
      ],
      ['book_as_of', { market: slug, timestamp: ts }, { market: slug, ts }],
      ['book_as_of', { market: slug, at: '2026-01-01 00:00:30' }, { market: slug, ts }],
      [
        'fill_cost',
        { slug, at: ts, outcome: 'up', side: 'buy', size: 1, limit_price: 0.9, fee_bps: 1 },
        { market: slug, ts, outcome: 'up', side: 'buy', size: 1, limitPrice: 0.9, feeBps: 1 },
      ],
      [
        'book_as_of',
        { market: slug, ts: '2026-01-01 00:00:30' },
        { coin: 'btc', market: slug, ts },
      ],
      ['book_as_of', { market: slug, ts: '2026-01-02' }, { market: slug, ts: '2026-01-02T00:00' }],
      [
        'panel',
        { coin: 'bitcoin', timeframe: '5min', offsets: ['60s', 5], day: '2026-01-01' },
        { ...week, timeframe: '5m', offsets: '-60s,-5s' },
      ],
      [
        'export_link',
        { coin: 'bitcoin', day: '2026-01-01', timeframe: '5 minutes', format: 'CSV' },
        { coin: 'btc', day: '2026-01-01', timeframe: '5m', format: 'csv' },
      ],
      ['export_link', { market: page }, { coin: 'btc', market: slug }],
    ] as const) {
      const [answer, expected] = [await call(name, args), await call(name, same)]
      expect([name, args, answer.isError ?? false]).toEqual([name, args, false])
      expect([name, args, answer.structuredContent]).toEqual([
        name,
        args,
        expected.structuredContent,
      ])
    }
    const today = await call('find_markets', { coin: 'btc', day: 'today' })
    expect(today.structuredContent).toEqual(
      (await call('find_markets', { coin: 'btc', day: server.time.nowMs })).structuredContent,
    )
  })

  test('default: the slug of an epoch is taken without the coin that it begins with', async () => {
    const { call } = await clients[kind](server.key)
    const market = 'updown-5m-1776153600'
    const { structuredContent } = await call('coverage', { coin: 'btc', market })
    expect(structuredContent).toMatchObject({
      code: 'unknown_market',
      detail: expect.stringContaining(`btc-${market}`),
    })
  })

  test('default: `covered` is of both outcomes, one of which may be recorded alone', async () => {
    const { call } = await clients[kind](server.key)
    const { single } = known
    const [market] = dataOf(await call('find_markets', { market: single.conditionId }))
    const route = await server.send(`/v1/eth/markets/${single.conditionId}`)
    const { outcomes } = (await route.json()) as {
      outcomes: { coverage: { covered: number | null } }[]
    }
    const [up, down] = outcomes.map(({ coverage }) => coverage.covered)
    expect(market?.covered).toEqual({ up: up ?? null, down: down ?? null })
    expect([Number(up) > 0, Number(down)]).toEqual([true, 0])
  })

  test('error: without a key, or of what is not there, it says what to do', async () => {
    const stranger = await clients[kind](undefined)
    expect(await stranger.call('spot', { coin: 'btc' })).toMatchObject({
      isError: true,
      structuredContent: { code: 'unauthenticated', status: 401 },
    })
    const { call } = await clients[kind](server.key)
    expect(await call('coverage', { coin: 'btc', market: 'no-such-market' })).toMatchObject({
      isError: true,
      structuredContent: { status: expect.any(Number), detail: expect.any(String) },
    })
  })

  test('error: an argument that is wrong is named, as a parameter of the route is', async () => {
    const { call } = await clients[kind](server.key)
    const market = { coin: 'btc', market: conditionId }
    for (const [name, args, param] of [
      ['quotes', { coin: 'btc' }, 'market'],
      ['quotes', { market: 'btc-updown-5m-1' }, 'coin'],
      ['find_markets', {}, 'coin'],
      ['find_markets', { coin: 'btc', day: '2026-01-01', from: '2026-01-01' }, 'day'],
      ['find_markets', { coin: 'btc', day: 'the first' }, 'day'],
      ['find_markets', { market: conditionId, day: '2026-01-01' }, 'day'],
      ['quotes', { ...market, interval: 11 }, 'interval'],
      ['quotes', { ...market, from: '2026-02-30' }, 'from'],
      ['quotes', { ...market, coin: 'nocoin' }, 'coin'],
      ['coverage', { ...market, market: 'no such market' }, 'market'],
      ['coverage', { ...market, market: '..' }, 'market'],
      ['export_link', { ...market, market: '' }, 'market'],
      ['quotes', { ...market, limit: 101 }, 'limit'],
      ['quotes', { ...market, limit: '20.5' }, 'limit'],
      ['quotes', { ...market, limit: { max: 5 } }, 'limit'],
      ['quotes', { ...market, conditionId: 'another' }, 'conditionId'],
      ['quotes', { ...market, full: 'maybe' }, 'full'],
      ['find_markets', { ...market, status: 'open' }, 'status'],
      ['quotes', { ...market, fields: 'bid' }, 'fields'],
      ['fill_cost', { ...market, ts: true }, 'ts'],
      ['export_link', { coin: 'btc', format: 'xml' }, 'format'],
      ['export_link', { ...market, more: 1 }, 'more'],
      ['coverage', { ...market, slug: 'another' }, 'market'],
      ['book_as_of', { ...market, at: 'now', ts: 'now' }, 'ts'],
      ['book_as_of', { ...market, at: 'now', time: 'now' }, 'ts'],
      ['quotes', { ...market, time: 'now' }, 'time'],
      ['spot', { coin: 'btc', slug: 'btc' }, 'slug'],
      ['spot', { coin: 'btc', toString: 'btc' }, 'toString'],
      ['panel', { coin: 'btc', timeframe: '5m', offsets: '1 week' }, 'offsets'],
    ] as const) {
      const { isError, structuredContent } = await call(name, args)
      expect([isError, structuredContent]).toMatchObject([
        true,
        { code: 'invalid_parameter', status: 400, param, requestId: expect.any(String) },
      ])
    }
  })
})

describe('answers of tools', () => {
  const { ask } = createTestGround()
  async function call(name: string, args: Record<string, unknown>, send = ask) {
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args },
    }
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const answer = await send('/mcp', { method: 'POST', headers, body: JSON.stringify(message) })
    const text = await answer.text()
    const line = text.split('\n').find((each) => each.startsWith('data: {'))
    const { result } = JSON.parse(line?.slice(6) ?? text) as { result: Answer }
    return { result, bytes: text.length, data: dataOf(result) }
  }

  test('default: a market of the test data is found by any name without its coin', async () => {
    const market = openMarket.slug
    const ts = openMarket.windowMs + 60_000
    const fill = { ts, outcome: 'up', side: 'buy', size: 1 }
    const found = testHistories.day.findMarketBySlug(market)
    for (const name of [market, found?.conditionId, found?.assetIds?.up]) {
      for (const [tool, args] of [
        ['find_markets', {}],
        ['book_as_of', { ts }],
        ['quotes', { limit: 2 }],
        ['trades', { limit: 2 }],
        ['fill_cost', fill],
        ['coverage', {}],
        ['export_link', {}],
      ] as const) {
        const { result } = await call(tool, { ...args, market: name })
        const expected = await call(tool, { ...args, coin: 'btc', market: name })
        expect([tool, result.isError ?? false]).toEqual([tool, false])
        expect([tool, result]).toEqual([tool, expected.result])
      }
    }
  })

  test('error: a name is looked up once the test data are made', async () => {
    const ground = createTestGround()
    ground.setData(false)
    const { result } = await call('coverage', { market: openMarket.slug }, ground.ask)
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { code: 'unavailable', retryAfterSeconds: 3 },
    })
    ground.setData(true)
    const again = await call('coverage', { market: openMarket.slug }, ground.ask)
    expect(again.result.isError ?? false).toBeFalse()
  })

  test('default: ten markets are at most 8 kB, text and structure together; full is the route', async () => {
    const { bytes, data } = await call('find_markets', {
      coin: 'btc',
      limit: 10,
      status: 'resolved',
    })
    expect(data.length).toBeGreaterThan(5)
    expect(bytes / data.length).toBeLessThan(800)
    const [first] = data
    expect(Object.keys(first ?? {})).toEqual([
      'conditionId',
      'slug',
      'timeframe',
      'source',
      'status',
      'windowStart',
      'strike',
      'finalPrice',
      'winner',
      'covered',
    ])
    const full = await call('find_markets', {
      coin: 'btc',
      limit: 1,
      status: 'resolved',
      full: true,
    })
    const route = await ask('/v1/btc/markets?limit=1')
    const { data: rowsOfRoute } = (await route.json()) as { data: object[] }
    expect<object[]>(full.data).toEqual(rowsOfRoute)
  })

  test('default: every tool leaves out what repeats, and full has it', async () => {
    const market = { coin: 'btc', market: openMarket.slug }
    const ts = openMarket.windowMs + 60_000
    for (const [name, args, gone] of [
      ['book_as_of', { ...market, ts }, 'assetId'],
      ['quotes', { ...market, limit: 1 }, '"id"'],
      ['fill_cost', { ...market, ts, outcome: 'up', side: 'buy', size: 500 }, 'levels":'],
      ['coverage', market, 'intervals'],
      ['spot', { coin: 'btc', limit: 1 }, 'sequence'],
    ] as const) {
      const short = await call(name, args)
      const full = await call(name, { ...args, full: true })
      expect([name, short.bytes < full.bytes]).toEqual([name, true])
      expect(JSON.stringify(short.result)).not.toContain(gone)
      expect(JSON.stringify(full.result.structuredContent)).toContain(gone)
    }
  })
})

describe('POST /mcp', () => {
  test.each([
    ['*/*', 'application/json'],
    [undefined, 'application/json'],
    ['application/json', 'application/json'],
    ['application/*;q=0.9, text/html', 'application/json'],
    ['application/json, text/event-stream', 'text/event-stream'],
    ['text/event-stream, */*', 'text/event-stream'],
  ])('default: Accept %s is answered with %s', async (accept, type) => {
    for (const message of [
      { method: 'tools/list' },
      { method: 'tools/call', params: { name: 'find_markets', arguments: { coin: 'btc' } } },
    ]) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })
      const headers = new Headers({ 'content-type': 'application/json' })
      if (accept !== undefined) headers.set('accept', accept)
      const response = await server.send('/mcp', { method: 'POST', headers, body })
      const text = await response.text()
      expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
      const json = type === 'application/json' ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '')
      expect(JSON.parse(json)).toMatchObject({ id: 1, result: expect.any(Object) })
      // No field of a length that is another's.
      const length = response.headers.get('content-length')
      expect(length).toBe(String(Buffer.byteLength(text)))
    }
  })

  test('error: a client that takes neither form is told so', async () => {
    const headers = { 'content-type': 'application/json', accept: 'text/html' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const { status } = await server.send('/mcp', { method: 'POST', headers, body })
    expect(status).toBe(406)
  })

  test('error: what is no message is refused, and there is no other method', async () => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const send = (body: string) => server.send('/mcp', { method: 'POST', headers, body })
    expect((await send('{')).status).toBe(400)
    expect((await send('[]')).status).toBe(400)
    expect((await send(`"${'x'.repeat(2_000_000)}"`)).status).toBe(413)
    const { status } = await server.send('/mcp')
    expect(status).toBe(405)
  })
})
