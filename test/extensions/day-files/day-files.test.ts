/** Files of days, read by two programs that are not ours, against the routes of the same data. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { asyncBufferFromUrl, parquetReadObjects } from 'hyparquet'

import { columnsOf } from '#src/extensions/day-files/day-tables.ts'
import { makeDayFiles, pruneDayFiles } from '#src/extensions/day-files/maker.ts'
import { createFileStore, type FileKind, fileKinds } from '#src/extensions/day-files/store.ts'
import { makeManifests } from '#src/extensions/trust/day-manifest.ts'
import { openHistory } from '#src/history/open.ts'

import { askDuckDb } from '../../support/duckdb.ts'
import { createHarness, NOW_MS } from '../../support/harness.ts'
import { createMarketHistory, rowsAt } from '../../support/market-history.ts'

const DAY = '2026-01-01'
const DAY_MS = 86_400_000
/** Winners are not waited for any more. */
const LATER_MS = NOW_MS + 5 * DAY_MS

const { history, both, open, edge } = await createMarketHistory()
for (const { conditionId } of [open, edge]) await history.close(conditionId)
await history.putMarket({
  conditionId: both.conditionId,
  coin: 'btc',
  timeframe: '5m',
  source: 'simulated',
  strike: '64126.512345678901234567',
})
const root = mkdtempSync(join(tmpdir(), 'bookfeed-files-'))
const store = createFileStore(root)
const deps = { history, store, nowMs: LATER_MS, assertMayWrite: () => {} }
const made = makeDayFiles(deps)
const harness = createHarness({ history, files: store, clock: () => LATER_MS })
const { app, key } = harness
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
afterAll(async () => {
  await server.stop(true)
  rmSync(root, { recursive: true })
})

type Json = Record<string, unknown>
type Cells = (string | null)[]

// What a reviver is called with beside a value is not in the type library yet.
type Revive = (key: string, value: unknown, context: { source?: string }) => unknown
const exactly: Revive = (_, value, { source }) => (typeof value === 'number' ? source : value)
const get = async (path: string): Promise<{ data: Json[]; nextCursor: string | null }> =>
  JSON.parse(await (await harness.send(path)).text(), exactly as never) as never

async function walk(path: string): Promise<Json[]> {
  const rows: Json[] = []
  let cursor = ''
  for (;;) {
    const page = await get(`${path}${path.includes('?') ? '&' : '?'}limit=200${cursor}`)
    rows.push(...page.data)
    if (page.nextCursor === null) return rows
    cursor = `&cursor=${page.nextCursor}`
  }
}

const find = (coin: 'btc' | 'xrp', kind: FileKind, numbers = 'decimal') => {
  const timeframe = coin === 'btc' ? '5m' : '15m'
  const list = store.find({ coin, timeframe, day: DAY })
  const file = list?.files.find((each) => each.kind === kind && each.numbers === numbers)
  if (file === undefined) throw new Error(`There is no file of ${kind}.`)
  return { ...file, path: join(root, coin, timeframe, file.name) }
}

/** One form of a value: digits without zeros at their end, milliseconds, or a text. */
function toCell(value: unknown): string | null {
  if (value === null || value === undefined) return null
  const text = String(value)
  if (/^\d{4}-\d\d-\d\d[T ]/.test(text)) {
    return String(Date.parse(`${text.replace(' ', 'T').replace(/Z$/, '').replace(/\+00$/, '')}Z`))
  }
  if (/^-?\d+(\.\d+)?e/.test(text)) return String(Number(text))
  return /^-?\d+\.\d+$/.test(text) ? text.replace(/\.?0+$/, '') : text
}

async function readFile(path: string, columns: readonly string[]): Promise<Cells[]> {
  const rows = await askDuckDb(`SELECT ${columns.join(', ')} FROM '${path}'`)
  return rows.map((row) => columns.map((column) => toCell(row[column])))
}

