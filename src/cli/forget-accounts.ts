import { DAY_MS } from '#src/core/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { messageOf } from '#src/lib/message.ts'

import type { CliContext } from './context.ts'

/** Accounts that never paid are kept this long without use. */
const IDLE_MS = 30 * DAY_MS
const ROUND_MS = 3_600_000
/** Looked at in one piece: a few milliseconds, also if all of them are forgotten. */
const ACCOUNTS_PER_STEP = 50

/** Forgets accounts that never paid and are not used, at the start and every hour, in short steps. */
export function startForgetting({ clock, printError }: CliContext, ledger: Ledger) {
  let step: NodeJS.Immediate | undefined

  function forget(afterId = ''): void {
    const nowMs = clock()
    try {
      const range = { afterId, limit: ACCOUNTS_PER_STEP, idleSinceMs: nowMs - IDLE_MS }
      const { nextId } = ledger.forgetIdle(range, { actor: 'system', nowMs })
      if (nextId !== undefined) step = setImmediate(forget, nextId)
    } catch (error) {
      printError(`bookfeed: idle accounts cannot be forgotten: ${messageOf(error)}.`)
    }
  }
  const timer = setInterval(forget, ROUND_MS)
  forget()
  return {
    dispose(): void {
      clearInterval(timer)
      clearImmediate(step)
    },
  }
}
