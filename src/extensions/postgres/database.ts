/** PostgreSQL as the stores know a database: what they ask for is there when the call returns. */

import {
  type Database,
  type Engine,
  later,
  olderStore,
  storageError,
  transact,
  withLater,
} from '#src/database/database.ts'
import { formatOf, isTooOld, migrationsAfter } from '#src/database/migrations.ts'
import type { AppError } from '#src/domain/errors.ts'
import { sentenceOf } from '#src/platform/message.ts'

import { addressOf, shownAddress } from './address.ts'
import { answerTimes } from './answer-times.ts'
import {
  type Answer,
  type Bridge,
  CONFIRM,
  MAY_STAND_STILL,
  NOTE_COMMIT,
  openBridge,
  type Purpose,
  type Question,
  type Row,
  TOOK,
} from './bridge.ts'
import { assertVersion, errorOf } from './faults.ts'
import type { Format } from './formats.ts'

const engine: Engine = {
  // One writer at a time, as in SQLite; it reads what was committed before it had its turn.
  beginWriting: 'BEGIN',
  beginReading: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  now: 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) AS ms',
  mixesTypes: false,
  // A statement that failed would end the whole transaction.
  hasSavepoints: true,
  indexedBy: () => '',
  createCommitCount(db) {
    const count = db.prepare<{ count: unknown }, []>(
      db instanceof PostgresDatabase ? db.format.commitCount : '',
    )
    return withLater(() => {
      const rows = later(count)
      return () => rows()[0]?.count
    })
  },
  fileBytesOf(db) {
    const total = db.prepare<{ bytes: number }, []>(
      `SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) AS bytes FROM pg_class
       WHERE relkind = 'r' AND relnamespace = CAST(current_schema() AS regnamespace)`,
    )
    return total.get()?.bytes ?? 0
  },
  usedBytesOf: (db) =>
    db.prepare<{ bytes: number }, []>('SELECT bytes FROM stored').get()?.bytes ?? 0,
  // Checksums of pages are the server's (initdb --data-checksums); it reports them as it reads.
  listFaults: () => [],
  probeWrite: (db) => transact(db, () => void db.run(TOUCH)),
  withoutWaiting: (_, body) => body(),
  close: (db) => db.close(),
  alone(db, body) {
    // A process that opens it later sees the result. One that ended a moment ago may still be listed.
    const others = db.prepare<{ count: number }, []>(
      `SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database()
       AND application_name = 'bookfeed' AND pid <> pg_backend_pid()`,
    )
    for (let looks = 0; others.get()?.count !== 0; looks++) {
      if (looks === LOOKS_MAX) throw storageError(NOT_ALONE)
      db.prepare('SELECT CAST(pg_sleep(0.2) AS TEXT)').get()
    }
    return body()
  },
  // What it reports is thrown as a fault of the store at once.
  faultOf: () => undefined,
  continueIds: (db, table) =>
    void db
      .prepare<unknown, [string]>(
        `SELECT setval(pg_get_serial_sequence($1, 'id'), max(id)) FROM ${table}`,
      )
      .get(table),
}

const LOOKS_MAX = 10
const NOT_ALONE =
  'Another bookfeed has the database open. Stop servers and recorders, and try again.'

const FIND_VERSION = 'SELECT version FROM format'

/** A statement of its own: those after it see what was committed before it had the lock. */
const LOCK_WRITERS =
  "SELECT pg_advisory_xact_lock(hashtextextended('bookfeed ' || current_schema(), 0))"

/** A write that changes nothing. */
const TOUCH = 'UPDATE format SET version = version'
/** Rows that are read at once where there may be very many. */
const ROWS_AT_ONCE = 2000

type Pending = { question: Question; outcome: Answer | Error | undefined }

export class PostgresDatabase implements Database {
  readonly engine = engine
  readonly filename: string
  readonly #bridge: Bridge
  /** An error once its connection is lost: every further statement of it fails with that error. */
  #transaction: 'pending' | 'begun' | Error | undefined
  #isWriting = false
  /** Statements that are sent with the next one whose answer is needed. */
  #pending: Pending[] = []
  readonly #statements = new Map<string, ReturnType<typeof this.prepare>>()
  #cursors = 0
  /** Ends a transaction that writes if another version has changed the tables. */
  #checkVersion: string[] = []

  readonly format: Format

  constructor(place: string, format: Format) {
    const address = addressOf(place, format.schema)
    this.format = format
    this.filename = place
    this.#bridge = openBridge(address, answerTimes[format.name])
  }

  get inTransaction(): boolean {
    return this.#transaction !== undefined
  }