const cellsOf = (rows: readonly unknown[][]): Cells[] => rows.map((row) => row.map(toCell))

const markets = [both, open]
const pathOf = ({ path }: { path: string }, name: string) => path.replace('/snapshots', `/${name}`)

async function walkAll(name: string): Promise<[conditionId: string, row: Json][]> {
  const found: [string, Json][] = []
  for (const market of markets) {
    for (const row of await walk(pathOf(market, name))) found.push([market.conditionId, row])
  }
  return found
}

type Level = { price: string; size: string }

describe('files of a day', () => {
  test('default: each final day has twelve files, listed with what they are', async () => {
    expect(made).toBe(36)
    const { data, nextCursor } = await get('/v1/btc/files')
    expect(data.map(({ kind, numbers }) => `${kind} ${numbers}`)).toEqual(
      ['snapshots', 'levels', 'quotes', 'trades', 'panel', 'changes'].flatMap((kind) => [
        `${kind} decimal`,
        `${kind} double`,
      ]),
    )
    expect(data[4]).toMatchObject({
      name: `btc-5m-${DAY}-quotes-decimal-r1.parquet`,
      day: DAY,
      timeframe: '5m',
      revision: '1',
      isLatest: true,
      markets: '2',
    })
    expect(nextCursor).toBeNull()
    expect((await get('/v1/sol/files')).data).toEqual([])
  })

  test('behavior: quotes are those of the route, every digit', async () => {
    const columns = ['condition_id', 'id', 'outcome', 'timestamp', 'bid', 'bid_size', 'ask']
    const rows = await walkAll('quotes')
    expect(rows.length).toBeGreaterThan(100)
    expect(await readFile(find('btc', 'quotes').path, [...columns, 'ask_size'])).toEqual(
      cellsOf(
        rows.map(([condition, row]) => [
          condition,
          row.id,
          row.outcome,
          row.timestamp,
          row.bid,
          row.bidSize,
          row.ask,
          row.askSize,
        ]),
      ),
    )
  })

  test('behavior: snapshots have the first 25 levels of each side, and levels all of them', async () => {
    const rows = await walkAll('snapshots')
    const sides = ['bid', 'ask'].flatMap((side) =>
      Array.from({ length: 25 }, (_, at) => [`${side}_price_${at + 1}`, `${side}_size_${at + 1}`]),
    )
    const levelsOf = (row: Json, side: 'bids' | 'asks') => row[side] as Level[]
    const states = rows.map(([condition, row]) => [
      condition,
      row.id,
      row.outcome,
      row.timestamp,
      ...(['bids', 'asks'] as const).flatMap((side) =>
        Array.from({ length: 25 }, (_, at) => levelsOf(row, side)[at]).flatMap((level) => [
          level?.price,
          level?.size,
        ]),
      ),
    ])
    const first = ['condition_id', 'id', 'outcome', 'timestamp']
    expect(await readFile(find('btc', 'snapshots').path, [...first, ...sides.flat()])).toEqual(
      cellsOf(states),
    )
    const levels = rows.flatMap(([condition, row]) =>
      (['bids', 'asks'] as const).flatMap((side) =>
        levelsOf(row, side).map(({ price, size }, at) => [
          condition,
          row.id,
          side.slice(0, -1),
          at + 1,
          price,
          size,
        ]),
      ),
    )
    const columns = ['condition_id', 'id', 'side', 'level', 'price', 'size']
    expect(await readFile(find('btc', 'levels').path, columns)).toEqual(cellsOf(levels))
  })

  test('behavior: changes are those of the route', async () => {
    const rows = await walkAll('changes')
    const levels = rows.flatMap(([condition, row]) => {
      const all = (['bids', 'asks'] as const).flatMap((side) =>
        (row[side] as Level[]).map(({ price, size }) => [side.slice(0, -1), price, size]),
      )
      const place = [condition, row.id, row.prevId]
      return (all.length > 0 ? all : [[null, null, null]]).map((level) => [...place, ...level])
    })
    const columns = ['condition_id', 'id', 'prev_id', 'side', 'price', 'size']
    expect(await readFile(find('btc', 'changes').path, columns)).toEqual(cellsOf(levels))
  })

  test('behavior: empty books and the largest numbers are there', async () => {
    const columns = ['id', 'side', 'level', 'price', 'size']
    const rows = await readFile(find('xrp', 'levels').path, columns)
    expect(rows[0]?.slice(1)).toEqual([null, null, null, null])
    expect(rows.map((row) => row[4])).toContain('9007199254.740991')
  })

  test('behavior: trades are those of the route', async () => {
    const rows = await walkAll('trades')
    expect(rows).toHaveLength(40)
    const columns = ['condition_id', 'timestamp', 'outcome', 'price', 'size', 'side']
    expect(await readFile(find('btc', 'trades').path, columns)).toEqual(
      cellsOf(
        rows.map(([condition, row]) => [
          condition,
          row.timestamp,
          row.outcome,
          row.price,
          row.size,
          row.side,
        ]),
      ),
    )
  })

  test('behavior: the panel is that of the route at the same moments', async () => {
    const offsets = '-300s,-225s,-150s,-75s,-30s,-5s,-0s'
    const rows = await walk(`/v1/btc/panel?timeframe=5m&offsets=${offsets}`)
    type Side = { timestamp: string; bid: string; bidSize: string; ask: string; askSize: string }
    const sideOf = (row: Json, outcome: 'up' | 'down') => {
      const state = row[outcome] as Side | null
      const covered = (row.covered as Record<string, boolean>)[outcome]
      return [
        Number(covered),
        state?.timestamp,
        state?.bid,
        state?.bidSize,
        state?.ask,
        state?.askSize,
      ]
    }
    const namesOf = (outcome: string) => [
      `covered_${outcome}`,
      ...['timestamp', 'bid', 'bid_size', 'ask', 'ask_size'].map((name) => `${outcome}_${name}`),
    ]
    const columns = [
      'condition_id',
      'slug',
      'window_start',
      'window_end',
      'strike',
      'winner',
      'offset_ms',
      'ts',
      ...namesOf('up'),
      ...namesOf('down'),
      'last_trade_price',
      'spot_price',
    ]
    const expected = rows.map((row) => [
      row.conditionId,
      row.slug,
      row.windowStart,
      row.windowEnd,
      row.strike,
      row.winner,
      String(row.offsetMs),
      row.ts,
      ...sideOf(row, 'up'),
      ...sideOf(row, 'down'),
      (row.lastTrade as Json | null)?.price,
      (row.spot as Json | null)?.price,
    ])
    expect(expected.length).toBeGreaterThan(6)
    expect(await readFile(find('btc', 'panel').path, columns)).toEqual(cellsOf(expected))
  })

  test('default: columns have the names of lists and exports', async () => {
    const market = `/v1/btc/markets/${both.conditionId}`
    const tables = [
      '/v1/btc/markets?format=csv',
      `${market}/quotes?format=csv`,
      `${market}/trades?format=csv`,
      `${market}/export?format=csv`,
      `${market}/export?format=csv&shape=changes`,
      `${market}/export?format=csv&shape=states&depth=25`,
      '/v1/btc/panel?timeframe=5m&offsets=-30s&limit=1&format=csv',
    ]
    const headers = tables.map(async (path) =>
      (await (await harness.send(path)).text()).split('\n', 1).join('').split(','),
    )
    const known = new Set((await Promise.all(headers)).flat())
    const columns = fileKinds.flatMap((kind) => columnsOf(kind).map(({ name }) => name))
    expect(columns.filter((name) => !known.has(name))).toEqual([])
  })

  test('behavior: doubles are the nearest of the decimals', async () => {
    const columns = ['bid', 'bid_size', 'ask', 'ask_size', 'strike']
    const exact = await readFile(find('btc', 'quotes').path, columns)
    const near = await readFile(find('btc', 'quotes', 'double').path, columns)
    const toNumbers = (rows: Cells[]) => rows.map((row) => row.map((cell) => cell && Number(cell)))
    expect(toNumbers(near)).toEqual(toNumbers(exact))
    expect(exact[0]?.[4]).toBe('64126.512345678901234567')
  })

  test('behavior: a program reads parts of one over HTTP', async () => {
    const { name, rows } = find('btc', 'quotes', 'double')
    const url = `${server.url.origin}/v1/btc/files/${name}`
    const requestInit = { headers: { authorization: `Bearer ${key}` } }
    const file = await asyncBufferFromUrl({ url, requestInit })
    const read = await parquetReadObjects({ file, columns: ['id', 'bid'], rowEnd: 10 })
    expect(read).toHaveLength(10)
    expect(rows).toBeGreaterThan(10)
  })
})

