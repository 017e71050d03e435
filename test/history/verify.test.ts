import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Database } from '#src/database/database.ts'
import { openDatabase } from '#src/database/sqlite/database.ts'
import { AppError } from '#src/domain/errors.ts'
import { coins, outcomes } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { changedValue } from '../support/changed-value.ts'
import { someTicks } from '../support/market-history.ts'
import { appendAll, conditionIdOf, randomHash, simulatedSnapshots, START_MS } from './books.ts'
import { textOf } from './pages.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-verify-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Two markets of hashed books: two chunks and a tail each. */
const random = createRandom('verify')
const snapshots: Snapshot[] = ['verify-a', 'verify-b'].flatMap((seed, at) =>
  simulatedSnapshots(seed, 240).map((row) => ({
    ...row,
    conditionId: `0x${String(at + 1).repeat(64)}`,
    assetId: row.assetId.slice(0, -1) + at,
    sourceHash: randomHash(random),
    receivedMs: row.timestampMs + 40 + at,
  })),
)
const conditionIds = [...new Set(snapshots.map(({ conditionId }) => conditionId))]

const path = join(folder, 'sound.db')
const sound = openHistory(path)
await appendAll(sound, snapshots)
await addPausesAndTrades(sound)
await sound.putSpot(someTicks('btc', 8))
await sound.putSpot(someTicks('eth', 8))
const window = { coin: 'btc', timeframe: '5m', source: 'recorded' } as const
await sound.putRecorder({
  id: 'a',
  name: 'one.example',
  coins: ['btc'],
  timeframes: ['5m'],
  startedMs: 1,
  signMs: 2,
})
await sound.putOutcomes(
  [1, 2].map((at) => ({
    ...window,
    windowStartMs: at * 300_000,
    winner: 'up',
    strike: '1',
    finalPrice: '2',
  })),
)
for (const day of ['2026-04-14', '2026-04-15'])
  await sound.manifests.add({ day, madeMs: 0, series: [], files: [] })
// Noted, and not put.
await sound.archive.pack(1, 0)
sound.dispose()
checkpoint(path)
let copies = 0

