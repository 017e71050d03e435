/**
 * Locks of jobs that several processes on one PostgreSQL share: advisory locks, which end with their
 * connection. So another process can do the job of one that was killed, or is suspended.
 */

import type { SQL } from 'bun'

import type { RemoteEngine } from '#src/database/stores.ts'
import { within } from '#src/platform/patience.ts'

import { addressOf } from './address.ts'
import { closeNow, connect } from './bridge.ts'
import { errorOf, failureOf } from './faults.ts'
import { formats } from './formats.ts'

const TAKE = 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS taken'
/** A lock that was taken several times is held until it was given back as often. */
const GIVE = 'SELECT pg_advisory_unlock_all()'
const ANSWER_MS_MAX = 5000
/** The holder shows so often that it goes on; PostgreSQL ends its connection after the other. */
const SIGN_MS = 5000
const SILENT_MS_MAX = 15_000

/** Connects when it is asked; `onFault` is called once until it is known again who holds the lock. */
export const createJobLock: RemoteEngine['createJobLock'] = ({ place, store, name, onFault }) => {
  const address = addressOf(place, formats[store].schema)
  const key = `bookfeed job ${address.schema} ${name}`
  let connection: SQL | undefined
  let hasFailed = false
  let isHeld = false
  let signs: NodeJS.Timeout | undefined

  /** A process that is suspended gives none, so another one has the lock soon. */
  function giveSigns(): void {
    signs ??= setInterval(() => void connection?.unsafe('SELECT 1').catch(() => {}), SIGN_MS)
    signs.unref()
  }

  /**
   * The lock is free when this resolves. PostgreSQL notices the end of a connection later than its
   * client, and until then every other process would find the lock taken.
   */
  async function give(): Promise<void> {
    const given = connection
    const wasHeld = isHeld
    connection = undefined
    isHeld = false
    clearInterval(signs)
    signs = undefined
    if (given === undefined) return
    // Where no answer comes, the lock ends with the connection.
    if (wasHeld) await within(ANSWER_MS_MAX, given.unsafe(GIVE)).catch(() => {})
    await closeNow(given)
  }

  async function isTaken(): Promise<boolean> {
    connection ??= connect(address, { silentMsMax: SILENT_MS_MAX })
    // A connection that was lost is made again, and asks for the lock like any other.
    const [row] = await within(ANSWER_MS_MAX, connection.unsafe(TAKE, [key]))
    return row?.taken === true
  }

  return {
    async take() {
      try {
        isHeld = await isTaken()
        hasFailed = false
        if (isHeld) {
          giveSigns()
          return true
        }
      } catch (error) {
        if (!hasFailed) onFault(errorOf(failureOf(error)))
        hasFailed = true
      }
      await give()
      return false
    },
    give,
  }
}
