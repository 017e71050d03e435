/**
 * A copy of a store on PostgreSQL in a SQLite file of this machine, and what keeps it up to date:
 * the log of the database (table `change`) names the rows that changed, and they are read as they
 * are now. Each local transaction leads from one state of the database to a later one.
 */

import { rmSync } from 'node:fs'

import type { ReservedSQL, SQL } from 'bun'
import { is } from 'drizzle-orm/entity'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'

import * as historySchema from '#db/history/schema.ts'
import * as ledgerSchema from '#db/ledger/schema.ts'
import type { Cell, Database } from '#src/database/database.ts'
import { packedInBytes } from '#src/database/packing.ts'
import {
  type FileFormat,
  historyFormat,
  ledgerFormat,
  openDatabase,
} from '#src/database/sqlite/database.ts'
import type { StoreName } from '#src/database/stores.ts'
import { createMeta } from '#src/history/tables/meta-table.ts'
import { within } from '#src/platform/patience.ts'

import { addressOf } from './address.ts'
import { type Answer, connect, type Question, runOn } from './bridge.ts'
import { type Format, postgresHistory, postgresLedger } from './database.ts'

/** For a connection, and for what PostgreSQL answers at once. */
const ANSWER_MS_MAX = 2000
/** For rows, of which there may be many. */
const ROWS_MS_MAX = 30_000
/** Rows that are in memory at once. */
const ROWS_AT_ONCE = 5000
/** Statements that are on their way at once. */
const STATEMENTS_AT_ONCE = 8
/** Longer cells of chunks are books, which are not copied; others say where in an archive they are. */
const CELL_BYTES_MAX = 128
/** After these a heartbeat is of a server that is gone. */
const HEARTBEAT_KEPT_MS = 86_400_000

