import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'
import { createJsonParquet } from '#src/tables/json-parquet.ts'
import { memberColumn, parseRow, splitList } from '#src/tables/json-rows.ts'

import { askDuckDb } from '../support/duckdb.ts'
import { createHarness } from '../support/harness.ts'
import { conditionIdOf, createMarketHistory } from '../support/market-history.ts'
import { readDocument } from '../support/openapi-document.ts'
import { addressOf } from '../support/operation-requests.ts'

const { history, both, open } = await createMarketHistory()
// What a text may have that a line of CSV may not, and more digits than a float.
await history.putMarket({
  conditionId: open.conditionId,
  coin: 'btc',
  timeframe: '5m',
  source: 'simulated',
  question: 'Up, "down"\nor neither?',
  strike: '64126.512345678901234567',
})
const harness = createHarness({ history })
const { send } = harness
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-table-'))
afterAll(() => rmSync(folder, { recursive: true }))

const base = both.path.replace('/snapshots', '')
const panel = '/v1/btc/panel?timeframe=5m&offsets=-60s,-5s&limit=1'
const { entries } = await readDocument(send)
/** Every list that can be a table, as it is asked for without filters. */
const tables = entries
  .filter(({ parameters = [] }) => {
    const format = parameters.find(({ name }) => name === 'format')
    return ['json', 'csv'].every((each) => format?.schema.enum?.includes(each))
  })
  .map((entry) => addressOf(entry, { coin: both.coin, conditionId: both.conditionId }))
const lists = [
  ...tables,
  '/v1/btc/markets?limit=1',
  '/v1/btc/markets?slug=none',
  `${base}/quotes?limit=700`,
  `${base}/quotes?limit=3&outcome=down&order=desc`,
  `${base}/quotes?interval=1s&limit=50`,
  `${base}/quotes?fields=bid,receivedAt,id`,
  `${base}/prices?interval=10s`,
  `${base}/changes?limit=150`,
  `${base}/trades?limit=7`,
  panel,
  '/v1/btc/spot?interval=10s&window=60',
]

type Json = { data: Record<string, unknown>[]; nextCursor: string | null }

const toSnakeCase = (name: string) => name.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase()

/** Members as columns, and every number as its digits. */
function flatten(value: unknown, name = ''): [name: string, text: string][] {
  if (value === null) return []
  if (Array.isArray(value) && value[0]?.outcome !== undefined)
    return value.flatMap(({ outcome, ...rest }) => flatten(rest, outcome as string))
  if (Array.isArray(value)) return [[name, JSON.stringify(value)]]
  if (typeof value !== 'object') return [[name, String(value)]]
  return Object.entries(value as object).flatMap(([key, each]) =>
    flatten(each, name === '' ? toSnakeCase(key) : `${name}_${toSnakeCase(key)}`),
  )
}

const asked = (path: string, format: string): string =>
  `${path}${path.includes('?') ? '&' : '?'}format=${format}`

async function readJson(path: string) {
  const response = await send(path)
  expect(response.status).toBe(200)
  const text = await response.text()
  const exact = (_: string, value: unknown, { source }: { source?: string }) =>
    typeof value === 'number' ? source : value
  const { data, nextCursor } = JSON.parse(text, exact as () => unknown) as Json
  return { rows: data.map((row) => Object.fromEntries(flatten(row))), nextCursor, response }
}

const without = (row: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== ''))

