/** Connections of a serving thread to PostgreSQL, which never block it. */

import type { SQL } from 'bun'

import type { Eventually } from '#src/platform/eventually.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { createTrials, within } from '#src/platform/patience.ts'

import type { Address } from './address.ts'
import {
  type Answer,
  connect,
  type Failure,
  faultOf,
  NO_ANSWER,
  type Question,
  type Row,
  runOn,
} from './bridge.ts'
import { FETCH_MS_MAX, PostgresReading, readingOf } from './reading.ts'

/** Markets whose last change is remembered; beyond them all are read again. */
const MARKETS_MAX = 100_000
/** Others wait for the connection meanwhile. */
const STATEMENT_MS_MAX = 1000
/** Where nothing answered, it is asked again after this. */
const PAUSE_MS = 1000
/** Bound of an answer that blocks no thread: more than a commit takes with a slow standby. */
const WRITE_MS_MAX = 5000
/** How often it is asked whether a notification was lost. */
const POLL_MS = 1000
/** How long one answer to that may take. */
const POLL_MS_MAX = 1500
/** Changes in turn of which no notification came, before it is listened to anew. */
const MISSED_MAX = 2
/** A market with subscribers is read again when it changes, before it is requested. */
const FOLLOWED_MS = 5000

type Deps = {
  address: Address
  /** Reads that fetch something at a time; others wait for a connection. */
  connections: number
  begin: string
  toError: (fault: Failure) => Error
}

export type Reads = ReturnType<typeof createReads>

export function createReads({ address, connections, begin, toError }: Deps) {
  const sql = connect(address, { max: connections, statementMsMax: STATEMENT_MS_MAX })
  const changes = createChanges((conditionId) => reads.eventually(() => refresh(conditionId)))
  const askAside = createAside(sql)
  const watch = watchDatabase(askAside, address, changes)
  const trials = createTrials(PAUSE_MS)
  const deps = { sql, begin, toError, trials, onBegin: changes.count }
  let refresh: (conditionId: string) => void = () => {}
  const reads = {
    /** The read that asks now, if it is one of these. */
    now: (): PostgresReading | undefined => readingOf(sql),

    /** `read` reads a market with subscribers; it is called when the market changed. */
    onChange(read: (conditionId: string) => void): void {
      refresh = (conditionId) => {
        read(conditionId)
        changes.show(conditionId, readingOf(sql)?.begunAt)
      }
    },

    /** Runs a read, again where it lacked something; at once where it lacks nothing. */
    eventually<T>(read: () => Eventually<T>): Eventually<T> {
      // One within another is of the same state.
      if (readingOf(sql) !== undefined) return read()
      return new PostgresReading(deps).run(read)
    },

    /** A number that rises with every change that is announced. */
    changeCount: changes.count,

    /** Another number after each change of a market that the state which is read has. */
    changeOf(conditionId: string): number {
      const reading = readingOf(sql)
      if (reading === undefined) return changes.followedOf(conditionId)
      return Math.min(changes.of(conditionId), reading.begunAt ?? Number.POSITIVE_INFINITY)
    },

    /**
     * Asks for what is committed now. Rejects with what the driver throws, or a `no_answer` fault.
     */
    async ask(question: Question): Promise<Answer['rows']> {
      const [answer] = await trials.during(() => askAside([question], FETCH_MS_MAX))
      return answer?.rows ?? []
    },

    /** Sends what ends with COMMIT, and rejects where it may not have been done. */
    async write(questions: readonly Question[]): Promise<void> {
      try {
        await askAside(questions, WRITE_MS_MAX)
      } catch (error) {
        throw toError(isFault(error, 'no_answer', 'no_connection') ? NO_ANSWER : faultOf(error))
      }
    },

    close(): void {
      watch.stop()
      void sql.close({ timeout: 0 }).catch(() => {})
    },
  }
  return reads
}

type Aside = ReturnType<typeof createAside>

/** Asks on one connection in a given time, and gives the connection up where that fails. */
function createAside(sql: SQL) {
  return async (questions: readonly Question[], msMax: number): Promise<readonly Answer[]> => {
    const reserving = sql.reserve()
    let [isBegun, isOver] = [false, false]
    const ask = async (): Promise<readonly Answer[]> => {
      const connection = await reserving
      if (isOver) return []
      isBegun = true
      return Promise.all(questions.map((each) => runOn(connection, each)))
    }
    const leave = async (hasFailed: boolean): Promise<void> => {
      isOver = true
      const connection = await reserving
      if (hasFailed && isBegun) await connection.close({ timeout: 0 })
      else connection.release()
    }
    try {
      const answers = await within(msMax, ask())
      void leave(false)
      return answers
    } catch (error) {
      void leave(true).catch(() => {})
      if (isBegun || !isFault(error, 'no_answer')) throw error
      throw new Fault('', { kind: 'no_connection', cause: error })
    }
  }
}

