/** State of a PostgreSQL, for metrics and `bookfeed doctor`. */
import type { SQL } from 'bun'

import type { StoreName } from '#src/database/stores.ts'
import type { AnswerTimes } from '#src/platform/answer-times.ts'
import { within } from '#src/platform/timeout.ts'

import { addressOf } from './address.ts'
import { answerTimes } from './answer-times.ts'
import { closeNow, connect, queryWithin } from './connection.ts'
import { errorOf, failureOf } from './faults.ts'
import { formats } from './formats.ts'
import { TAKE_ROOM } from './replica.ts'

const ANSWER_MS_MAX = 2000
/** How long the result of the space check remains valid, because each check writes 16 MiB. */
const ROOM_MS = 60_000
/** A current copy has all entries that are older than this. */
const COPIED_MS = 10_000
const DISK_FULL = '53100'

/** A standby that lacks data and has not replied for this long confirms no commits. */
const REPLY_MS_MAX = 5000

/** `reply_time` of an up-to-date standby may be ten seconds old. */
const FIND_STANDBYS = `SELECT application_name AS name,
    coalesce(sync_state IN ('sync', 'quorum') AND (bytes = 0 OR silent_ms <= ${REPLY_MS_MAX}), false)
      AS "isSynchronous",
    bytes AS "lagBytes",
    CASE bytes WHEN 0 THEN 0 ELSE greatest(silent_ms, flush_ms, 0) END AS "lagMs"
  FROM pg_stat_replication, LATERAL (SELECT
    CAST(greatest(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn), 0) AS BIGINT) AS bytes,
    CAST(extract(epoch FROM flush_lag) * 1000 AS BIGINT) AS flush_ms,
    CAST(extract(epoch FROM coalesce(clock_timestamp() - reply_time, CAST('0' AS INTERVAL))) * 1000
      AS BIGINT) AS silent_ms
  ) AS lag WHERE coalesce(state, 'streaming') = 'streaming'`
const FIND_STATE = `SELECT NOT pg_is_in_recovery() AS "isWritable",
    (SELECT CAST(sum(numbackends) AS BIGINT) FROM pg_stat_database) AS connections,
    CAST(current_setting('max_connections') AS BIGINT)
      - CAST(current_setting('superuser_reserved_connections') AS BIGINT)
      - CAST(coalesce(current_setting('reserved_connections', true), '0') AS BIGINT)
      AS "connectionsMax",
    pg_database_size(current_database()) AS "databaseBytes",
    current_setting('synchronous_standby_names') AS "standbyNames",
    pg_has_role('pg_read_all_stats', 'USAGE') AS "maySeeStandbys",
    current_setting('temp_file_limit') = '-1' AS "canProbeRoom",
    CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS "atMs"`
type StateRow = Pick<
  PostgresState,
  'isWritable' | 'connections' | 'connectionsMax' | 'databaseBytes' | 'atMs'
> & { standbyNames: string; maySeeStandbys: boolean; canProbeRoom: boolean }

/** An entry that a running server would have copied by now. */
const findUncopied = (serial: number): string => `SELECT at_ms AS "atMs" FROM change
  WHERE serial > ${serial} AND at_ms < extract(epoch FROM clock_timestamp()) * 1000 - ${COPIED_MS}
  ORDER BY serial LIMIT 1`

export type Standby = {
  name: string
  /** True if commits wait for this standby. */
  isSynchronous: boolean
  /** Bytes and time that the standby is behind. */
  lagBytes: number
  lagMs: number
}

export type PostgresState = {
  /** Round-trip time of a response. */
  answerMs: number
  /** Clock of the database during the call. */
  atMs: number
  /** False for a standby that was not promoted. */
  isWritable: boolean
  connections: number
  /** Without connections reserved for administrators. */
  connectionsMax: number
  databaseBytes: number
  /** Standbys that each commit waits for; undefined on a standby, which commits nothing. */
  standbysRequired: number | undefined
  standbys: number
  /** Undefined if the user of the database may not see them. */
  standbyList: readonly Standby[] | undefined
  /** True if 16 MiB can be written; undefined if that cannot be checked. */
  hasRoom: boolean | undefined
}

/** Number of standbys that a commit waits for, from `synchronous_standby_names`. */
export function requiredIn(names: string): number {
  if (names.trim() === '') return 0
  return Number(/^\s*(?:(?:FIRST|ANY)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
}

/** Checks the PostgreSQL of a store, on a separate connection that is opened on demand. */
export function openState(
  place: string,
  store: StoreName,
  times: AnswerTimes = answerTimes[store].read,
) {
  const address = addressOf(place, formats[store].schema)
  let sql: SQL | undefined
  let running: Promise<PostgresState> | undefined
  let roomMs = Number.NEGATIVE_INFINITY
  let hadRoom: boolean | undefined

  function close(): void {
    if (sql !== undefined) void closeNow(sql)
    sql = undefined
  }

  async function ask<Row>(text: string): Promise<Row[]> {
    sql ??= connect(address, { statementMsMax: ANSWER_MS_MAX })
    const [answer] = await queryWithin(ANSWER_MS_MAX, sql, [{ text }])
    return answer?.rows as Row[]
  }

  /** Closing the connection ends a failed transaction. */
  async function takeRoom(): Promise<boolean | undefined> {
    if (performance.now() - roomMs < ROOM_MS) return hadRoom
    roomMs = performance.now()
    try {
      sql ??= connect(address, { statementMsMax: ANSWER_MS_MAX })
      await within(ANSWER_MS_MAX, sql.unsafe(TAKE_ROOM))
      hadRoom = true
    } catch (error) {
      close()
      roomMs = Number.NEGATIVE_INFINITY
      hadRoom = failureOf(error).code === DISK_FULL ? false : undefined
    }
    return hadRoom
  }

  async function answered<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body()
    } catch (error) {
      times.failed()
      close()
      throw errorOf(failureOf(error))
    }
  }

  async function look(): Promise<PostgresState> {
    await ask('SELECT 1')
    const begunMs = performance.now()
    const [row] = await ask<StateRow>(FIND_STATE)
    if (row === undefined) throw new Error('PostgreSQL returned no row.')
    const answerMs = performance.now() - begunMs
    times.answered(answerMs)
    const { standbyNames, maySeeStandbys, canProbeRoom, ...state } = row
    const standbys = state.isWritable ? await ask<Standby>(FIND_STANDBYS) : []
    return {
      ...state,
      answerMs,
      standbysRequired: state.isWritable ? requiredIn(standbyNames) : undefined,
      standbys: standbys.length,
      standbyList: maySeeStandbys ? standbys : undefined,
      hasRoom: canProbeRoom && state.isWritable ? await takeRoom() : undefined,
    }
  }

  return {
    /** Rejects with `storage_unavailable` within some seconds if the database does not respond. */
    look(): Promise<PostgresState> {
      running ??= answered(look).finally(() => {
        running = undefined
      })
      return running
    },
    /**
     * Commit time of the first change after a log entry that a copy up to that entry lacks;
     * undefined if the copy is complete. Rejects like `look`.
     */
    async findUncopied(serial: number): Promise<number | undefined> {
      const [row] = await answered(() => ask<{ atMs: number }>(findUncopied(serial)))
      return row?.atMs
    },

    close,
  }
}
