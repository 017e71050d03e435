/**
 * A store on PostgreSQL: a complete copy in a local file, and the transaction that surrounds the body
 * of a verb. Under the advisory lock of all writers, the copy catches up with the database, the body
 * runs on the copy, and the rows that it changed are committed in the database, then in the copy.
 * Reads after a verb therefore see what the database has.
 */

import type { ReservedSQL, SQL } from 'bun'

import { diskFaultOf, storageError } from '#src/database/database.ts'
import { formatOf } from '#src/database/migrations.ts'
import { type FileFormat, openDatabase } from '#src/database/sqlite/database.ts'
import type { SharedStore, StoreName } from '#src/database/stores.ts'
import type { Transact } from '#src/database/transact.ts'
import { SOON_SECONDS } from '#src/domain/errors.ts'
import { messageOf } from '#src/platform/message.ts'
import { within } from '#src/platform/timeout.ts'

import { addressOf } from './address.ts'
import { answerTimes } from './answer-times.ts'
import { createChanges, entriesIn, findState, type Found, listChanges, toFound } from './changes.ts'
import { createCollector } from './collector.ts'
import {
  BEGIN,
  closeNow,
  COMMIT,
  CONFIRM,
  connect,
  LOCK_WRITERS,
  NOTE_COMMIT,
  NOTE_TIME,
  numbersIn,
  type Query,
  type QueryResult,
  queryWithin,
  ROLLBACK,
  TOOK,
} from './connection.ts'
import {
  beginWriting,
  Busy,
  isSame,
  Moved,
  openCopiedFile,
  putState,
  type State,
  stateOf,
  undo,
} from './copied-file.ts'
import { assertVersion, errorOf, failureOf, NO_ANSWER } from './faults.ts'
import { formats } from './formats.ts'
import { openReplica } from './replica.ts'
import { type Changed, sendChanged } from './sent-rows.ts'

/** Timeouts of a query and of a lock, and the longest pause after a query without a response. */
const timeouts = {
  /** No other caller waits. */
  usual: { answerMs: 60_000, lockMs: 30_000, pauseMsMax: 0 },
  /** The thread also receives from the venue, or answers requests that no other thread can. */
  brief: { answerMs: 2000, lockMs: 1500, pauseMsMax: 1000 },
}
/** The timeout of the pull that brings a copy up to date when it is opened. */
const OPEN_MS_MAX = 30_000
const PAUSE_MS_MIN = 100
/** If a commit takes longer, an administrator may have ended its wait for the standby. */
const LATE_MS = 500
/** The time after its caller's timeout at which PostgreSQL cancels a statement. */
const GIVEN_UP_MS = 1000
/** If the copy lacks more entries of the log, it is pulled without the lock of the writers. */
const ENTRIES_MAX = 5000
/** If other processes write to the copy for longer, the lock of the writers is released meanwhile. */
const LOCKED_BUSY_MS = 500

const LOCK: Query = { text: LOCK_WRITERS, values: [] }
/** The newest entry of the log. */
const FIND_HEAD: Query = {
  text: 'SELECT serial, at_ms FROM change ORDER BY serial DESC LIMIT 1',
  values: [],
  isBare: true,
}

export type SurroundOptions = {
  /** The address of a store that has the format of this version. */
  place: string
  store: StoreName
  /** The file of the copy. */
  path: string
  /** True if the caller has other work that must not wait. */
  isBrief?: boolean | undefined
  /** Receives the progress of a first copy. */
  say?: ((line: string) => void) | undefined
}

