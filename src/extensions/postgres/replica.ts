/**
 * The replica of a store: a SQLite file on this machine with the rows of PostgreSQL. The log of the
 * database (table `change`) names the rows that changed; a pull reads the log and the current values
 * of these rows in one transaction, and writes them in one local transaction. So the file always
 * equals a state that the database had.
 */

import { rmSync } from 'node:fs'

import type { ReservedSQL, SQL } from 'bun'

import type { Cell, Database } from '#src/database/database.ts'
import { formatOf } from '#src/database/migrations.ts'
import { packedInBytes } from '#src/database/packing.ts'
import { type FileFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { chunkKinds, type StoreName } from '#src/database/stores.ts'
import type { FetchedPart } from '#src/history/tables/chunk-fetch.ts'
import { createMeta } from '#src/history/tables/meta-table.ts'
import { within } from '#src/platform/patience.ts'

import { addressOf } from './address.ts'
import type { StoreTimes } from './answer-times.ts'
import { type Answer, askWithin, closeNow, connect, type Question } from './bridge.ts'
import { assertVersion } from './faults.ts'
import { formats } from './formats.ts'
import { createRowProgress, type StoreTable } from './tables.ts'

/** Longest wait for a connection, and for a statement that returns few rows. */
const ANSWER_MS_MAX = 2000
/** Longest wait for statements that may return many rows. */
const ROWS_MS_MAX = 30_000
/** Rows that one statement returns. */
const ROWS_AT_ONCE = 5000
/** Statements that are sent before the first answer is read. */
const STATEMENTS_AT_ONCE = 8
/** Cells of chunks up to this length are pointers to an archive, and are copied; longer ones hold books, and are not. */
const CELL_BYTES_MAX = 128
/** A pull with more new chunks is an import, whose books no live stream reads. */
const NEW_CHUNKS_MAX = 256
/** Older heartbeats belong to servers that no longer run, and are deleted. */
const HEARTBEAT_KEPT_MS = 86_400_000

const BEGIN: Question = {
  text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  values: [],
}
const COMMIT: Question = { text: 'COMMIT', values: [] }
const NOW_MS = 'CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)'
const FIND_STATE = `SELECT last.serial, last.at_ms,
    CAST(EXISTS (SELECT 1 FROM change WHERE serial = $1 AND at_ms = $2) AS INT),
    coalesce((SELECT number FROM heartbeat WHERE server = $3), 0)
  FROM (SELECT serial, at_ms FROM change ORDER BY serial DESC LIMIT 1) AS last`
const LIST_CHANGES = 'SELECT DISTINCT name, key FROM change WHERE serial > $1 ORDER BY name, key'
const FIND_OPEN_CHUNKS = `SELECT chunk.id, ${chunkKinds.map((kind) => `chunk.${kind}`)} FROM chunk
  JOIN market ON market.id = market_id AND is_closed = 0
  WHERE chunk.id = ANY (CAST(CAST($1 AS TEXT) AS BIGINT[]))`
const BEAT = `INSERT INTO heartbeat (server, number, at_ms) VALUES ($1, $2, ${NOW_MS})
  ON CONFLICT (server) DO UPDATE SET number = excluded.number, at_ms = excluded.at_ms`
/**
 * Writes a temporary file of 16 MiB, the size of the next WAL segment, so it fails while the disk has
 * less room. One process at a time, or servers would take that much each. It is a transaction of its
 * own that writes no rows, so no process waits for the standby of another one. A user with a
 * `temp_file_limit` writes no file.
 */
export const TAKE_ROOM = `BEGIN; SET LOCAL work_mem = '64kB';
  SELECT pg_advisory_xact_lock(hashtextextended('bookfeed room', 0));
  WITH room AS MATERIALIZED (
    SELECT repeat('x', 8000) AS piece FROM generate_series(1,
      CASE current_setting('temp_file_limit') WHEN '-1' THEN 2097 ELSE 0 END)
  ) SELECT count(piece) FROM room; COMMIT`
/** How long the result of `TAKE_ROOM` holds. */
const ROOM_MS = 10_000
const REMOVE_HEARTBEATS = `DELETE FROM heartbeat WHERE at_ms < ${NOW_MS} - $1`

/** The last entry of the log that the file contains, and the format of the database then. */
type State = { serial: number; atMs: number; version: number }
const NO_STATE: State = { serial: -1, atMs: 0, version: 0 }

export type Replica = ReturnType<typeof openReplica>

type Options = {
  /** The address of a PostgreSQL store, which must have been opened before, so that its tables exist. */
  place: string
  store: StoreName
  /** The file of the replica; it is created if there is none. */
  path: string
  /** Names this server among those of the database. */
  server: string
  /** Monotonic milliseconds. */
  timer: () => number
  /** Pulls and heartbeats fail while the database has another format; the format of this version by default. */
  version?: number | undefined
  /** Hears how far a full copy is. */
  say?: ((line: string) => void) | undefined
  /** Called with the books of new chunks of open markets, before the file names these chunks. */
  keepChunks?: ((parts: readonly FetchedPart[]) => void) | undefined
  /** How long the database takes to answer is counted here. */
  times?: StoreTimes | undefined
}

/** Opens the file of a replica; `pull` brings it to the current state of the database. */
export function openReplica({
  place,
  store,
  path,
  server,
  timer,
  say = () => undefined,
  keepChunks,
  times,
  version = formatOf(formats[store].migrations),
}: Options) {
  const { file, schema, tables: storeTables } = formats[store]
  const address = addressOf(place, schema)
  const tables = storeTables.map(toReplicated)
  const db = openFile(path, file)
  const local = createLocal(db, tables, store)
  const pulling = connect(address)
  const beating = connect(address)
  /**
   * Heartbeats whose commit PostgreSQL has confirmed and that no pull has read yet, the oldest
   * first. Others may be read, too: closing a connection ends the wait for the standby, and shows
   * the row on a primary that has lost it.
   */
  const confirmed: { number: number; begunMs: number }[] = []
  let lastHeartbeat = 0
  let freshMs = Number.NEGATIVE_INFINITY
  /** When `TAKE_ROOM` last succeeded. */
  let roomMs = Number.NEGATIVE_INFINITY

  function noteHeartbeat(number: number): void {
    while (confirmed[0] !== undefined && confirmed[0].number <= number)
      freshMs = confirmed.shift()?.begunMs ?? freshMs
  }

  async function pullOn(connection: ReservedSQL): Promise<boolean> {
    const known = local.state()
    const check = { text: assertVersion(version), values: [] }
    const state = { text: FIND_STATE, values: [known.serial, known.atMs, server], isBare: true }
    const changes = { text: LIST_CHANGES, values: [known.serial], isBare: true }
    const begunMs = timer()
    const finding = askWithin(ANSWER_MS_MAX, connection, [BEGIN, check, state])
    const listing = askWithin(ROWS_MS_MAX, connection, [changes])
    // It is awaited below; until then its rejection must not end the process.
    listing.catch(() => {})
    const [, , found] = await finding
    times?.read.answered(timer() - begunMs)
    const [serial = 0, atMs = 0, isKnown, heartbeat = 0] = numbersIn(found)
    const [list] = await listing
    const isContinued = isKnown === 1 && version === known.version
    const entries = (list?.rows ?? []) as [name: string, key: string][]
    const isChanged = !isContinued || entries.length > 0
    if (isChanged) {
      await local.write({ serial, atMs, version }, () =>
        isContinued ? copyChanges(connection, entries) : copyAll(connection),
      )
    } else await askWithin(ROWS_MS_MAX, connection, [COMMIT])
    noteHeartbeat(heartbeat)
    return isChanged
  }

  /** Copies the current values of the rows that entries of the log name. */
  async function copyChanges(
    connection: ReservedSQL,
    entries: readonly [name: string, key: string][],
  ): Promise<void> {
    await keepNewChunks(connection, entries)
    const keysOf = Map.groupBy(entries, ([name]) => name)
    const slices = tables.flatMap((table) => {
      const keys = keysOf.get(table.name)?.map(([, key]) => key) ?? []
      return slicesOf(keys, ROWS_AT_ONCE).map((some) => ({ table, keys: some }))
    })
    const groups = slicesOf(slices, STATEMENTS_AT_ONCE)
    for (const [index, group] of groups.entries()) {
      const questions = group.map(({ table, keys }) => table.find(keys))
      const isLast = index === groups.length - 1
      const answers = await askWithin(
        ROWS_MS_MAX,
        connection,
        isLast ? [...questions, COMMIT] : questions,
      )
      for (const [at, { table, keys }] of group.entries()) {
        for (const key of keys) local.remove(table, JSON.parse(key))
        local.insert(table, answers[at]?.rows as Cell[][])
      }
    }
  }

  /** Keeps the books of new chunks, so that live streams never wait for a chunk. */
  async function keepNewChunks(
    connection: ReservedSQL,
    entries: readonly [name: string, key: string][],
  ): Promise<void> {
    const ids = entries.flatMap(([name, key]) => (name === 'chunk' ? [key.slice(1, -1)] : []))
    if (keepChunks === undefined || ids.length === 0 || ids.length > NEW_CHUNKS_MAX) return
    const [answer] = await askWithin(ROWS_MS_MAX, connection, [
      { text: FIND_OPEN_CHUNKS, values: [`{${ids}}`], isBare: true },
    ])
    const parts = ((answer?.rows ?? []) as [id: number, ...Uint8Array[]][]).flatMap(
      ([chunkId, ...cells]) => chunkKinds.map((kind, at) => ({ chunkId, kind, bytes: cells[at] })),
    )
    keepChunks(parts.filter((part) => part.bytes !== undefined) as FetchedPart[])
  }

  async function copyAll(connection: ReservedSQL): Promise<void> {
    const noteRows = createRowProgress(store, say)
    for (const table of tables) {
      local.empty(table)
      // The transaction closes the cursor.
      let coming = askWithin(ROWS_MS_MAX, connection, [table.declareCursor, table.fetch])
      for (let isLast = false; !isLast;) {
        const rows = ((await coming).at(-1)?.rows ?? []) as Cell[][]
        isLast = rows.length < ROWS_AT_ONCE
        // The next rows arrive while these are written.
        if (!isLast) coming = askWithin(ROWS_MS_MAX, connection, [table.fetch])
        local.insert(table, rows)
        noteRows(rows.length, table.name)
      }
    }
    await askWithin(ROWS_MS_MAX, connection, [COMMIT])
  }

  return {
    address,

    /**
     * Brings the file to the state that the database has during the call; returns whether the file
     * changed. Calls must not overlap. Rejects with the error of the driver or the disk, or with a
     * `no_answer` fault, and leaves the file unchanged.
     */
    pull: (): Promise<boolean> => withConnection(pulling, pullOn),

    /**
     * Commits a heartbeat: once that is confirmed and a pull has read it, the file has everything
     * that was committed before this call. With `takesRoom` it also fails if the disk of the database is nearly full.
     */
    async beat({ takesRoom = false } = {}): Promise<void> {
      const number = ++lastHeartbeat
      const begunMs = timer()
      const isRoomDue = takesRoom && begunMs - roomMs > ROOM_MS
      const questions: Question[] = [
        ...(isRoomDue ? [{ text: TAKE_ROOM }] : []),
        { text: 'BEGIN', values: [] },
        { text: assertVersion(version), values: [] },
      ]
      if (number === 1) questions.push({ text: REMOVE_HEARTBEATS, values: [HEARTBEAT_KEPT_MS] })
      questions.push({ text: BEAT, values: [server, number] }, COMMIT)
      try {
        await withConnection(beating, (connection) =>
          askWithin(ANSWER_MS_MAX, connection, questions),
        )
        confirmed.push({ number, begunMs })
        if (isRoomDue) roomMs = begunMs
        else times?.commit.answered(timer() - begunMs)
      } catch (error) {
        times?.commit.failed()
        roomMs = Number.NEGATIVE_INFINITY
        throw error
      }
    },

    /** The file has everything that was committed before this moment of `timer`. */
    freshMs: (): number => freshMs,

    close(): void {
      for (const sql of [pulling, beating]) void closeNow(sql)
      db.close()
    },
  }
}

/** Runs `body` on a connection, and closes the connection if `body` fails. */
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
    await closeNow(connection)
    throw error
  }
}

