/** What a thread that serves has of a PostgreSQL: connections that nobody stands still for. */
import type { SQL } from 'bun'

import type { Eventually } from '#src/lib/eventually.ts'

import type { Address } from './address.ts'
import { connect, type Fault } from './bridge.ts'
import { Reading, readingNow } from './reading.ts'

/** Reads that fetch something at a time; others wait for a connection. */
const CONNECTIONS = 16
/** Markets whose last change is remembered; beyond them all are read again. */
const MARKETS_MAX = 100_000
/** How often it is asked whether a notification was lost. */
const POLL_MS = 1000

type Deps = { address: Address; begin: string; toError: (fault: Fault) => Error }

export type Reads = ReturnType<typeof createReads>

export function createReads({ address, begin, toError }: Deps) {
  const sql = connect(address, CONNECTIONS)
  const changes = watchChanges(sql, address.schema)
  const deps = { sql, begin, toError, onBegin: changes.count }
  return {
    /** Runs a read, again where it lacked something; at once where it lacks nothing. */
    eventually<T>(read: () => Eventually<T>): Eventually<T> {
      // One within another is of the same state.
      if (readingNow() !== undefined) return read()
      const reading = new Reading(deps)
      let result: Eventually<T>
      try {
        result = reading.run(read)
      } catch (error) {
        reading.end()
        throw error
      }
      if (result instanceof Promise) return result.finally(() => reading.end())
      reading.end()
      return result
    },

    /** Another number after each change of a market that the state which is read has. */
    changeOf(conditionId: string): number {
      const change = changes.of(conditionId)
      const begunAt = readingNow()?.begunAt
      return begunAt === undefined ? change : Math.min(change, begunAt)
    },

    close(): void {
      changes.stop()
      void sql.close({ timeout: 0 }).catch(() => {})
    },
  }
}

/** Counts changes of markets by what the database says of them (`notify_market`). */
function watchChanges(sql: SQL, schema: string) {
  const changes = new Map<string, number>()
  /** Of every market that is not among them. */
  let floor = 0
  let count = 0
  let polled: unknown
  let heardAt = 0

  function forget(): void {
    changes.clear()
    floor = ++count
  }

  function hear(conditionId: string): void {
    if (changes.size >= MARKETS_MAX) forget()
    changes.set(conditionId, ++count)
  }

  const listening = sql
    // Called again whenever the connection was lost and is back.
    .listen(`bookfeed_${schema}`, hear, forget)
    .catch(() => undefined)

  async function poll(): Promise<void> {
    const before = heardAt
    heardAt = count
    const [row] = await sql.unsafe('SELECT last_value AS made FROM change_count').catch(() => [])
    // The connection that listens may be dead without knowing it.
    if (row?.made !== undefined && row.made !== polled && before === count) forget()
    polled = row?.made ?? polled
  }
  const timer = setInterval(() => void poll(), POLL_MS)
  timer.unref()

  return {
    of: (conditionId: string): number => changes.get(conditionId) ?? floor,
    count: (): number => count,
    stop(): void {
      clearInterval(timer)
      void listening.then((subscription) => subscription?.unlisten())
    },
  }
}
