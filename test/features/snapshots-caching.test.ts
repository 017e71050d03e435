import { describe, expect, test } from 'bun:test'

import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'
import { appendRows, createMarketHistory, rowsAt } from '../support/market-history.ts'
import { readProblem, type Send } from '../support/page-client.ts'
import { stableHeaders } from '../support/stable-headers.ts'

const { history, both, open, empty } = await createMarketHistory()
const { send } = createHarness({ history })

const accept = (encoding: string): RequestInit => ({ headers: { 'accept-encoding': encoding } })
const unlessMatch = (tag: string, encoding = 'identity'): RequestInit => ({
  headers: { 'if-none-match': tag, 'accept-encoding': encoding },
})
const etagOf = async (sender: Send, path: string, init?: RequestInit): Promise<string> =>
  (await sender(path, init)).headers.get('etag') ?? ''
const bytesOf = async (response: Response) => new Uint8Array(await response.arrayBuffer())

describe('Accept-Encoding', () => {
  const gzipped = [
    'gzip',
    'GZIP',
    'x-gzip',
    '*',
    'gzip, deflate, br, zstd',
    'br;q=1.0, gzip;q=0.001',
    'identity;q=0, *;q=0.5',
    'deflate,gzip;q=1',
    'gzip ; q=0.5',
  ]
  const plain = [
    '',
    'identity',
    'br',
    'gzip;q=0',
    'gzip;q=0.000',
    'gzip;q=0, *',
    '*;q=0',
    'gzipped',
    'gzip;q=x',
  ]

  test.each(gzipped)(
    'behavior: "%s" is answered with gzip of the identical bytes',
    async (header) => {
      for (const path of [both.path, open.path, empty.path, `${both.path}?order=desc&limit=7`]) {
        const identity = await bytesOf(await send(path))
        const response = await send(path, accept(header))
        expect(response.headers.get('content-encoding')).toBe('gzip')
        const body = await bytesOf(response)
        expect(response.headers.get('content-length')).toBe(String(body.length))
        expect(Bun.gunzipSync(body)).toEqual(identity)
      }
    },
  )

  test.each(plain)('behavior: "%s" is answered plainly', async (header) => {
    const response = await send(both.path, accept(header))
    expect(response.headers.get('content-encoding')).toBeNull()
    expect(await response.json()).toContainKeys(['data', 'nextCursor'])
  })

  test('behavior: every answer says that it varies', async () => {
    for (const header of ['gzip', 'identity', 'gzip;q=0']) {
      expect((await send(both.path, accept(header))).headers.get('vary')).toBe(
        'Accept-Encoding, Origin',
      )
    }
  })

  test('behavior: gzip stays whole at every cut of a chunk', async () => {
    const decoder = new TextDecoder()
    for (const [from, limit] of [
      [0, 1],
      [1, 99],
      [99, 2],
      [98, 205],
      [100, 100],
      [199, 131],
    ] as const) {
      const rows = both.rows.slice(from, from + limit)
      const path = `${both.path}?limit=${limit}&from=${rows[0]?.timestampMs}`
      const zipped = decoder.decode(Bun.gunzipSync(await bytesOf(await send(path, accept('gzip')))))
      expect(zipped).toBe(await (await send(path)).text())
    }
  })
})

