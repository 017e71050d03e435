/**
 * One connection to PostgreSQL for a caller that waits: the connection is in a thread of its own,
 * and the caller blocks until the answer arrives. For what records, imports and verifies, and for
 * the ledger of a server; threads that serve data read a replica (postgres/replica.ts).
 */

import { type ReservedSQL, SQL } from 'bun'

import type { Cell } from '#src/database/database.ts'
import { within } from '#src/platform/patience.ts'
import { defineWorker, type Parent } from '#src/platform/worker.ts'

import type { Address } from './address.ts'
import type { StoreTimes } from './answer-times.ts'
import { type Failure, failureOf, NO_ANSWER, NOTHING_KEPT } from './faults.ts'

export type Row = Record<string, Cell>

/**
 * A statement; `values` are of `$1` and so on. With values, even none, the driver sends it without
 * waiting for the answers before it. Without, the text may be several statements, and waits.
 */
export type Question = {
  text: string
  values?: readonly unknown[]
  /** Rows as their values alone, in the order of the columns. */
  isBare?: boolean
  /** It is the COMMIT of a transaction that writes; the last question behind it is `TOOK`. */
  isWrite?: boolean
}
export type Answer = { rows: Row[] | Cell[][]; changes: number }

/** How long is waited for an answer and a lock, and for how long nothing is asked after none. */
type Patience = Record<'answerMs' | 'commitMs' | 'lockMs' | 'pauseMsMax', number>

const patiences = {
  /** No other caller waits. */
  usual: { answerMs: 60_000, commitMs: 60_000, lockMs: 30_000, pauseMsMax: 0 },
  /** Indexes of all rows may be made. */
  migrate: { answerMs: 24 * 3_600_000, commitMs: 60_000, lockMs: 30_000, pauseMsMax: 0 },
  /** It hears the venue in between, or answers what other threads cannot. */
  brief: { answerMs: 2000, commitMs: 2000, lockMs: 1500, pauseMsMax: 1000 },
} satisfies Record<string, Patience>
export type Purpose = keyof typeof patiences
const PAUSE_MS_MIN = 100
const DATABASE_MS = 'extract(epoch FROM clock_timestamp()) * 1000'
const SET_TIME = `set_config('bookfeed.time', CAST(${DATABASE_MS} AS TEXT), false)`
/**
 * Asked before a COMMIT: notes for `CONFIRM` whether the transaction has written anything, and for
 * `TOOK` when it ends.
 */
export const NOTE_COMMIT: Question = {
  text: `SELECT set_config('bookfeed.has_written',
    CAST(pg_current_xact_id_if_assigned() IS NOT NULL AS TEXT), false), ${SET_TIME}`,
  values: [],
}
const NOTE_TIME: Question = { text: `SELECT ${SET_TIME}`, values: [] }
/**
 * Writes what no reader sees, and waits for the standbys that a commit waits for; theirs is one order,
 * so they have what was committed before it, too. An administrator can end such a wait
 * (`pg_cancel_backend`): PostgreSQL then reports a commit that no standby has like all others, with
 * a warning that the driver drops. A commit that wrote nothing waits for no standby, nor does this.
 */
export const CONFIRM: Question = {
  text: `SELECT CASE WHEN current_setting('synchronous_standby_names') = ''
      OR current_setting('bookfeed.has_written', true) = 'false' THEN NULL
    ELSE CAST(pg_logical_emit_message(true, 'bookfeed', '') AS TEXT) END`,
  values: [],
}
/**
 * Asked behind a COMMIT or `CONFIRM`: the milliseconds since the note before it, by the clock of the
 * database, so that neither the network nor a busy client counts.
 */
export const TOOK: Question = {
  text: `SELECT CAST(${DATABASE_MS} - CAST(current_setting('bookfeed.time') AS NUMERIC) AS BIGINT)`,
  values: [],
  isBare: true,
}
/** The wait of a commit that takes longer may have been ended by an administrator. */
const LATE_MS = 500
/** PostgreSQL ends a statement so long after its caller has given it up. */
const GIVEN_UP_MS = 1000
const CONNECT_SECONDS_MAX = 5
const END_MS_MAX = 2000
const CLOSE = 'close'
/**
 * With these PostgreSQL ends a connection whose client is gone, or stands still within a
 * transaction, and releases its locks. A client between two statements of one waits for nothing but
 * its own processor.
 */
