import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { outcomes } from '#src/core/market.ts'
import type { Snapshot } from '#src/core/snapshot.ts'
import { createRandom, type Random } from '#src/lib/random.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import type { HistoryStore } from '#src/store/history.ts'
import { openHistory } from '#src/store/open.ts'

import { appendAll, randomHash, simulatedSnapshots } from './books.ts'
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
  })),
)
const conditionIds = [...new Set(snapshots.map(({ conditionId }) => conditionId))]

const path = join(folder, 'sound.db')
const sound = openHistory(path)
appendAll(sound, snapshots)
addPausesAndTrades(sound)
sound.dispose()
checkpoint(path)
let copies = 0

/** Adds what the simulator makes none of. */
function addPausesAndTrades(history: HistoryStore): void {
  for (const [at, conditionId] of conditionIds.entries()) {
    const last = snapshots.findLast((row) => row.conditionId === conditionId)
    if (last === undefined) throw new Error('A market has rows.')
    const timestampMs = last.timestampMs + 60_000
    appendAll(history, [{ ...last, timestampMs, sourceHash: randomHash(random) }])
    const trades = [{ timestampMs, price: 500_000, outcome: 'up' } as const]
    history.putTrades({ id: `trades-${at}`, conditionId, trades })
  }
}

/** Brings everything into the one file, so that it can be copied. */
function checkpoint(file: string): void {
  const db = openDatabase(file)
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

/** Does `damage` to a copy of a sound history, and reads it with a handle that has cached nothing. */
async function damaged(damage: (db: Database) => void): Promise<HistoryStore> {
  const copy = join(folder, `${++copies}.db`)
  await Bun.write(copy, Bun.file(path))
  const db = openDatabase(copy)
  damage(db)
  db.close()
  return openHistory(copy, { chunkCacheBytes: 0 })
}

function faultsOf(history: HistoryStore): string[] {
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
const everything = (history: HistoryStore): string =>
  conditionIds
    .flatMap((conditionId) =>
      [undefined, ...outcomes].flatMap((outcome) =>
        (['asc', 'desc'] as const).map((order) =>
          textOf(history, { conditionId, outcome, order, limit: 1000 }),
        ),
      ),
    )
    .join('\n')

const sql = (text: string) => (db: Database) => {
  expect(db.run(text).changes).toBeGreaterThan(0)
}

const CHUNK = '(SELECT id FROM chunk ORDER BY id LIMIT 1)'
const GAP = 'rowid = (SELECT rowid FROM gap ORDER BY from_ms DESC LIMIT 1)'
const damages: Record<string, string> = {
  'a chunk deleted': `DELETE FROM chunk WHERE id = ${CHUNK}`,
  'a chunk twice': `INSERT INTO chunk SELECT NULL, market_id, first_ms, first_id, last_ms, last_id,
    up_count, down_count, tops, rows, hashes FROM chunk WHERE id = ${CHUNK}`,
  'a chunk of another market': `UPDATE chunk SET market_id = 3 - market_id WHERE id = ${CHUNK}`,
  'the rows of one chunk in another': `UPDATE chunk SET rows = (SELECT rows FROM chunk ORDER BY id DESC LIMIT 1) WHERE id = ${CHUNK}`,
  'times swapped in the index': `UPDATE chunk SET first_ms = last_ms, last_ms = first_ms WHERE id = ${CHUNK}`,
  'first and last ids swapped in the index': `UPDATE chunk SET first_id = last_id, last_id = first_id WHERE id = ${CHUNK}`,
  'counts swapped in the index': `UPDATE chunk SET up_count = down_count + 1, down_count = up_count - 1 WHERE id = ${CHUNK}`,
  'the first id changed in the index': `UPDATE chunk SET first_id = first_id + 1 WHERE id = ${CHUNK}`,
  'a count changed in the market': 'UPDATE market SET up_count = up_count + 1 WHERE id = 1',
  'counts swapped in the market':
    'UPDATE market SET up_count = down_count + 1, down_count = up_count - 1 WHERE id = 1',
  'the first time changed in the market': 'UPDATE market SET first_ms = first_ms - 1 WHERE id = 1',
  'the last time changed in the market': 'UPDATE market SET last_ms = last_ms + 1 WHERE id = 1',
  'assets swapped in the market':
    'UPDATE market SET up_asset_id = down_asset_id, down_asset_id = up_asset_id WHERE id = 1',
  'another coin in the market': "UPDATE market SET coin = 'sol' WHERE id = 1",
  'the first time of an outcome changed':
    'UPDATE market SET up_first_ms = up_first_ms + 1 WHERE id = 1',
  'the last time of an outcome changed':
    'UPDATE market SET down_last_ms = down_last_ms - 1 WHERE id = 1',
  'the times of an outcome lost':
    'UPDATE market SET up_first_ms = NULL, up_last_ms = NULL WHERE id = 1',
  'a longest silence changed': 'UPDATE market SET up_silence_ms = up_silence_ms + 1 WHERE id = 1',
  'a longest silence lost': 'UPDATE market SET down_silence_ms = NULL WHERE id = 1',
  'more snapshots verified than held':
    'UPDATE market SET up_verified_count = up_count + 1 WHERE id = 1',
  'a winner of nobody': "UPDATE market SET winner = 'up', winner_source = NULL WHERE id = 1",
  'a gap deleted': `DELETE FROM gap WHERE ${GAP}`,
  'a gap longer than its silence': `UPDATE gap SET to_ms = to_ms + 1 WHERE ${GAP}`,
  'a gap of the other outcome': `UPDATE gap SET outcome = 1 - outcome WHERE ${GAP}`,
  'a gap of no outcome': `UPDATE gap SET outcome = 2 WHERE ${GAP}`,
  'a gap of a market that is not there': `UPDATE gap SET market_id = 9 WHERE ${GAP}`,
  'a gap without a known reason': `UPDATE gap SET reason = 'x' WHERE ${GAP}`,
  'a gap that nobody saw called derived': `INSERT INTO gap SELECT market_id, outcome, 1, from_ms + 1, to_ms, reason FROM gap WHERE ${GAP}`,
  'a recorded gap that ends before it begins': `INSERT INTO gap SELECT market_id, outcome, 0, to_ms, from_ms, reason FROM gap WHERE ${GAP}`,
  'a trade of a market that is not there': 'UPDATE trade SET market_id = 9',
  'a trade at an impossible price': 'UPDATE trade SET price = 1000001',
  'a trade of no outcome': 'UPDATE trade SET outcome = 2',
  'a market deleted': 'DELETE FROM market WHERE id = 1',
  'a closed market with an unfinished run': 'UPDATE market SET is_closed = 1 WHERE id = 1',
  'a row of the tail deleted': 'DELETE FROM tail WHERE rowid = (SELECT rowid FROM tail LIMIT 1)',
  'a row of the tail twice': `INSERT INTO tail SELECT market_id, time_ms, id + 1000, outcome, bid_price,
    bid_size, ask_price, ask_size, text_length, bit_length, text_crc, frame, source_hash FROM tail LIMIT 1`,
  'a best bid changed in the tail':
    'UPDATE tail SET bid_price = bid_price + 1 WHERE rowid = (SELECT rowid FROM tail LIMIT 1)',
  'a time changed in the tail':
    'UPDATE tail SET time_ms = time_ms + 1 WHERE rowid = (SELECT rowid FROM tail LIMIT 1)',
  'a CRC changed in the tail':
    'UPDATE tail SET text_crc = text_crc + 1 WHERE rowid = (SELECT rowid FROM tail LIMIT 1)',
  'a frame cut off in the tail':
    'UPDATE tail SET frame = substr(frame, 1, 9) WHERE rowid = (SELECT rowid FROM tail LIMIT 1)',
  'a frame of the tail emptied':
    "UPDATE tail SET frame = x'' WHERE rowid = (SELECT rowid FROM tail LIMIT 1)",
  'hashes of a chunk cut off': `UPDATE chunk SET hashes = substr(hashes, 1, 30) WHERE id = ${CHUNK}`,
  'hashes of a chunk emptied': `UPDATE chunk SET hashes = x'' WHERE id = ${CHUNK}`,
  'tops of a chunk cut off': `UPDATE chunk SET tops = substr(tops, 1, 30) WHERE id = ${CHUNK}`,
  'tops of a chunk with more behind': `UPDATE chunk SET tops = CAST(tops || x'00' AS BLOB) WHERE id = ${CHUNK}`,
  'rows of a chunk emptied': `UPDATE chunk SET rows = x'' WHERE id = ${CHUNK}`,
  'the next id set back': "UPDATE meta SET value = 5 WHERE key = 'next_id'",
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

  for (const column of ['tops', 'hashes']) {
    test(`error: reports every flipped bit in the ${column} of a chunk`, async () => {
      for (let seed = 0; seed < 15; seed++) {
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
      for (let seed = 0; seed < 60; seed++) {
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
    for (let seed = 0; seed < 60; seed++) {
      const history = openOrRefuse(await scribbled(seed))
      const ending = history === undefined ? 'refused' : await judge(history, seed)
      endings[ending]++
      history?.dispose()
    }
    expect(endings.reported).toBeGreaterThan(25)
  })

  test('error: a file whose damage shows at opening is refused with a StoreFault', async () => {
    const names = new Set<string>()
    for (let seed = 0; seed < 60; seed++) {
      const copy = await scribbled(seed)
      try {
        openHistory(copy).dispose()
      } catch (error) {
        names.add(error instanceof Error ? `${error.name}` : 'no Error')
      }
    }
    expect([...names]).toEqual(['StoreFault'])
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

function openOrRefuse(copy: string): HistoryStore | undefined {
  try {
    return openHistory(copy, { chunkCacheBytes: 0 })
  } catch {
    return undefined
  }
}

async function judge(history: HistoryStore, seed: number): Promise<'reported' | 'harmless'> {
  if ([...history.verify()].length > 0) return 'reported'
  const before = openHistory(path)
  const isSame = everything(history) === everything(before)
  before.dispose()
  expect([seed, isSame]).toEqual([seed, true])
  return 'harmless'
}
