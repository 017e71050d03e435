/** Writes what keys use to the ledger, every two seconds. */
import { setImmediate as othersTurn } from 'node:timers/promises'

import type { Clock } from '#src/domain/time.ts'
import { createJob, type Job, startTimer } from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'
import { sentenceOf } from '#src/platform/message.ts'

/** A killed process may lose ten seconds of usage; this is well below. */
export const FLUSH_MS = 2000
/** Failures in a row before the operator is notified. */
const FAILURES_REPORTED = 5

/** `failingMs` is the time since the ledger last accepted usage; 0 while it accepts it. */
export type UsageFlush = Job & { failingMs: () => number }

/**
 * Writes usage to the ledger every two seconds, and once more at the end. Usage that the ledger does
 * not accept stays in memory, and a later flush writes it once.
 */
export function startUsageFlush(
  { flushUsage }: { flushUsage(): Promise<boolean> },
  { timer, say }: { timer: Clock; say: Log },
): UsageFlush {
  let failures = 0
  let failedMs: number | undefined

  async function flush(): Promise<boolean> {
    try {
      const hasMore = await flushUsage()
      if (failures >= FAILURES_REPORTED) say('bookfeed: usage is written again')
      failures = 0
      failedMs = undefined
      return hasMore
    } catch (error) {
      // Another process may hold the lock of the file.
      failedMs ??= timer()
      if (++failures === FAILURES_REPORTED)
        say(`bookfeed: usage cannot be written: ${sentenceOf(error)}`, 'error')
      return false
    }
  }
  async function flushAll(): Promise<number> {
    while (await flush()) await othersTurn()
    return FLUSH_MS
  }
  const job = createJob(startTimer, flushAll)
  job.hasten(FLUSH_MS)
  return {
    failingMs: () => (failedMs === undefined ? 0 : timer() - failedMs),
    async dispose() {
      await job.dispose()
      await flushAll()
    },
  }
}