describe('a file over HTTP', () => {
  const { name, bytes, sha256, path } = find('btc', 'quotes')
  const url = `/v1/btc/files/${name}`
  const ask = (headers: Record<string, string>, method = 'GET') =>
    fetch(server.url.origin + url, {
      method,
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
  const whole = async () => new Uint8Array(await Bun.file(path).arrayBuffer())

  test('default: whole, with its digest', async () => {
    const response = await ask({})
    const body = new Uint8Array(await response.arrayBuffer())
    const digest = new Bun.CryptoHasher('sha256').update(body)
    expect([response.status, body.length, digest.digest('hex')]).toEqual([200, bytes, sha256])
    expect(response.headers.get('etag')).toBe(`"${sha256}"`)
    expect(response.headers.get('accept-ranges')).toBe('bytes')
    const head = await ask({}, 'HEAD')
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes)])
    expect((await ask({ 'if-none-match': `"${sha256}"` })).status).toBe(304)
  })

  test.each([
    ['bytes=0-3', 0, 4],
    ['bytes=4-', 4, bytes],
    ['bytes=-8', bytes - 8, bytes],
    [`bytes=10-${bytes + 100}`, 10, bytes],
    [`bytes=-${bytes + 1}`, 0, bytes],
  ])('behavior: %s is a part', async (range, start, end) => {
    const response = await ask({ range, 'if-range': `"${sha256}"` })
    expect(response.status).toBe(206)
    expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${bytes}`)
    expect(await response.bytes()).toEqual((await whole()).slice(start, end))
  })

  test.each([
    ['bytes=0-1,4-5', {}],
    ['bytes=5-2', {}],
    ['lines=1-2', {}],
    ['bytes=0-3', { 'if-range': '"other"' }],
  ])('behavior: %s %j is the whole', async (range, more) => {
    const response = await ask({ range, ...more })
    expect([response.status, (await response.bytes()).length]).toEqual([200, bytes])
  })

  test.each(['bytes=999999999-', 'bytes=-0'])('error: %s is beyond the end', async (range) => {
    const response = await ask({ range })
    expect([response.status, await response.json()]).toMatchObject([
      416,
      { code: 'range_not_satisfiable', param: 'Range' },
    ])
    expect(response.headers.get('content-range')).toBe(`bytes */${bytes}`)
  })

  test('error: no other file of the disk has a name here', async () => {
    for (const other of ['none', '..%2f..%2fetc%2fpasswd', name.replace('btc', 'eth')]) {
      const response = await harness.send(`/v1/btc/files/${other}`)
      expect([other, response.status]).toEqual([other, 404])
    }
    expect((await harness.send(url.replace('/btc/', '/eth/'))).status).toBe(404)
  })

  test('behavior: a manifest of the day has the digest of each', () => {
    const { files, madeMs } = store.digestsOf(DAY)
    expect([files.length, madeMs]).toEqual([made, LATER_MS])
    expect(files).toContainEqual({ path: url, bytes, sha256 })
    expect(store.digestsOf('2026-01-02').files).toEqual([])
  })

  test('behavior: pages of the list have each file once', async () => {
    const rows: unknown[] = []
    let cursor = ''
    do {
      const page = await get(`/v1/btc/files?limit=3${cursor}`)
      rows.push(...page.data.map((file) => file.name))
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`
    } while (cursor !== '')
    expect(rows).toEqual((await get('/v1/btc/files')).data.map((file) => file.name))
    expect((await get(`/v1/btc/files?kind=trades&numbers=double&day=${DAY}`)).data).toHaveLength(1)
  })
})