  run(text: string): { changes: number } {
    const word = /^\s*([A-Z]+)/.exec(text)?.[1]
    if (word === 'BEGIN') {
      this.#transaction = 'pending'
      this.#isWriting = text === engine.beginWriting
      const begin = this.#isWriting
        ? [text, LOCK_WRITERS, ...this.#checkVersion]
        : [text, MAY_STAND_STILL]
      for (const each of begin) this.#later({ text: each, values: [] })
      return { changes: 0 }
    }
    if (word === 'SAVEPOINT') {
      this.#later({ text, values: [] })
      return { changes: 0 }
    }
    if (text === 'ROLLBACK') {
      // What is pending comes to nothing with it, and the connection may be gone.
      const isBegun = this.#transaction === 'begun'
      this.#pending = []
      this.#transaction = undefined
      if (isBegun) this.#bridge.ask([{ text }], true)
      return { changes: 0 }
    }
    if (word !== 'COMMIT') return { changes: this.#ask({ text }).changes }
    try {
      if (!this.#isWriting) return { changes: this.#ask({ text, values: [] }).changes }
      this.#later(NOTE_COMMIT)
      const commit = this.#later({ text, values: [], isWrite: true })
      if (this.format.confirmsEach) this.#later(CONFIRM)
      this.#later(TOOK)
      return { changes: commit().changes }
    } finally {
      // Whether it could be done or not.
      this.#transaction = undefined
    }
  }

  /** The answer is there when the result is called. */
  #later(question: Question): () => Answer {
    const pending: Pending = { question, outcome: undefined }
    this.#pending.push(pending)
    return () => {
      if (this.#pending.includes(pending)) this.#askPending()
      const { outcome } = pending
      if (outcome === undefined) throw new Error('The transaction of a statement has ended.')
      if (outcome instanceof Error) throw outcome
      return outcome
    }
  }

  #ask(question: Question): Answer {
    return this.#later(question)()
  }

  #askPending(): void {
    const asked = this.#pending
    this.#pending = []
    const outcome = this.#send(asked.map(({ question }) => question))
    for (const [at, pending] of asked.entries())
      pending.outcome = outcome instanceof Error ? outcome : outcome[at]
  }

  #send(questions: readonly Question[]): Answer[] | Error {
    const transaction = this.#transaction
    if (transaction instanceof Error) return transaction
    if (transaction === 'pending') this.#transaction = 'begun'
    const answers = this.#bridge.ask(questions, transaction === 'begun')
    if (Array.isArray(answers)) return answers
    const error = errorOf(answers)
    if (transaction && answers.isLost) this.#transaction = error
    return error
  }

  #runLater(question: Question): { changes: number } {
    if (this.#transaction === undefined) return this.#ask(question)
    const answer = this.#later(question)
    return {
      get changes() {
        return answer().changes
      },
    }
  }

  *#iterate(question: Question): Generator<Row> {
    if (this.#transaction === undefined || question.values?.length !== 0) {
      yield* this.#ask(question).rows as Row[]
      return
    }
    const name = `rows_${++this.#cursors}`
    this.run(`DECLARE ${name} NO SCROLL CURSOR FOR ${question.text}`)
    for (;;) {
      const { rows } = this.#ask({ text: `FETCH ${ROWS_AT_ONCE} FROM ${name}` })
      yield* rows as Row[]
      if (rows.length < ROWS_AT_ONCE) break
    }
    this.run(`CLOSE ${name}`)
  }

  prepare = ((sql: string) => {
    const { text, valuesOf } = numbered(sql)
    const later = (given: unknown[], isBare = false) =>
      this.#later({ text, values: valuesOf(given), isBare })
    const ask = (given: unknown[], isBare = false) => later(given, isBare)().rows
    return {
      get: (...given: unknown[]) => ask(given)[0] ?? null,
      all: (...given: unknown[]) => ask(given),
      later(...given: unknown[]) {
        const answer = later(given)
        return () => answer().rows
      },
      values: (...given: unknown[]) => ask(given, true),
      iterate: (...given: unknown[]) => this.#iterate({ text, values: valuesOf(given) }),
      run: (...given: unknown[]) =>
        /^\s*[A-Z]+\s*$|^BEGIN/.test(text)
          ? this.run(text)
          : this.#runLater({ text, values: valuesOf(given) }),
    }
  }) as unknown as Database['prepare']

  query = ((sql: string) => {
    const known = this.#statements.get(sql) ?? this.prepare(sql)
    this.#statements.set(sql, known)
    return known
  }) as Database['query']

  /** From now on nothing is written while the tables have another format than this one. */
  writeOnlyAs(version: number): void {
    this.#checkVersion = [assertVersion(version)]
  }

  /** See `Bridge`. */
  waitBriefly(): void {
    this.#bridge.waitAs('brief')
  }

  /** See `Bridge`. */
  waitAs(purpose: Purpose): void {
    this.#bridge.waitAs(purpose)
  }

  close(): void {
    this.#bridge.close()
  }
}

