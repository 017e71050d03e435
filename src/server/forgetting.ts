/** Deletes accounts that never paid and are no longer used. */
import { setImmediate as othersTurn } from 'node:timers/promises'

import { DAY_MS } from '#src/domain/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { count } from '#src/platform/count.ts'
import { createReportedJob, type Job, type JobReport, startTimer } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import type { CliContext } from './extension.ts'
import { jobLockFor } from './open-data-folder.ts'

/** Accounts that never paid are kept for so long without use. */
const IDLE_MS = 30 * DAY_MS
const FORGET_MS = 3_600_000
/** One step takes a few milliseconds, even if all of its accounts are deleted. */
const ACCOUNTS_PER_STEP = 50

export function startForgetting(context: CliContext, ledger: Ledger, report?: JobReport): Job {
  const { clock, printError } = context
  const lock = jobLockFor(context, 'ledger', 'forgetting')
  let isDisposed = false
  const job = createReportedJob({ startTimer, clock, report, lock }, async () => {
    const nowMs = clock()
    const waitMs = FORGET_MS
    let deleted = 0
    try {
      let afterId: string | undefined = ''
      while (afterId !== undefined && !isDisposed) {
        const range = { afterId, limit: ACCOUNTS_PER_STEP, idleSinceMs: nowMs - IDLE_MS }
        const { nextId, forgotten } = await ledger.forgetIdle(range, { actor: 'system', nowMs })
        deleted += forgotten.length
        afterId = nextId
        await othersTurn()
      }
      return { outcome: `${count(deleted, 'account')} deleted.`, waitMs }
    } catch (error) {
      printError(`bookfeed: idle accounts cannot be forgotten: ${messageOf(error)}.`, 'error')
      return { outcome: messageOf(error), isFailed: true, waitMs }
    }
  })
  job.hasten(0)
  return {
    dispose() {
      isDisposed = true
      return job.dispose()
    },
  }
}
