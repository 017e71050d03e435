import { afterAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'

import type { Snapshot } from '#src/domain/snapshot.ts'
import { openHistory } from '#src/history/open.ts'

import { asRecorded } from '../support/as-recorded.ts'
import { exportOf } from '../support/export-lines.ts'
import { addKey, createHarness } from '../support/harness.ts'
import { appendRows, createMarketHistory, rowsAt } from '../support/market-history.ts'
import { readProblem } from '../support/page-client.ts'

const { history, both, single } = await createMarketHistory(asRecorded(openHistory(':memory:')))
const { app, send, sendAs, ledger, key } = createHarness({ history })

const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: app.fetch })
afterAll(() => server.stop(true))

/** Sends bytes and returns all that comes back until the server closes. */
function exchange(bytes: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const parts: Buffer[] = []
  const socket = connect(server.port ?? 0, '127.0.0.1', () => socket.write(bytes))
  socket.on('data', (part) => parts.push(Buffer.from(part)))
  socket.on('error', reject)
  socket.on('close', () => resolve(Buffer.concat(parts).toString('latin1')))
  return promise
}

/** Names of the headers of an answer, without those of the connection. */
const namesOf = (answer = ''): string[] =>
  [...(answer.split('\r\n\r\n')[0] ?? '').matchAll(/\r\n([\w-]+):/g)]
    .map(([, name = '']) => name.toLowerCase())
    .filter((name) => name !== 'connection' && name !== 'date')
    .sort()

describe('GET /v1/exports', () => {
  const list = async (token = key) => {
    const response = await sendAs(token, '/v1/exports')
    return ((await response.json()) as { data: Record<string, unknown>[] }).data
  }
  const find = async (id: string | null) => (await list()).find(({ exportId }) => exportId === id)

  test.each(['ndjson', 'csv', 'parquet'])(
    'default: has the digest of what was sent: %s',
    async (format) => {
      for (const encoding of ['identity', 'gzip']) {
        const headers = { 'accept-encoding': encoding }
        const response = await send(exportOf(both, { format }), { headers })
        const id = response.headers.get('x-export-id')
        expect(await find(id)).toBeUndefined()
        const reader = response.body?.getReader()
        const parts: Uint8Array[] = []
        for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
          if (parts.length === 0) expect(await find(id)).toMatchObject({ state: 'running' })
          parts.push(part.value)
        }
        const bytes = Buffer.concat(parts)
        expect(await find(id)).toMatchObject({
          state: 'complete',
          format,
          snapshots: both.rows.length,
          bytes: bytes.length,
          sha256: new Bun.CryptoHasher('sha256').update(bytes).digest('hex'),
        })
      }
    },
  )

  test('case cancelled: says so, and no more is made', async () => {
    const response = await send(exportOf(both))
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    const record = await find(response.headers.get('x-export-id'))
    expect(record).toMatchObject({ state: 'broken_off', sha256: null })
    expect(record?.snapshots).toBeLessThan(both.rows.length)
  })

  test('behavior: newest first, twenty of them, and nobody else sees them', async () => {
    const other = addKey(ledger, 'pro')
    expect(await list(other)).toEqual([])
    let last: string | null = null
    for (let count = 0; count < 21; count++) {
      const response = await sendAs(other, exportOf(both))
      await response.arrayBuffer()
      last = response.headers.get('x-export-id')
    }
    const own = await list(other)
    expect([own.length, own[0]?.exportId]).toEqual([20, last])
  })
})

