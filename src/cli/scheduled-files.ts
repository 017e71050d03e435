/** What a server does by the clock in a process of its own: backups, and files of final days. */
import { setPriority } from 'node:os'

import { createShownJob, type JobReport } from '#src/lib/job.ts'
import { messageOf } from '#src/lib/message.ts'

import type { CliContext } from './context.ts'
import { outcomeOf, spawn, startBackups } from './scheduled-backups.ts'
import { startTimer } from './server-jobs.ts'

const MINUTE_MS = 60_000
/** A start has enough to do without. */
const FIRST_MS = 2 * MINUTE_MS
const EVERY_MS = 60 * MINUTE_MS
const LOW_PRIORITY = 10

/** Undefined where none are to be made. */
export function startFiles(context: CliContext, report?: JobReport, firstMs = FIRST_MS) {
  const { clock, config, printError } = context
  if (!config().makesFiles) return undefined
  let child: ReturnType<typeof spawn> | undefined
  let isDisposed = false
  const job = createShownJob({ startTimer, clock, report }, async () => {
    child = spawn(context, ['files', 'make'])
    // It gives way to the one that serves.
    setPriority(child.pid, LOW_PRIORITY)
    try {
      return { outcome: await outcomeOf(child), waitMs: EVERY_MS }
    } catch (error) {
      const outcome = messageOf(error)
      if (!isDisposed) printError(`bookfeed: files could not be made: ${outcome}`, 'error')
      return { outcome, isFailed: true, waitMs: EVERY_MS }
    }
  })
  job.hasten(firstMs)
  return {
    async dispose(): Promise<void> {
      isDisposed = true
      child?.kill()
      await job.dispose()
    },
  }
}

/** Those that are not configured are undefined. */
export const startScheduled = (
  context: CliContext,
  report?: { backup: JobReport; files: JobReport },
) => [startBackups(context, report?.backup), startFiles(context, report?.files)]
