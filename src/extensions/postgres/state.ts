/** What a PostgreSQL says of itself, for metrics and for `bookfeed doctor`. */
import type { SQL } from 'bun'

import type { StoreName } from '#src/database/stores.ts'
import type { AnswerTimes } from '#src/platform/answer-times.ts'
import { within } from '#src/platform/patience.ts'

import { addressOf } from './address.ts'
import { answerTimes } from './answer-times.ts'
import { askWithin, closeNow, connect } from './bridge.ts'
import { errorOf, failureOf } from './faults.ts'
import { formats } from './formats.ts'
import { TAKE_ROOM } from './replica.ts'

const ANSWER_MS_MAX = 2000
/** How long the answer about room holds: a look writes 16 MiB. */
const ROOM_MS = 60_000
/** A copy has what is older than this. */
const COPIED_MS = 10_000
const DISK_FULL = '53100'

/** A standby that has not replied for so long, and lacks something, confirms no commits. */
const REPLY_MS_MAX = 5000

/** `reply_time` of a standby that has everything may be ten seconds old. */
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

/** An entry that a server which runs would have copied. */
const findUncopied = (serial: number): string => `SELECT at_ms AS "atMs" FROM change
  WHERE serial > ${serial} AND at_ms < extract(epoch FROM clock_timestamp()) * 1000 - ${COPIED_MS}
  ORDER BY serial LIMIT 1`

export type Standby = {
  name: string
  /** Whether it confirms the commits that wait for it. */
  isSynchronous: boolean
  /** What was written and it has not confirmed, and for how long. */
  lagBytes: number
  lagMs: number
}

export type PostgresState = {
  /** The time of an answer, there and back. */
  answerMs: number
  /** The clock of the database during the call. */
  atMs: number
  /** False for a standby that was not promoted. */
  isWritable: boolean
  connections: number
  /** Without those that are reserved for administrators. */
  connectionsMax: number
  databaseBytes: number
  /** How many standbys each commit waits for; a standby that was not promoted commits nothing. */
  standbysRequired: number | undefined
  standbys: number
  /** Undefined where the user of the database may not see them. */
  standbyList: readonly Standby[] | undefined
  /** Whether it can write 16 MiB; undefined where that cannot be known. */
  hasRoom: boolean | undefined
}

/** How many standbys a commit waits for, as `synchronous_standby_names` says it. */
export function requiredIn(names: string): number {
  if (names.trim() === '') return 0
  return Number(/^\s*(?:(?:FIRST|ANY)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
}

/** Looks at the PostgreSQL of a store, on a connection of its own that is made when it is asked. */
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
    const [answer] = await askWithin(ANSWER_MS_MAX, sql, [{ text }])
    return answer?.rows as Row[]
  }

  /** A transaction that has failed is ended with its connection. */
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
    /** Rejects with a `storage_unavailable` error within some seconds where nothing answers. */
    look(): Promise<PostgresState> {
      running ??= answered(look).finally(() => {
        running = undefined
      })
      return running
    },
    /**
     * When the first change after an entry of the log was committed, if a copy up to that entry lacks
     * it; undefined if the copy has everything. Rejects as `look`.
     */
    async findUncopied(serial: number): Promise<number | undefined> {
      const [row] = await answered(() => ask<{ atMs: number }>(findUncopied(serial)))
      return row?.atMs
    },

    close,
  }
}
