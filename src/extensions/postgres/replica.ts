/**
 * The replica of a store: a SQLite file on this machine with the rows of PostgreSQL. The log of the
 * database (table `change`) has the keys of changed rows; a pull reads the log and the current
 * values of these rows in one transaction, and writes them in one local transaction. So the file
 * always equals a past state of the database. Only the chunks of a first copy, which nothing reads
 * yet, are written in many transactions before, so that an interrupted copy can continue.
 */

import type { ReservedSQL, SQL } from 'bun'

import { formatOf } from '#src/database/migrations.ts'
import type { StoreName } from '#src/database/stores.ts'
import { within } from '#src/platform/timeout.ts'

import { addressOf } from './address.ts'
import type { StoreTimes } from './answer-times.ts'
import {
  createChanges,
  entriesIn,
  findState,
  listChanges,
  ROWS_MS_MAX,
  toFound,
} from './changes.ts'
import {
  BEGIN,
  closeNow,
  COMMIT,
  connect,
  MAY_STAND_STILL,
  NOW_MS,
  numbersIn,
  type Query,
  queryWithin,
  ROLLBACK,
} from './connection.ts'
import { Busy, Moved, NO_STATE, openCopiedFile } from './copied-file.ts'
import { assertVersion } from './faults.ts'
import { formats } from './formats.ts'
import { createRowProgress } from './tables.ts'

const ANSWER_MS = 2000
/** Entries whose rows are written in less than a second. */
const ENTRIES_SOON = 1000
/** Shorter by a second than the time after which PostgreSQL ends an idle transaction. */
const BUSY_MS_MAX = 2000
/** Older heartbeats belong to servers that no longer run, and are deleted. */
const HEARTBEAT_KEPT_MS = 86_400_000

const BEGIN_READING: Query = {
  text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  values: [],
}
const FIND_HEARTBEAT = 'SELECT coalesce((SELECT number FROM heartbeat WHERE server = $1), 0)'
const BEAT = `INSERT INTO heartbeat (server, number, at_ms) VALUES ($1, $2, ${NOW_MS})
  ON CONFLICT (server) DO UPDATE SET number = excluded.number, at_ms = excluded.at_ms`
/**
 * Writes a temporary file of 16 MiB, the size of the next WAL segment, so it fails if the disk has
 * less space. One process at a time, or each server would take that much. It is a separate
 * transaction that writes no rows, so no process waits for another's standby. With a
 * `temp_file_limit`, no file is written.
 */
export const TAKE_ROOM = `BEGIN; SET LOCAL work_mem = '64kB';
  SELECT pg_advisory_xact_lock(hashtextextended('bookfeed room', 0));
  WITH room AS MATERIALIZED (
    SELECT repeat('x', 8000) AS piece FROM generate_series(1,
      CASE current_setting('temp_file_limit') WHEN '-1' THEN 2097 ELSE 0 END)
  ) SELECT count(piece) FROM room; COMMIT`
/** How long the result of `TAKE_ROOM` remains valid. */
const ROOM_MS = 10_000
const REMOVE_HEARTBEATS = `DELETE FROM heartbeat WHERE at_ms < ${NOW_MS} - $1`

export type Replica = ReturnType<typeof openReplica>

