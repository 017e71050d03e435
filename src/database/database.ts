/** The interface of SQLite for stores, and its transactions. */
import type { SQLQueryBindings } from 'bun:sqlite'

import { AppError } from '#src/domain/errors.ts'

/** Integers are safe ones, bytes are `Uint8Array`, and texts are ordered by their bytes. */
export type Database = {
  /** `:memory:` where there is no file. */
  readonly filename: string
  readonly inTransaction: boolean
  /** Values are given by place (`$1`), or as one object by name (`$name`). */
  prepare: Prepare
  /** As `prepare`, but a text that was asked for before is not compiled again. */
  query: Prepare
  /** Any number of statements, without values. */
  run(sql: string): { changes: number }
  close(): void
}

type Prepare = <Row, Given extends Value | Value[]>(sql: string) => Statement<Row, ListOf<Given>>
export type Value = SQLQueryBindings
// biome-ignore lint/suspicious/noExplicitAny: no other words agree with the driver's own type.
export type ListOf<Given> = Given extends any[] ? Given : [Given]

export type Cell = string | number | bigint | Uint8Array | null

export type Statement<Row, Values extends unknown[]> = {
  /** The first row. */
  get(...values: Values): Row | null
  all(...values: Values): Row[]
  /** Each row as its values, in the order of the columns. */
  values(...values: Values): Cell[][]
  iterate(...values: Values): Iterable<Row>
  run(...values: Values): { changes: number }
}

const RETRY_AFTER_SECONDS = 30

/** The message says what to do; it names a file only at its opening. */
export const storageError = (
  message: string,
  options: ErrorOptions & { retryAfterSeconds?: number } = {},
): AppError =>
  new AppError('storage_unavailable', message, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    ...options,
  })

/**
 * The last commit that converts older stores: of version 0.5.0, and later than its release, which
 * left another format.
 */
const CONVERTING_COMMIT = '038283cb'
/** Part of the message of `olderStore`. */
export const CONVERT = `start commit ${CONVERTING_COMMIT} of its repository once with this data, then this version`

/** For what older versions wrote, also where the converting one did not finish. */
export const olderStore = (store: string): AppError =>
  storageError(`${store} was written by a version that is too old for this one: ${CONVERT}.`)

export const isStorageError = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'storage_unavailable'

/** SQLite's code of an error, such as `SQLITE_CORRUPT`; empty for any other error. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // Extended codes such as SQLITE_READONLY_DIRECTORY say the same to an operator.
  return /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? ''
}

const diskFaults: Partial<Record<string, string>> = {
  SQLITE_FULL: 'No room is left on the disk. Free some space and try again.',
  SQLITE_IOERR: 'The disk reports an error. Check it and try again.',
  SQLITE_READONLY: 'The disk is read-only. Make it writable and try again.',
}

/** The message for an error of the disk; undefined for any other. */
export const diskFaultOf = (error: unknown): string | undefined => diskFaults[codeOf(error)]

/**
 * Runs `body` in one write transaction: all of it is kept, or nothing. A promise is refused: SQLite
 * would commit at the first await. Throws `storage_unavailable` where the disk is full or fails.
 */
export function transact<T>(db: Database, body: () => T): T {
  if (db.inTransaction) throw new Error('A transaction is open already: this would be within it.')
  try {
    db.run('BEGIN IMMEDIATE')
    const result = body()
    if (isThenable(result)) throw new Error('A transaction must be synchronous.')
    db.run('COMMIT')
    return result
  } catch (error) {
    // If the disk is full, SQLite may have rolled back already.
    if (db.inTransaction) db.run('ROLLBACK')
    const message = diskFaultOf(error)
    throw message === undefined ? error : storageError(message, { cause: error })
  }
}

const isThenable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

/** Runs `body` on one unchanging state of the file, whatever other processes write meanwhile. */
export function readConsistently<T>(db: Database, body: () => T): T {
  if (db.inTransaction) return body()
  // Unlike run, query keeps the prepared statement.
  db.query('BEGIN').run()
  try {
    return body()
  } finally {
    // Some faults of the disk end it.
    if (db.inTransaction) db.query('COMMIT').run()
  }
}

/** Finds a column of the row with an id; undefined where there is no such row. */
export function prepareCell(db: Database, table: string, column: string) {
  const find = db.prepare<{ cell: Cell }, [number]>(
    `SELECT ${column} AS cell FROM ${table} WHERE id = $1`,
  )
  return (id: number): Cell | undefined => find.get(id)?.cell
}
