/**
 * A store as copies read and write it: rows of tables, with the same values in a file and in
 * PostgreSQL.
 */
import { existsSync } from 'node:fs'

import type { Cell, Database } from '#src/database/database.ts'
import { storageError } from '#src/database/database.ts'
import { formatOf } from '#src/database/migrations.ts'
import { closeFile, keepAlone, openDatabase } from '#src/database/sqlite/database.ts'

import { addressOf, isPostgres } from './address.ts'
import {
  closeNow,
  COMMIT,
  CONFIRM,
  connect,
  LOCK_WRITERS,
  MAY_STAND_STILL,
  NOTE_COMMIT,
  type Query,
  type QueryResult,
  queryWithin,
  ROLLBACK,
} from './connection.ts'
import { assertVersion, errorOf, failureOf } from './faults.ts'
import type { Format } from './formats.ts'
import { hasPacked, unpackRow } from './packing.ts'
import { sendChanged } from './sent-rows.ts'
import { migrateTables, prepareTables } from './server-tables.ts'
import { openRows, sequences, type StoreTable } from './tables.ts'

/** With chunks, a few megabytes. */
export const ROWS_AT_ONCE = 500
const ANSWER_MS_MAX = 24 * 3_600_000
const LOOKS_MAX = 10
const LOOK_MS = 200
const NOT_ALONE =
  'Another bookfeed process has the database open. Stop servers and recorders, and try again.'

export type CopyTable = {
  count(): Promise<number>
  last(): Promise<Cell[] | undefined>
  /** Yields rows by key, in pieces: those after a row, or all. */
  after(row?: readonly Cell[]): AsyncGenerator<Cell[][]>
  /** Call within a transaction. */
  insert(rows: readonly Cell[][]): Promise<void>
  remove(key: readonly Cell[]): Promise<void>
}

export type CopyStore = {
  place: string
  /** True if triggers keep the totals of coins. */
  keepsTotals: boolean
  table(of: StoreTable): CopyTable
  /** Runs `body` in one transaction, while no other process writes. */
  transact<T>(body: () => Promise<T>): Promise<T>
  /**
   * Runs `body` while no other process has the store open; rejects with `storage_unavailable`
   * otherwise.
   */
  alone<T>(body: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Opening a store creates it, which must not happen to a source. */
export const isThere = async (place: string, format: Format): Promise<boolean> =>
  isPostgres(place) ? (await migrateTables(place, format, false)).from > 0 : existsSync(place)

export async function openCopyStore(place: string, format: Format): Promise<CopyStore> {
  if (!isPostgres(place)) return ofFile(place, openDatabase(place, { format: format.file }))
  await prepareTables(place, format)
  return ofServer(place, format)
}

function ofFile(place: string, db: Database): CopyStore {
  return {
    place,
    keepsTotals: true,
    table(of) {
      const rows = openRows(db, of, ROWS_AT_ONCE)
      return {
        count: async () => rows.count(),
        last: async () => rows.last(),
        async *after(row) {
          yield* rows.after(row)
        },
        async insert(some) {
          // SQLite's own table has no key.
          if (of === sequences) for (const row of some) rows.remove(row.slice(0, 1))
          rows.insert(some)
        },
        remove: async (key) => rows.remove(key),
      }
    },
    async transact(body) {
      db.run('BEGIN IMMEDIATE')
      try {
        const result = await body()
        db.run('COMMIT')
        return result
      } finally {
        if (db.inTransaction) db.run('ROLLBACK')
      }
    },
    async alone(body) {
      using _ = keepAlone(db)
      return await body()
    },
    close: async () => closeFile(db),
  }
}

async function ofServer(place: string, format: Format): Promise<CopyStore> {
  const sql = connect(addressOf(place, format.schema), { statementMsMax: ANSWER_MS_MAX })
  const connection = await sql.reserve()
  async function ask(...queries: Query[]): Promise<QueryResult[]> {
    try {
      return await queryWithin(ANSWER_MS_MAX, connection, queries)
    } catch (error) {
      throw errorOf(failureOf(error))
    }
  }
  async function rowsOf(text: string, values: readonly Cell[] = []): Promise<Cell[][]> {
    const [answer] = await ask({ text, values, isBare: true })
    return (answer?.rows ?? []) as Cell[][]
  }

  function table(of: StoreTable): CopyTable {
    const { name, columns, keys, order } = of
    const select = (rest: string) => `SELECT ${columns} FROM ${name} ${rest}`
    const places = keys.map((key, at) => `CAST($${at + 1} AS ${key.type})`)
    const unpacked = (rows: Cell[][]) => (hasPacked(of) ? rows.map(unpackRow) : rows)
    const last = select(`ORDER BY ${keys.map((key) => `${key.name} DESC`)} LIMIT 1`)
    const first = select(`ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`)
    const next = select(`WHERE (${order}) > (${places}) ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`)
    return {
      count: async () => Number((await rowsOf(`SELECT count(*) FROM ${name}`))[0]?.[0]),
      last: async () => unpacked(await rowsOf(last))[0],
      async *after(row) {
        let previous = row
        for (;;) {
          const key = keys.map(({ index }) => previous?.[index] ?? null)
          const rows = unpacked(
            previous === undefined ? await rowsOf(first) : await rowsOf(next, key),
          )
          previous = rows.at(-1)
          if (previous === undefined) return
          yield rows
        }
      },
      async insert(rows) {
        await ask(...sendChanged({ table: of, gone: [], rows }))
      },
      async remove(key) {
        await ask(...sendChanged({ table: of, gone: [[...key]], rows: [] }))
      },
    }
  }

  return {
    place,
    keepsTotals: false,
    table,
    async transact(body) {
      const begin = [
        'BEGIN',
        MAY_STAND_STILL,
        LOCK_WRITERS,
        assertVersion(formatOf(format.migrations)),
      ]
      await ask(...begin.map((text) => ({ text, values: [] })))
      try {
        const result = await body()
        await ask(NOTE_COMMIT, COMMIT, CONFIRM)
        return result
      } catch (error) {
        await ask(ROLLBACK).catch(() => {})
        throw error
      }
    },
    async alone(body) {
      // A process that opens the store later sees the result. One that has just ended may still be
      // listed.
      const others = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'bookfeed' AND pid <> pg_backend_pid()`
      for (let looks = 0; Number((await rowsOf(others))[0]?.[0]) !== 0; looks++) {
        if (looks === LOOKS_MAX) throw storageError(NOT_ALONE)
        await Bun.sleep(LOOK_MS)
      }
      return body()
    },
    close: () => closeNow(sql),
  }
}