const ALIVE = {
  tcp_keepalives_idle: 15,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 30_000,
  idle_in_transaction_session_timeout: 3000,
}
/** Begins a transaction whose client may stand still for longer, because no writer waits for it. */
export const MAY_STAND_STILL = 'SET LOCAL idle_in_transaction_session_timeout = 600000'

const LOST: Failure = {
  message: 'The connection to PostgreSQL was lost.',
  code: 'lost',
  isLost: true,
}

/** How long a statement may take, and wait for a lock. */
type Limits = Pick<Patience, 'answerMs' | 'lockMs'>

/** `isWithin`: they go on in a transaction, and mean nothing on another connection. */
type Asked = { questions: readonly Question[]; isWithin: boolean; limits: Limits }

export type Bridge = ReturnType<typeof openBridge>

/** Connects when it is first asked, and again after the connection was lost. */
export function openBridge(address: Address, times: StoreTimes) {
  const thread = bridgeWorker.startBlocking(address)

  function wait(asked: Asked, msMax: number): Answer[] | Failure {
    const answers = thread.ask<Answer[] | Failure>(asked, msMax)
    if (answers !== undefined) return answers
    // Nothing of its transaction may be joined by the next one.
    thread.send(CLOSE)
    return NO_ANSWER
  }

  let patience: Patience = patiences.usual
  let failedMs = 0
  let pauseMs = 0

  /**
   * Asks a commit, the last question of which is `TOOK`. If it took long, an administrator may have
   * ended the wait for a standby, so `CONFIRM` is asked until it is done in time. No answer within
   * `msMax` is a failure.
   */
  function waitForCommit(asked: Asked, msMax: number): Answer[] | Failure {
    const endMs = performance.now() + msMax
    const answers = wait(asked, msMax)
    let confirmed = answers
    while (Array.isArray(confirmed) && tookIn(confirmed) > LATE_MS) {
      const questions = [NOTE_TIME, CONFIRM, TOOK]
      const leftMs = Math.max(1, endMs - performance.now())
      confirmed = wait({ ...asked, questions, isWithin: true }, leftMs)
    }
    return Array.isArray(confirmed) ? answers : confirmed
  }

  return {
    /** Asks in one go, in order; the answers of all, or the first fault. */
    ask(questions: readonly Question[], isWithin = false): Answer[] | Failure {
      const { answerMs, commitMs, lockMs, pauseMsMax } = patience
      if (performance.now() - failedMs < pauseMs) return NO_ANSWER
      const isCommit = questions.some(({ isWrite }) => isWrite)
      const msMax = (isCommit ? commitMs : answerMs) + questions.length
      const begunMs = performance.now()
      const asked: Asked = { questions, isWithin, limits: { answerMs, lockMs } }
      const answers = isCommit ? waitForCommit(asked, msMax) : wait(asked, msMax)
      const isLost = !Array.isArray(answers) && answers.isLost
      const time = isCommit ? times.commit : times.read
      if (isLost) time.failed()
      else time.answered(performance.now() - begunMs)
      // Short after one answer that was late, longer while there is none.
      pauseMs = isLost ? Math.min(pauseMsMax, Math.max(PAUSE_MS_MIN, 2 * pauseMs)) : 0
      failedMs = performance.now()
      return answers
    },

    /** From now on a caller waits for an answer as long as a caller that blocks may. */
    waitAs(purpose: Purpose): void {
      patience = patiences[purpose]
      const { answerMs, lockMs } = patience
      const text = `SET lock_timeout = ${lockMs}; SET statement_timeout = ${answerMs + GIVEN_UP_MS}`
      // A connection that is made later begins with them.
      wait({ questions: [{ text }], isWithin: false, limits: { answerMs, lockMs } }, END_MS_MAX)
    },

    close(): void {
      thread.ask(CLOSE, END_MS_MAX)
      thread.close()
    },
  }
}