/** Opens a store; resolves when its copy has caught up. Rejects with `storage_unavailable`. */
export async function openSurround(options: SurroundOptions): Promise<SharedStore> {
  const { place, store, path, isBrief = false, say } = options
  const format = formats[store]
  const version = formatOf(format.migrations)
  const address = addressOf(place, format.schema)
  const times = answerTimes[store]
  const { answerMs, lockMs, pauseMsMax } = timeouts[isBrief ? 'brief' : 'usual']
  const pullAll = async (): Promise<void> => {
    const replica = openReplica({
      place,
      store,
      path,
      server: '',
      timer: () => performance.now(),
      say,
      answerMs: OPEN_MS_MAX,
    })
    try {
      await replica.pull()
    } catch (error) {
      throw error instanceof Busy ? beingCopied(error) : errorOf(failureOf(error))
    } finally {
      replica.close()
    }
  }
  await pullAll()

  const local = openCopiedFile(path, format)
  const writing = openDatabase(path, { format: format.file })
  writing.run('PRAGMA synchronous = NORMAL')
  writing.run('PRAGMA busy_timeout = 0')
  writing.run('PRAGMA temp_store = MEMORY')
  /** The database's time when the current verb began. */
  let nowMs = 0
  const reading = openDatabase(path, { format: format.file, isReadOnly: true })
  const collector = createCollector(writing, format.tables, triggersOf(format.file))
  const changes = createChanges(format)
  const link = createLink(() =>
    connect(address, { statementMsMax: answerMs + GIVEN_UP_MS, lockMsMax: lockMs }),
  )
  let failedMs = Number.NEGATIVE_INFINITY
  let pauseMs = 0

  /** Ends the transaction of a query that failed, and returns the error for the caller. */
  async function toCallerError(
    error: unknown,
    connection: ReservedSQL | undefined,
  ): Promise<Error> {
    const failure = failureOf(error)
    if (failure.isLost) {
      // Exponential backoff.
      pauseMs = Math.min(pauseMsMax, Math.max(PAUSE_MS_MIN, 2 * pauseMs))
      failedMs = performance.now()
      await link.end()
    } else if (connection !== undefined) {
      await queryWithin(answerMs, connection, [ROLLBACK]).catch(() => link.end())
    }
    return errorOf(failure)
  }

  async function timed<T>(of: 'read' | 'commit', ask: Promise<T>): Promise<T> {
    const begunMs = performance.now()
    try {
      const answer = await ask
      times[of].answered(performance.now() - begunMs)
      return answer
    } catch (error) {
      if (failureOf(error).isLost) times[of].failed()
      else times[of].answered(performance.now() - begunMs)
      throw error
    }
  }

  /**
   * Begins a transaction in the database, takes the lock of the writers, and brings the copy to the
   * state of the database. Returns undefined if the copy lacks more than `ENTRIES_MAX` entries.
   */
  async function begin(connection: ReservedSQL): Promise<Found | undefined> {
    let known = local.state()
    const check = { text: assertVersion(version), values: [] }
    const first = [BEGIN, LOCK, check, findState(known), listChanges(known)]
    let answers = (await timed('read', queryWithin(answerMs, connection, first))).slice(3)
    for (;;) {
      const found = toFound(answers[0], known, version)
      const entries = entriesIn(answers[1])
      if (!found.isContinued || entries.length > ENTRIES_MAX) return undefined
      if (entries.length === 0) return found
      try {
        const steps = changes.named(connection, entries)
        await local.write(known, found.next, steps, { busyMsMax: LOCKED_BUSY_MS })
        return found
      } catch (error) {
        if (!(error instanceof Moved)) throw error
      }
      known = local.state()
      if (isSame(known, found.next)) return found
      answers = await timed(
        'read',
        queryWithin(answerMs, connection, [findState(known), listChanges(known)]),
      )
    }
  }

  /** Resolves when a standby is known to have the commit. */
  async function confirm(
    connection: ReservedSQL,
    commit: Promise<QueryResult[]>,
  ): Promise<QueryResult[]> {
    const endMs = performance.now() + answerMs
    const answers = await commit
    let took = answers
    while ((numbersIn(took.at(-1))[0] ?? 0) > LATE_MS) {
      const leftMs = Math.max(1, endMs - performance.now())
      took = await queryWithin(leftMs, connection, [NOTE_TIME, CONFIRM, TOOK])
    }
    return answers
  }

  /** Commits changed rows in the database; returns the newest entry of its log. */
  async function send(
    connection: ReservedSQL,
    changed: readonly Changed[],
  ): Promise<Pick<State, 'serial' | 'atMs'>> {
    const queries = [...changed.flatMap((each) => [...sendChanged(each)]), FIND_HEAD, NOTE_COMMIT]
    const asked = [...queries, COMMIT, ...(format.confirmsEach ? [CONFIRM] : []), TOOK]
    const answers = await timed(
      'commit',
      confirm(connection, queryWithin(answerMs, connection, asked)),
    )
    const [serial = 0, atMs = 0] = numbersIn(answers[queries.length - 2])
    return { serial, atMs }
  }

  /** Ends the transaction in the database, and waits until no other process writes to the copy. */
  async function letOthersWrite(connection: ReservedSQL): Promise<undefined> {
    await queryWithin(answerMs, connection, [ROLLBACK]).catch(() => link.end())
    try {
      await beginWriting(writing, answerMs)
    } catch (error) {
      throw error instanceof Busy ? beingCopied(error) : error
    }
    undo(writing)
  }

  /** Runs a verb once; returns undefined if it must be tried again. */
  async function runOnce<T>(body: () => T): Promise<{ result: T } | undefined> {
    if (performance.now() - failedMs < pauseMs) throw errorOf(NO_ANSWER)
    let connection: ReservedSQL | undefined
    let found: Found | undefined
    try {
      connection = await link.open(answerMs)
      found = await begin(connection)
    } catch (error) {
      if (error instanceof Busy && connection) return letOthersWrite(connection)
      throw await toCallerError(error, connection)
    }
    if (found === undefined) {
      await queryWithin(answerMs, connection, [ROLLBACK]).catch(() => link.end())
      await pullAll()
      return undefined
    }
    let result: T
    let changed: Changed[]
    try {
      await beginWriting(writing, LOCKED_BUSY_MS)
      if (!isSame(stateOf(writing), found.next)) throw new Moved()
      collector.begin()
      nowMs = found.nowMs
      result = body()
      if (result instanceof Promise) throw new Error('A transaction must be synchronous.')
      changed = collector.take()
    } catch (error) {
      undo(writing)
      if (error instanceof Busy || error instanceof Moved) return letOthersWrite(connection)
      await queryWithin(answerMs, connection, [ROLLBACK]).catch(() => link.end())
      const message = diskFaultOf(error)
      throw message === undefined ? error : storageError(message, { cause: error })
    }
    try {
      if (changed.length > 0) {
        const head = await send(connection, changed)
        putState(writing, { ...head, version })
      } else await queryWithin(answerMs, connection, [ROLLBACK])
    } catch (error) {
      // The database may have committed: the next pull shows if it has.
      undo(writing)
      throw await toCallerError(error, connection)
    }
    try {
      writing.run('COMMIT')
    } catch (error) {
      // The database has committed: the next pull brings the rows.
      undo(writing)
      throw storageError(diskFaultOf(error) ?? messageOf(error), { cause: error })
    }
    pauseMs = 0
    return { result }
  }

  async function run<T>(body: () => T): Promise<T> {
    for (;;) {
      const done = await runOnce(body)
      if (done !== undefined) return done.result
    }
  }

  /** Verbs run one after the other, in the order of their calls. */
  let last: Promise<unknown> = Promise.resolve()
  const transact: Transact = (body) => {
    const turn = last.then(() => run(body))
    last = turn.catch(() => {})
    return turn
  }

  return {
    reading,
    writing,
    transact,
    clock: () => nowMs,
    async drained() {
      await last
    },
    close() {
      void link.close()
      for (const db of [local, writing, reading]) db.close()
    },
  }
}