const numbersIn = (answer: Answer | undefined): number[] =>
  ((answer?.rows[0] ?? []) as Cell[]).map(Number)

const slicesOf = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) =>
    list.slice(at * size, (at + 1) * size),
  )

type Table = ReturnType<typeof toReplicated>

/** The statements of a table. */
function toReplicated({ name, columns, keys, order, into }: StoreTable) {
  // An entry of `tail` names all rows of a market from a time on.
  const operatorOf = (index: number): string => (name === 'tail' && index === 1 ? '>=' : '=')
  const logged = name === 'tail' ? keys.slice(0, 2) : keys
  const isBook = (column: string): boolean =>
    name === 'chunk' && chunkKinds.some((kind) => kind === column)
  const cells = columns.map((column) =>
    isBook(column)
      ? `CASE WHEN octet_length(${column}) <= ${CELL_BYTES_MAX} THEN ${column} ELSE '' END`
      : column,
  )
  const isNamed = logged.map(
    (key, index) => `${key.name} ${operatorOf(index)} CAST(entry->>${index} AS ${key.type})`,
  )
  return {
    name,
    /** Selects the rows that entries of the log name; rows that it does not return were deleted. */
    find: (entries: readonly string[]): Question => ({
      text: `SELECT ${cells} FROM json_array_elements(CAST(CAST($1 AS TEXT) AS JSON)) AS named(entry)
        JOIN ${name} ON ${isNamed.join(' AND ')}`,
      values: [`[${entries}]`],
      isBare: true,
    }),
    declareCursor: {
      text: `DECLARE all_${name} NO SCROLL CURSOR FOR SELECT ${cells} FROM ${name} ORDER BY ${order}`,
    } satisfies Question,
    fetch: {
      text: `FETCH ${ROWS_AT_ONCE} FROM all_${name}`,
      isBare: true,
    } satisfies Question,
    removeNamed: `DELETE FROM ${name} WHERE ${logged
      .map((key, index) => `${key.name} ${operatorOf(index)} $${index + 1}`)
      .join(' AND ')}`,
    insert: `INSERT OR REPLACE ${into}`,
  }
}

/** Opens the file. A file that cannot be opened is replaced: the database has all of its rows. */
function openFile(path: string, format: FileFormat): Database {
  let db: Database
  try {
    db = openDatabase(path, { format })
  } catch {
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    db = openDatabase(path, { format })
  }
  db.run('PRAGMA synchronous = NORMAL')
  // The triggers of PostgreSQL have made these changes already, and their rows are copied.
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
