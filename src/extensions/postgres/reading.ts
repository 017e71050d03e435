/**
 * Reads PostgreSQL without waiting: what asks is synchronous, and where an answer is lacking it
 * ends with `Missing`, the answer is fetched, and it runs again from its start. All that one read
 * asks is of one unchanging state of the database. Most lack one thing, for which a statement is
 * enough; what then asks for more, or for more after a long wait for something else, starts over
 * with another state.
 */

import type { ReservedSQL, SQL } from 'bun'

import { Missing, Reading, readingNow } from '#src/platform/eventually.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { type Trials, within } from '#src/platform/patience.ts'

import { type Answer, type Failure, faultOf, NO_ANSWER, type Question, runOn } from './bridge.ts'

/** For a connection and what is asked on it: longer than the database takes for one statement. */
export const FETCH_MS_MAX = 1500
/** Connections that a read may lose: an administrator ends all, or the primary is another. */
const LOSSES_MAX = 8
/** While something else is waited for, others get the connection after this. */
const HELD_MS_MAX = 100

/** The current read of that database; undefined outside of a read, or after its end. */
export function readingOf(sql: SQL | undefined): PostgresReading | undefined {
  const reading = readingNow()
  return reading instanceof PostgresReading && reading.sql === sql ? reading : undefined
}

type Deps = {
  sql: SQL
  begin: string
  /** Called before the state that is read is chosen. */
  onBegin: () => number
  toError: (fault: Failure) => Error
  /** Of all reads of the database. */
  trials: Trials
}

export class PostgresReading extends Reading {
  /** What `onBegin` returned; undefined while nothing was fetched. */
  begunAt: number | undefined
  readonly #deps: Deps
  #missing = new Map<string, Question>()
  readonly #answers = new Map<string, Answer['rows'] | Error>()
  #losses = 0
  #connection: Promise<ReservedSQL> | undefined
  /** Whether it asked for more than one thing, one after the other. */
  #isLong = false
  #isTransaction = false

  constructor(deps: Deps) {
    super()
    this.#deps = deps
  }

  get sql(): SQL {
    return this.#deps.sql
  }

  /**
   * Throws `Missing`, and why it could not be fetched. Of bytes everybody gets a copy: they are
   * given back after their use.
   */
  ask(question: Question): Answer['rows'] {
    const key = `${question.isBare ? 'values' : 'rows'} ${JSON.stringify(question.values)} ${question.text}`
    const rows = this.#answers.get(key)
    if (rows === undefined) {
      this.#missing.set(key, question)
      throw new Missing()
    }
    if (rows instanceof Error) throw rows
    return rows.map((row) => copyOf(row)) as Answer['rows']
  }

  override end(): void {
    super.end()
    this.#giveBack()
  }

  override async waitFor(coming: Promise<unknown>): Promise<void> {
    const timer = setTimeout(() => this.#giveBack(), HELD_MS_MAX)
    await coming
    clearTimeout(timer)
  }

  /** What is known of the state stays. */
  #giveBack(): void {
    const isTransaction = this.#isTransaction
    void this.#connection
      ?.then(async (connection) => {
        try {
          if (isTransaction) await connection.unsafe('COMMIT')
        } finally {
          connection.release()
        }
      })
      // A connection that is lost has nothing to give back.
      .catch(() => {})
    this.#connection = undefined
  }

  override async fetch(): Promise<void> {
    if (this.#missing.size === 0) return
    const asked = [...this.#missing]
    this.#missing = new Map()
    if (this.#connection !== undefined || this.begunAt === undefined) return this.#find(asked)
    // What else that state had is no longer known.
    this.#isLong = true
    this.begunAt = undefined
    this.#answers.clear()
  }

  async #find(asked: readonly [string, Question][]): Promise<void> {
    try {
      const questions = asked.map(([, question]) => question)
      const { trials } = this.#deps
      const answers = await trials.during(() => within(FETCH_MS_MAX, this.#ask(questions)))
      for (const [at, [key]] of asked.entries()) this.#answers.set(key, answers[at]?.rows ?? [])
    } catch (error) {
      const fault = isFault(error, 'no_answer') ? NO_ANSWER : faultOf(error)
      if (fault.isLost) this.#leave()
      // It begins anew, with what is committed then.
      if (fault.isLost && fault !== NO_ANSWER && this.#losses++ < LOSSES_MAX) this.#answers.clear()
      // The caller gets it, as if the call had thrown.
      else for (const [key] of asked) this.#answers.set(key, this.#deps.toError(fault))
    }
  }

  /** Gives up the connection, and with it the state that is read. */
  #leave(): void {
    const isUsed = this.begunAt !== undefined
    void this.#connection
      ?.then((connection) => (isUsed ? connection.close({ timeout: 0 }) : connection.release()))
      .catch(() => {})
    this.#connection = undefined
    this.begunAt = undefined
  }

  async #ask(questions: readonly Question[]): Promise<readonly Answer[]> {
    const isFirst = this.#connection === undefined
    this.#connection ??= this.#deps.sql.reserve()
    const own = this.#connection
    const connection = await own
    // It came too late: no caller waits for it, and the current request has another.
    if (this.#connection !== own) throw new Fault('', { kind: 'no_answer' })
    if (isFirst) {
      this.begunAt = this.#deps.onBegin()
      this.#isTransaction = this.#isLong || questions.length > 1
    }
    // All in the same way, or the driver would send them in another order.
    const isBeginning = isFirst && this.#isTransaction
    const begin: Question[] = isBeginning ? [{ text: this.#deps.begin, values: [] }] : []
    const found = await Promise.all([...begin, ...questions].map((each) => runOn(connection, each)))
    // Unless it was given up meanwhile.
    if (!this.#isTransaction && this.#connection === own) this.#giveBack()
    return found.slice(begin.length)
  }
}

function copyOf(row: Answer['rows'][number]): typeof row {
  if (Array.isArray(row)) return row.map(copyOfValue)
  const copy = { ...row }
  for (const name in copy) copy[name] = copyOfValue(copy[name] ?? null)
  return copy
}

export const copyOfValue = <V>(value: V): V =>
  value instanceof Uint8Array ? (value.slice() as V & Uint8Array) : value
