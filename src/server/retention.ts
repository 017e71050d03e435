/** Deletes what is too old, or more than there is room for, without delaying requests. */

import type { Config } from '#src/config/config.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory, OldMarket } from '#src/history/history.ts'
import { count } from '#src/platform/count.ts'
import { createReportedJob, type JobReport } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import type { CliContext } from './extension.ts'
import { jobLockFor } from './open-data-folder.ts'
import { startTimer } from './server-jobs.ts'

const LOOK_MS = 60_000
/** Between two steps others have their turn. */
const STEP_MS = 20
/** What began within this is never deleted for its size. */
const YOUNG_MS = 3_600_000
const BYTES_PER_GB = 1_000_000_000

export type Keep = Pick<Config, 'keepDays' | 'keepGb'>
type Kept = Pick<MarketHistory, 'deleteOldest' | 'usedBytes'>

/** Starts to delete as the configuration says; by default nothing is ever deleted. */
export function startRetention(context: CliContext, history: Kept, report?: JobReport): Disposable {
  const keep = context.config()
  if (keep.keepDays + keep.keepGb === 0) return { [Symbol.dispose]: () => undefined }
  const { clock, printError } = context
  const lock = jobLockFor(context, 'history', 'retention')
  let isDisposed = false
  const job = createReportedJob({ startTimer, clock, report, lock }, async () => {
    let steps = 0
    try {
      while (!isDisposed && deleteStep(keep, history, clock())) {
        steps++
        await Bun.sleep(STEP_MS)
      }
      if (steps > 0)
        printError(
          `bookfeed: deleted the markets beyond the limits (BOOKFEED_KEEP_DAYS=${keep.keepDays}, BOOKFEED_KEEP_GB=${keep.keepGb}).`,
        )
      const outcome =
        steps === 0 ? 'Nothing was due.' : `Deleted the due markets in ${count(steps, 'step')}.`
      return { outcome, waitMs: LOOK_MS }
    } catch (error) {
      printError(`bookfeed: old markets cannot be deleted: ${messageOf(error)}.`, 'error')
      return { outcome: messageOf(error), isFailed: true, waitMs: LOOK_MS }
    }
  })
  job.hasten(0)
  return {
    [Symbol.dispose]() {
      isDisposed = true
      void job.dispose()
    },
  }
}

/** Returns whether there was anything to delete. */
export function deleteStep({ keepDays, keepGb }: Keep, history: Kept, nowMs: number): boolean {
  if (keepDays > 0 && history.deleteOldest(nowMs - keepDays * DAY_MS)) return true
  const isTooLarge = keepGb > 0 && history.usedBytes() > keepGb * BYTES_PER_GB
  return isTooLarge && history.deleteOldest(nowMs - YOUNG_MS)
}

/** The markets that these steps would delete; by size nearly, as books take most of it. */
export function* listDue(
  { keepDays, keepGb }: Keep,
  history: Pick<MarketHistory, 'listOldest' | 'usedBytes'>,
  nowMs: number,
): Generator<OldMarket> {
  const oldMs = keepDays > 0 ? nowMs - keepDays * DAY_MS : Number.NEGATIVE_INFINITY
  const youngMs = keepGb > 0 ? Math.max(oldMs, nowMs - YOUNG_MS) : oldMs
  let tooMuch = keepGb > 0 ? history.usedBytes() - keepGb * BYTES_PER_GB : 0
  for (const market of history.listOldest(youngMs)) {
    if (market.orderMs >= oldMs && tooMuch <= 0) return
    tooMuch -= market.bytes
    yield market
  }
}
