/** Connections to PostgreSQL, and pipelined statements. */

import { type ReservedSQL, SQL } from 'bun'

import type { Cell } from '#src/database/database.ts'
import { within } from '#src/platform/timeout.ts'

import type { Address } from './address.ts'
import { NOTHING_KEPT } from './faults.ts'

export type Row = Record<string, Cell>

/**
 * A statement; `values` are its parameters `$1` and so on. With values, even an empty list, the
 * driver pipelines it. Without values, the text may have several statements and waits for earlier
 * responses.
 */
export type Query = {
  text: string
  values?: readonly unknown[]
  /** Returns rows as arrays of values, in the order of the columns. */
  isBare?: boolean
}
export type QueryResult = { rows: Row[] | Cell[][]; changes: number }

export const BEGIN: Query = { text: 'BEGIN', values: [] }
export const COMMIT: Query = { text: 'COMMIT', values: [] }
export const ROLLBACK: Query = { text: 'ROLLBACK', values: [] }

const DATABASE_MS = 'extract(epoch FROM clock_timestamp()) * 1000'
/** The time of the database, in whole Unix milliseconds. */
export const NOW_MS = `CAST(floor(${DATABASE_MS}) AS BIGINT)`
const SET_TIME = `set_config('bookfeed.time', CAST(${DATABASE_MS} AS TEXT), false)`
/**
 * Sent before a COMMIT: records for `CONFIRM` whether the transaction has written, and for `TOOK`
 * when it ends.
 */
export const NOTE_COMMIT: Query = {
  text: `SELECT set_config('bookfeed.has_written',
    CAST(pg_current_xact_id_if_assigned() IS NOT NULL AS TEXT), false), ${SET_TIME}`,
  values: [],
}
export const NOTE_TIME: Query = { text: `SELECT ${SET_TIME}`, values: [] }
/**
 * Writes a record that no reader sees, and waits for the standbys of a commit. Standbys confirm in
 * order, so they then also have all earlier commits. Needed because an administrator can cancel the
 * wait of a commit (`pg_cancel_backend`): PostgreSQL then reports success with a warning that the
 * driver drops. Does not wait after a commit that wrote nothing.
 */
export const CONFIRM: Query = {
  text: `SELECT CASE WHEN current_setting('synchronous_standby_names') = ''
      OR current_setting('bookfeed.has_written', true) = 'false' THEN NULL
    ELSE CAST(pg_logical_emit_message(true, 'bookfeed', '') AS TEXT) END`,
  values: [],
}
/**
 * Sent after a COMMIT or `CONFIRM`: milliseconds since the record before it, by the clock of the
 * database, so that the network and a busy client do not count.
 */
export const TOOK: Query = {
  text: `SELECT CAST(${DATABASE_MS} - CAST(current_setting('bookfeed.time') AS NUMERIC) AS BIGINT)`,
  values: [],
  isBare: true,
}
const LOCK_MS_MAX = 30_000
const CONNECT_SECONDS_MAX = 5
/**
 * With these settings, PostgreSQL ends a connection whose client is gone or hangs within a
 * transaction, and releases its locks. A healthy client never waits long between two statements of
 * a transaction.
 */
const ALIVE = {
  tcp_keepalives_idle: 15,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 30_000,
  idle_in_transaction_session_timeout: 3000,
}
/** Begins a transaction that may be idle for longer, because it blocks no writer. */
export const MAY_STAND_STILL = 'SET LOCAL idle_in_transaction_session_timeout = 600000'
/**
 * A separate statement, so that later ones see everything committed before the lock was acquired.
 */
export const LOCK_WRITERS =
  "SELECT pg_advisory_xact_lock(hashtextextended('bookfeed ' || current_schema(), 0))"

type ConnectOptions = {
  max?: number
  statementMsMax?: number
  lockMsMax?: number
  /** PostgreSQL closes a connection that is idle for longer. */
  silentMsMax?: number
  onclose?: () => void
}

/** Opens connections whose search path is the schema. */
export function connect({ url, schema }: Address, options: ConnectOptions = {}): SQL {
  const { max = 1, statementMsMax, lockMsMax = LOCK_MS_MAX } = options
  const { silentMsMax, onclose } = options
  return new SQL({
    url,
    max,
    bigint: true,
    connectionTimeout: CONNECT_SECONDS_MAX,
    ...(onclose && { onclose }),
    connection: {
      search_path: schema,
      lock_timeout: lockMsMax,
      application_name: 'bookfeed',
      ...ALIVE,
      ...(statementMsMax !== undefined && { statement_timeout: statementMsMax }),
      ...(silentMsMax !== undefined && { idle_session_timeout: silentMsMax }),
    },
  })
}

/** Closes connections without waiting for pending responses. */
export const closeNow = (sql: Pick<SQL, 'close'>): Promise<void> =>
  sql.close({ timeout: 0 }).catch(() => {})

/** Converts to values of the stores: integers are numbers, and bytes own their buffer. */
function toValue(value: unknown): Cell {
  if (typeof value === 'bigint') return Number(value)
  if (!(value instanceof Uint8Array)) return value as Cell
  // Arrays of the driver own their buffer too, but are not plain arrays.
  const { buffer, byteLength } = value
  return byteLength === buffer.byteLength ? new Uint8Array(buffer) : new Uint8Array(value)
}

/**
 * Converts to values of the driver: untyped numbers could be taken for 32 bits, and text of
 * PostgreSQL cannot contain U+0000.
 */
function toParameter(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value)
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : (value ?? null)
}

/** A text as a template without values. */
const templateOf = (text: string): TemplateStringsArray =>
  Object.defineProperty([text], 'raw', { value: [text] }) as unknown as TemplateStringsArray

/** Runs a statement on a connection. */
export async function runOn(
  sql: SQL | ReservedSQL,
  { text, values, isBare = false }: Query,
): Promise<QueryResult> {
  // `unsafe` without values makes a query that later queries cannot overtake.
  const query =
    values?.length === 0 ? sql(templateOf(text)) : sql.unsafe(text, values?.map(toParameter))
  const found = await (isBare ? query.values() : query)
  if (text === 'COMMIT' && found.command !== 'COMMIT') throw new Error(NOTHING_KEPT)
  const changes = Number(found.count ?? 0)
  if (isBare) return { rows: [...found].map((row: unknown[]) => row.map(toValue)), changes }
  const rows = [...found].map((row: Record<string, unknown>) => {
    for (const name in row) row[name] = toValue(row[name])
    return row as Row
  })
  return { rows, changes }
}

/**
 * Pipelines statements and returns their responses. Rejects with the error of the driver, and with
 * a `no_answer` fault after `msMax`.
 */
export const queryWithin = (
  msMax: number,
  sql: SQL | ReservedSQL,
  queries: readonly Query[],
): Promise<QueryResult[]> => within(msMax, Promise.all(queries.map((each) => runOn(sql, each))))

/** Numbers in the first row of a response. */
export const numbersIn = (answer: QueryResult | undefined): number[] =>
  ((answer?.rows[0] ?? []) as Cell[]).map(Number)
