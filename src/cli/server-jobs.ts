/** What a server does repeatedly while it answers, in steps that no request waits for. */
import type { App } from '#src/app.ts'
import { DAY_MS } from '#src/core/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { messageOf } from '#src/lib/message.ts'

import type { CliContext } from './context.ts'

type Job = { dispose(): void }

/** Well below the ten seconds of usage that a killed process may lose. */
const FLUSH_MS = 2000
/** In a row, before the operator hears of it. */
const FAILURES_REPORTED = 5

/** Moves what was used into the ledger; ends with everything written. */
export function startUsageFlush({ flushUsage }: App, log: (line: string) => void): Job {
  let failures = 0

  function flush(): boolean {
    try {
      const hasMore = flushUsage()
      failures = 0
      return hasMore
    } catch (error) {
      // The counters stay in memory until the next try: another process may be writing.
      if (++failures === FAILURES_REPORTED)
        log(`bookfeed: usage cannot be written: ${messageOf(error)}.`)
      return false
    }
  }
  function flushAll(): void {
    if (flush()) setImmediate(flushAll)
  }
  return repeat(flushAll, FLUSH_MS, () => {
    while (flush());
  })
}

/** Accounts that never paid are kept this long without use. */
const IDLE_MS = 30 * DAY_MS
const FORGET_MS = 3_600_000
/** Looked at in one piece: a few milliseconds, also if all of them are forgotten. */
const ACCOUNTS_PER_STEP = 50

/** Forgets accounts that never paid and are not used, at the start and every hour. */
export function startForgetting({ clock, printError }: CliContext, ledger: Ledger): Job {
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
  forget()
  return repeat(forget, FORGET_MS, () => clearImmediate(step))
}

/** A server that was killed knows the time to the minute. */
const KEEP_MS = 60_000

/** Writes the time down, so that a clock that was set back meanwhile shows at the next start. */
export function startTimeKeeping({ keep }: { keep: () => void }): Job {
  const tryKeep = () => {
    try {
      keep()
    } catch {
      // Somebody else writes, or there is no room: it will be later than now at the next try.
    }
  }
  tryKeep()
  return repeat(tryKeep, KEEP_MS, tryKeep)
}

/** What another process commits shows on live connections after so long. */
const STREAM_MS = 5

/** Hands on what is new to live connections. */
export const startStream = ({ stream }: App): Job => repeat(stream.tick, STREAM_MS, () => {})

function repeat(step: () => void, everyMs: number, end: () => void): Job {
  const timer = setInterval(step, everyMs)
  return {
    dispose() {
      clearInterval(timer)
      end()
    },
  }
}