const BEGIN: Question = { text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', values: [] }
const COMMIT: Question = { text: 'COMMIT', values: [] }
const NOW_MS = 'CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)'
const FIND_STATE = `SELECT last.serial, last.at_ms, version,
    CAST(EXISTS (SELECT 1 FROM change WHERE serial = $1 AND at_ms = $2) AS INT),
    coalesce((SELECT number FROM heartbeat WHERE server = $3), 0)
  FROM format, (SELECT serial, at_ms FROM change ORDER BY serial DESC LIMIT 1) AS last`
const LIST_CHANGES = 'SELECT DISTINCT name, key FROM change WHERE serial > $1 ORDER BY name, key'
const BEAT = `INSERT INTO heartbeat (server, number, at_ms) VALUES ($1, $2, ${NOW_MS})
  ON CONFLICT (server) DO UPDATE SET number = excluded.number, at_ms = excluded.at_ms`
const REMOVE_HEARTBEATS = `DELETE FROM heartbeat WHERE at_ms < ${NOW_MS} - $1`

const formats: Record<StoreName, { file: FileFormat; schema: object; remote: Format }> = {
  history: { file: historyFormat, schema: historySchema, remote: postgresHistory },
  ledger: { file: ledgerFormat, schema: ledgerSchema, remote: postgresLedger },
}

/** The last entry of the log that is in the file, and the format of the database then. */
type State = { serial: number; atMs: number; version: number }
const NO_STATE: State = { serial: -1, atMs: 0, version: 0 }

export type Replica = ReturnType<typeof openReplica>

type Options = {
  /** An address of PostgreSQL, whose store was opened before. */
  place: string
  store: StoreName
  /** The file, which is made where there is none. */
  path: string
  /** Names this server among those of the database. */
  server: string
  /** Monotonic milliseconds. */
  timer: () => number
  /** Takes lines on how far a copy is. */
  onProgress?: ((rows: number, table: string) => void) | undefined
}

/** Opens the file of a replica; `pull` brings it to the current state of the database. */
export function openReplica({ place, store, path, server, timer, onProgress }: Options) {
  const { file, schema, remote } = formats[store]
  const address = addressOf(place, remote.schema)
  const tables = describeTables(schema)
  const db = openFile(path, file)
  const local = createLocal(db, tables, store)
  const [pulling, beating] = [connect(address), connect(address)]
  /** Heartbeats that were begun and not seen yet, the oldest first. */
  const heartbeats: { number: number; begunMs: number }[] = []
  let lastHeartbeat = 0
  let freshMs = Number.NEGATIVE_INFINITY

  function noteHeartbeat(number: number): void {
    while (heartbeats[0] !== undefined && heartbeats[0].number <= number)
      freshMs = heartbeats.shift()?.begunMs ?? freshMs
  }

  async function pullOn(connection: ReservedSQL): Promise<boolean> {
    const known = local.state()
    const state = { text: FIND_STATE, values: [known.serial, known.atMs, server], isBare: true }
    const changes = { text: LIST_CHANGES, values: [known.serial], isBare: true }
    const asked = [BEGIN, state, changes].map((question) => runOn(connection, question))
    // All of them are waited for below.
    const listing = Promise.all(asked)
    listing.catch(() => {})
    const found = await within(ANSWER_MS_MAX, Promise.all(asked.slice(0, 2)))
    const [serial = 0, atMs = 0, version = 0, isKnown, heartbeat = 0] = numbersIn(found[1])
    const [, , list] = await within(ROWS_MS_MAX, listing)
    const isContinued = isKnown === 1 && version === known.version
    const entries = (list?.rows ?? []) as [name: string, key: string][]
    const isChanged = !isContinued || entries.length > 0
    if (isChanged) {
      await local.write({ serial, atMs, version }, () =>
        isContinued ? copyChanges(connection, entries) : copyAll(connection),
      )
    } else await ask(connection, [COMMIT])
    noteHeartbeat(heartbeat)
    return isChanged
  }

  /** Reads the rows that entries of the log name, as they are in the transaction. */
  async function copyChanges(
    connection: ReservedSQL,
    entries: readonly [name: string, key: string][],
  ): Promise<void> {
    const keysOf = Map.groupBy(entries, ([name]) => name)
    const slices = tables.flatMap((table) => {
      const keys = keysOf.get(table.name)?.map(([, key]) => key) ?? []
      return slicesOf(keys, ROWS_AT_ONCE).map((some) => ({ table, keys: some }))
    })
    const groups = slicesOf(slices, STATEMENTS_AT_ONCE)
    for (const [index, group] of groups.entries()) {
      const questions = group.map(({ table, keys }) => table.find(keys))
      const isLast = index === groups.length - 1
      const answers = await ask(connection, isLast ? [...questions, COMMIT] : questions)
      for (const [at, { table, keys }] of group.entries()) {
        for (const key of keys) local.remove(table, JSON.parse(key))
        local.insert(table, answers[at]?.rows as Cell[][])
      }
    }
  }

  async function copyAll(connection: ReservedSQL): Promise<void> {
    let count = 0
    for (const table of tables) {
      local.empty(table)
      const fetch = { text: `FETCH ${ROWS_AT_ONCE} FROM held`, values: [], isBare: true }
      await ask(connection, [table.declareCursor])
      let coming = ask(connection, [fetch])
      for (let isLast = false; !isLast;) {
        const [answer] = await coming
        const rows = (answer?.rows ?? []) as Cell[][]
        isLast = rows.length < ROWS_AT_ONCE
        // The next ones arrive while these are written.
        if (!isLast) coming = ask(connection, [fetch])
        local.insert(table, rows)
        count += rows.length
        onProgress?.(count, table.name)
      }
      await ask(connection, [{ text: 'CLOSE held', values: [] }])
    }
    await ask(connection, [COMMIT])
  }

  return {
    address,

    /**
     * Brings the file to the state of the database at a moment during the call; returns whether
     * it changed. One call at a time. Rejects with what the driver or the disk says, or a
     * `no_answer` fault; the file is then as it was.
     */
    pull: (): Promise<boolean> => withConnection(pulling, pullOn),

    /** Commits a row: once a pull has read it, the file is known to be as new as this call. */
    async beat(): Promise<void> {
      const number = ++lastHeartbeat
      heartbeats.push({ number, begunMs: timer() })
      const questions = [{ text: BEAT, values: [server, number] }]
      if (number === 1) questions.push({ text: REMOVE_HEARTBEATS, values: [HEARTBEAT_KEPT_MS] })
      await withConnection(beating, (connection) =>
        within(ANSWER_MS_MAX, Promise.all(questions.map((each) => runOn(connection, each)))),
      )
    },

    /** The file has all that was committed before this moment of `timer`. */
    freshMs: (): number => freshMs,

    close(): void {
      for (const sql of [pulling, beating]) void sql.close({ timeout: 0 }).catch(() => {})
      db.close()
    },
  }
}

async function ask(
  connection: ReservedSQL,
  questions: readonly Question[],
): Promise<readonly Answer[]> {
  const answers = Promise.all(questions.map((question) => runOn(connection, question)))
  return within(ROWS_MS_MAX, answers)
}

/** Runs `body` on a connection, which is given up where that fails. */
async function withConnection<T>(
  sql: SQL,
  body: (connection: ReservedSQL) => Promise<T>,
): Promise<T> {
  const reserving = sql.reserve()
  const connection = await within(ANSWER_MS_MAX, reserving).catch((error) => {
    void reserving.then((late) => late.release()).catch(() => {})
    throw error
  })
  try {
    const result = await body(connection)
    connection.release()
    return result
  } catch (error) {
    await connection.close({ timeout: 0 }).catch(() => {})
    throw error
  }
}

const numbersIn = (answer: Answer | undefined): number[] =>
  ((answer?.rows[0] ?? []) as Cell[]).map(Number)

const slicesOf = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) =>
    list.slice(at * size, (at + 1) * size),
  )

type Table = ReturnType<typeof describeTable>

