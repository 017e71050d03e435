/** Changes values of a PostgreSQL by SQL, one at a time: `verify` finds each, or it is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import type { Database } from '#src/database/database.ts'
import { openPostgres } from '#src/extensions/postgres/database.ts'
import { postgresHistory } from '#src/extensions/postgres/formats.ts'
import { openHistory } from '#src/history/open.ts'
import { createFetchedChunks } from '#src/history/tables/fetched-chunks.ts'
import { createTables } from '#src/history/tables/tables.ts'
import { createVerify } from '#src/history/verify.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { changedValue } from '../support/changed-value.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { someTicks } from '../support/market-history.ts'
import { appendAll, conditionIdOf, randomHash, someSnapshots } from './books.ts'

const START_MS_MAX = 120_000
const TEST_MS_MAX = 240_000
/** On a connection of ours, whose transaction it sees. */
const verifyOf = (db: Database) =>
  createVerify(createTables(db, { chunkCacheBytes: 0, fetched: createFetchedChunks() }))

/** What nothing that is served depends on. */
const FREE = /^(chunk\.id|stored\.|format\.|change\.|heartbeat\.)/

function fill(place: string): void {
  const random = createRandom('tampering')
  const history = openHistory(place)
  const conditionId = conditionIdOf(1)
  const rows = someSnapshots(240).map((row) => ({
    ...row,
    sourceHash: randomHash(random),
    receivedMs: row.timestampMs + 40,
  }))
  const [{ timestampMs } = { timestampMs: 0 }] = rows
  appendAll(history, rows)
  const trades = [{ timestampMs, price: 500_000, outcome: 'up' } as const]
  history.putTrades({ id: 'trades', conditionId, trades })
  const span = { outcome: 'up', fromMs: timestampMs, toMs: timestampMs + 9 } as const
  history.putGaps(conditionId, [{ ...span, reason: 'recorder_down' }])
  const about = { conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' } as const
  history.putMarket({ ...about, winner: 'up', strike: '7.5', finalPrice: '7.6' })
  const window = { coin: 'btc', timeframe: '15m', source: 'recorded' } as const
  const prices = { winner: 'up', strike: '1', finalPrice: '2' } as const
  history.putOutcomes([{ ...window, windowStartMs: 900_000, ...prices }])
  history.putSpot(someTicks('btc', 8))
  history.manifests.add({ day: '2026-04-14', madeMs: 0, series: [], files: [] })
  history.archive.pack(1, 0)
  history.dispose()
}

type Column = { table: string; column: string; type: string }
const listColumns = (db: Database): Column[] =>
  db
    .prepare<Column, []>(
      `SELECT table_name AS "table", column_name AS "column", data_type AS type
       FROM information_schema.columns WHERE table_schema = current_schema()
         AND table_name IN (SELECT tablename FROM pg_tables WHERE schemaname = current_schema())
       ORDER BY table_name, ordinal_position`,
    )
    .all()
    .filter(({ table, column }) => !FREE.test(`${table}.${column}`))

/** Puts another value in a row; false where the database refuses it. */
function tamper(db: Database, { table, column, type }: Column, draw: Random): boolean {
  const rows = db
    .prepare<unknown, []>(`SELECT CAST(ctid AS TEXT), ${column} FROM ${table} ORDER BY ctid`)
    .values()
  const [at, value = null] = rows[draw.integer(rows.length)] ?? []
  if (at === undefined) throw new Error(`${table} has no rows.`)
  const put = db.prepare<unknown, [unknown, unknown] & string[]>(
    `UPDATE ${table} SET ${column} = $1 WHERE ctid = CAST($2 AS tid)`,
  )
  const other = changedValue(value ?? (type === 'bigint' ? 0 : value))
  try {
    expect(put.run(other as string, at as string).changes).toBe(1)
    return true
  } catch (error) {
    expect(String(error)).toMatch(/violates|AppError/)
    return false
  }
}

describe.skipIf(postgresPrograms === undefined)('verify of a history on PostgreSQL', () => {
  let postgres: Postgres | undefined
  beforeAll(async () => {
    postgres = await startPostgres()
    fill(postgres.url)
  }, START_MS_MAX)
  afterAll(() => postgres?.[Symbol.asyncDispose](), START_MS_MAX)

  /** What is found after a change that is undone; undefined where it was refused. */
  function faultsAfter(db: Database, change: () => boolean): string[] | undefined {
    db.run('BEGIN')
    try {
      return change() ? [...verifyOf(db)()] : undefined
    } finally {
      db.run('ROLLBACK')
    }
  }

  test(
    'error: reports a change of every column of every table',
    () => {
      const db = openPostgres(postgres?.url ?? '', postgresHistory)
      const draw = createRandom('columns')
      const silent: string[] = []
      let changes = 0
      for (const each of listColumns(db)) {
        const faults = faultsAfter(db, () => tamper(db, each, draw))
        if (faults !== undefined) changes++
        if (faults?.length === 0) silent.push(`${each.table}.${each.column}`)
      }
      expect(silent).toEqual([])
      expect(changes).toBeGreaterThan(100)
      expect(faultsAfter(db, () => true)).toEqual([])
      db.close()
    },
    TEST_MS_MAX,
  )

  test(
    'error: reports every flipped bit of the bytes of a chunk',
    () => {
      const db = openPostgres(postgres?.url ?? '', postgresHistory)
      const draw = createRandom('bits')
      const put = db.prepare<unknown, [Uint8Array]>('UPDATE chunk SET rows = $1 WHERE id = 1')
      const sound = db.prepare<{ rows: Uint8Array }, []>('SELECT rows FROM chunk WHERE id = 1')
      const { rows = new Uint8Array() } = sound.get() ?? {}
      for (let flips = 0; flips < 40; flips++) {
        const at = draw.integer(rows.length)
        const bit = draw.integer(8)
        const other = rows.map((byte, index) => (index === at ? byte ^ (1 << bit) : byte))
        const faults = faultsAfter(db, () => put.run(other).changes === 1)
        expect([at, bit, faults]).not.toEqual([at, bit, []])
      }
      db.close()
    },
    TEST_MS_MAX,
  )
})