describe('exports beside writers and readers', () => {
  test('usage: counts the bytes sent when they have been', async () => {
    const own = createHarness({ history })
    const bytes = (await (await own.send(exportOf(both))).arrayBuffer()).byteLength
    await own.app.flushUsage()
    const usage = (await (await own.send('/v1/usage')).json()) as {
      data?: unknown
    }
    expect(JSON.stringify(usage)).toContain(`"bytes":${bytes}`)
  })

  test('behavior: a killed process loses no bytes of a stream that were flushed, and none counts twice', async () => {
    const own = createHarness({ history })
    const accountId = own.ledger.listKeys()[0]?.accountId ?? ''
    const countedOf = () =>
      own.ledger.usageOf(accountId, '2026-01-01').map(({ requests, bytes }) => [requests, bytes])
    const response = await own.send(exportOf(both))
    await own.app.flushUsage()
    expect(countedOf()).toEqual([])
    let sent = 0
    const reader = response.body?.getReader()
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
      sent += part.value.length
      await own.app.flushUsage()
      expect(countedOf()).toEqual([[1, sent]])
    }
    await own.app.flushUsage()
    expect(countedOf()).toEqual([[1, sent]])
  })

  test('behavior: over midnight the bytes of a stream belong to the days on which they were sent', async () => {
    const own = createHarness({ history })
    const reader = (await own.send(exportOf(both))).body?.getReader()
    const first = (await reader?.read())?.value?.length
    own.advance(24 * 3_600_000)
    const second = (await reader?.read())?.value?.length
    await reader?.cancel()
    await own.app.flushUsage()
    const rows = own.ledger.usageOf(own.ledger.listKeys()[0]?.accountId ?? '', '2026-01-01')
    expect(rows.map(({ day, requests, bytes }) => [day, requests, bytes])).toEqual([
      ['2026-01-02', 1, first],
      ['2026-01-03', 0, second],
    ])
  })

  test('log: the line of a stream is written at its end, with its length', async () => {
    const own = createHarness({ history })
    const response = await own.send(exportOf(both))
    expect(own.lines).toEqual([])
    const { byteLength } = await response.arrayBuffer()
    expect(own.lines.join('')).toContain(`"bytes":${byteLength}`)
  })

  test('HEAD: the same headers, and nothing is made or listed', async () => {
    const response = await send(exportOf(both), { method: 'HEAD' })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-export-id')).toStartWith('exp_')
    expect(await response.text()).toBe('')
  })

  test.each(['ndjson', 'csv', 'parquet'])(
    'behavior: HEAD has the headers of GET on the wire, and the connection stays in step: %s',
    async (format) => {
      const ask = (method: string, path: string, more = '') =>
        `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${more}\r\n`
      const address = exportOf(both, { format })
      const close = 'Connection: close\r\n'
      const heads = await exchange(
        ask('HEAD', address) + ask('HEAD', address) + ask('GET', '/healthz', close),
      )
      const got = await exchange(ask('GET', address, close))
      const [first, second, health, ...rest] = heads.split(/(?=HTTP\/1\.1 200 OK\r\n)/)
      expect(rest).toEqual([])
      expect(namesOf(first)).toEqual(namesOf(got))
      expect(namesOf(first)).not.toContain('content-length')
      expect(namesOf(second)).toEqual(namesOf(got))
      for (const head of [first, second]) expect(head).toEndWith('\r\n\r\n')
      expect(health).toContain('"status":"ok"')
    },
  )

  test('behavior: a stream may stay untaken for as long as the documents say', async () => {
    const seconds: number[] = []
    const peers = {
      requestIP: () => null,
      timeout: (_: Request, told: number) => void seconds.push(told),
    }
    const headers = { authorization: `Bearer ${key}` }
    const request = new Request(`http://localhost${exportOf(both)}`, { headers })
    await (await app.fetch(request, peers)).body?.cancel()
    const said = `reads nothing for ${seconds.at(-1)} seconds is closed`
    const document = await (await send('/swagger/json')).text()
    // Two exports and three streams of events.
    expect(document.split(said)).toHaveLength(6)
    expect(await Bun.file(new URL('../../docs/data.md', import.meta.url)).text()).toContain(said)
  })

  test('304: what did not change is not sent again', async () => {
    const first = await send(exportOf(both))
    await first.body?.cancel()
    const again = await send(exportOf(both), {
      headers: { 'if-none-match': first.headers.get('etag') ?? '' },
    })
    expect(again.status).toBe(304)
  })

  test('case a row added meanwhile: is sent if it lies behind', async () => {
    const world = await createMarketHistory(asRecorded(openHistory(':memory:')))
    const own = createHarness({ history: world.history })
    const response = await own.send(exportOf(world.open))
    const reader = response.body?.getReader()
    const first = await reader?.read()
    const lastMs = Math.max(...world.open.rows.map((row: Snapshot) => row.timestampMs))
    await appendRows(world.history, world.open, rowsAt(world.open, [lastMs + 5]))
    let text = new TextDecoder().decode(first?.value)
    for (;;) {
      const next = await reader?.read()
      if (next === undefined || next.done) break
      text += new TextDecoder().decode(next.value)
    }
    const times = text.trimEnd().split('\n')
    expect(times).toHaveLength(world.open.rows.length)
    expect(times.at(-1)).toContain(new Date(lastMs + 5).toISOString())
  })
})

describe('exports: bad input', () => {
  test.each([
    [{ format: 'xlsx' }, 'format'],
    [{ shape: 'levels' }, 'shape'],
    [{ depth: '5' }, 'depth'],
    [{ format: 'csv', depth: '0' }, 'depth'],
    [{ format: 'csv', shape: 'states', depth: '26' }, 'depth'],
    [{ format: 'parquet', after: '1' }, 'after'],
    [{ after: '999999999' }, 'after'],
    [{ after: '-1' }, 'after'],
    [{ from: '2000000000', to: '1900000000' }, 'to'],
    [{ limit: '10' }, 'limit'],
  ])('%p is refused, naming %s', async (params, param) => {
    const problem = await readProblem(await send(exportOf(both, params as Record<string, string>)))
    expect(problem).toMatchObject({ code: 'invalid_parameter', param })
  })

  test.each([
    '2026-02-30',
    '2026-1-1',
    'yesterday',
    '9999-99-99',
    '1969-12-31',
    '2026-01-01T00:00:00',
    '2026-01-01T24:00:00Z',
    '',
  ])('day %s is refused, and both forms are shown', async (day) => {
    const problem = await readProblem(await send(`/v1/btc/export?day=${day}`))
    expect(problem).toMatchObject({ code: 'invalid_parameter', param: 'day' })
    expect(problem.detail).toEndWith(
      'must be a day in UTC, such as 2026-04-14, or a time in it: Unix milliseconds such as 1776153610000, or RFC 3339 such as 2026-04-14T08:00:10Z.',
    )
  })

  test('case after of another day: is refused', async () => {
    const address = `/v1/btc/export?day=2026-01-01&after=${single.conditionId}:1`
    const problem = await readProblem(await send(address))
    expect(problem).toMatchObject({ code: 'invalid_parameter', param: 'after' })
  })
})
