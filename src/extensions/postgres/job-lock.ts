/**
 * Locks of jobs for processes that share a PostgreSQL: advisory locks, which end with their
 * connection. So another process can take over the job of a killed or suspended one.
 */

import type { SQL } from 'bun'

import type { RemoteEngine } from '#src/database/stores.ts'
import { within } from '#src/platform/timeout.ts'

import { addressOf } from './address.ts'
import { closeNow, connect } from './connection.ts'
import { errorOf, failureOf } from './faults.ts'
import { formats } from './formats.ts'

const TAKE = 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS taken'
/** A lock is held until it was released as often as it was acquired. */
const GIVE = 'SELECT pg_advisory_unlock_all()'
const ANSWER_MS_MAX = 5000
/** Interval of the holder's keep-alive; without it, PostgreSQL ends the connection. */
const SIGN_MS = 5000
const SILENT_MS_MAX = 15_000

/** Connects on demand; `onFault` is called once for each outage. */
export const createJobLock: RemoteEngine['createJobLock'] = ({ place, name, onFault }) => {
  const address = addressOf(place.address, formats[place.store].schema)
  const key = `bookfeed job ${address.schema} ${name}`
  let connection: SQL | undefined
  let hasFailed = false
  let isHeld = false
  let signs: NodeJS.Timeout | undefined

  /** A suspended process sends none, so another process soon gets the lock. */
  function giveSigns(): void {
    signs ??= setInterval(() => void connection?.unsafe('SELECT 1').catch(() => {}), SIGN_MS)
    signs.unref()
  }

  /**
   * Resolves when the lock is free. PostgreSQL notices a closed connection late, and until then
   * other processes would find the lock taken.
   */
  async function give(): Promise<void> {
    const given = connection
    const wasHeld = isHeld
    connection = undefined
    isHeld = false
    clearInterval(signs)
    signs = undefined
    if (given === undefined) return
    // Without a response, the lock ends with the connection.
    if (wasHeld) await within(ANSWER_MS_MAX, given.unsafe(GIVE)).catch(() => {})
    await closeNow(given)
  }

  async function isTaken(): Promise<boolean> {
    connection ??= connect(address, { silentMsMax: SILENT_MS_MAX })
    // A lost connection is replaced by a new one, which has to acquire the lock again.
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