describe('making', () => {
  test('behavior: what is made is not made again; what came late is another revision', async () => {
    expect(makeDayFiles(deps)).toBe(0)
    const before = find('xrp', 'levels')
    const last = edge.rows.at(-1)?.timestampMs ?? 0
    await history.append({ id: 'late', source: 'recorded', snapshots: rowsAt(edge, [last + 5]) })
    // Not sealed any more, so not final.
    const sealed = history.findMarket(edge.conditionId)?.isClosed
    if (sealed === false) expect(makeDayFiles(deps)).toBe(0)
    await history.close(edge.conditionId)
    expect(makeDayFiles(deps)).toBe(12)
    const files = store.find({ coin: 'xrp', timeframe: '15m', day: DAY })?.files ?? []
    const levels = files.filter(({ kind, numbers }) => kind === 'levels' && numbers === 'decimal')
    expect(levels.map(({ revision }) => revision)).toEqual([1, 2])
    expect(levels[1]?.rows).toBeGreaterThan(before.rows)
    expect(statSync(before.path).size).toBe(before.bytes)
  })

  test('behavior: no name is used again, also where the files were lost', async () => {
    const place = { coin: 'eth', timeframe: '5m', day: DAY } as const
    const signed = openHistory(':memory:')
    const { single } = await createMarketHistory(signed)
    for await (const _ of makeManifests(signed, LATER_MS, store.digestsOf));
    expect(signed.findMarket(single.conditionId)?.isClosed).toBe(true)
    const other = createFileStore(join(root, 'lost'))
    makeDayFiles({ ...deps, history: signed, store: other }, { coins: ['eth'] })
    expect(new Set(other.find(place)?.files.map(({ revision }) => revision))).toEqual(new Set([2]))
  })

  test('behavior: a day is not made before it is final', () => {
    const early = createFileStore(join(root, 'early'))
    const at = (nowMs: number) => makeDayFiles({ ...deps, store: early, nowMs }, { coins: ['eth'] })
    expect(at(Date.UTC(2026, 0, 2))).toBe(0)
    expect(at(Date.UTC(2026, 0, 2, 0, 5))).toBe(12)
  })

  test('error: what stops in between leaves nothing that is listed', () => {
    const place = join(root, 'full')
    const full = createFileStore(place)
    let left = 4
    const assertMayWrite = () => {
      if (left-- === 0) throw new Error('The disk is full.')
    }
    const wanted = { coins: ['eth'] } as const
    expect(() => makeDayFiles({ ...deps, store: full, assertMayWrite }, wanted)).toThrow('full')
    expect(full.daysOf({ coin: 'eth', timeframe: '5m' })).toEqual([])
    expect(makeDayFiles({ ...deps, store: full }, wanted)).toBe(12)
    const names = readdirSync(join(place, 'eth', '5m'))
    expect(names.filter((name) => name.endsWith('.part'))).toEqual([])
  })

  test('behavior: files of old days are deleted with their list', () => {
    const old = createFileStore(join(root, 'old'))
    makeDayFiles({ ...deps, store: old }, { coins: ['eth'] })
    expect(pruneDayFiles(old, DAY)).toBe(0)
    expect(pruneDayFiles(old, '2026-01-02')).toBe(1)
    expect(readdirSync(join(root, 'old', 'eth', '5m'))).toEqual([])
  })
})
