/** A year of quotes as one table, by the statement that the server gives. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { DAY_MS, toIsoDay } from '#src/domain/time.ts'
import { dayTables } from '#src/extensions/day-files/day-tables.ts'
import { createFileStore, type DayFile } from '#src/extensions/day-files/store.ts'
import { openHistory } from '#src/history/open.ts'
import { makeSampleWindows } from '#src/simulator/sample.ts'

import { askDuckDb } from '../../support/duckdb.ts'
import { addKey, createHarness } from '../../support/harness.ts'
import { readProblem } from '../../support/page-client.ts'

const DAYS = 365
const FIRST_MS = Date.UTC(2025, 0, 1)
const dayAt = (index: number): string => toIsoDay(FIRST_MS + index * DAY_MS)

const onceMade = [['decimal', 1]] as const
const revised = [
  ['decimal', 1],
  ['double', 1],
  ['decimal', 2],
  ['double', 2],
] as const

const root = mkdtempSync(join(tmpdir(), 'bookfeed-archive-sql-'))
afterAll(() => rmSync(root, { recursive: true }))
const history = openHistory(':memory:')
const files = createFileStore(root)
/** Rows, and the sum of bids in millionths, of all days; as the store has them. */
const expected = { rows: 0, bids: 0 }

for (let index = 0; index < DAYS; index++) {
  const startMs = FIRST_MS + index * DAY_MS
  await makeSampleWindows(history, { coin: 'btc', count: 1, startMs, statesPerSecond: 0.02 })
  const day = dayAt(index)
  const place = { coin: 'btc', timeframe: '5m', day } as const
  const [market] = history.listMarkets({ ...place, fromMs: startMs, limit: 1, order: 'asc' })
  if (market === undefined) throw new Error(`No window of ${day} was made.`)
  const made: DayFile[] = []
  for (const [numbers, revision] of index === 10 ? revised : onceMade) {
    const name = `btc-5m-${day}-quotes-${numbers}-r${revision}.parquet`
    const pieces = dayTables.quotes.make(history, [market], startMs + DAY_MS, numbers)
    const written = files.write(place, name, pieces)
    const facts = { markets: 1, rows: 1, madeMs: startMs }
    made.push({ name, ...place, kind: 'quotes', numbers, revision, ...facts, ...written })
  }
  files.putList(place, { source: '', files: made })
  let before = ''
  for (const outcome of ['up', 'down'] as const) {
    for (const { bidPrice, bidSize, askPrice, askSize } of history.tops({
      market,
      outcome,
      order: 'asc',
      limit: 1_000_000,
    })) {
      const quote = [outcome, bidPrice, bidSize, askPrice, askSize].join(' ')
      if (quote !== before) {
        expected.rows++
        expected.bids += bidPrice
      }
      before = quote
    }
  }
}

const { send, sendAs, ledger } = createHarness({ history, files })
const get = async (query: string) => (await send(`/v1/btc/archive.sql?kind=quotes&${query}`)).text()
/** Without httpfs DuckDB reads no addresses: the same files, where they are on the disk. */
const asLocal = (sql: string) =>
  sql.replace(/'http:\/\/localhost\/v1\/btc\/links\/[^/]+\/([^']+)'/g, `'${root}/btc/5m/$1'`)

describe('the archive in SQL', () => {
  test('default: a year is one table', async () => {
    const sql = await get(`timeframe=5m&from=${dayAt(0)}&to=${dayAt(DAYS)}`)
    expect(sql).toContain('CREATE OR REPLACE VIEW btc_5m_quotes AS SELECT * FROM read_parquet([\n')
    expect(sql.match(/\/links\/bf_link_/g)).toHaveLength(DAYS)
    const [found] = await askDuckDb(
      `${asLocal(sql)} SELECT count(*) AS rows, sum(bid) AS bids, count(DISTINCT window_start) AS windows FROM btc_5m_quotes`,
    )
    expect(found?.rows).toBe(String(expected.rows))
    expect(found?.windows).toBe(String(DAYS))
    expect(Math.round(Number(found?.bids) * 1_000_000)).toBe(expected.bids)
  })

  test('behavior: has the days of the range, the newest revision, and the numbers asked for', async () => {
    const sql = await get(`from=${dayAt(9)}&to=${dayAt(12)}&numbers=double`)
    expect(sql).toContain('VIEW btc_quotes AS')
    const names = [...sql.matchAll(/\/(btc-5m-[^']+)'/g)].map(([, name]) => name)
    expect(names).toEqual([`btc-5m-${dayAt(10)}-quotes-double-r2.parquet`])
    const [found] = await askDuckDb(
      `${asLocal(sql)} SELECT typeof(bid) AS type FROM btc_quotes LIMIT 1`,
    )
    expect(found?.type).toBe('DOUBLE')
  })

  test('default: its links open the files', async () => {
    const sql = await get(`from=${dayAt(0)}&to=${dayAt(1)}`)
    const [, link = ''] = /'http:\/\/localhost([^']+)'/.exec(sql) ?? []
    const answer = await sendAs(undefined, link)
    expect(answer.status).toBe(200)
    expect(await answer.bytes()).toEqual(
      await Bun.file(`${root}/btc/5m/${link.split('/').at(-1)}`).bytes(),
    )
  })

  test.each([
    ['kind=quotes&from=2025-01-02&to=2025-01-02', 400, 'to'],
    ['kind=quotes&from=2025-01-02', 400, 'to'],
    ['kind=quotes&to=2025-01-02', 400, 'from'],
    ['from=2025-01-01&to=2025-01-02', 400, 'kind'],
    ['kind=quotes&from=2025-01-01&to=2025-01-02&links=2h', 400, 'links'],
    ['kind=trades&from=2025-01-01&to=2025-01-02', 404, 'from'],
    ['kind=quotes&numbers=double&from=2025-01-01&to=2025-01-02', 404, 'from'],
    ['kind=quotes&from=2024-01-01&to=2025-01-01', 404, 'from'],
  ])('error: ?%s is %i, naming %s', async (query, status, param) => {
    const answer = await send(`/v1/btc/archive.sql?${query}`)
    expect([answer.status, (await readProblem(answer)).param]).toEqual([status, param])
  })

  test('error: a kind that the tier does not include is 403', async () => {
    const tier = { tierId: 'own', name: 'Own', rank: 77, requestsPerMinute: 10, isForSale: false }
    const key = addKey(ledger, { ...tier, coins: ['btc'], routes: ['snapshots'] })
    const answer = await sendAs(
      key,
      '/v1/btc/archive.sql?kind=quotes&from=2025-01-01&to=2025-01-02',
    )
    expect((await readProblem(answer)).code).toBe('tier_route')
  })
})