/** Adds what the simulator makes none of. */
async function addPausesAndTrades(history: MarketHistory): Promise<void> {
  for (const [at, conditionId] of conditionIds.entries()) {
    const last = snapshots.findLast((row) => row.conditionId === conditionId)
    if (last === undefined) throw new Error('A market has rows.')
    const timestampMs = last.timestampMs + 60_000
    await appendAll(history, [{ ...last, timestampMs, sourceHash: randomHash(random) }])
    const trades = [{ timestampMs, price: 500_000, outcome: 'up' } as const]
    await history.putTrades({ id: `trades-${at}`, conditionId, trades })
    await history.putReceipts([{ tradeId: at + 1, isSuccess: true }], 1)
    await history.putGaps(conditionId, [
      { outcome: 'down', fromMs: timestampMs, toMs: timestampMs + 9, reason: 'recorder_down' },
    ])
    const identity = { conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' } as const
    await history.putMarket({
      ...identity,
      winner: 'up',
      strike: '7.5',
      finalPrice: '7.6',
      tickSize: 10_000,
    })
  }
}

/** Brings everything into the one file, so that it can be copied. */
function checkpoint(file: string): void {
  const db = openDatabase(file)
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

/** Does `damage` to a copy of a sound history; returns its path. */
async function damagedFile(damage: (db: Database) => void): Promise<string> {
  const copy = join(folder, `${++copies}.db`)
  await Bun.write(copy, Bun.file(path))
  const db = openDatabase(copy)
  damage(db)
  db.close()
  return copy
}

/** Reads it with a handle that has cached nothing. */
const damaged = async (damage: (db: Database) => void): Promise<MarketHistory> =>
  openHistory(await damagedFile(damage), { chunkCacheBytes: 0 })

function faultsOf(history: MarketHistory): string[] {
  const faults = [...history.verify()]
  history.dispose()
  return faults
}

/** Flips one bit of a column in one row of a table. */
function flip(db: Database, { table, column, key }: Place, draw: Random): void {
  const where = key === undefined ? '' : `WHERE ${key}`
  const row = db
    .prepare<{ bytes: Uint8Array; at: number }, []>(
      `SELECT ${column} AS bytes, rowid AS at FROM ${table} ${where} LIMIT 1`,
    )
    .get()
  if (row === null) throw new Error(`No row in ${table}.`)
  const bytes = row.bytes.slice()
  const at = draw.integer(bytes.length)
  bytes[at] = (bytes[at] ?? 0) ^ (1 << draw.integer(8))
  db.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`).run(bytes, row.at)
}

type Place = { table: string; column: string; key?: string }

/** Every page that a client can ask for, as texts. */
const everything = (history: MarketHistory): string =>
  (['asc', 'desc'] as const)
    .flatMap((order) => [
      ...conditionIds.flatMap((conditionId) =>
        [undefined, ...outcomes].map((outcome) =>
          textOf(history, { conditionId, outcome, order, limit: 1000 }),
        ),
      ),
      JSON.stringify(coins.map((coin) => history.spot({ coin, order, limit: 1000 }))),
    ])
    .join('\n')

const sql = (text: string) => (db: Database) => {
  expect(db.run(text).changes).toBeGreaterThan(0)
}

const CHUNK = '(SELECT id FROM chunk ORDER BY id LIMIT 1)'
const GAP = 'rowid = (SELECT rowid FROM gap ORDER BY from_ms DESC LIMIT 1)'
const damages: Record<string, string> = {
  'a chunk twice': `INSERT INTO chunk SELECT NULL, market_id, first_ms, first_id, last_ms, last_id,
    up_count, down_count, tops, rows, hashes, notes FROM chunk WHERE id = ${CHUNK}`,
  'a chunk of another market': `UPDATE chunk SET market_id = 3 - market_id WHERE id = ${CHUNK}`,
  'the rows of one chunk in another': `UPDATE chunk SET rows = (SELECT rows FROM chunk ORDER BY id DESC LIMIT 1) WHERE id = ${CHUNK}`,
  'the hashes of one chunk in another': `UPDATE chunk SET hashes = (SELECT hashes FROM chunk ORDER BY id DESC LIMIT 1) WHERE id = ${CHUNK}`,
  'times swapped in the index': `UPDATE chunk SET first_ms = last_ms, last_ms = first_ms WHERE id = ${CHUNK}`,
  'counts swapped in the market':
    'UPDATE market SET up_count = down_count, down_count = up_count WHERE id = 1',
  'assets swapped in the market':
    'UPDATE market SET up_asset_id = down_asset_id, down_asset_id = up_asset_id WHERE id = 1',
  'a gap that nobody saw': `INSERT INTO gap SELECT market_id, outcome, 0, from_ms + 1, to_ms, reason FROM gap WHERE ${GAP}`,
  'a derived gap called recorded': `UPDATE gap SET is_derived = 0, to_ms = to_ms + 1 WHERE is_derived = 1`,
  'the price of a trade changed': 'UPDATE trade SET price = price + 10000 WHERE id = 1',
  'all trades deleted': 'DELETE FROM trade',
  'the trades of a market deleted': 'DELETE FROM trade WHERE market_id = 2',
  'winners flipped': "UPDATE market SET winner = iif(winner = 'up', 'down', 'up')",
  'another final price': "UPDATE market SET final_price = '1' WHERE id = 2",
  'the last price of a coin deleted': 'DELETE FROM spot WHERE id = (SELECT max(id) FROM spot)',
  'all prices of coins deleted': 'DELETE FROM spot',
  'all outcomes of windows deleted': 'DELETE FROM window_outcome',
  'a wrong coin total': 'UPDATE coin_total SET snapshots = snapshots - 1',
  'a market deleted': 'DELETE FROM market WHERE id = 1',
  'a market deleted with all that is held of it':
    'DELETE FROM chunk WHERE market_id = 1; DELETE FROM tail WHERE market_id = 1; DELETE FROM market WHERE id = 1',
  'a closed market with an unfinished run': 'UPDATE market SET is_closed = 1 WHERE id = 1',
  'a row of the tail twice': `INSERT INTO tail SELECT market_id, time_ms, id + 1000, outcome, bid_price,
    bid_size, ask_price, ask_size, text_length, bit_length, text_crc, frame, source_hash, checksum, notes FROM tail LIMIT 1`,
  'a frame of the tail emptied':
    "UPDATE tail SET frame = x'' WHERE rowid = (SELECT rowid FROM tail LIMIT 1)",
  'rows of a chunk emptied': `UPDATE chunk SET rows = x'' WHERE id = ${CHUNK}`,
}

type Target = { table: string; column: string | undefined }

/** What nothing that is served depends on. */
const FREE = ['chunk.id']

/** Every column of every table, and the tables by themselves. */
function* places(): Generator<Target> {
  const db = openDatabase(path)
  const tables = db
    .prepare<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .all()
  for (const { name: table } of tables) {
    const columns = db
      .prepare<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)')
      .all(table)
    // A recorder that ends in order deletes its row; a trade without a receipt is asked for again.
    if (table !== 'recorder' && table !== 'trade_chain') yield { table, column: undefined }
    for (const { name: column } of columns)
      if (!FREE.includes(`${table}.${column}`)) yield { table, column }
  }
  db.close()
}

/** Changes one value of a row as little as its kind allows, or deletes the row. */
function damageRow(db: Database, { table, column }: Target, draw: Random): void {
  const rows = db.prepare<{ at: number }, []>(`SELECT rowid AS at FROM ${table}`).all()
  const { at } = rows[draw.integer(rows.length)] ?? { at: -1 }
  if (column === undefined) {
    db.run(`DELETE FROM ${table} WHERE rowid = ${at}`)
    return
  }
  const value = db
    .prepare<unknown, []>(`SELECT ${column} FROM ${table} WHERE rowid = ${at}`)
    .values()[0]?.[0]
  const other = changedValue(value)
  db.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`).run(other, at)
}

describe('verify', () => {
  test('default: finds nothing in a sound history, and reports progress to the end', async () => {
    const history = await damaged(() => {})
    const progress: [number, number][] = []
    expect([...history.verify((done, total) => void progress.push([done, total]))]).toEqual([])
    expect(progress).toEqual([
      [1, 2],
      [2, 2],
    ])
    history.dispose()
  })

  for (const [name, text] of Object.entries(damages)) {
    test(`error: reports ${name}`, async () => {
      const faults = faultsOf(await damaged(sql(text)))
      expect(faults.length).toBeGreaterThan(0)
    })
  }

  for (const { table, column } of places()) {
    test(`error: reports a change of ${table}: ${column ?? 'a row deleted'}`, async () => {
      for (let seed = 0; seed < 2; seed++) {
        const draw = createRandom(`${table}-${column}-${seed}`)
        const copy = await damagedFile((db) => damageRow(db, { table, column }, draw))
        const history = openOrRefuse(copy)
        const isFound = history === undefined || faultsOf(history).length > 0
        expect([seed, isFound]).toEqual([seed, true])
      }
    })
  }

  for (const column of ['tops', 'hashes', 'notes']) {
    test(`error: reports every flipped bit in the ${column} of a chunk`, async () => {
      for (let seed = 0; seed < 6; seed++) {
        const draw = createRandom(`${column}-${seed}`)
        const history = await damaged((db) => flip(db, { table: 'chunk', column }, draw))
        const faults = faultsOf(history)
        expect([seed, faults.length > 0]).toEqual([seed, true])
      }
    })
  }

  for (const [table, column] of [
    ['chunk', 'rows'],
    ['tail', 'frame'],
  ] as const) {
    test(`error: reports every flipped bit in ${column} of ${table} that changes any page`, async () => {
      const before = openHistory(path)
      const texts = everything(before)
      before.dispose()
      for (let seed = 0; seed < 24; seed++) {
        const draw = createRandom(`${table}-${seed}`)
        const after = await damaged((db) => flip(db, { table, column }, draw))
        const isReported = [...after.verify()].length > 0
        if (!isReported) expect([seed, everything(after) === texts]).toEqual([seed, true])
        after.dispose()
      }
    })
  }

  test('error: reports damage done behind a chunk that is in memory', async () => {
    const copy = join(folder, 'cached.db')
    await Bun.write(copy, Bun.file(path))
    const history = openHistory(copy)
    everything(history)
    const db = openDatabase(copy)
    flip(db, { table: 'chunk', column: 'rows', key: `id = ${CHUNK}` }, createRandom('cached-1'))
    db.close()
    expect(faultsOf(history).length).toBeGreaterThan(0)
  })

  test('behavior: bytes changed anywhere in the file are refused, reported or change no page; nothing throws', async () => {
    const endings = { refused: 0, reported: 0, harmless: 0 }
    for (let seed = 0; seed < 24; seed++) {
      const history = openOrRefuse(await scribbled(seed))
      const ending = history === undefined ? 'refused' : await judge(history, seed)
      endings[ending]++
      history?.dispose()
    }
    expect(endings.reported).toBeGreaterThan(8)
  })

  test('error: a file whose damage shows at opening is refused as unavailable', async () => {
    const codes = new Set<string>()
    for (let seed = 0; seed < 24; seed++) {
      const copy = await scribbled(seed)
      try {
        openHistory(copy).dispose()
      } catch (error) {
        codes.add(error instanceof AppError ? error.code : String(error))
      }
    }
    expect([...codes]).toEqual(['storage_unavailable'])
  })
})

/** A copy of the sound file with a few random bytes, some in the first pages. */
async function scribbled(seed: number): Promise<string> {
  const draw = createRandom(`file-${seed}`)
  const bytes = await Bun.file(path).bytes()
  for (let changes = 0; changes < 8; changes++)
    bytes[draw.integer(seed % 3 === 0 ? 16_384 : bytes.length)] = draw.integer(256)
  const copy = join(folder, `${++copies}.db`)
  await Bun.write(copy, bytes)
  return copy
}

function openOrRefuse(copy: string): MarketHistory | undefined {
  try {
    return openHistory(copy, { chunkCacheBytes: 0 })
  } catch {
    return undefined
  }
}

async function judge(history: MarketHistory, seed: number): Promise<'reported' | 'harmless'> {
  if ([...history.verify()].length > 0) return 'reported'
  const before = openHistory(path)
  const isSame = everything(history) === everything(before)
  before.dispose()
  expect([seed, isSame]).toEqual([seed, true])
  return 'harmless'
}

test('behavior: a batch of thousands of trades is sound', async () => {
  const history = openHistory(':memory:')
  const conditionId = conditionIdOf(1)
  await history.putMarket({ conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' })
  const trades = Array.from({ length: 6_000 }, (_, at) => ({
    timestampMs: START_MS + at,
    price: 530_000,
  }))
  await history.putTrades({ id: 'many', conditionId, trades })
  expect([...history.verify()]).toEqual([])
})