const beingCopied = (cause: Busy): Error =>
  storageError(`${cause.message} Try again in a moment.`, {
    retryAfterSeconds: SOON_SECONDS,
    cause,
  })

/** The triggers of a format: they keep totals, and refuse changes of the audit chain. */
function triggersOf(format: FileFormat): string[] {
  const fresh = openDatabase(':memory:', { format })
  try {
    return fresh
      .prepare<{ sql: string }, []>("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")
      .all()
      .map(({ sql }) => sql)
  } finally {
    fresh.close()
  }
}

type Open = { sql: SQL; connection: Promise<ReservedSQL>; isReady: boolean }

/** Opens a connection on demand, and again after it was lost. */
function createLink(make: () => SQL) {
  let open: Open | undefined

  function connectNow(): Open {
    const sql = make()
    const connecting = sql.reserve()
    const made: Open = { sql, connection: connecting, isReady: false }
    connecting.then(
      () => (made.isReady = true),
      () => void close(made),
    )
    return made
  }

  async function close(ended: Open): Promise<void> {
    if (open === ended) open = undefined
    await closeNow(ended.sql)
  }

  return {
    open(msMax: number): Promise<ReservedSQL> {
      open ??= connectNow()
      return within(msMax, open.connection)
    },
    /** Also closes a connection that is still being opened after its timeout. */
    async end(): Promise<void> {
      if (open?.isReady) await close(open)
    },
    async close(): Promise<void> {
      if (open !== undefined) await close(open)
    },
  }
}
