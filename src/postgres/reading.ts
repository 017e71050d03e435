/**
 * Reads PostgreSQL without waiting: what asks is synchronous, and where an answer is lacking it
 * ends with `Missing`, the answer is fetched, and it runs again from its start. All that one read
 * asks is of one unchanging state of the database.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

import type { ReservedSQL, SQL } from 'bun'

import { type Eventually, Missing } from '#src/lib/eventually.ts'

import { type Answer, type Fault, faultOf, type Question, runOn } from './bridge.ts'

/** A read that never comes to its end is a fault of ours. */
const RUNS_MAX = 10_000

const readings = new AsyncLocalStorage<Reading>()

/** Of whoever asks now, of that database; undefined outside of a read, or after its end. */
export function readingOf(sql: SQL | undefined): Reading | undefined {
  const reading = readings.getStore()
  return reading === undefined || reading.isOver || reading.sql !== sql ? undefined : reading
}

type Deps = {
  sql: SQL
  begin: string
  /** Called before the state that is read is chosen. */
  onBegin: () => number
  toError: (fault: Fault) => Error
}

export class Reading {
  isOver = false
  /** What `onBegin` returned; undefined while nothing was fetched. */
  begunAt: number | undefined
  readonly #deps: Deps
  readonly #answers = new Map<string, Answer['rows'] | Error>()
  #missing = new Map<string, Question>()
  #connection: Promise<ReservedSQL> | undefined

  constructor(deps: Deps) {
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

  run<T>(read: () => Eventually<T>, runs = 0): Eventually<T> {
    const again = async (error: unknown): Promise<T> => {
      if (!(error instanceof Missing) || runs === RUNS_MAX) throw error
      await this.#fetch()
      return this.run(read, runs + 1)
    }
    try {
      const result = readings.run(this, read)
      if (!(result instanceof Promise)) return result
      return result.catch(again)
    } catch (error) {
      return again(error)
    }
  }

  /** To be called once nothing is read any more. */
  end(): void {
    this.isOver = true
    void this.#connection
      ?.then(async (connection) => {
        try {
          await connection.unsafe('COMMIT')
        } finally {
          connection.release()
        }
      })
      // A connection that is lost has nothing to give back.
      .catch(() => {})
  }

  async #fetch(): Promise<void> {
    const asked = [...this.#missing]
    this.#missing = new Map()
    try {
      const isFirst = this.#connection === undefined
      this.#connection ??= this.#deps.sql.reserve()
      const connection = await this.#connection
      if (isFirst) this.begunAt = this.#deps.onBegin()
      // All in the same way, or the driver would send them in another order.
      const begin: Question[] = isFirst ? [{ text: this.#deps.begin, values: [] }] : []
      const questions = [...begin, ...asked.map(([, question]) => question)]
      const found = await Promise.all(questions.map((each) => runOn(connection, each)))
      const answers = found.slice(begin.length)
      for (const [at, [key]] of asked.entries()) this.#answers.set(key, answers[at]?.rows ?? [])
    } catch (error) {
      // Whoever asked gets it, as if the call had thrown.
      const fault = this.#deps.toError(faultOf(error))
      for (const [key] of asked) this.#answers.set(key, fault)
    }
  }
}

function copyOf(row: Answer['rows'][number]): typeof row {
  if (Array.isArray(row)) return row.map(copyOfValue)
  const copy = { ...row }
  for (const name in copy) copy[name] = copyOfValue(copy[name] ?? null)
  return copy
}

const copyOfValue = <V>(value: V): V =>
  value instanceof Uint8Array ? (value.slice() as V & Uint8Array) : value
