import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

import type { Snapshot } from '#src/domain/snapshot.ts'
import { openHistory } from '#src/history/open.ts'

import { asRecorded } from '../support/as-recorded.ts'
import { askDuckDb } from '../support/duckdb.ts'
import { asFile, expectedLines, exportOf } from '../support/export-lines.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory, expectedRows, type KnownMarket } from '../support/market-history.ts'

const { history, both, single, open, edge, empty } = await createMarketHistory(
  asRecorded(openHistory(':memory:')),
)
const { send } = createHarness({ history })

const linesOf = (market: KnownMarket) => expectedLines(send, market)

/** Downloads into a file for as long as `use` runs. */
async function withFile<T>(address: string, name: string, use: (path: string) => Promise<T>) {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-export-'))
  try {
    const path = join(folder, name)
    await Bun.write(path, await (await send(address)).arrayBuffer())
    return await use(path)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('GET …/export as NDJSON', () => {
  test.each([
    ['both outcomes, sealed', both],
    ['one outcome', single],
    ['an unfinished run', open],
    ['rare books', edge],
    ['no snapshots', empty],
  ])('default: holds every snapshot once, in order: %s', async (_, market) => {
    const response = await send(exportOf(market))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    expect(await response.text()).toBe(asFile(await linesOf(market)))
  })

  test('gzip: one member of the same bytes', async () => {
    const response = await send(exportOf(both), { headers: { 'accept-encoding': 'gzip' } })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    const text = gunzipSync(await response.arrayBuffer()).toString()
    expect(text).toBe(asFile(await linesOf(both)))
  })

  test('case range and outcome: holds what they leave', async () => {
    const rows = expectedRows(both)
    const from = rows[50]?.timestampMs ?? 0
    const to = rows[400]?.timestampMs ?? 0
    const params = { from: `${from}`, to: `${to}`, outcome: 'down' }
    const response = await send(exportOf(both, params))
    const lines = (await response.text()).trimEnd().split('\n')
    const expected = expectedRows(both, { fromMs: from, toMs: to, outcome: 'down' })
    expect(lines.map((line) => (JSON.parse(line) as { timestamp: string }).timestamp)).toEqual(
      expected.map(({ timestampMs }) => new Date(timestampMs).toISOString()),
    )
  })

  test('after: what broke off is completed by appending', async () => {
    const lines = await linesOf(both)
    const whole = asFile(lines)
    for (const kept of [1, 99, 100, 101, lines.length - 1]) {
      const { id } = JSON.parse(lines[kept - 1] ?? '') as { id: string }
      const rest = await (await send(exportOf(both, { after: id }))).text()
      expect(asFile(lines.slice(0, kept)) + rest).toBe(whole)
    }
  })

  test('after the last: there is nothing more', async () => {
    const { id } = JSON.parse((await linesOf(both)).at(-1) ?? '') as { id: string }
    expect(await (await send(exportOf(both, { after: id }))).text()).toBe('')
  })
})

describe('GET …/export of changes', () => {
  type Level = { price: number; size: number }
  type Change = { id: string; prevId: string | null; bids: Level[]; asks: Level[] }
  const listed = async (market: KnownMarket) => {
    const path = market.path.replace('/snapshots', '/changes')
    const { data } = (await (await send(`${path}?limit=1000`)).json()) as { data: Change[] }
    return data
  }

  test.each([
    ['both outcomes, sealed', both],
    ['rare books', edge],
    ['no snapshots', empty],
  ])('default: NDJSON has the rows of the list: %s', async (_, market) => {
    const text = await (await send(exportOf(market, { shape: 'changes' }))).text()
    const lines = text.split('\n').slice(0, -1)
    const { conditionId } = market
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(
      (await listed(market)).map((row) => ({ conditionId, ...row })),
    )
  })

  test('behavior: what broke off goes on with whole books', async () => {
    const rows = await listed(both)
    const { id = '' } = rows[100] ?? {}
    const text = await (await send(exportOf(both, { shape: 'changes', after: id }))).text()
    const [first, ...rest] = text.split('\n').slice(0, -1)
    expect(JSON.parse(first ?? '')).toMatchObject({ id: rows[101]?.id, snapshot: true })
    expect(rest).toHaveLength(rows.length - 102)
  })

  test.each(['csv', 'parquet'] as const)('default: %s has one row per level', async (format) => {
    const address = exportOf(edge, { format, shape: 'changes' })
    const rows = await withFile(address, `changes.${format}`, (path) =>
      askDuckDb(
        `select id::varchar id, prev_id::varchar "prevId", side, price::double price, size::double size
         from '${path}' order by id::bigint, side, price`,
      ),
    )
    type Row = { id: string; prevId: string | null; side: string | null } & {
      [name in keyof Level]: number | null
    }
    const expected = (await listed(edge)).flatMap(({ id, prevId, bids, asks }): Row[] => {
      const levels = [
        ...asks.map((level) => ({ id, prevId, side: 'ask', ...level })),
        ...bids.map((level) => ({ id, prevId, side: 'bid', ...level })),
      ].sort((a, b) => a.side.localeCompare(b.side) || a.price - b.price)
      return levels.length > 0 ? levels : [{ id, prevId, side: null, price: null, size: null }]
    })
    expect(rows).toEqual(expected.sort((a, b) => Number(a.id) - Number(b.id)))
  })

  test('error: they have every level', async () => {
    const answer = await send(exportOf(both, { shape: 'changes', depth: '5' }))
    expect([answer.status, await answer.json()]).toMatchObject([400, { param: 'depth' }])
  })
})

describe('GET …/export as CSV', () => {
  test('levels: one row per level, which DuckDB reads back to the same books', async () => {
    const rows = await withFile(exportOf(edge, { format: 'csv' }), 'a.csv', (path) =>
      askDuckDb(
        `select id::varchar id, outcome, side, level::int as "level", price::varchar price, size::varchar size
         from read_csv('${path}', types = {'price': 'DECIMAL(18,6)', 'size': 'DECIMAL(18,6)'})
         order by id::bigint, side, level`,
      ),
    )
    expect(rows).toEqual(await levelsOf(edge))
  })

  test('states: one row per snapshot, an empty cell for what is not there', async () => {
    const address = exportOf(edge, { format: 'csv', shape: 'states', depth: '2' })
    const [header, ...lines] = (await (await send(address)).text()).trimEnd().split('\n')
    expect(header).toBe(
      'timestamp,id,condition_id,outcome,bid_price_1,bid_size_1,bid_price_2,bid_size_2,ask_price_1,ask_size_1,ask_price_2,ask_size_2',
    )
    expect(lines).toHaveLength(edge.rows.length)
    expect(lines[0]?.split(',').slice(4)).toEqual(['', '', '', '', '', '', '', ''])
    expect(lines[2]?.split(',').slice(4)).toEqual([
      '0.1',
      '0.1',
      '0.000001',
      '0.000001',
      '',
      '',
      '',
      '',
    ])
  })

  test('gzip and after: compressed on the way, without its header when it is appended', async () => {
    const whole = await (await send(exportOf(both, { format: 'csv' }))).text()
    const lines = await linesOf(both)
    const { id } = JSON.parse(lines[9] ?? '') as { id: string }
    const address = exportOf(both, { format: 'csv', after: id })
    const response = await send(address, { headers: { 'accept-encoding': 'gzip' } })
    const rest = gunzipSync(await response.arrayBuffer()).toString()
    expect(rest.length).toBeGreaterThan(0)
    expect(whole.endsWith(rest)).toBeTrue()
  })

  test('Accept: chooses the format, and `format` goes before it', async () => {
    const headers = { accept: 'text/csv' }
    const csv = await send(exportOf(both), { headers })
    expect(csv.headers.get('content-type')).toStartWith('text/csv')
    const ndjson = await send(exportOf(both, { format: 'ndjson' }), { headers })
    expect(ndjson.headers.get('content-type')).toBe('application/x-ndjson')
  })

  test.each([
    ['text/csv;q=0', 'application/x-ndjson'],
    ['text/csv;q=0.2, application/vnd.apache.parquet;q=0.3', 'application/vnd.apache.parquet'],
    ['image/png', 'application/x-ndjson'],
  ])('behavior: Accept is weighed, and passed over if it leaves nothing: %s', async (...asked) => {
    const [accept, type] = asked
    const { status, headers } = await send(exportOf(both), { headers: { accept }, method: 'HEAD' })
    expect([status, headers.get('content-type')]).toEqual([200, type])
  })
})

describe('GET …/export as Parquet', () => {
  test('levels: DuckDB reads typed columns and the same books', async () => {
    const [types, rows] = await withFile(
      exportOf(edge, { format: 'parquet' }),
      'a.parquet',
      (path) =>
        Promise.all([
          askDuckDb(`describe select * from '${path}'`),
          askDuckDb(
            `select id::varchar id, outcome, side, level, price::varchar price, size::varchar size
             from '${path}' order by id, side, level`,
          ),
        ]),
    )
    expect(types.map((column) => [column.column_name, column.column_type])).toEqual([
      ['timestamp', 'TIMESTAMP WITH TIME ZONE'],
      ['id', 'BIGINT'],
      ['condition_id', 'VARCHAR'],
      ['outcome', 'VARCHAR'],
      ['side', 'VARCHAR'],
      ['level', 'INTEGER'],
      ['price', 'DECIMAL(18,6)'],
      ['size', 'DECIMAL(18,6)'],
    ])
    expect(rows).toEqual(await levelsOf(edge))
  })

  test('several row groups: counts and sums are those of the books', async () => {
    const [row] = await withFile(exportOf(both, { format: 'parquet' }), 'a.parquet', (path) =>
      askDuckDb(
        `select count(*)::varchar n, sum(size)::varchar total, min(epoch_ms(timestamp))::varchar begins from '${path}'`,
      ),
    )
    const levels = both.rows.flatMap(({ bids, asks }) => [...bids.sizes, ...asks.sizes])
    const total = levels.reduce((sum, size) => sum + BigInt(size), 0n)
    const digits = String(total).padStart(7, '0')
    expect(levels.length).toBeGreaterThan(20_000)
    expect(row).toEqual({
      n: String(levels.length),
      total: `${digits.slice(0, -6)}.${digits.slice(-6)}`,
      begins: String(expectedRows(both)[0]?.timestampMs),
    })
  })

  test('states: one row per snapshot with nulls for what is not there', async () => {
    const address = exportOf(edge, { format: 'parquet', shape: 'states', depth: '1' })
    const rows = await withFile(address, 'a.parquet', (path) =>
      askDuckDb(
        `select bid_price_1::varchar bid, ask_size_1::varchar ask from '${path}' order by id`,
      ),
    )
    expect(rows.slice(0, 3)).toEqual([
      { bid: null, ask: null },
      { bid: null, ask: '9007199254.740991' },
      { bid: '0.100000', ask: null },
    ])
  })

  test('no snapshots: a file without rows', async () => {
    const [row] = await withFile(exportOf(empty, { format: 'parquet' }), 'a.parquet', (path) =>
      askDuckDb(`select count(*)::varchar n from '${path}'`),
    )
    expect(row).toEqual({ n: '0' })
  })
})

describe('GET /v1/{coin}/export', () => {
  test('default: the markets of the day one after the other, oldest window first', async () => {
    const response = await send('/v1/btc/export?day=2026-01-01')
    const text = await response.text()
    expect(text).toBe(asFile([...(await linesOf(both)), ...(await linesOf(open))]))
    expect(response.headers.get('content-disposition')).toBe(
      'attachment; filename="btc-2026-01-01.ndjson"',
    )
  })

  test.each([
    '2026-01-01T00:00:00Z',
    '2026-01-01T23:59:59.999Z',
    '2026-01-02T01:00:00%2B02:00',
    '2026-01-02T01:00:00+02:00',
    '2026-01-01%2012:00:00.000000%2B00:00',
    '2026-01-01+12:00:00+00:00',
    String(Date.UTC(2026, 0, 1, 12)),
    String(Date.UTC(2026, 0, 1) / 1000),
  ])('day %s: a moment is its day in UTC', async (day) => {
    const response = await send(`/v1/btc/export?day=${day}`)
    const file = await send('/v1/btc/export?day=2026-01-01')
    expect(response.headers.get('etag')).toBe(file.headers.get('etag') ?? '')
    expect(response.headers.get('content-disposition')).toContain('"btc-2026-01-01.ndjson"')
    expect(await response.text()).toBe(await file.text())
  })

  test('gzip: one member over all markets', async () => {
    const headers = { 'accept-encoding': 'gzip' }
    const plain = await (await send('/v1/btc/export?day=2026-01-01')).text()
    const response = await send('/v1/btc/export?day=2026-01-01', { headers })
    expect(gunzipSync(await response.arrayBuffer()).toString()).toBe(plain)
  })

  test('after: goes on in the middle of a market', async () => {
    const text = await (await send('/v1/btc/export?day=2026-01-01')).text()
    const lines = text.trimEnd().split('\n')
    const { id, conditionId } = JSON.parse(lines[400] ?? '') as Record<string, string>
    const address = `/v1/btc/export?day=2026-01-01&after=${conditionId}:${id}`
    expect(await (await send(address)).text()).toBe(asFile(lines.slice(401)))
  })

  test('after: takes every name that a market has', async () => {
    const text = await (await send('/v1/btc/export?day=2026-01-01')).text()
    const lines = text.trimEnd().split('\n')
    const { id, conditionId = '' } = JSON.parse(lines[400] ?? '') as Record<string, string>
    const found = await (await send(`/v1/btc/markets/${conditionId}`)).json()
    const { slug, outcomes } = found as { slug: string | null; outcomes: { assetId: string }[] }
    const names = [slug, outcomes[0]?.assetId, `0x${conditionId.slice(2).toUpperCase()}`]
    for (const name of names.filter((each) => typeof each === 'string')) {
      const response = await send(`/v1/btc/export?day=2026-01-01&after=${name}:${id}`)
      expect([name, response.status]).toEqual([name, 200])
      expect(await response.text()).toBe(asFile(lines.slice(401)))
    }
    expect(names.filter((each) => typeof each === 'string').length).toBeGreaterThan(1)
  })

  test('case a day without markets: is empty, and says that nothing was recorded', async () => {
    const response = await send('/v1/btc/export?day=2025-06-01')
    expect(await response.text()).toBe('')
    expect(response.headers.get('x-coverage')).toStartWith('none')
  })

  test('case timeframe: only its markets', async () => {
    expect(await (await send('/v1/btc/export?day=2026-01-01&timeframe=1h')).text()).toBe('')
  })
})

/** Every level of a market as DuckDB prints it, an empty book as a row of nulls. */
async function levelsOf(market: KnownMarket) {
  const lines = await linesOf(market)
  const rows = lines.flatMap((line): Record<string, unknown>[] => {
    const { id, outcome, bids, asks } = JSON.parse(line) as {
      id: string
      outcome: string
      bids: unknown[]
      asks: unknown[]
    }
    const index = lines.indexOf(line)
    const row = expectedRows(market)[index]
    const ofSide = (side: 'bid' | 'ask', { prices, sizes }: Snapshot['bids']) =>
      prices.map((price, at) => ({
        id,
        outcome,
        side,
        level: at + 1,
        price: toSix(price),
        size: toSix(sizes[at] ?? 0),
      }))
    if (row === undefined || bids.length + asks.length === 0) {
      return [{ id, outcome, side: null, level: null, price: null, size: null }]
    }
    return [...ofSide('ask', row.asks), ...ofSide('bid', row.bids)]
  })
  return rows
}

const toSix = (millionths: number): string => {
  const digits = String(millionths).padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`
}
