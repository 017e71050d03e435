/**
 * The only file that knows the SQLite driver: opens a file, checks that it is ours, brings it up to
 * date, and does what SQLite alone needs.
 */

import { Database as Driver, type Statement as Compiled } from 'bun:sqlite'
import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs'

import { historyMigrations, ledgerMigrations, type Migrations } from '#db/migrations.ts'
import { assertSound } from '#src/database/checksum.ts'
import {
  codeOf,
  type Database,
  isStorageError,
  type ListOf,
  olderStore,
  readConsistently,
  type Statement,
  storageError,
  transact,
  type Value,
} from '#src/database/database.ts'
import { formatOf, isTooOld, migrationsAfter } from '#src/database/migrations.ts'
import type { AppError } from '#src/domain/errors.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'

/** The first release without the WAL-reset bug (https://sqlite.org/wal.html#the_wal_reset_bug). */
const SQLITE_VERSION_MIN = '3.51.3'
/** How long a write waits for another process. */
const BUSY_TIMEOUT_MS = 5000
/** Chunks are cached as objects above SQLite, so its own cache only needs to hold the indexes. */
const PAGE_CACHE_KIB = 16_384

/** The mark of a kind of file, so that no other is taken for it, and how much it promises. */
export type FileFormat = {
  name: 'history' | 'ledger'
  applicationId: number
  /** NORMAL survives kill -9, but may lose the last second at a power cut; FULL survives both. */
  synchronous: 'NORMAL' | 'FULL'
  migrations: Migrations
}

/** history.db, marked "bkfd". */
export const historyFormat: FileFormat = {
  name: 'history',
  applicationId: 0x626b6664,
  synchronous: 'NORMAL',
  migrations: historyMigrations,
}

/** ledger.db, marked "bkfl". */
export const ledgerFormat: FileFormat = {
  name: 'ledger',
  applicationId: 0x626b666c,
  synchronous: 'FULL',
  migrations: ledgerMigrations,
}

class Sqlite extends Driver implements Database {
  /** Compiled when it is first run: a server has some three hundred, and starts with few. */
  override prepare<Row, Given extends Value | Value[]>(sql: string): Compiled<Row, ListOf<Given>> {
    type Own = Statement<Row, ListOf<Given>>
    let compiled: Own | undefined
    const compile = (): Own => {
      compiled ??= super.prepare<Row, Given>(sql)
      return compiled
    }
    const statement: Own = {
      get: (...values) => compile().get(...values),
      all: (...values) => compile().all(...values),
      values: (...values) => compile().values(...values),
      iterate: (...values) => compile().iterate(...values),
      run: (...values) => compile().run(...values),
    }
    return statement as Compiled<Row, ListOf<Given>>
  }

  /** `true` ends the statements, too: SQLite keeps a file open, and its lock, for as long as it has one. */
  override close(): void {
    super.close(true)
  }
}

type DatabaseOptions = {
  format?: FileFormat
  isReadOnly?: boolean | undefined
  /** Leaves the file in the format that it has. */
  isAsItIs?: boolean | undefined
  /** Size that the file may not outgrow; what would is refused with `SQLITE_FULL`. */
  bytesMax?: number | undefined
}

/** `:memory:` is a fresh file that dies with the handle. Throws `storage_unavailable`. */
export function openDatabase(path: string, options: DatabaseOptions = {}): Sqlite {
  const { isReadOnly = false, isAsItIs = false, format = historyFormat } = options
  let db: Sqlite | undefined
  try {
    if (!isReadOnly) {
      makePrivate(path)
      assertWritable(path)
    }
    db = new Sqlite(path, {
      ...(isReadOnly ? { readonly: true } : { create: true, readwrite: true }),
      strict: true,
    })
    // First: everything below must be able to wait for another process.
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    assertSqliteVersion(db)
    assertOurs(db, path, format)
    if (!isReadOnly && !isAsItIs) prepare(db, format, options.bytesMax)
    db.run(`PRAGMA cache_size = -${PAGE_CACHE_KIB}`)
    // A file that is mapped into memory ends the process at an error of the disk, and costs a page
    // fault for each of its pages.
    db.run('PRAGMA mmap_size = 0')
    db.run('PRAGMA trusted_schema = OFF')
    db.run('PRAGMA foreign_keys = ON')
    return db
  } catch (error) {
    db?.close()
    throw toStorageError(error, path)
  }
}

