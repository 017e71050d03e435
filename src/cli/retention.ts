/** Deletes what is too old, or more than there is room for, while nobody waits for it. */
import { DAY_MS } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { JobReport } from '#src/lib/job.ts'
import { messageOf } from '#src/lib/message.ts'

import type { CliContext } from './context.ts'

const LOOK_MS = 60_000
/** Between two steps others have their turn. */
const STEP_MS = 20
/** What began within this is never deleted for its size. */
const YOUNG_MS = 3_600_000
const BYTES_PER_GB = 1_000_000_000

type Kept = Pick<MarketHistory, 'deleteOldest' | 'usedBytes'>

/** Starts to delete as the configuration says; by default nothing is ever deleted. */
export function startRetention(context: CliContext, history: Kept, report?: JobReport): Disposable {
  const { keepDays, keepGb } = context.config()
  let timer: ReturnType<typeof setTimeout> | undefined
  let steps = 0
  const tryStep = (): boolean => {
    const nextMs = context.clock() + LOOK_MS
    report?.began()
    try {
      const hasMore = deleteStep(context, history)
      steps += Number(hasMore)
      report?.ended(`${steps} steps of deletion since the start.`, nextMs)
      return hasMore
    } catch (error) {
      report?.failed(messageOf(error), nextMs)
      context.printError(`bookfeed: old markets cannot be deleted: ${messageOf(error)}.`)
      return false
    }
  }
  const run = () => {
    timer = setTimeout(run, tryStep() ? STEP_MS : LOOK_MS)
  }
  if (keepDays + keepGb > 0) run()
  return { [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Returns whether there was anything to delete. */
export function deleteStep({ config, clock }: CliContext, history: Kept): boolean {
  const { keepDays, keepGb } = config()
  if (keepDays > 0 && history.deleteOldest(clock() - keepDays * DAY_MS)) return true
  const isTooLarge = keepGb > 0 && history.usedBytes() > keepGb * BYTES_PER_GB
  return isTooLarge && history.deleteOldest(clock() - YOUNG_MS)
}
