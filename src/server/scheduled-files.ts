/** What a server does by the clock beside its work. */
import { setPriority } from 'node:os'

import { createShownJob, type JobReport } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import type { CliContext } from './context.ts'
import { outcomeOf, spawn, startBackups } from './scheduled-backups.ts'
import { startTimer } from './server-jobs.ts'

const MINUTE_MS = 60_000
/** A start has enough to do without. */
const FIRST_MS = 2 * MINUTE_MS
const EVERY_MS = 60 * MINUTE_MS
const LOW_PRIORITY = 10

type Command = { args: string[]; failed: string; firstMs: number }

/** Undefined where none are to be made. */
export function startFiles(context: CliContext, report?: JobReport, firstMs = FIRST_MS) {
  if (!context.config().makesFiles) return undefined
  const command = { args: ['files', 'make'], failed: 'files could not be made', firstMs }
  return startCommand(context, command, report)
}

/** Undefined where there is no archive. */
function startArchive(context: CliContext, report?: JobReport) {
  if (context.config().archive === '') return undefined
  const failed = 'old books could not be archived'
  return startCommand(context, { args: ['archive'], failed, firstMs: FIRST_MS }, report)
}

/** Runs a command of this program every hour, in a process of its own. */
function startCommand(
  context: CliContext,
  { args, failed, firstMs }: Command,
  report: JobReport | undefined,
) {
  const { clock, printError } = context
  let child: ReturnType<typeof spawn> | undefined
  let isDisposed = false
  const job = createShownJob({ startTimer, clock, report }, async () => {
    child = spawn(context, args)
    // It gives way to the one that serves.
    setPriority(child.pid, LOW_PRIORITY)
    try {
      return { outcome: await outcomeOf(child), waitMs: EVERY_MS }
    } catch (error) {
      const outcome = messageOf(error)
      if (!isDisposed) printError(`bookfeed: ${failed}: ${outcome}`, 'error')
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
  report?: Record<'backup' | 'files' | 'archive', JobReport>,
) => [
  startBackups(context, report?.backup),
  startFiles(context, report?.files),
  startArchive(context, report?.archive),
]
