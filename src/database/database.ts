/** What stores know of a database, whichever engine it is of, and transactions. */
import type { SQLQueryBindings } from 'bun:sqlite'

import { AppError } from '#src/domain/errors.ts'

/**
 * What stores use of a database, and no more, so that another engine can offer it. Integers are
 * safe ones, bytes are `Uint8Array`, and texts are ordered by their bytes.
 */
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
  readonly engine: Engine
}

/** What each engine says in words of its own. */
export type Engine = {
  /** Begins a transaction that is the only writer. */
  beginWriting: string
  /** Begins one that reads one unchanging state. */
  beginReading: string
  /** A query of Unix milliseconds, whole ones, as `ms`. */
  now: string
  /** True where a column takes numbers and bytes. */
  mixesTypes: boolean
  /** True where what failed within a transaction has to be undone before it goes on. */
  hasSavepoints: boolean
  /** The words that name the index to use: without statistics SQLite takes any that fits. */
  indexedBy(index: string): string
  /** Makes the question for a number that changes with every commit of other connections. */
  createCommitCount(db: Database): WithLater<[], unknown>
  /** Of the whole database, and without what was freed. */
  fileBytesOf(db: Database): number
  usedBytesOf(db: Database): number
  /** What the engine finds wrong, a sentence each. */
  listFaults(db: Database): string[]
  /**
   * Writes what changes nothing. Throws as `transact`; another process's lock is no fault. A
   * promise where the caller must not wait for another machine.
   */
  probeWrite(db: Database): void
  /**
   * Runs `body` so that it waits neither for the disk (the next transaction that does takes these
   * with it) nor for another process that writes: the caller tries again. An engine elsewhere waits
   * as for any other transaction.
   */
  withoutWaiting(db: Database, body: () => void): void
  /** Closes it; everything of a file is in the one file then. */
  close(db: Database): void
  /** What a failed write says of the storage, if that is at fault. */
  faultOf(error: unknown): string | undefined
  /**
   * Runs `body` with no other process there. Throws `storage_unavailable` while another has it
   * open.
   */
  alone<T>(db: Database, body: () => T): T
  /** Gives ids from now on after the greatest of a table that gives its own. */
  continueIds(db: Database, table: string): void
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
  /** Of an engine on another machine: see `later`. */
  later?(...values: Values): () => Row[]
}

/**
 * Asks for the rows of a statement, on another machine in one round trip with what is asked next:
 * they are there when the result is called. Within a transaction it sees what was written before.
 */
export function later<Row, Values extends unknown[]>(
  statement: Statement<Row, Values>,
  ...values: Values
): () => Row[] {
  if (statement.later !== undefined) return statement.later(...values)
  const rows = statement.all(...values)
  return () => rows
}

/** A function whose `later` asks with the next statement, as `later` does; its result is the answer. */
export type WithLater<Values extends unknown[], Answer> = ((...values: Values) => Answer) & {
  later: (...values: Values) => () => Answer
}

/** `ask` asks with the next statement. */
export const withLater = <Values extends unknown[], Answer>(
  ask: (...values: Values) => () => Answer,
): WithLater<Values, Answer> =>
  Object.assign((...values: Values) => ask(...values)(), { later: ask })

export type ReadOnce<Answer> = WithLater<[], Answer> & { put(answer: Answer): void }

/**
 * Reads what only its owner changes: in a transaction that writes once, because no other writes
 * meanwhile, and outside of one at each call. The owner calls `put` with each change. `later` asks
 * another machine with the next statement; a file is read when the answer is needed.
 */
export function readOnce<Row, Answer>(
  db: Database,
  statement: Statement<Row, []>,
  toAnswer: (rows: Row[]) => Answer,
): ReadOnce<Answer> {
  let known: { writing: symbol; answer: () => Answer } | undefined

  function ask(): () => Answer {
    const writing = writingOf(db)
    if (writing !== undefined && known?.writing === writing) return known.answer
    const rows = statement.later?.() ?? (() => statement.all())
    let read: { value: Answer } | undefined
    const answer = (): Answer => {
      read ??= { value: toAnswer(rows()) }
      return read.value
    }
    known = writing && { writing, answer }
    return answer
  }

  function put(answer: Answer): void {
    const writing = writingOf(db)
    known = writing && { writing, answer: () => answer }
  }

  return Object.assign(withLater(ask), { put })
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

/**
 * Runs `body` in one write transaction: all of it is kept, or nothing. A promise is refused: SQLite
 * would commit at the first await. Throws `storage_unavailable` where the disk is full or fails.
 */
export function transact<T>(db: Database, body: () => T): T {
  try {
    db.run(db.engine.beginWriting)
    writing.set(db, Symbol())
    const result = body()
    if (isThenable(result)) throw new Error('A transaction must be synchronous.')
    writing.delete(db)
    db.run('COMMIT')
    return result
  } catch (error) {
    writing.delete(db)
    // A full disk may have rolled back by itself.
    if (db.inTransaction) db.run('ROLLBACK')
    const message = db.engine.faultOf(error)
    throw message === undefined ? error : storageError(message, { cause: error })
  }
}

/** Names what was written in a transaction of `transact` so far, unless some of it was undone. */
const writing = new WeakMap<Database, symbol>()

/**
 * The same for as long as the rows that a transaction has read can only be changed by itself, since
 * it is the only writer; undefined outside of `transact`.
 */
export const writingOf = (db: Database): symbol | undefined => writing.get(db)

/** A part of a transaction that may fail without the rest. It must check before it writes. */
export function nest<T>(db: Database, body: () => T): T {
  if (!db.engine.hasSavepoints) return body()
  db.run('SAVEPOINT part')
  try {
    const result = body()
    db.run('RELEASE part')
    return result
  } catch (error) {
    writing.set(db, Symbol())
    if (db.inTransaction) db.run('ROLLBACK TO part; RELEASE part')
    throw error
  }
}

const isThenable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

/** Runs `body` on one unchanging state of the file, whatever other processes write meanwhile. */
export function readConsistently<T>(db: Database, body: () => T): T {
  if (db.inTransaction) return body()
  // Unlike run, query keeps the prepared statement.
  db.query(db.engine.beginReading).run()
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
  return withLater((id: number) => {
    const rows = later(find, id)
    return (): Cell | undefined => rows()[0]?.cell
  })
}

/** Unix milliseconds. */
export type StoreClock = WithLater<[], number>

/**
 * In whole milliseconds of the engine's clock. A transaction that writes has one time: that of its
 * first reading, before which everything that it finds was committed.
 */
export const createClock = (db: Database): StoreClock =>
  readOnce(db, db.prepare<{ ms: number }, []>(db.engine.now), ([now]) => now?.ms ?? 0)