const describeTables = (schema: object): Table[] =>
  Object.values(schema)
    .filter((table) => is(table, SQLiteTable))
    .map(describeTable)

function describeTable(table: SQLiteTable) {
  const { name, columns, primaryKeys } = getTableConfig(table)
  const names = columns.map((column) => column.name)
  const primary = primaryKeys[0]?.columns ?? columns.filter((column) => column.primary)
  const keys = primary.map((column) => ({
    name: column.name,
    type: column.getSQLType() === 'text' ? 'TEXT' : 'BIGINT',
    operator: '=',
  }))
  // An entry is of all books of an unfinished run from a time on.
  const logged = name === 'tail' ? [keys[0], { ...keys[1], operator: '>=' }] : keys
  const isBook = (column: string): boolean =>
    name === 'chunk' && ['tops', 'rows', 'hashes', 'notes'].includes(column)
  const cells = columns.map((column) =>
    isBook(column.name)
      ? `CASE WHEN octet_length(${column.name}) <= ${CELL_BYTES_MAX} THEN ${column.name} ELSE '' END`
      : column.name,
  )
  const isNamed = logged.map(
    (key, index) => `${key?.name} ${key?.operator} CAST(entry->>${index} AS ${key?.type})`,
  )
  const order = keys.map((key) => key.name).join(', ')
  return {
    name,
    names,
    /** The rows that entries of the log name; what is not among them was deleted. */
    find: (entries: readonly string[]): Question => ({
      text: `SELECT ${cells} FROM json_array_elements(CAST(CAST($1 AS TEXT) AS JSON)) AS named(entry)
        JOIN ${name} ON ${isNamed.join(' AND ')}`,
      values: [`[${entries}]`],
      isBare: true,
    }),
    declareCursor: {
      text: `DECLARE held NO SCROLL CURSOR FOR SELECT ${cells} FROM ${name} ORDER BY ${order}`,
      values: [],
    } satisfies Question,
    removeNamed: `DELETE FROM ${name} WHERE ${logged
      .map((key, index) => `${key?.name} ${key?.operator} $${index + 1}`)
      .join(' AND ')}`,
    insert: `INSERT OR REPLACE INTO ${name} (${names}) VALUES (${names.map((_, at) => `$${at + 1}`)})`,
  }
}

/** One that cannot be opened is made anew: it holds nothing that is not in the database. */
function openFile(path: string, format: FileFormat): Database {
  let db: Database
  try {
    db = openDatabase(path, { format })
  } catch {
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    db = openDatabase(path, { format })
  }
  db.run('PRAGMA synchronous = NORMAL')
  // What they do was done in the database, and is copied.
  const triggers = db.prepare<{ name: string }, []>(
    "SELECT name FROM sqlite_schema WHERE type = 'trigger'",
  )
  for (const { name } of triggers.all()) db.run(`DROP TRIGGER ${name}`)
  db.run(
    'CREATE TABLE IF NOT EXISTS replica (serial INTEGER NOT NULL, at_ms INTEGER NOT NULL, version INTEGER NOT NULL)',
  )
  return db
}

/** The file of a replica. */
function createLocal(db: Database, tables: readonly Table[], store: StoreName) {
  const findState = db.prepare<State, []>('SELECT serial, at_ms AS "atMs", version FROM replica')
  const putState = db.prepare<unknown, [State]>(
    'INSERT INTO replica (serial, at_ms, version) VALUES ($serial, $atMs, $version)',
  )
  const statements = new Map(
    tables.map(({ name, insert, removeNamed }) => [
      name,
      {
        insert: db.prepare<unknown, Cell[]>(insert),
        remove: db.prepare<unknown, Cell[]>(removeNamed),
      },
    ]),
  )
  const metas = ['meta', 'log_meta'] as const
  const sealed = store === 'history' ? metas.map((name) => createMeta(db, name)) : []

  return {
    state: (): State => findState.get() ?? NO_STATE,

    /** Runs what writes to the file in one transaction, which leads to `state`. */
    async write(state: State, body: () => Promise<void>): Promise<void> {
      db.run(db.engine.beginWriting)
      try {
        await body()
        for (const meta of sealed) meta.sealCopy(packedInBytes)
        db.run('DELETE FROM replica')
        putState.run(state)
        db.run('COMMIT')
      } catch (error) {
        if (db.inTransaction) db.run('ROLLBACK')
        throw error
      }
    },

    empty: (table: Table): void => void db.run(`DELETE FROM ${table.name}`),

    remove: (table: Table, key: Cell[]): void =>
      void statements.get(table.name)?.remove.run(...key),

    insert(table: Table, rows: readonly Cell[][]): void {
      const { insert } = statements.get(table.name) ?? {}
      const isPacked = metas.some((name) => name === table.name)
      for (const row of rows) {
        if (isPacked) row[1] = packedInBytes.unpack(row[1] as Uint8Array)
        insert?.run(...row)
      }
    },
  }
}