/**
 * Opens a file whose contents may be lost: nothing waits for the disk, and a write waits for another
 * connection for `busyMs` at most. `schema` must do nothing where it was run before.
 */
export function openCacheFile(path: string, schema: string, busyMs: number): Sqlite {
  makePrivate(path)
  const db = new Sqlite(path, { create: true, readwrite: true, strict: true })
  try {
    db.run(`PRAGMA busy_timeout = ${busyMs}`)
    db.run('PRAGMA auto_vacuum = INCREMENTAL')
    db.run('PRAGMA journal_mode = WAL')
    db.run('PRAGMA synchronous = OFF')
    db.run('PRAGMA mmap_size = 0')
    db.run(schema)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** A new file is its owner's alone, and so are those that SQLite puts beside it. */
function makePrivate(path: string): void {
  if (path === ':memory:') return
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch {
    // It is there already, or cannot be made: opening it says so better.
  }
}

function assertSqliteVersion(db: Database): void {
  const version = String(readValue(db, 'SELECT sqlite_version()'))
  if (Bun.semver.order(version, SQLITE_VERSION_MIN) < 0) {
    throw storageError(
      `SQLite ${version} can lose commits; ${SQLITE_VERSION_MIN} or newer is needed. Run bookfeed with the Bun that package.json names.`,
    )
  }
}

function assertOurs(db: Database, path: string, format: FileFormat): void {
  // All read at one moment: another process may be making the file.
  const { applicationId, version, tables } = readConsistently(db, () => ({
    applicationId: readNumber(db, 'PRAGMA application_id'),
    version: readNumber(db, 'PRAGMA user_version'),
    tables: readNumber(db, 'SELECT count(*) FROM sqlite_schema'),
  }))
  if (
    applicationId !== format.applicationId &&
    (applicationId !== 0 || version !== 0 || tables > 0)
  ) {
    throw storageError(
      `${path} is not a ${format.name} of bookfeed, but a database of another kind. Set BOOKFEED_DATA to another folder.`,
    )
  }
  const known = formatOf(format.migrations)
  if (version > known) {
    throw storageError(
      `${path} was written by a newer bookfeed (format ${version}, this one knows ${known}). Update bookfeed, or restore the backup that was made before its update.`,
    )
  }
  if (isTooOld(format.migrations, version)) throw olderStore(path)
}

/** SQLite opens a file that may only be read, and refuses the first write to it. */
function assertWritable(path: string): void {
  if (!existsSync(path)) return
  try {
    accessSync(path, constants.W_OK)
  } catch (cause) {
    throw storageError(notWritable(path), { cause })
  }
}

const notWritable = (path: string): string =>
  `${path} cannot be written. Give this user the right to write it and its folder, or set BOOKFEED_DATA.`

function prepare(db: Database, format: FileFormat, bytesMax: number | undefined): void {
  db.run('PRAGMA journal_mode = WAL')
  db.run(`PRAGMA synchronous = ${format.synchronous}`)
  migrate(db, format)
  assertSchema(db, format)
  if (bytesMax !== undefined) {
    const pages = Math.ceil(bytesMax / readNumber(db, 'PRAGMA page_size'))
    db.run(`PRAGMA max_page_count = ${pages}`)
  }
}

function migrate(db: Database, { migrations, applicationId }: FileFormat): void {
  const version = readNumber(db, 'PRAGMA user_version')
  const isUpgrade = version > 0 && version < formatOf(migrations)
  // An older version that has the file open would go on writing to it.
  using _ = isUpgrade ? keepAlone(db) : undefined
  transact(db, () => {
    const missing = migrationsAfter(migrations, readNumber(db, 'PRAGMA user_version'))
    if (missing.length === 0) return
    for (const sql of missing) db.run(sql)
    db.run(`PRAGMA application_id = ${applicationId}`)
    db.run(`PRAGMA user_version = ${formatOf(migrations)}`)
  })
}

/** Throws `storage_unavailable` while another process has a file open, and leaves the file as it is. */
export function assertUnused(path: string, format: FileFormat): void {
  const db = openDatabase(path, { format, isAsItIs: true })
  try {
    keepAlone(db)[Symbol.dispose]()
  } finally {
    db.close()
  }
}

const schemas = new WeakMap<FileFormat, readonly string[]>()

/** Names of columns can be damaged like any other bytes. What an operator added is left alone. */
function assertSchema(db: Database, format: FileFormat): void {
  let expected = schemas.get(format)
  if (expected === undefined) {
    const fresh = new Sqlite(':memory:')
    for (const sql of format.migrations.sql) fresh.run(sql)
    expected = readSchema(fresh)
    schemas.set(format, expected)
    fresh.close()
  }
  assertSound(new Set(expected).isSubsetOf(new Set(readSchema(db))), 'the schema')
}

const readSchema = (db: Database): string[] =>
  valuesOf(db, "SELECT sql FROM sqlite_schema WHERE type <> 'trigger'").map(String)

/**
 * Runs `body` so that it waits neither for the disk (the next transaction that does takes these with
 * it) nor for another process that writes: the caller tries again.
 */
export function withoutWaiting<T>(db: Database, body: () => T): T {
  const synchronous = readNumber(db, 'PRAGMA synchronous')
  db.run('PRAGMA synchronous = NORMAL')
  db.run('PRAGMA busy_timeout = 0')
  try {
    return body()
  } finally {
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    db.run(`PRAGMA synchronous = ${synchronous}`)
  }
}

/** Writes what changes nothing. Throws as `transact`; another process's lock is no fault. */
export function probeWrite(db: Database): void {
  const version = readNumber(db, 'PRAGMA user_version')
  try {
    withoutWaiting(db, () => transact(db, () => db.run(`PRAGMA user_version = ${version}`)))
  } catch (error) {
    if (codeOf(error) !== 'SQLITE_BUSY') throw error
  }
}

/** Makes the question for a number that changes with every commit of other connections. */
export function createCommitCount(db: Database): () => unknown {
  const commits = db.prepare<unknown, []>('PRAGMA data_version')
  return () => commits.values()[0]?.[0]
}

export const fileBytesOf = (db: Database): number => pagesOf(db).count * pagesOf(db).bytes

/** Bytes of the file without pages that were freed. */
export const usedBytesOf = (db: Database): number =>
  fileBytesOf(db) - readNumber(db, 'PRAGMA freelist_count') * pagesOf(db).bytes

/** The faults that SQLite finds in a file, a sentence each. */
export const listFaults = (db: Database): string[] =>
  valuesOf(db, 'PRAGMA integrity_check')
    .flat()
    .filter((answer) => answer !== 'ok')
    .map((answer) => `SQLite: ${answer}`)

/** Another thread makes the checkpoints; should it die, they are made here at some 100 MB. */
export const leaveCheckpoints = (db: Database): void =>
  void db.run(`PRAGMA wal_autocheckpoint = ${LEFT_PAGES_MAX}`)
const LEFT_PAGES_MAX = 25_000

const CHECKPOINTS_MAX = 3

/**
 * Brings what was committed into the file, while others read and write. Returns the pages of the
 * log; undefined if some of them are not in the file yet.
 */
export function checkpoint(db: Database): number | undefined {
  for (let round = 0; round < CHECKPOINTS_MAX; round++) {
    const [answer] = valuesOf(db, 'PRAGMA wal_checkpoint(PASSIVE)')
    const [, logged = 0, copied = 0] = (answer ?? []).map(Number)
    // The log starts over once all of it was copied, which a commit meanwhile prevents.
    if (logged === copied) return Math.max(0, logged)
  }
  return undefined
}

/**
 * Cuts the log to nothing, so that no frames of former rounds lie in it. Waits for no reader and no
 * writer: while there is one, the log stays.
 */
export function emptyLog(db: Database): void {
  db.run('PRAGMA busy_timeout = 0')
  try {
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

/** Pages that the log holds, and whether all of them are in the file as well. */
export function logStateOf(db: Database): { pages: number; isInFile: boolean } {
  const [answer] = valuesOf(db, 'PRAGMA wal_checkpoint(NOOP)')
  const [, logged = 0, copied = 0] = (answer ?? []).map(Number)
  return { pages: Math.max(0, logged), isInFile: copied >= logged }
}

export const pagesOf = (db: Database) => ({
  count: readNumber(db, 'PRAGMA page_count'),
  bytes: readNumber(db, 'PRAGMA page_size'),
})
export const versionOf = (db: Database): number => readNumber(db, 'PRAGMA user_version')

/** The format of a file; 0 if there is none, or if it was made and not used. */
export function formatOfFile(path: string, format: FileFormat): number {
  if (!existsSync(path)) return 0
  const db = openDatabase(path, { format, isReadOnly: true })
  try {
    return versionOf(db)
  } finally {
    db.close()
  }
}

/**
 * Keeps others from `path` until it is disposed of, or the process ends. Throws
 * `storage_unavailable`.
 */
export function holdLock(path: string, message: string): Disposable {
  makePrivate(path)
  let db: Sqlite | undefined
  try {
    db = new Sqlite(path, { create: true, readwrite: true })
    // Nothing is written, so no journal is needed.
    db.run('PRAGMA journal_mode = MEMORY')
    db.run('BEGIN EXCLUSIVE')
  } catch (cause) {
    db?.close()
    throw codeOf(cause) === 'SQLITE_BUSY'
      ? storageError(message, { cause })
      : toStorageError(cause, path)
  }
  return { [Symbol.dispose]: () => db.close() }
}

/** Keeps other processes out until it is disposed of. Throws `storage_unavailable` while another has it open. */
export function keepAlone(db: Database): Disposable {
  try {
    // A process that has the file open uses its log, so the log cannot be removed.
    db.run('PRAGMA journal_mode = DELETE')
  } catch (cause) {
    if (codeOf(cause) !== 'SQLITE_BUSY') throw cause
    const message = `Another process has ${db.filename} open. Stop it and try again.`
    throw storageError(message, { cause })
  }
  // Who comes later is kept out from the first transaction on.
  db.run('PRAGMA locking_mode = EXCLUSIVE')
  return {
    [Symbol.dispose]() {
      db.run('PRAGMA locking_mode = NORMAL')
      db.run('PRAGMA journal_mode = WAL')
    },
  }
}

/** Closes a file; everything committed is in the one file then. */
export function closeFile(db: Database): void {
  try {
    // Prepared statements keep the handle alive after `close`, so SQLite itself would not empty the
    // log then.
    db.run('PRAGMA busy_timeout = 0')
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // Someone else reads, or there is no room: what was committed is safe where it is.
  } finally {
    db.close()
  }
}

const valuesOf = (db: Database, sql: string) => db.prepare<unknown, []>(sql).values()
const readValue = (db: Database, sql: string): unknown => valuesOf(db, sql)[0]?.[0]
const readNumber = (db: Database, sql: string): number => Number(readValue(db, sql))

export const toStorageError = (error: unknown, path: string): AppError =>
  isStorageError(error) ? error : storageError(toOpenMessage(error, path), { cause: error })

function toOpenMessage(error: unknown, path: string): string {
  if (isFault(error, 'damage', 'chunk_gone'))
    return `${path} is damaged: ${error.message} Restore it from a backup.`
  switch (codeOf(error)) {
    case 'SQLITE_NOTADB':
      return `${path} is not a database. Move it away, or set BOOKFEED_DATA to another folder.`
    case 'SQLITE_CANTOPEN':
      return `${path} cannot be opened. Check that the folder exists and that this user may read and write it, or set BOOKFEED_DATA.`
    case 'SQLITE_READONLY':
      return notWritable(path)
    case 'SQLITE_FULL':
      return `No room is left for ${path}. Free some space, or set BOOKFEED_DATA to another disk.`
    case 'SQLITE_BUSY':
      return `${path} is locked by another process, and stays locked. Stop that process and try again.`
    case 'SQLITE_CORRUPT':
      return `${path} is damaged. Restore it from a backup.`
    default:
      return `${path} cannot be used: ${messageOf(error)}.`
  }
}
