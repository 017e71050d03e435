import { describe, expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { createImportHarness } from '../ingest/import-harness.ts'
import { askDuckDb } from '../support/duckdb.ts'
import { createHarness } from '../support/harness.ts'
import { aRecord } from '../support/snapshot-lines.ts'

const { aHistory, pathOf, run, write } = createImportHarness()

const START_MS = Date.UTC(2026, 3, 14, 8)
const conditionId = `0x${'1a'.repeat(32)}`
const base = `/v1/btc/markets/${conditionId}`
/** A chunk and an unfinished run. */
const ROWS = 130

type Receipt = { member: string; at: string | null }

const iso = (timeMs: number): string => new Date(timeMs).toISOString()

/** The forms in turn, and the time that each is, written down without the reader. */
function receiptOf(row: number, lagMs: number): Receipt {
  const at = iso(START_MS + row * 1000 + lagMs)
  const ms = Date.parse(at)
  const forms = [
    { member: `"receivedAt":"${at}"`, at },
    { member: `"receivedAt":${ms}`, at },
    // A float times 1000 gives another millisecond for some of these.
    { member: `"_recv":${String(ms).slice(0, -3)}.${String(ms).slice(-3)}9871`, at },
    { member: '"receivedAt":null', at: null },
    { member: `"receivedAt":"${at.slice(0, -1)}999Z"`, at },
    { member: '"other":1', at: null },
  ]
  return forms[row % forms.length] ?? { member: '', at: null }
}

const receipts = (lagOf: (row: number) => number): Receipt[] =>
  Array.from({ length: ROWS }, (_, row) => receiptOf(row, lagOf(row)))

/** One book a second; `receivedAt` first or last on its line. */
function toFile(list: readonly Receipt[]): string {
  const lines = list.map(({ member }, row) => {
    const bids = [{ price: '0.5', size: String(row + 1) }]
    const text = JSON.stringify(
      aRecord({ id: `row-${row}`, timestamp: iso(START_MS + row * 1000), bids }),
    )
    return row % 2 === 0 ? `{${member},${text.slice(1)}\n` : `${text.slice(0, -1)},${member}}\n`
  })
  return lines.join('')
}

// Before the venue's time, too: clocks differ.
const first = receipts((row) => (row % 5 === 0 ? -250 : 37 + row))
const times = first.map(({ at }) => at)

async function importAll(history: MarketHistory, list: readonly Receipt[]) {
  const { faults } = await run([await write(crypto.randomUUID(), toFile(list))], { history })
  expect(faults).toEqual([])
}

type Row = Record<string, unknown>

/** Everything that says when something was received, of all routes and formats. */
async function readAll(history: MarketHistory) {
  const { send } = createHarness({ history })
  const rowsOf = async (address: string, init?: RequestInit): Promise<Row[]> => {
    const response = await send(`${base}/${address}`, init)
    expect([address, response.status]).toEqual([address, 200])
    const bytes = Buffer.from(await response.arrayBuffer())
    const isGzip = response.headers.get('content-encoding') === 'gzip'
    return JSON.parse((isGzip ? gunzipSync(bytes) : bytes).toString()).data
  }
  const fileOf = async (query: string, encoding = 'identity'): Promise<Buffer> => {
    const response = await send(`${base}/export?include=receivedAt&${query}`, {
      headers: { 'accept-encoding': encoding },
    })
    expect(response.status).toBe(200)
    const bytes = Buffer.from(await response.arrayBuffer())
    return response.headers.get('content-encoding') === 'gzip' ? gunzipSync(bytes) : bytes
  }
  return { send, rowsOf, fileOf }
}

async function expectTimes(history: MarketHistory, expected: readonly (string | null)[]) {
  const { send, rowsOf, fileOf } = await readAll(history)
  const received = (rows: Row[]) => rows.map(({ receivedAt }) => receivedAt)
  const gzip = { headers: { 'accept-encoding': 'gzip' } }
  const fields = 'fields=timestamp,receivedAt'
  const pages = await rowsOf(`snapshots?limit=1000&${fields}`)
  expect(pages.map((row) => Object.keys(row))).toEqual(
    expected.map(() => ['timestamp', 'receivedAt']),
  )
  expect(received(pages)).toEqual([...expected])
  expect(await rowsOf(`snapshots?limit=1000&${fields}`, gzip)).toEqual(pages)
  expect(await rowsOf(`snapshots?limit=1000&order=desc&outcome=down&${fields}`)).toEqual(
    pages.toReversed(),
  )
  // One state a step, or every seventh.
  const stepped = await rowsOf(`snapshots?limit=1000&interval=5s&${fields}`)
  expect(stepped.length).toBeGreaterThan(20)
  for (const row of stepped) expect(pages).toContainEqual(row)
  for (const query of ['limit=1000', 'limit=1000&order=desc']) {
    const quotes = await rowsOf(`quotes?${query}&${fields}`)
    expect(quotes).toEqual(query === 'limit=1000' ? pages : pages.toReversed())
  }
  const inForce = await rowsOf('quotes?interval=5s&fields=time,ageMs,receivedAt')
  expect(inForce.length).toBeGreaterThan(20)
  for (const { time, ageMs, receivedAt } of inForce) {
    const row = (Date.parse(String(time)) - Number(ageMs) - START_MS) / 1000
    expect([time, receivedAt]).toEqual([time, expected[row] ?? null])
  }
  for (const row of [0, 3, 99, 100, 129]) {
    const ts = START_MS + row * 1000 + 1
    expect(received(await rowsOf(`snapshots/at?ts=${ts}&${fields}`))).toEqual([
      expected[row] ?? null,
    ])
    const requests = [{ conditionId, outcome: 'down', ts }]
    const body = JSON.stringify({ requests, fields: 'receivedAt' })
    const headers = { 'content-type': 'application/json' }
    const answer = await send('/v1/btc/snapshots/at', { method: 'POST', headers, body })
    const { data } = (await answer.json()) as { data: { snapshot: Row }[] }
    expect(data[0]?.snapshot).toEqual({ receivedAt: expected[row] ?? null })
  }
  await expectFiles({ fileOf, rowsOf }, expected)
}

type Files = Pick<Awaited<ReturnType<typeof readAll>>, 'fileOf' | 'rowsOf'>

async function expectFiles({ fileOf, rowsOf }: Files, expected: readonly (string | null)[]) {
  const ndjson = await fileOf('format=ndjson')
  const lines = ndjson.toString().trimEnd().split('\n')
  const whole = await rowsOf('snapshots?limit=1000')
  expect(lines.map((line) => JSON.parse(line))).toEqual(
    whole.map((row, index) => ({ ...row, receivedAt: expected[index] })),
  )
  expect(await fileOf('format=ndjson', 'gzip')).toEqual(ndjson)
  const rest = await fileOf(`format=ndjson&after=${whole[98]?.id}`)
  expect(rest.toString()).toBe(`${lines.slice(99).join('\n')}\n`)
  for (const shape of ['levels', 'states'] as const) {
    const csv = await fileOf(`format=csv&shape=${shape}`)
    const [header, ...cells] = csv.toString().trimEnd().split('\n')
    expect(header).toEndWith(',received_at')
    // A bid and two asks of each state.
    const last = cells.map((line) => line.slice(line.lastIndexOf(',') + 1))
    const repeats = shape === 'levels' ? 3 : 1
    expect(last).toEqual(expected.flatMap((at) => Array<string>(repeats).fill(at ?? '')))
    expect(await fileOf(`format=csv&shape=${shape}`, 'gzip')).toEqual(csv)
    expect(await parquetTimes(await fileOf(`format=parquet&shape=${shape}`))).toEqual([...expected])
  }
}

/** Of each snapshot of a file, read by DuckDB. */
async function parquetTimes(file: Buffer): Promise<(string | null)[]> {
  const path = await write(`${crypto.randomUUID()}.parquet`, new Uint8Array(file))
  const rows = await askDuckDb(
    `SELECT id, epoch_ms(any_value(received_at)) AS ms FROM '${path}' GROUP BY id ORDER BY id`,
  )
  return rows.map(({ ms }) => (ms === null ? null : iso(Number(ms))))
}

describe('receivedAt', () => {
  test('default: what lines say comes back over every route and format, sealed and not', async () => {
    const path = pathOf('received.db')
    const history = openHistory(path)
    await importAll(history, first)
    await expectTimes(history, times)
    await history.close(conditionId)
    await expectTimes(history, times)
    history.dispose()
    const reopened = openHistory(path)
    await expectTimes(reopened, times)
    expect([...reopened.verify()]).toEqual([])
    reopened.dispose()
  }, 300_000)

  test('behavior: of two times of one state the earlier one is kept, and tags change', async () => {
    const history = aHistory()
    await importAll(history, first)
    const { send } = createHarness({ history })
    const tagOf = async () =>
      (await send(`${base}/snapshots?fields=receivedAt`)).headers.get('etag')
    const before = await tagOf()
    const other = receipts((row) => (row < 60 ? -500 : 90_000))
    await importAll(history, other)
    expect(await tagOf()).not.toBe(before)
    await expectTimes(
      history,
      times.map((at, row) => (row < 60 ? (other[row]?.at ?? null) : at)),
    )
    // A state whose time was not known gets one.
    await importAll(
      history,
      Array<Receipt>(ROWS)
        .fill({ member: `"_recv":${START_MS / 1000}.5`, at: '' })
        .slice(0, 6),
    )
    const { rowsOf } = await readAll(history)
    const [row] = (await rowsOf('snapshots?fields=receivedAt')).slice(3)
    expect(row).toEqual({ receivedAt: iso(START_MS + 500) })
  }, 300_000)

  test('behavior: files that were imported before there were such times give them when imported again', async () => {
    const history = aHistory()
    const sha256 = new Bun.CryptoHasher('sha256').update(toFile(first)).digest('hex')
    const bare = first.map(() => ({ member: '"other":1', at: null }))
    await importAll(history, bare)
    await history.append({ id: `import:recorded:${sha256}`, source: 'recorded', snapshots: [] })
    await importAll(history, first)
    const { rowsOf } = await readAll(history)
    const rows = await rowsOf('snapshots?limit=1000&fields=receivedAt')
    expect(rows.map(({ receivedAt }) => receivedAt)).toEqual(times)
  })

  test('behavior: an export can be imported again with its times', async () => {
    const history = aHistory()
    await importAll(history, first)
    const { fileOf } = await readAll(history)
    const copy = aHistory()
    const file = await write('again.jsonl', new Uint8Array(await fileOf('format=ndjson')))
    expect((await run([file], { history: copy })).faults).toEqual([])
    const { rowsOf } = await readAll(copy)
    const rows = await rowsOf('snapshots?limit=1000&fields=receivedAt')
    expect(rows.map(({ receivedAt }) => receivedAt)).toEqual(times)
  })

  test('default: no row has it unless it is asked for', async () => {
    const history = aHistory()
    await importAll(history, first)
    const { send } = createHarness({ history })
    const paths = ['snapshots', 'quotes', `snapshots/at?ts=${START_MS + 5000}`, 'export']
    for (const path of [...paths, 'snapshots?fields=id,bids', 'quotes?fields=bid']) {
      expect(await (await send(`${base}/${path}`)).text()).not.toContain('receivedAt')
    }
  })

  test.each([
    ['snapshots?view=consolidated&fields=receivedAt', 'fields'],
    [`snapshots/at?ts=${START_MS}&view=consolidated&fields=id,receivedAt`, 'fields'],
    ['quotes?fields=time', 'fields'],
    ['quotes?fields=bid,ageMs', 'fields'],
    ['quotes?fields=bids', 'fields'],
    ['quotes?fields=bid,bid', 'fields'],
    ['quotes?fields=', 'fields'],
    ['export?include=bids', 'include'],
  ])('error: %s is refused, naming what to change', async (address, param) => {
    const history = aHistory()
    await importAll(history, first)
    const response = await createHarness({ history }).send(`${base}/${address}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'invalid_parameter', param })
  })

  test('behavior: quotes with fields are the whole rows without the rest', async () => {
    const history = aHistory()
    await importAll(history, first)
    const { rowsOf } = await readAll(history)
    for (const more of ['', '&interval=5s', '&order=desc&outcome=down']) {
      const whole = await rowsOf(`quotes?limit=50${more}`)
      for (const names of [
        ['ask'],
        ['id', 'mid', 'imbalance'],
        ['outcome', 'timestamp', 'bidSize'],
      ]) {
        const cut = await rowsOf(`quotes?limit=50${more}&fields=${names.toReversed().join(',')}`)
        expect(cut).toEqual(
          whole.map((row) => Object.fromEntries(names.map((name) => [name, row[name]]))),
        )
      }
    }
  })
})

describe('times of receipt that are refused', () => {
  const fault = async (member: string): Promise<string[]> => {
    const line = JSON.stringify(aRecord({ timestamp: iso(START_MS) }))
    const { faults } = await run([
      await write(crypto.randomUUID(), `${line.slice(0, -1)},${member}}\n`),
    ])
    return faults.map(({ reason }) => reason)
  }

  test.each([
    ['"receivedAt":"soon"', /^receivedAt: not an ISO/],
    ['"receivedAt":true', /^receivedAt: not an ISO/],
    ['"receivedAt":-5', /^receivedAt: not an ISO/],
    ['"_recv":1.7e9', /^_recv: not an ISO/],
    ['"_recv":{}', /^_recv: not an ISO/],
    ['"receivedAt":"2026-02-30T00:00:00Z"', /^receivedAt: no such day/],
    ['"_recv":99999999999999999', /^_recv: before 1970 or after 9999/],
    [`"receivedAt":${START_MS},"_recv":${START_MS}`, /^_recv: a second receipt time/],
    [`"receivedAt":"${iso(START_MS - 600_001)}"`, /^receivedAt or _recv: .*ten minutes before/],
    [`"_recv":0`, /^receivedAt or _recv: .*ten minutes before/],
    ['"_recv":4079577600.5', /^receivedAt or _recv: .*in the future/],
  ])('error: %s', async (member, reason) => {
    const reasons = await fault(member)
    expect(reasons).toHaveLength(1)
    expect(reasons[0]).toMatch(reason)
  })

  test('behavior: a clock may be ten minutes before that of the venue', async () => {
    expect(await fault(`"receivedAt":"${iso(START_MS - 600_000)}"`)).toEqual([])
  })
})
