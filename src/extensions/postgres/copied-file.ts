/**
 * The file of a copy: a SQLite file with the rows that PostgreSQL had at one moment, its state.
 * Several threads and processes write to the file: each reads the state, fetches later changes, and
 * writes only if the file still has that state.
 */
import { accessSync, constants, rmSync } from 'node:fs'

import { type Cell, codeOf, type Database, isStorageError } from '#src/database/database.ts'
import { type FileFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { chunkKinds } from '#src/database/stores.ts'

import type { Format } from './formats.ts'
import { hasPacked, sizeOfRow, unpackRow } from './packing.ts'
import type { StoreTable } from './tables.ts'

/** The last log entry contained in the file, and the format of the database at that entry. */
export type State = { serial: number; atMs: number; version: number }
export const NO_STATE: State = { serial: -1, atMs: 0, version: 0 }

/** Rows that replace those with `gone` keys, or all rows of the table. */
export type Step = {
  table: StoreTable
  gone: readonly Cell[][] | 'all'
  rows: readonly Cell[][]
}

/** Thrown if another thread or process has written to the file since its state was read. */
export class Moved extends Error {}

/** Thrown if another thread or process writes to the file for longer than the timeout. */
export class Busy extends Error {
  override message = 'Another process is copying the database into the same data folder.'
}

/** Timeout of the file's lock; only a first copy holds it for longer. */
const BUSY_MS_MAX = 60_000
const BUSY_PAUSE_MS = 1
/** Bytes of rows that are collected in memory for one short transaction. */
const HELD_BYTES_MAX = 64 * 1024 * 1024

/**
 * Fingerprint of a chunk: all columns except the bytes, which are represented by their sizes. Two
 * chunks with the same id and fingerprint are equal.
 */
export const chunkPrint = (size: 'octet_length' | 'length'): string =>
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

/**
 * In the range from `fromId` to `beforeId` (exclusive), the chunks whose ids are in `ids`, a JSON
 * list.
 */
export type ChunkPart = { fromId: number; beforeId: number; ids: string }

export type CopiedFile = ReturnType<typeof openCopiedFile>

export function openCopiedFile(path: string, { file, tables, name: store }: Format) {
  const db = openFile(path, file)
  const statements = new Map(
    tables.map((table) => [
      table,
      {
        insert: db.prepare<unknown, Cell[]>(`INSERT OR REPLACE ${table.into}`),
        remove: db.prepare<unknown, Cell[]>(removeNamed(table)),
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

  /** Begins a transaction. Rejects with `Moved` unless the file has the state `known`. */
  async function begin(known: State, busyMsMax?: number): Promise<void> {
    await beginWriting(db, busyMsMax)
    if (isSame(stateOf(db), known)) return
    db.run('ROLLBACK')
    throw new Moved()
  }

  function apply({ table, gone, rows }: Step): void {
    const { insert, remove } = statements.get(table) ?? {}
    if (gone === 'all') db.run(`DELETE FROM ${table.name}`)
    else for (const key of gone) remove?.run(...key)
    for (const row of hasPacked(table) ? rows.map(unpackRow) : rows) insert?.run(...row)
  }

  return {
    state: (): State => stateOf(db),

    /**
     * Moves the file from the state `known` to `next`. The rows of `steps` are fetched first and
     * then written in one short transaction; if they are too many, or if `isFirst`, other writers
     * wait during the fetch. Rejects with `Moved` if the file has another state by now, and with
     * `Busy` if others keep it locked.
     */
    async write(
      known: State,
      next: State,
      steps: AsyncIterable<Step>,
      { isFirst = false, busyMsMax = BUSY_MS_MAX } = {},
    ): Promise<void> {
      const held: Step[] = []
      let bytes = 0
      try {
        if (isFirst) await begin(known, busyMsMax)
        for await (const step of steps) {
          if (db.inTransaction) apply(step)
          else {
            held.push(step)
            bytes += step.rows.reduce((sum, row) => sum + sizeOfRow(row), 0)
            if (bytes < HELD_BYTES_MAX) continue
            await begin(known, busyMsMax)
            for (const each of held.splice(0)) apply(each)
          }
        }
        if (!db.inTransaction) await begin(known, busyMsMax)
        for (const each of held) apply(each)
        putState(db, next)
        db.run('COMMIT')
      } catch (error) {
        undo(db)
        throw error
      }
    },

    /** Writes chunks of a file without a state, which nothing reads yet. */
    async writeChunks(body: () => void): Promise<void> {
      await begin(NO_STATE)
      try {
        body()
        db.run('COMMIT')
      } catch (error) {
        undo(db)
        throw error
      }
    },
    apply,

    /** Fingerprints of the chunks of a part that the file has, by id. */
    findChunks: ({ ids }: ChunkPart): Map<number, string> =>
      new Map((chunks?.find.values(ids) ?? []) as [number, string][]),

    /** True if the file has chunks in the range of a part that are not in the part. */
    hasOtherChunks: (part: ChunkPart): boolean => (chunks?.findOther.get(part) ?? null) !== null,

    removeOtherChunks: (part: ChunkPart): void => void chunks?.removeOthers.run(part),

    close: (): void => db.close(),
  }
}

export const isSame = (one: State, other: State): boolean =>
  one.serial === other.serial && one.atMs === other.atMs && one.version === other.version

/** Stores the state of the file, in the transaction that changes its rows. */
export function putState(db: Database, state: State): void {
  db.run('DELETE FROM copied')
  db.query<unknown, [State]>(
    'INSERT INTO copied (serial, at_ms, version) VALUES ($serial, $atMs, $version)',
  ).run(state)
}

/** State of a file, as seen by another handle. */
export const stateOf = (db: Database): State =>
  db.query<State, []>('SELECT serial, at_ms AS "atMs", version FROM copied').get() ?? NO_STATE

/** Rolls back, unless a full disk has already done so. */
export function undo(db: Database): void {
  if (db.inTransaction) db.run('ROLLBACK')
}

/** Waits for other writers without blocking the thread. Rejects with `Busy`. */
export async function beginWriting(db: Database, msMax = BUSY_MS_MAX): Promise<void> {
  const endMs = performance.now() + msMax
  for (;;) {
    try {
      db.run('BEGIN IMMEDIATE')
      return
    } catch (error) {
      if (codeOf(error) !== 'SQLITE_BUSY') throw error
      if (performance.now() > endMs) throw new Busy(undefined, { cause: error })
    }
    await Bun.sleep(BUSY_PAUSE_MS)
  }
}

/** An entry of `tail` in the log covers all rows of a market from a time on. */
export const loggedKeys = ({ name, keys }: StoreTable) =>
  (name === 'tail' ? keys.slice(0, 2) : keys).map((key, index) => ({
    ...key,
    operator: name === 'tail' && index === 1 ? '>=' : '=',
  }))

const removeNamed = (table: StoreTable): string =>
  `DELETE FROM ${table.name} WHERE ${loggedKeys(table)
    .map(({ name, operator }, index) => `${name} ${operator} $${index + 1}`)
    .join(' AND ')}`

/**
 * Opens the file. A damaged file, or one of another format, is replaced: the database has all of
 * its rows. After any other error, such as a full disk, the file stays as it is.
 */
function openFile(path: string, format: FileFormat): Database {
  let db: Database
  try {
    db = openDatabase(path, { format })
  } catch (error) {
    if (!isStorageError(error) || !isUseless(path, error)) throw error
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    db = openDatabase(path, { format })
  }
  db.run('PRAGMA synchronous = NORMAL')
  // Waiting in SQLite would block the thread.
  db.run('PRAGMA busy_timeout = 0')
  // Triggers belong to the handle of verbs only: copied rows already include their effects.
  for (const { name } of triggersIn(db)) db.run(`DROP TRIGGER IF EXISTS ${name}`)
  // Left by a replica of 0.8.0 or earlier, which has no bytes of chunks.
  db.run('DROP TABLE IF EXISTS replica')
  db.run(
    'CREATE TABLE IF NOT EXISTS copied (serial INTEGER NOT NULL, at_ms INTEGER NOT NULL, version INTEGER NOT NULL)',
  )
  return db
}

function isUseless(path: string, { cause }: Error): boolean {
  if (cause !== undefined) return ['SQLITE_CORRUPT', 'SQLITE_NOTADB'].includes(codeOf(cause))
  // The file has another format: replace it, unless it is read-only.
  accessSync(path, constants.W_OK)
  return true
}

const triggersIn = (db: Database): { name: string }[] =>
  db.prepare<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all()
