/**
 * The replica of a store: a SQLite file on this machine with the rows of PostgreSQL. The log of the
 * database (table `change`) names the rows that changed; a pull reads the log and the current values
 * of these rows in one transaction, and writes them in one local transaction. So the file always
 * equals a state that the database had. Only the chunks of a first copy, which nothing reads yet,
 * are written in many transactions before, so that a copy that was interrupted continues.
 */

import { rmSync } from 'node:fs'

import type { ReservedSQL, SQL } from 'bun'

import type { Cell, Database } from '#src/database/database.ts'
import { formatOf } from '#src/database/migrations.ts'
import { packedInBytes } from '#src/database/packing.ts'
import { type FileFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { chunkKinds, type StoreName } from '#src/database/stores.ts'
import { createMeta } from '#src/history/tables/meta-table.ts'
import { within } from '#src/platform/patience.ts'

import { addressOf } from './address.ts'
import type { StoreTimes } from './answer-times.ts'
import {
  type Answer,
  askWithin,
  closeNow,
  connect,
  MAY_STAND_STILL,
  type Question,
} from './bridge.ts'
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
/** Chunks that one statement names, and that one local transaction of a first copy writes. */
const CHUNKS_AT_ONCE = 1000
/** Bytes of chunks that one statement returns; it returns one chunk at least. */
const CHUNK_BYTES_AT_ONCE = 4 * 1024 * 1024
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
    coalesce((SELECT number FROM heartbeat WHERE server = $3), 0),
    CAST(NOT EXISTS (SELECT 1 FROM change WHERE serial <= $1) AS INT)
  FROM (SELECT serial, at_ms FROM change ORDER BY serial DESC LIMIT 1) AS last`
/** None where the log does not have the entry that was read last: then they are of no use, and may be millions. */
const LIST_CHANGES = `SELECT DISTINCT name, key FROM change WHERE serial > $1
  AND EXISTS (SELECT 1 FROM change WHERE serial = $1 AND at_ms = $2) ORDER BY name, key`
/** All columns but the bytes, with the sizes of these: what two chunks with the same id have in common only if they are the same. */
const chunkPrint = (size: 'octet_length' | 'length'): string =>
  [
    'market_id',
    'first_ms',
    'first_id',
    'last_ms',
    'last_id',
    'up_count',
    'down_count',
    ...chunkKinds.map((kind) => `${size}(${kind})`),
  ].join(" || ' ' || ")
/** The newest first, which are asked for first. */
const LIST_CHUNKS = `SELECT id, ${chunkPrint('octet_length')} FROM chunk WHERE id < $1
  ORDER BY id DESC LIMIT ${CHUNKS_AT_ONCE}`
const BEAT = `INSERT INTO heartbeat (server, number, at_ms) VALUES ($1, $2, ${NOW_MS})
  ON CONFLICT (server) DO UPDATE SET number = excluded.number, at_ms = excluded.at_ms RETURNING at_ms`
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
  /**
   * Called after a heartbeat with bounds of the clock of the database minus `timer`: the database
   * read its clock while the heartbeat was under way.
   */
  onClock?: ((leastMs: number, mostMs: number) => void) | undefined
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
  times,
  onClock,
  version = formatOf(formats[store].migrations),
}: Options) {
  const { file, schema, tables: storeTables } = formats[store]
  const address = addressOf(place, schema)
  const tables = storeTables.map(toReplicated)
  const chunk = tables.find(({ name }) => name === 'chunk')
  const others = tables.filter((table) => table !== chunk)
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
    if (known === NO_STATE && chunk !== undefined) {
      await askWithin(ANSWER_MS_MAX, connection, [check])
      await copyChunks(connection, chunk, local.writeChunks)
    }
    const state = { text: FIND_STATE, values: [known.serial, known.atMs, server], isBare: true }
    const changes = { text: LIST_CHANGES, values: [known.serial, known.atMs], isBare: true }
    const begunMs = timer()
    const finding = askWithin(ANSWER_MS_MAX, connection, [BEGIN, check, state])
    const listing = askWithin(ROWS_MS_MAX, connection, [changes])
    // It is awaited below; until then its rejection must not end the process.
    listing.catch(() => {})
    const [, , found] = await finding
    times?.read.answered(timer() - begunMs)
    const [serial = 0, atMs = 0, isKnown, heartbeat = 0, isPruned] = numbersIn(found)
    const [list] = await listing
    const isContinued = isKnown === 1 && version === known.version
    // Chunks never change under their id, as long as it is the same database and format.
    const keepsChunks = known === NO_STATE || (isPruned === 1 && version === known.version)
    const entries = (list?.rows ?? []) as [name: string, key: string][]
    const isChanged = !isContinued || entries.length > 0
    if (isChanged) {
      await local.write({ serial, atMs, version }, () =>
        isContinued ? copyChanges(connection, entries) : copyAll(connection, keepsChunks),
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
    const keysOf = Map.groupBy(entries, ([name]) => name)
    if (chunk !== undefined) {
      const ids = keysOf.get(chunk.name)?.map(([, key]) => Number(JSON.parse(key)[0])) ?? []
      for (const id of ids) local.remove(chunk, [id])
      for (const some of slicesOf(ids, CHUNKS_AT_ONCE)) await copyNamed(connection, chunk, some)
    }
    const slices = others.flatMap((table) => {
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
    if (groups.length === 0) await askWithin(ROWS_MS_MAX, connection, [COMMIT])
  }

  /** Copies chunks by their ids, as far as they are there, some megabytes at a time. */
  async function copyNamed(
    connection: ReservedSQL,
    table: Table,
    ids: readonly number[],
  ): Promise<number> {
    const ask = (some: readonly number[]): Promise<Answer[]> => {
      const asking = askWithin(ROWS_MS_MAX, connection, [table.findSome(some)])
      // It is awaited below, unless these rows cannot be written.
      asking.catch(() => {})
      return asking
    }
    let copied = 0
    let rest = ids.toSorted((a, b) => a - b)
    if (rest.length === 0) return copied
    for (let asking = ask(rest); rest.length > 0;) {
      const rows = ((await asking)[0]?.rows ?? []) as Cell[][]
      const bytes = rows.flat().reduce((sum: number, cell) => sum + sizeOf(cell), 0)
      const lastId = Number(rows.at(-1)?.[0])
      rest = bytes < CHUNK_BYTES_AT_ONCE ? [] : rest.filter((id) => id > lastId)
      // The next rows arrive while these are written.
      if (rest.length > 0) asking = ask(rest)
      local.insert(table, rows)
      copied += rows.length
    }
    return copied
  }

  /**
   * Brings the chunks of the file to those of the database, the newest first. What the file has
   * already is not copied again. `write` runs what writes some of them.
   */
  async function copyChunks(
    connection: ReservedSQL,
    table: Table,
    write: (body: () => Promise<void>) => Promise<void> = (body) => body(),
  ): Promise<void> {
    const noteRows = createRowProgress(store, say)
    const list = (beforeId: number) =>
      askWithin(ROWS_MS_MAX, connection, [{ text: LIST_CHUNKS, values: [beforeId], isBare: true }])
    let beforeId = Number.MAX_SAFE_INTEGER
    for (let listing = list(beforeId), isLast = false; !isLast;) {
      const listed = ((await listing)[0]?.rows ?? []) as [id: number, print: string][]
      isLast = listed.length < CHUNKS_AT_ONCE
      const fromId = isLast ? 0 : (listed.at(-1)?.[0] ?? 0)
      const part = { fromId, beforeId, ids: JSON.stringify(listed.map(([id]) => id)) }
      const held = local.findChunks(part)
      const lacking = listed.filter(([id, print]) => held.get(id) !== print).map(([id]) => id)
      if (lacking.length > 0 || local.hasOtherChunks(part))
        await write(async () => {
          local.removeOtherChunks(part)
          noteRows(await copyNamed(connection, table, lacking), table.name)
        })
      if (!isLast) listing = list(fromId)
      beforeId = fromId
    }
  }

  async function copyAll(connection: ReservedSQL, keepsChunks: boolean): Promise<void> {
    await askWithin(ANSWER_MS_MAX, connection, [{ text: MAY_STAND_STILL, values: [] }])
    if (chunk !== undefined) {
      if (!keepsChunks) local.empty(chunk)
      await copyChunks(connection, chunk)
    }
    const noteRows = createRowProgress(store, say)
    for (const table of others) {
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
      questions.push({ text: BEAT, values: [server, number], isBare: true }, COMMIT)
      try {
        const answers = await withConnection(beating, (connection) =>
          askWithin(ANSWER_MS_MAX, connection, questions),
        )
        const [atMs] = numbersIn(answers.at(-2))
        if (atMs !== undefined) onClock?.(atMs - timer(), atMs - begunMs)
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

const sizeOf = (cell: Cell): number => (cell instanceof Uint8Array ? cell.length : 0)

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
  const isNamed = logged.map(
    (key, index) => `${key.name} ${operatorOf(index)} CAST(entry->>${index} AS ${key.type})`,
  )
  return {
    name,
    /** Selects the rows that entries of the log name; rows that it does not return were deleted. */
    find: (entries: readonly string[]): Question => ({
      text: `SELECT ${columns} FROM json_array_elements(CAST(CAST($1 AS TEXT) AS JSON)) AS named(entry)
        JOIN ${name} ON ${isNamed.join(' AND ')}`,
      values: [`[${entries}]`],
      isBare: true,
    }),
    /** Selects chunks by their ids, which ascend, until they have so many bytes. */
    findSome: (ids: readonly number[]): Question => ({
      text: `SELECT ${columns} FROM (
          SELECT ${columns}, sum(size) OVER (ORDER BY id) - size AS bytes_before FROM (
            SELECT ${columns}, ${chunkKinds.map((kind) => `octet_length(${kind})`).join(' + ')} AS size
            FROM ${name} WHERE id = ANY (CAST(CAST($1 AS TEXT) AS BIGINT[]))
          ) AS sized
        ) AS summed WHERE bytes_before < ${CHUNK_BYTES_AT_ONCE} ORDER BY id`,
      values: [`{${ids}}`],
      isBare: true,
    }),
    declareCursor: {
      text: `DECLARE all_${name} NO SCROLL CURSOR FOR SELECT ${columns} FROM ${name} ORDER BY ${order}`,
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
  // Of a replica of 0.8.0 and before, which has no bytes of chunks.
  db.run('DROP TABLE IF EXISTS replica')
  db.run(
    'CREATE TABLE IF NOT EXISTS copied (serial INTEGER NOT NULL, at_ms INTEGER NOT NULL, version INTEGER NOT NULL)',
  )
  return db
}

/** The chunks with ids from `fromId` up to `beforeId`, exclusive, are those with `ids`, a JSON list. */
type ChunkPart = { fromId: number; beforeId: number; ids: string }

/** The file of a replica. */
function createLocal(db: Database, tables: readonly Table[], store: StoreName) {
  const findState = db.prepare<State, []>('SELECT serial, at_ms AS "atMs", version FROM copied')
  const putState = db.prepare<unknown, [State]>(
    'INSERT INTO copied (serial, at_ms, version) VALUES ($serial, $atMs, $version)',
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
  const others = `FROM chunk WHERE id >= $fromId AND id < $beforeId
    AND id NOT IN (SELECT value FROM json_each($ids))`
  const chunks =
    store === 'history'
      ? {
          find: db.prepare<unknown, [string]>(
            `SELECT id, ${chunkPrint('length')} FROM chunk WHERE id IN (SELECT value FROM json_each($1))`,
          ),
          findOther: db.prepare<unknown, [ChunkPart]>(`SELECT 1 ${others} LIMIT 1`),
          removeOthers: db.prepare<unknown, [ChunkPart]>(`DELETE ${others}`),
        }
      : undefined

  async function inTransaction(body: () => Promise<void>): Promise<void> {
    db.run(db.engine.beginWriting)
    try {
      await body()
      db.run('COMMIT')
    } catch (error) {
      if (db.inTransaction) db.run('ROLLBACK')
      throw error
    }
  }

  const metas = ['meta', 'log_meta'] as const
  const sealed = store === 'history' ? metas.map((name) => createMeta(db, name)) : []

  return {
    state: (): State => findState.get() ?? NO_STATE,

    /** Runs what writes to the file in one transaction, which leads to `state`. */
    write: (state: State, body: () => Promise<void>): Promise<void> =>
      inTransaction(async () => {
        await body()
        for (const meta of sealed) meta.sealCopy(packedInBytes)
        db.run('DELETE FROM copied')
        putState.run(state)
      }),

    /** Writes chunks of a file that has no state yet, so nothing reads it. */
    writeChunks: inTransaction,

    /** By id what `chunkPrint` says of the chunks of a part that the file has. */
    findChunks: ({ ids }: ChunkPart): Map<number, string> =>
      new Map((chunks?.find.values(ids) ?? []) as [number, string][]),

    /** Whether the file has chunks in the span of a part that the part does not name. */
    hasOtherChunks: (part: ChunkPart): boolean => (chunks?.findOther.get(part) ?? null) !== null,

    removeOtherChunks: (part: ChunkPart): void => void chunks?.removeOthers.run(part),

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
