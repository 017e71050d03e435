/** A command of this program that a server runs every hour. */
import { setPriority } from 'node:os'

import { createReportedJob, type JobReport, startTimer } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import type { CliContext } from './extension.ts'
import { outcomeOf, spawn } from './scheduled-backups.ts'

const MINUTE_MS = 60_000
/** The first run does not delay the start. */
const FIRST_MS = 2 * MINUTE_MS
const EVERY_MS = 60 * MINUTE_MS
const LOW_PRIORITY = 10

/** `failed` begins the line of a failure in the log. */
type Command = { args: string[]; failed: string }

/** Runs it in a separate process of low priority. */
export function startCommand(
  context: CliContext,
  { args, failed }: Command,
  report: JobReport | undefined,
) {
  const { clock, printError } = context
  let child: ReturnType<typeof spawn> | undefined
  let isDisposed = false
  const job = createReportedJob({ startTimer, clock, report }, async () => {
    child = spawn(context, args)
    setPriority(child.pid, LOW_PRIORITY)
    try {
      return { outcome: await outcomeOf(child), waitMs: EVERY_MS }
    } catch (error) {
      const outcome = messageOf(error)
      if (!isDisposed) printError(`bookfeed: ${failed}: ${outcome}`, 'error')
      return { outcome, isFailed: true, waitMs: EVERY_MS }
    }
  })
  job.hasten(FIRST_MS)
  return {
    async dispose(): Promise<void> {
      isDisposed = true
      child?.kill()
      await job.dispose()
    },
  }
}