/** The driver binds by number; a name stands for the same value wherever it is. */
export function numbered(sql: string) {
  const names: string[] = []
  const text = sql.replace(/\$([a-z]\w*)/gi, (_, name: string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return {
    text,
    valuesOf(given: readonly unknown[]): readonly unknown[] {
      if (names.length === 0) return given
      const [row = {}] = given as Row[]
      return names.map((name) => {
        if (name in row) return row[name]
        throw new Error(`The statement lacks a value for ${name}: ${sql}`)
      })
    },
  }
}

/**
 * Opens what is kept at an address, which is made where there is none. Throws `storage_unavailable`,
 * also where the tables have an older format: `migratePostgres` changes them, when the operator says
 * so.
 */
export function openPostgres(place: string, format: Format): PostgresDatabase {
  const db = new PostgresDatabase(place, format)
  try {
    const version = versionOf(db)
    const known = formatOf(format.migrations)
    if (version > 0 && version < known) throw storageError(toOlder(version, known))
    if (version === 0) migrate(db)
    db.writeOnlyAs(known)
    return db
  } catch (error) {
    db.close()
    throw openingFault(error, place, format)
  }
}

/** What to say when the store at an address cannot be opened. */
export const openingFault = (error: unknown, place: string, { name }: Format): AppError =>
  storageError(`The ${name} at ${shownAddress(place)} cannot be opened. ${sentenceOf(error)}`, {
    cause: error,
  })

const toOlder = (version: number, known: number): string =>
  `Its tables have format ${version}, and this version needs ${known}. Nothing was changed. Back up the database, then run bookfeed migrate --backed-up with this version.`

export type Migration = { from: number; to: number }

/**
 * Brings an existing store up to date if `isWanted`, and returns its format and that of this
 * version; format 0 where nothing is there. Throws `storage_unavailable`.
 */
export function migratePostgres(place: string, format: Format, isWanted: boolean): Migration {
  const db = new PostgresDatabase(place, format)
  const to = formatOf(format.migrations)
  try {
    db.waitAs('migrate')
    const from = versionOf(db)
    if (isWanted && from > 0) migrate(db)
    return { from, to }
  } catch (error) {
    throw openingFault(error, place, format)
  } finally {
    db.close()
  }
}

/** Tables, functions and types of a schema, without those that belong to extensions of PostgreSQL. */
const LIST_CONTENTS = `SELECT name FROM (
    SELECT 'pg_class' AS class, oid, relnamespace AS namespace, relname AS name FROM pg_class
    WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c')
    UNION ALL SELECT 'pg_proc', oid, pronamespace, proname FROM pg_proc
    UNION ALL SELECT 'pg_type', oid, typnamespace, typname FROM pg_type
    WHERE typtype IN ('b', 'd', 'e', 'r') AND typcategory <> 'A'
  ) AS content
  WHERE namespace = to_regnamespace(quote_ident($1))
    AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = CAST(class AS regclass)
      AND objid = content.oid AND deptype = 'e')
  ORDER BY name`

const schemaOf = (db: PostgresDatabase): string => addressOf(db.filename, db.format.schema).schema

/**
 * The format of what is in the schema; 0 where nothing is. Throws `storage_unavailable` for tables
 * of another program, of another store, or of a version that this one cannot go on from.
 */
function versionOf(db: PostgresDatabase): number {
  const { name, mark, migrations } = db.format
  const schema = schemaOf(db)
  const known = formatOf(migrations)
  const list = db.prepare<{ name: string }, [string]>(LIST_CONTENTS)
  const found = list.all(schema).map((each) => each.name)
  if (found.length === 0) return 0
  const isOurs = found.includes('format') && found.includes(mark)
  const columns = db.prepare<{ name: string }, [string]>(
    `SELECT attname AS name FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
  )
  const format = isOurs ? columns.all(`${schema}.format`).map((column) => column.name) : []
  if (format.join() !== 'version') {
    throw storageError(
      `The schema ${schema} holds something else, such as ${found[0]}, and was left as it is. Name another: ?schema=${name}.`,
    )
  }
  const version = db.prepare<{ version: number }, []>(FIND_VERSION).get()?.version ?? 0
  if (version > known)
    throw storageError(
      `It was written by a newer bookfeed (format ${version}, this one knows ${known}). Update bookfeed.`,
    )
  if (isTooOld(migrations, version)) throw olderStore('It')
  return version
}

/** Makes the tables, or brings them up to date, in one transaction. */
function migrate(db: PostgresDatabase): void {
  const { migrations } = db.format
  const known = formatOf(migrations)
  transact(db, () => {
    // Without a schema there is no lock of its own yet.
    db.run("SELECT pg_advisory_xact_lock(hashtextextended('bookfeed', 0))")
    const from = versionOf(db)
    if (from === 0) {
      db.run(`CREATE SCHEMA IF NOT EXISTS "${schemaOf(db)}"`)
      db.run('CREATE TABLE format (version bigint NOT NULL)')
    }
    // Each transaction that writes has read it, so the tables are changed between two of them.
    db.run('LOCK TABLE format IN ACCESS EXCLUSIVE MODE')
    for (const sql of migrationsAfter(migrations, from)) db.run(sql)
    db.run(
      from === 0 ? `INSERT INTO format VALUES (${known})` : `UPDATE format SET version = ${known}`,
    )
  })
}
