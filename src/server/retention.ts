/** Deletes markets beyond the limits of age and size, without delaying requests. */

import type { Config } from '#src/config/config.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory, OldMarket } from '#src/history/history.ts'
import { count } from '#src/platform/count.ts'
import { createReportedJob, type JobReport, startTimer } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import type { CliContext } from './extension.ts'
import { jobLockFor } from './open-data-folder.ts'

const LOOK_MS = 60_000
/** The pause between two steps, in which requests are answered. */
const STEP_MS = 20
/** Markets that began within this time are never deleted for their size. */
const YOUNG_MS = 3_600_000
const BYTES_PER_GB = 1_000_000_000

export type Keep = Pick<Config, 'keepDays' | 'keepGb'>
type Kept = Pick<MarketHistory, 'deleteOldest' | 'usedBytes'>

/** Starts the job. By default nothing is deleted. */
export function startRetention(
  context: CliContext,
  history: Kept,
  report?: JobReport,
): AsyncDisposable {
  const keep = context.config()
  if (keep.keepDays + keep.keepGb === 0) return { [Symbol.asyncDispose]: async () => undefined }
  const { clock, printError } = context
  const lock = jobLockFor(context, 'history', 'retention')
  let isDisposed = false
  const job = createReportedJob({ startTimer, clock, report, lock }, async () => {
    let steps = 0
    try {
      while (!isDisposed && (await deleteStep(keep, history, clock()))) {
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
    async [Symbol.asyncDispose]() {
      isDisposed = true
      await job.dispose()
    },
  }
}

/** Returns true if something was deleted. */
export async function deleteStep(
  { keepDays, keepGb }: Keep,
  history: Kept,
  nowMs: number,
): Promise<boolean> {
  if (keepDays > 0 && (await history.deleteOldest(nowMs - keepDays * DAY_MS))) return true
  const isTooLarge = keepGb > 0 && history.usedBytes() > keepGb * BYTES_PER_GB
  return isTooLarge && history.deleteOldest(nowMs - YOUNG_MS)
}

/** The markets that these steps would delete. The size is an estimate, of the books alone. */
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
