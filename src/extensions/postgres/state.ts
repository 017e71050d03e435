/** What a PostgreSQL says of itself, for metrics and for `bookfeed doctor`. */
import type { SQL } from 'bun'

import type { Cell } from '#src/database/database.ts'
import type { StoreName } from '#src/database/stores.ts'
import type { AnswerTimes } from '#src/platform/answer-times.ts'
import { isFault } from '#src/platform/fault.ts'
import { within } from '#src/platform/patience.ts'

import { addressOf } from './address.ts'
import { answerTimes } from './answer-times.ts'
import { connect, faultOf, NO_ANSWER, type Question, runOn } from './bridge.ts'
import { errorOf } from './database.ts'
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
const FIND_STANDBYS = `SELECT application_name, sync_state,
    CAST(extract(epoch FROM clock_timestamp() - reply_time) * 1000 AS BIGINT) AS reply_ms,
    CAST(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn) AS BIGINT) AS bytes,
    CAST(greatest(extract(epoch FROM coalesce(flush_lag, CAST('0' AS INTERVAL))),
      extract(epoch FROM clock_timestamp() - reply_time)) * 1000 AS BIGINT) AS ms
  FROM pg_stat_replication WHERE coalesce(state, 'streaming') = 'streaming'`
const FIND_STATE = `SELECT CAST(NOT pg_is_in_recovery() AS INT),
    (SELECT CAST(sum(numbackends) AS BIGINT) FROM pg_stat_database),
    CAST(current_setting('max_connections') AS BIGINT)
      - CAST(current_setting('superuser_reserved_connections') AS BIGINT)
      - CAST(coalesce(current_setting('reserved_connections', true), '0') AS BIGINT),
    pg_database_size(current_database()),
    current_setting('synchronous_standby_names'),
    CAST(pg_has_role('pg_read_all_stats', 'USAGE') AS INT),
    CAST(current_setting('temp_file_limit') = '-1' AS INT)`

/** An entry that a server which runs would have copied. */
const findUncopied = (serial: number): string => `SELECT at_ms FROM change
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
  const address = addressOf(place, formats[store].remote.schema)
  let sql: SQL | undefined
  let running: Promise<PostgresState> | undefined
  let roomMs = Number.NEGATIVE_INFINITY
  let hadRoom: boolean | undefined

  function close(): void {
    void sql?.close({ timeout: 0 }).catch(() => {})
    sql = undefined
  }

  async function ask(text: string): Promise<Cell[][]> {
    sql ??= connect(address, { statementMsMax: ANSWER_MS_MAX })
    const question: Question = { text, values: [], isBare: true }
    const { rows } = await within(ANSWER_MS_MAX, runOn(sql, question))
    return rows as Cell[][]
  }

  /** A transaction that has failed is ended with its connection. */
  async function takeRoom(): Promise<boolean | undefined> {
    if (performance.now() - roomMs < ROOM_MS) return hadRoom
    roomMs = performance.now()
    try {
      sql ??= connect(address, { statementMsMax: ANSWER_MS_MAX })
      await within(ANSWER_MS_MAX, sql.unsafe(`BEGIN; ${TAKE_ROOM}; COMMIT`))
      hadRoom = true
    } catch (error) {
      close()
      roomMs = Number.NEGATIVE_INFINITY
      hadRoom = !isFault(error) && faultOf(error).code === DISK_FULL ? false : undefined
    }
    return hadRoom
  }

  async function answered<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body()
    } catch (error) {
      times.failed()
      close()
      throw errorOf(isFault(error, 'no_answer') ? NO_ANSWER : faultOf(error))
    }
  }

  async function look(): Promise<PostgresState> {
    await ask('SELECT 1')
    const begunMs = performance.now()
    const [row = []] = await ask(FIND_STATE)
    const answerMs = performance.now() - begunMs
    times.answered(answerMs)
    const [isWritable, connections, connectionsMax, bytes, names, maySee, canProbe] = row
    const rows = isWritable === 1 ? await ask(FIND_STANDBYS) : []
    return {
      answerMs,
      isWritable: isWritable === 1,
      connections: Number(connections),
      connectionsMax: Number(connectionsMax),
      databaseBytes: Number(bytes),
      standbysRequired: isWritable === 1 ? requiredIn(String(names)) : undefined,
      standbys: rows.length,
      standbyList: maySee === 1 ? rows.map(toStandby) : undefined,
      hasRoom: canProbe === 1 && isWritable === 1 ? await takeRoom() : undefined,
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
      const [row] = await answered(() => ask(findUncopied(serial)))
      return row === undefined ? undefined : Number(row[0])
    },

    close,
  }
}

function toStandby([name, syncState, replyMs, bytes, ms]: Cell[]): Standby {
  const lagBytes = Math.max(0, Number(bytes ?? 0))
  const isSilent = lagBytes > 0 && Number(replyMs ?? 0) > REPLY_MS_MAX
  return {
    name: String(name),
    isSynchronous: (syncState === 'sync' || syncState === 'quorum') && !isSilent,
    lagBytes,
    lagMs: lagBytes === 0 ? 0 : Math.max(0, Number(ms ?? 0)),
  }
}
