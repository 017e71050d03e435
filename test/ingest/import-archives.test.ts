import { describe, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'

import { askDuckDb } from '../support/duckdb.ts'
import { snapshotRuns } from '../support/snapshot-runs.ts'
import { createImportHarness } from './import-harness.ts'

const { aHistory, run, write, pathOf } = createImportHarness()

const START_MS = Date.UTC(2026, 3, 14, 8)
const slug = `btc-updown-5m-${START_MS / 1000}`
const conditionId = `0x${'a'.repeat(64)}`
const tokens = JSON.stringify([
  { slug, conditionId, assetId: '111', outcome: 'up' },
  { slug, conditionId, assetId: '222', outcome: 'down' },
])

const micros = (ms: number): string => `${START_MS + ms}123`

/** Rows of the market as texts: time, outcome, levels. */
function rowsOf(history: MarketHistory): string[] {
  const market = history.findMarket(conditionId)
  if (market === undefined) return []
  const text = ({ prices, sizes }: { prices: readonly number[]; sizes: readonly number[] }) =>
    prices.map((price, at) => `${price / 10_000}×${(sizes[at] ?? 0) / 1_000_000}`).join(' ')
  return [...snapshotRuns(history, { market })]
    .flat()
    .map(
      ({ timestampMs, outcome, bids, asks, receivedMs }) =>
        `${timestampMs - START_MS} ${outcome} ${text(bids)} | ${text(asks)} @${(receivedMs ?? 0) - START_MS}`,
    )
}

async function importWith(file: string) {
  const history = aHistory()
  const list = await write(`tokens-${crypto.randomUUID()}.json`, tokens)
  return { history, ...(await run([file, list], { history })) }
}

async function writeParquet(file: string, query: string): Promise<void> {
  await askDuckDb(`COPY (${query}) TO '${file}' (FORMAT parquet, COMPRESSION zstd)`)
}

type Older = [ms: number, kind: string, data: object | string]

/** As the archive was until April 2026: what a message says is a JSON text. */
async function writeOlder(name: string, rows: readonly Older[]): Promise<string> {
  const selects = rows.map(([ms, kind, own]) => {
    const shared = { update_type: kind, market_id: conditionId, token_id: '111', side: 'YES' }
    const times = { best_bid: '0.5', best_ask: '0.52', timestamp: (START_MS + ms) / 1000 }
    const data = typeof own === 'string' ? own : JSON.stringify({ ...shared, ...times, ...own })
    const at = (afterMs: number) => `make_timestamp_ms(${START_MS + ms + afterMs})`
    return `SELECT ${at(0)}, ${at(170)}, '${conditionId}', '${kind}', '${data}'`
  })
  const columns = 'timestamp_received, timestamp_created_at, market_id, update_type, data'
  const file = pathOf(name)
  await writeParquet(
    file,
    `SELECT * FROM (${selects.join(' UNION ALL ')}) AS rows(${columns}) ORDER BY 1`,
  )
  return file
}

const changeOf = (price: string, size: string, side: string) => ({
  change_price: price,
  change_size: size,
  change_side: side,
})

describe('importFiles of archives', () => {
  test.each([
    ['a token', '111', 'up'],
    ['a condition id and an outcome', `${conditionId}:down`, 'down'],
    ['a slug and an outcome', `${slug}:up`, 'up'],
  ])('default: book snapshots as CSV, of %s', async (name, symbol, outcome) => {
    const lines = [
      'exchange,symbol,timestamp,local_timestamp,asks[0].price,asks[0].amount,bids[0].price,bids[0].amount,asks[1].price,asks[1].amount,bids[1].price,bids[1].amount',
      `polymarket,${symbol},${micros(10)},${micros(15)},0.52,30,0.5,100.25,0.6,1,0.49,20`,
      `polymarket,${symbol},${micros(30)},${micros(36)},0.52,30,0.5,90,,,,`,
    ]
    const file = await write(`snapshots-${name}.csv`, lines.join('\n'))
    const { history, faults } = await importWith(file)
    expect(faults).toEqual([])
    expect(rowsOf(history)).toEqual([
      `10 ${outcome} 50×100.25 49×20 | 52×30 60×1 @15`,
      `30 ${outcome} 50×90 | 52×30 @36`,
    ])
  })

  test('default: incremental books as CSV', async () => {
    const row = (ms: number, isSnapshot: boolean, level: string): string =>
      `polymarket,111,${micros(ms)},${micros(ms + 5)},${isSnapshot},${level}`
    const lines = [
      'exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount',
      row(0, true, 'bid,0.5,100'),
      row(0, true, 'ask,0.52,30'),
      row(100, false, 'bid,0.51,7'),
      row(200, false, 'bid,0.5,0'),
      row(200, false, 'ask,0.53,2'),
    ]
    const { history, faults } = await importWith(await write('l2.csv', `${lines.join('\n')}\n`))
    expect(faults).toEqual([])
    expect(rowsOf(history)).toEqual([
      '0 up 50×100 | 52×30 @5',
      '100 up 51×7 50×100 | 52×30 @105',
      '200 up 51×7 | 52×30 53×2 @205',
    ])
  })

  test('behavior: rows of markets that are not held are counted, and a file of such alone is named', async () => {
    const columns = 'timestamp_received,timestamp,market,event_type,asset_id,bids,asks'
    const row = (market: string) => `${START_MS + 5},${START_MS},${market},book,111,[],[]`
    const foreign = row(`0x${'b'.repeat(64)}`)
    const mixed = [columns, foreign, row(conditionId), foreign].join('\n')
    const { report, faults } = await importWith(await write('mixed.csv', mixed))
    expect(faults).toEqual([])
    expect(report).toMatchObject({ accepted: 1, rowsNotHeld: 2, filesRefused: [] })
    const other = await write('other.csv', [columns, foreign].join('\n'))
    expect((await importWith(other)).report).toMatchObject({
      accepted: 0,
      rowsNotHeld: 1,
      filesRefused: [other],
    })
  })

  test('error: a table of unknown columns, or without rows, is named once', async () => {
    const unknown = await write('unknown.csv', 'time,coin,bid\n1,btc,0.5\n2,btc,0.5\n')
    const { report, faults } = await importWith(unknown)
    expect(faults.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('incremental books of the Tardis kind (symbol, timestamp,'),
    ])
    expect(report).toMatchObject({ filesFailed: 1, invalid: 0 })
    const columns = 'exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount'
    const bare = await write('bare.csv', `${columns}\n`)
    expect((await importWith(bare)).report.filesRefused).toEqual([bare])
  })

  test('error: of a file of blank lines nothing is kept, the second time too', async () => {
    const blank = await write('blank.ndjson', '\n\n\n')
    const history = aHistory()
    for (let time = 0; time < 2; time++)
      expect((await run([blank], { history })).report.filesRefused).toEqual([blank])
  })

  test('error: a symbol of a market without an outcome is not guessed', async () => {
    const lines = [
      'exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount',
      `polymarket,${slug},${micros(0)},${micros(5)},true,bid,0.5,100`,
    ]
    const { report, faults } = await importWith(await write('which.csv', lines.join('\n')))
    expect(faults[0]?.reason).toStartWith(`${slug}: of which outcome?`)
    expect(report.accepted).toBe(0)
  })

  test('default: messages as Parquet, whose decimals are exact', async () => {
    const file = pathOf('hour.parquet')
    const at = (ms: number): string => `make_timestamp_ms(${START_MS + ms})`
    const nothing = 'NULL::DECIMAL(9,4), NULL::DECIMAL(18,6), NULL::VARCHAR'
    const book = `SELECT ${at(5)}, ${at(0)}, '${conditionId}', 'book', '111', '[["0.5","100"]]', '[["0.52","30"]]', ${nothing}`
    const change = `SELECT ${at(105)}, ${at(100)}, '${conditionId}', 'price_change', '111', NULL, NULL, 0.51, 7.123456, 'BUY'`
    const columns =
      'timestamp_received, timestamp, market, event_type, asset_id, bids, asks, price, size, side'
    await writeParquet(
      file,
      `SELECT * FROM (${book} UNION ALL ${change}) AS rows(${columns}) ORDER BY 1`,
    )
    const { history, faults } = await importWith(file)
    expect(faults).toEqual([])
    expect(rowsOf(history)).toEqual([
      '0 up 50×100 | 52×30 @5',
      '100 up 51×7.123456 50×100 | 52×30 @105',
    ])
  })

  test('default: messages as JSON in Parquet, which have no time of the venue', async () => {
    const file = await writeOlder('older.parquet', [
      [
        5,
        'book_snapshot',
        {
          bids: [
            ['0.49', '3'],
            ['0.5', '100'],
          ],
          asks: [['0.52', '30']],
        },
      ],
      [105, 'price_change', { best_bid: '0.51', ...changeOf('0.51', '7.123456', 'BUY') }],
      [205, 'price_change', { best_bid: '0.51', best_ask: null, ...changeOf('0.52', '0', 'SELL') }],
    ])
    const { history, faults } = await importWith(file)
    expect(faults).toEqual([])
    expect(rowsOf(history)).toEqual([
      '5 up 50×100 49×3 | 52×30 @5',
      '105 up 51×7.123456 50×100 49×3 | 52×30 @105',
      '205 up 51×7.123456 50×100 49×3 |  @205',
    ])
  })

  test('error: of these, what is of another kind or no JSON is named', async () => {
    const file = await writeOlder('odd.parquet', [
      [5, 'last_trade', {}],
      [6, 'price_change', { token_id: '333', ...changeOf('0.51', '7', 'BUY') }],
      [7, 'price_change', 'half a {'],
    ])
    const { report, faults } = await importWith(file)
    expect(report.invalid).toBe(3)
    expect(faults.map(({ reason }) => reason)).toEqual([
      'update_type: not book_snapshot or price_change',
      expect.stringContaining('token 333'),
      'data: not a JSON object',
    ])
  })

  test('error: columns that nothing has are named with those that are expected', async () => {
    const file = pathOf('other.parquet')
    await writeParquet(file, 'SELECT 1 AS one')
    const { report, faults } = await importWith(file)
    expect(report.filesFailed).toBe(1)
    expect(faults[0]?.reason).toContain('messages of the PMXT kind (timestamp_received, ')
  })

  test('error: a file that is cut is named', async () => {
    const file = await write('cut.parquet', 'PAR1 and nothing more of it')
    const { report, faults } = await importWith(file)
    expect(report.filesFailed).toBe(1)
    expect(faults[0]?.reason).toStartWith('not a sound Parquet file (it begins and ends with PAR1')
  })

  test('error: random bytes under the name of a Parquet file are told what it is', async () => {
    const file = await write('noise.parquet', 'x{\0\u00ff not a table\n'.repeat(100))
    const { report, faults } = await importWith(file)
    expect([report.filesFailed, report.invalid]).toEqual([1, 0])
    expect(faults[0]?.reason).toStartWith('not a sound Parquet file (it begins and ends with PAR1')
  })
})