describe('a list as a table', () => {
  test.each(lists)('default: %s says the same in CSV and Parquet', async (path) => {
    const { rows, nextCursor, response: json } = await readJson(path)
    for (const format of ['csv', 'parquet']) {
      const response = await send(asked(path, format))
      expect(response.status).toBe(200)
      expect(response.headers.get('x-next-cursor')).toBe(nextCursor)
      for (const name of ['x-resume-cursor', 'x-coverage', 'cache-control', 'vary'])
        expect(response.headers.get(name)).toBe(json.headers.get(name))
      const file = join(folder, `${crypto.randomUUID()}.${format}`)
      await Bun.write(file, await response.bytes())
      const read =
        format === 'csv' ? `read_csv('${file}', all_varchar=true, header=true)` : `'${file}'`
      const columns = await askDuckDb(`DESCRIBE SELECT * FROM ${read}`)
      const shown = columns.map(({ column_name: name, column_type: type }) => {
        // As JSON has it: without zeros at the end, times with a T.
        if (String(type).startsWith('DECIMAL'))
          return `regexp_replace(regexp_replace("${name}"::VARCHAR, '0+$', ''), '\\.$', '') AS "${name}"`
        if (String(type).startsWith('TIMESTAMP'))
          return `strftime("${name}"::TIMESTAMP, '%Y-%m-%dT%H:%M:%S.%gZ') AS "${name}"`
        return `"${name}"::VARCHAR AS "${name}"`
      })
      const found = await askDuckDb(`SELECT ${shown} FROM ${read}`)
      const trim = (text: unknown) =>
        /^-?\d+\.\d+$/.test(String(text)) ? String(text).replace(/\.?0+$/, '') : text
      const plain = (row: Record<string, unknown>) =>
        Object.fromEntries(Object.entries(without(row)).map(([key, value]) => [key, trim(value)]))
      expect([format, found.map(plain)]).toEqual([format, rows.map(plain)])
    }
  })

  test.each(['decimal', 'double'] as const)(
    'edge: negative numbers, booleans and nulls are those of the JSON (%s)',
    async (numbers) => {
      const json = [
        '{"n":-0.5,"i":-1,"b":true}',
        '{"n":-123e-7,"i":0,"b":false}',
        '{"n":7,"i":null}',
      ]
      const columns = [
        memberColumn(['n'], 'digits'),
        memberColumn(['i'], 'int64'),
        memberColumn(['b'], 'boolean'),
      ]
      const encoder = createJsonParquet(columns, numbers, 1000)
      const rows = Array.from({ length: 30 }, (_, at) => parseRow(json[at % 3] ?? ''))
      encoder.add(rows.slice(0, 20))
      encoder.add(rows.slice(20))
      const file = join(folder, `edge-${numbers}.parquet`)
      await Bun.write(file, encoder.end())
      const found = await askDuckDb(
        `SELECT n::DOUBLE AS n, i::VARCHAR AS i, b, count(*)::INTEGER AS count FROM '${file}' GROUP BY ALL ORDER BY n`,
      )
      expect(found).toEqual([
        { n: -0.5, i: '-1', b: true, count: 10 },
        { n: -0.0000123, i: '0', b: false, count: 10 },
        { n: 7, i: null, b: null, count: 10 },
      ])
    },
  )

  test('default: numbers of CSV are those of JSON, digit by digit', async () => {
    const json = await send('/v1/btc/markets')
    const csv = await send('/v1/btc/markets?format=csv')
    expect(await json.text()).toContain('64126.512345678901234567')
    expect(await csv.text()).toContain(',64126.512345678901234567,')
  })

  test.each([
    ['=HYPERLINK("http://evil.example";"open")', `"'=HYPERLINK(""http://evil.example"";""open"")"`],
    ["@SUM(1+1)*cmd|' /C calc'!A0", "'@SUM(1+1)*cmd|' /C calc'!A0"],
    ["-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"],
    ['+1-1', "'+1-1"],
    ['\uFF1D1+1', "'\uFF1D1+1"],
    ['\n=1+1', `"'\n=1+1"`],
    ['  =1+1', "'  =1+1"],
    ['\u00A0@SUM(1)', "'\u00A0@SUM(1)"],
    ['\u3000\u2003-1+1', "'\u3000\u2003-1+1"],
    [' \n +1-1', `"' \n +1-1"`],
    ['\t=1+1', '\uFFFD=1+1'],
    ['\u001b[31mred\r\u0007', '\uFFFD[31mred\uFFFD\uFFFD'],
    ['\u202Eupside', '\uFFFDupside'],
    ['-240s', '-240s'],
    // A signature in base64; a formula of the same letters does not end so.
    [`+9kj${'a'.repeat(82)}==`, `+9kj${'a'.repeat(82)}==`],
    [`+9kj${'a'.repeat(82)}`, `'+9kj${'a'.repeat(82)}`],
    ['Bitcoin = up?', 'Bitcoin = up?'],
  ])('error: a question %j runs in no spreadsheet and moves no cursor', async (question, cell) => {
    const own = openHistory(':memory:')
    await own.putMarket({
      conditionId: conditionIdOf('f'),
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      question,
    })
    const { send: ask } = createHarness({ history: own })
    const path = '/v1/btc/markets'
    expect(await (await ask(`${path}?format=csv`)).text()).toContain(`,${cell},`)
    const { data } = (await (await ask(path)).json()) as Json
    expect(data.map((row) => row.question)).toEqual([question])
  })

  test.each([
    ['text/csv', 'text/csv; charset=utf-8; header=present'],
    ['application/vnd.apache.parquet, application/json;q=0.5', 'application/vnd.apache.parquet'],
    ['application/json', 'application/json'],
    ['image/png', 'application/json'],
    ['*/*', 'application/json'],
  ])('behavior: Accept %s is answered with %s, whatever was asked before', async (accept, type) => {
    // Often enough that all of it is remembered.
    for (let count = 0; count < 4; count++) await send(`${base}/quotes`)
    const response = await send(`${base}/quotes`, { headers: { accept } })
    expect(response.headers.get('content-type')).toBe(type)
    const known = response.headers.get('etag') ?? ''
    const again = await send(`${base}/quotes`, { headers: { accept, 'if-none-match': known } })
    expect([again.status, again.headers.get('vary')]).toEqual([
      304,
      'Accept, Accept-Encoding, Origin',
    ])
  })

  test('behavior: DOUBLE on request', async () => {
    const response = await send(`${base}/quotes?format=parquet&numbers=double`)
    const file = join(folder, 'double.parquet')
    await Bun.write(file, await response.bytes())
    const [type] = await askDuckDb(`SELECT typeof(bid) AS type FROM '${file}' LIMIT 1`)
    expect(type).toEqual({ type: 'DOUBLE' })
  })

  test('error: an unknown format names the parameter', async () => {
    const response = await send(`${base}/quotes?format=xml`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'invalid_parameter', param: 'format' })
  })
})

describe('splitList', () => {
  test('behavior: texts may hold what looks like an end', () => {
    const rows = [{ a: '}{"\\', b: { c: ['},{', {}] } }, {}, { d: '\\"' }]
    const json = JSON.stringify({ data: rows, nextCursor: 'x', reason: null })
    const list = splitList(json)
    const found: string[] = []
    let next = list.next()
    for (; next.done !== true; next = list.next()) found.push(next.value)
    expect(found.map((text) => JSON.parse(text))).toEqual(rows)
    expect(JSON.parse(next.value)).toEqual({ data: [], nextCursor: 'x', reason: null })
  })
})