type Changes = ReturnType<typeof createChanges>

/**
 * Numbers the changes of markets. Whoever follows one must not wait: the change shows to him when
 * `refresh` has read the market again, which ends with `show`.
 */
function createChanges(refresh: (conditionId: string) => Eventually<void>) {
  const shown = new Map<string, number>()
  /** Changes that are being read for those who follow. */
  const ahead = new Map<string, number>()
  const followed = new Map<string, number>()
  /** Of every market that is not among them. */
  let floor = 0
  let count = 0
  const shownOf = (conditionId: string): number => shown.get(conditionId) ?? floor

  /** Unless it changed again since what was read. */
  function show(conditionId: string, readAt = Number.POSITIVE_INFINITY): void {
    const number = ahead.get(conditionId)
    if (number === undefined || number > readAt) return
    shown.set(conditionId, number)
    ahead.delete(conditionId)
  }

  async function readAhead(conditionId: string): Promise<void> {
    try {
      while (ahead.has(conditionId)) await refresh(conditionId)
    } catch {
      // Who follows reads it himself, and learns why that fails.
      show(conditionId)
    }
  }

  function forget(): void {
    for (const each of [shown, ahead, followed]) each.clear()
    floor = ++count
  }

  return {
    forget,
    show,
    count: (): number => count,
    of: (conditionId: string): number => ahead.get(conditionId) ?? shownOf(conditionId),

    followedOf(conditionId: string): number {
      followed.set(conditionId, performance.now())
      return shownOf(conditionId)
    },

    hear(conditionId: string): void {
      if (shown.size + followed.size >= MARKETS_MAX) forget()
      const sinceMs = performance.now() - (followed.get(conditionId) ?? Number.NEGATIVE_INFINITY)
      if (sinceMs > FOLLOWED_MS) {
        followed.delete(conditionId)
        shown.set(conditionId, ++count)
        return
      }
      const isReading = ahead.has(conditionId)
      ahead.set(conditionId, ++count)
      if (!isReading) void readAhead(conditionId)
    },
  }
}

const ASK_LAST_CHANGE = { text: 'SELECT last_value FROM change_count', values: [] }

/** Hears what the database says of its markets (`notify_market`). */
function watchDatabase(askAside: Aside, address: Address, changes: Changes) {
  let [made, heard, missed]: [unknown, number, number] = [undefined, 0, 0]
  let isPolling = false
  let listener = listen()

  /** On a connection of its own, of which the driver makes another when it is closed. */
  function listen(): SQL {
    const own = connect(address)
    const hear = (conditionId: string): void => {
      missed = 0
      changes.hear(conditionId)
    }
    // The last is called whenever it begins to listen, again after the connection was lost.
    own.listen(`bookfeed_${address.schema}`, hear, changes.forget).catch(() => undefined)
    return own
  }
  const end = (): void => void listener.close({ timeout: 0 }).catch(() => {})

  async function poll(): Promise<void> {
    if (isPolling) return
    isPolling = true
    const before = heard
    heard = changes.count()
    const now = await lastChange()
    isPolling = false
    const isMissed = now !== undefined && made !== undefined && now !== made
    made = now ?? made
    if (!isMissed || before !== changes.count()) return
    changes.forget()
    // These are no notifications.
    heard = changes.count()
    // A notification may be late; a connection may be dead without knowing it.
    if (++missed === MISSED_MAX) listenAnew()
  }

  function listenAnew(): void {
    missed = 0
    end()
    listener = listen()
  }

  /** Undefined where there was no answer. One that hears nothing may not be the only one. */
  async function lastChange(): Promise<unknown> {
    try {
      const [answer] = await askAside([ASK_LAST_CHANGE], POLL_MS_MAX)
      return (answer?.rows[0] as Row | undefined)?.last_value
    } catch (error) {
      if (isFault(error, 'no_answer')) listenAnew()
      return undefined
    }
  }
  // What others are compared with.
  void poll()
  const timer = setInterval(() => void poll(), POLL_MS)
  timer.unref()

  return {
    stop(): void {
      clearInterval(timer)
      end()
    },
  }
}