/** The answer to `TOOK`, which was the last question. */
const tookIn = (answers: readonly Answer[]): number =>
  Number(((answers.at(-1)?.rows[0] ?? []) as Cell[])[0])

type ConnectOptions = {
  max?: number
  statementMsMax?: number
  lockMsMax?: number
  /** PostgreSQL ends a connection that asks nothing for so long. */
  silentMsMax?: number
  onclose?: () => void
}

/** Opens connections that find the tables in their schema. */
export function connect({ url, schema }: Address, options: ConnectOptions = {}): SQL {
  const { max = 1, statementMsMax, lockMsMax = patiences.usual.lockMs } = options
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

/** Ends connections without waiting for what was asked on them. */
export const closeNow = (sql: Pick<SQL, 'close'>): Promise<void> =>
  sql.close({ timeout: 0 }).catch(() => {})

/** As the stores know values: integers are numbers, bytes have a buffer of their own. */
function toValue(value: unknown): Cell {
  if (typeof value === 'bigint') return Number(value)
  if (!(value instanceof Uint8Array)) return value as Cell
  // The driver's have one, too, and are no plain arrays.
  const { buffer, byteLength } = value
  return byteLength === buffer.byteLength ? new Uint8Array(buffer) : new Uint8Array(value)
}

/**
 * As the driver takes them: a number without a type could be taken for one of 32 bits, and no text
 * of PostgreSQL has U+0000.
 */
function toParameter(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value)
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : (value ?? null)
}

/** A text as a template without values. */
const templateOf = (text: string): TemplateStringsArray =>
  Object.defineProperty([text], 'raw', { value: [text] }) as unknown as TemplateStringsArray

/** Runs a statement on a connection. */
async function runOn(
  sql: SQL | ReservedSQL,
  { text, values, isBare = false }: Question,
): Promise<Answer> {
  // Of `unsafe` without values the driver makes a query that others do not overtake.
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
 * The answers to statements that are sent together. Rejects with the error of the driver, and with
 * a `no_answer` fault where they take longer than `msMax`.
 */
export const askWithin = (
  msMax: number,
  sql: SQL | ReservedSQL,
  questions: readonly Question[],
): Promise<Answer[]> => within(msMax, Promise.all(questions.map((each) => runOn(sql, each))))

type Link = { sql: SQL; connection: Promise<ReservedSQL>; isReady: boolean }

/** A pool would replace a connection that is lost, and with it half of a transaction. */
function openLink(
  address: Address,
  { answerMs, lockMs }: Limits,
  onClose: (link: Link) => void,
): Link {
  const sql = connect(address, {
    statementMsMax: answerMs + GIVEN_UP_MS,
    lockMsMax: lockMs,
    onclose: () => onClose(link),
  })
  const connection = sql.reserve().then((reserved) => {
    link.isReady = true
    return reserved
  })
  const link: Link = { sql, connection, isReady: false }
  return link
}

function connectFor(address: Address, parent: Parent<never, Asked | typeof CLOSE>) {
  let link: Link | undefined
  let closes = 0

  async function answer({ questions, isWithin, limits }: Asked): Promise<Answer[] | Failure> {
    if (isWithin && link === undefined) return LOST
    link ??= openLink(address, limits, (ended) => void end(ended))
    const own = link
    const before = closes
    try {
      const connection = await own.connection
      // No caller waits for it any more, so it must not be done; the next has the connection.
      if (closes !== before) return NO_ANSWER
      const results = await Promise.allSettled(questions.map((each) => runOn(connection, each)))
      return results.map(resultOf)
    } catch (error) {
      const failure = failureOf(error)
      if (failure.isLost) await end(own)
      return failure
    }
  }

  async function end(ended: Link): Promise<void> {
    if (link === ended) link = undefined
    await closeNow(ended.sql)
  }

  async function close(): Promise<[]> {
    closes++
    if (link?.isReady) await end(link)
    return []
  }

  return parent.receive((message) => (message === CLOSE ? close() : answer(message)))
}

function resultOf<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason
  return result.value
}

const bridgeWorker = defineWorker(
  { name: 'postgres', purpose: 'holds the connection', file: import.meta.filename },
  connectFor,
)