type Options = {
  /**
   * Address of a PostgreSQL store, which must have been opened before, so that its tables exist.
   */
  place: string
  store: StoreName
  /** File of the replica; created if missing. */
  path: string
  /** Name of this server in the database. */
  server: string
  /** Monotonic milliseconds. */
  timer: () => number
  /**
   * Pulls and heartbeats fail if the database has another format; default: the format of this
   * version.
   */
  version?: number | undefined
  /** Receives the progress of a full copy. */
  say?: ((line: string) => void) | undefined
  /** Timeout of a connection attempt, and of a statement that returns few rows. */
  answerMs?: number | undefined
  /** Counters of response times. */
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
  answerMs = ANSWER_MS,
  version = formatOf(formats[store].migrations),
}: Options) {
  const format = formats[store]
  const address = addressOf(place, format.schema)
  const local = openCopiedFile(path, format)
  const changes = createChanges(format, createRowProgress(store, say))
  const pulling = connect(address)
  const beating = connect(address)
  /**
   * Heartbeats with a confirmed commit that no pull has read yet, oldest first. An unconfirmed
   * heartbeat proves nothing: closing a connection ends the wait for the standby, and makes its row
   * visible on a primary that has lost the standby.
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
    if (known === NO_STATE) {
      await queryWithin(answerMs, connection, [check])
      await changes.copyChunks(connection, local)
    }
    const heartbeatOf = { text: FIND_HEARTBEAT, values: [server], isBare: true }
    const begunMs = timer()
    const finding = queryWithin(answerMs, connection, [
      BEGIN_READING,
      check,
      findState(known),
      heartbeatOf,
    ])
    const listing = queryWithin(ROWS_MS_MAX, connection, [listChanges(known)])
    // Awaited below; until then a rejection must not end the process.
    listing.catch(() => {})
    const [, , answer, beaten] = await finding
    times?.read.answered(timer() - begunMs)
    const { next, isContinued, keepsChunks } = toFound(answer, known, version)
    const [list] = await listing
    const entries = entriesIn(list)
    const isChanged = !isContinued || entries.length > 0
    if (!isContinued) {
      await queryWithin(answerMs, connection, [{ text: MAY_STAND_STILL, values: [] }])
      const steps = changes.everything(connection, local, keepsChunks)
      await local.write(known, next, steps, { isFirst: true })
    } else if (isChanged) {
      // A pull blocks no writer, so it may take longer than the idle limit of a writer.
      if (entries.length > ENTRIES_SOON)
        await queryWithin(answerMs, connection, [{ text: MAY_STAND_STILL, values: [] }])
      const steps = changes.named(connection, entries)
      await local.write(known, next, steps, { busyMsMax: BUSY_MS_MAX })
    }
    await queryWithin(ROWS_MS_MAX, connection, [COMMIT])
    noteHeartbeat(numbersIn(beaten)[0] ?? 0)
    return isChanged
  }

  /** Another thread or process may advance the file at any moment. */
  const pull = (): Promise<boolean> =>
    withConnection(pulling, answerMs, async (connection) => {
      const endMs = performance.now() + ROWS_MS_MAX
      for (;;) {
        try {
          return await pullOn(connection)
        } catch (error) {
          const isBusy = error instanceof Busy && performance.now() < endMs
          if (!isBusy && !(error instanceof Moved)) throw error
        }
        await queryWithin(answerMs, connection, [ROLLBACK])
      }
    })

  return {
    address,

    /**
     * Brings the file to the state of the database during the call; returns true if the file
     * changed. Calls must not overlap. Rejects with the error of the driver or the disk, or with a
     * `no_answer` fault, and leaves the file unchanged.
     */
    pull,

    /**
     * Commits a heartbeat: once it is confirmed and a pull has read it, the file has everything
     * that was committed before this call. With `takesRoom`, also fails if the disk of the database
     * is nearly full.
     */
    async beat({ takesRoom = false } = {}): Promise<void> {
      const number = ++lastHeartbeat
      const begunMs = timer()
      const isRoomDue = takesRoom && begunMs - roomMs > ROOM_MS
      const queries: Query[] = [
        ...(isRoomDue ? [{ text: TAKE_ROOM }] : []),
        BEGIN,
        { text: assertVersion(version), values: [] },
      ]
      if (number === 1) queries.push({ text: REMOVE_HEARTBEATS, values: [HEARTBEAT_KEPT_MS] })
      queries.push({ text: BEAT, values: [server, number] }, COMMIT)
      try {
        await withConnection(beating, answerMs, (connection) =>
          queryWithin(answerMs, connection, queries),
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

    /** Monotonic time up to which the file is known to be complete. */
    freshMs: (): number => freshMs,

    close(): void {
      for (const sql of [pulling, beating]) void closeNow(sql)
      local.close()
    },
  }
}

/** Runs `body` on a connection, and closes the connection if `body` fails. */
async function withConnection<T>(
  sql: SQL,
  answerMs: number,
  body: (connection: ReservedSQL) => Promise<T>,
): Promise<T> {
  const reserving = sql.reserve()
  const connection = await within(answerMs, reserving).catch((error) => {
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