describe('ETag', () => {
  test('default: is strong, and the same for the same page again, from any server of the history', async () => {
    const tag = await etagOf(send, both.path)
    expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/)
    expect(await etagOf(send, both.path)).toBe(tag)
    expect(await etagOf(createHarness({ history }).send, both.path)).toBe(tag)
    expect(await etagOf(send, `${both.path}?order=asc&limit=100`)).toBe(tag)
  })

  test('behavior: differs by encoding, by each parameter, by page and by market', async () => {
    const { headers } = await send(both.path)
    const from = both.rows[50]?.timestampMs ?? 0
    const queries = ['', '?limit=99', '?outcome=up', '?outcome=down', '?order=desc']
    queries.push(`?from=${from}`, `?to=${from}`, `?from=${from + 1}`, `?to=${from + 1}`)
    queries.push('?from=0', `?cursor=${headers.get('x-resume-cursor')}`)
    const pages = queries.map((query) => both.path + query).concat(open.path, empty.path)
    const tags = pages.flatMap((path) => [etagOf(send, path), etagOf(send, path, accept('gzip'))])
    expect(new Set(await Promise.all(tags)).size).toBe(tags.length)
  })

  test.each(['snapshots', 'quotes', 'prices', 'heatmap', 'export'])(
    'behavior: of %s, compressed, it is the plain one with an ending, and names what it is of',
    async (name) => {
      const path = both.path.replace(/snapshots$/, name)
      const plain = await etagOf(send, path)
      expect(plain.startsWith(`"${name}.`)).toBeTrue()
      expect(await etagOf(send, path, accept('gzip'))).toBe(plain.replace(/"$/, '.gzip"'))
    },
  )

  test('behavior: differs between two histories with the same markets', async () => {
    const other = createHarness({ history: (await createMarketHistory()).history })
    expect(await etagOf(other.send, both.path)).not.toBe(await etagOf(send, both.path))
  })

  test.each(['gzip', 'identity'])(
    'behavior: sent back it is answered with 304, its headers and no body (%s)',
    async (encoding) => {
      const first = await send(both.path, accept(encoding))
      const tag = first.headers.get('etag') ?? ''
      const other = await etagOf(send, both.path, accept(encoding === 'gzip' ? 'br' : 'gzip'))
      const headers = [tag, `W/${tag}`, `"a", ${tag}`, `${other},${tag} ,"b"`, '*', `"x,y", ${tag}`]
      for (const header of headers) {
        const response = await send(both.path, unlessMatch(header, encoding))
        expect([header, response.status, await response.text()]).toEqual([header, 304, ''])
        for (const name of ['etag', 'cache-control', 'vary']) {
          expect([name, response.headers.get(name)]).toEqual([name, first.headers.get(name)])
        }
        for (const name of ['content-type', 'content-length', 'content-encoding']) {
          expect([name, response.headers.get(name)]).toEqual([name, null])
        }
        expect(response.headers.get('x-request-id')).toStartWith('req_')
      }
    },
  )

  test('behavior: one of another page, encoding or spelling is answered in full', async () => {
    const tag = await etagOf(send, both.path)
    const gzip = await etagOf(send, both.path, accept('gzip'))
    for (const header of [gzip, tag.slice(1, -1), `"${tag}"`, '"*"', '', ',', `${tag}x`, 'W/""']) {
      const response = await send(both.path, unlessMatch(header))
      expect([header, response.status]).toEqual([header, 200])
    }
  })

  test('error: a refused request is refused whatever it holds already', async () => {
    for (const path of [
      `${both.path}?limit=0`,
      `${both.path}?cursor=x`,
      '/v1/btc/markets/0x0/snapshots',
    ]) {
      expect((await readProblem(await send(path, unlessMatch('*')))).status).toBe(400)
    }
  })
})

describe('Cache-Control', () => {
  test('default: a closed market may be kept a minute, an open or empty one must be asked for', async () => {
    const values = [both, open, empty].map(async ({ path }) =>
      (await send(path)).headers.get('cache-control'),
    )
    expect(await Promise.all(values)).toEqual([
      'private, max-age=60, immutable',
      'private, no-cache',
      'private, no-cache',
    ])
  })

  test('behavior: closing a market changes it', async () => {
    const { history: live, open: market } = await createMarketHistory()
    const { send: sendLive } = createHarness({ history: live })
    const tag = await etagOf(sendLive, market.path)
    const text = await (await sendLive(market.path)).text()
    await live.close(market.conditionId)
    const closed = await sendLive(market.path)
    expect(closed.headers.get('cache-control')).toContain('immutable')
    expect(closed.headers.get('etag')).not.toBe(tag)
    expect(await closed.text()).toBe(text)
  })
})

describe('pages kept in memory', () => {
  const sizes = ['0', '1', '64']

  test.each(sizes)('default: the same page again is the same bytes (%s MiB)', async (megabytes) => {
    const config = readConfig({ BOOKFEED_PAGE_CACHE_MB: megabytes })
    const { send: sendOwn } = createHarness({ history, config })
    for (const path of [both.path, open.path, `${both.path}?order=desc&outcome=up`]) {
      for (const encoding of ['gzip', 'identity']) {
        const first = await sendOwn(path, accept(encoding))
        const body = await bytesOf(first)
        for (let round = 0; round < 3; round++) {
          const again = await sendOwn(path, accept(encoding))
          expect(stableHeaders(again, ownId)).toEqual(stableHeaders(first, ownId))
          expect(await bytesOf(again)).toEqual(body)
        }
      }
    }
  })

  test.each(sizes)(
    'behavior: an answer that is read late is still its own (%s MiB)',
    async (mb) => {
      const config = readConfig({ BOOKFEED_PAGE_CACHE_MB: mb })
      const { send: sendOwn } = createHarness({ history, config })
      const queries = Array.from({ length: 30 }, (_, index) => `?limit=${1 + (index % 10) * 33}`)
      const asked = ['gzip', 'identity'].flatMap((encoding) =>
        queries.flatMap((query) => [
          { path: both.path + query, encoding },
          { path: `${both.path + query}&order=desc`, encoding },
        ]),
      )
      const responses: Response[] = []
      for (const { path, encoding } of asked) responses.push(await sendOwn(path, accept(encoding)))
      for (const [index, { path, encoding }] of asked.entries()) {
        const alone = await bytesOf(await send(path, accept(encoding)))
        expect(await bytesOf(responses[index] ?? new Response())).toEqual(alone)
      }
    },
  )

  test.each(sizes)(
    'behavior: a late backfill is seen at once, under a new ETag (%s MiB)',
    async (mb) => {
      const { history: live, both: market, open: other } = await createMarketHistory()
      const config = readConfig({ BOOKFEED_PAGE_CACHE_MB: mb })
      const { send: sendLive } = createHarness({ history: live, config })
      const tags = new Set<string>()
      const otherTag = await etagOf(sendLive, other.path)
      for (let round = 0; round < 4; round++) {
        for (const encoding of ['gzip', 'identity']) {
          const response = await sendLive(`${market.path}?limit=1000`, accept(encoding))
          tags.add(response.headers.get('etag') ?? '')
          const bytes = await bytesOf(response)
          const text = new TextDecoder().decode(encoding === 'gzip' ? Bun.gunzipSync(bytes) : bytes)
          expect(JSON.parse(text).data).toHaveLength(330 + round)
        }
        const timestampMs = market.rows[100]?.timestampMs ?? 0
        await appendRows(live, market, rowsAt(market, [timestampMs]))
      }
      expect(tags.size).toBe(8)
      expect(await etagOf(sendLive, other.path)).toBe(otherTag)
    },
  )

  test('behavior: a backfill that is known already changes nothing', async () => {
    const { history: live, both: market } = await createMarketHistory()
    const { send: sendLive } = createHarness({ history: live })
    const tag = await etagOf(sendLive, market.path)
    const { rows } = market
    await live.append({ id: 'again', source: 'simulated', snapshots: rows.slice(40, 90) })
    expect(await etagOf(sendLive, market.path)).toBe(tag)
  })
})

describe('HEAD', () => {
  test.each(['gzip', 'identity'])(
    'default: has the headers of GET and no body (%s)',
    async (encoding) => {
      const failing = [`${both.path}?limit=0`, '/v1/nocoin/markets/0x0/snapshots']
      for (const path of [both.path, open.path, empty.path, ...failing]) {
        const headers = { 'accept-encoding': encoding, 'x-request-id': 'same' }
        const get = await send(path, { headers })
        const head = await send(path, { headers, method: 'HEAD' })
        expect([path, head.status, await head.text()]).toEqual([path, get.status, ''])
        const length = String((await bytesOf(get)).length)
        expect(head.headers.get('content-length')).toBe(length)
        expect(stableHeaders(head)).toEqual(stableHeaders(get))
      }
    },
  )

  test('behavior: is 304 where GET is', async () => {
    const tag = await etagOf(send, both.path)
    const head = await send(both.path, { ...unlessMatch(tag), method: 'HEAD' })
    expect([head.status, head.headers.get('etag')]).toEqual([304, tag])
  })
})

/** Each request has one of its own. */
const ownId = ['x-request-id']
