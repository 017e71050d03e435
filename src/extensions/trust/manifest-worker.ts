/** Makes manifests on a thread of its own, which gives way to the one that serves. */

import { prepareStore } from '#src/database/stores.ts'
import { openHistory } from '#src/history/open.ts'
import { createReportedJob, type JobReport } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'
import { defineWorker, type Parent, type Thread } from '#src/platform/worker.ts'
import { type CliContext, type ListFiles, listFilesIn } from '#src/server/extension.ts'
import { historyOf, jobLockFor } from '#src/server/open-data-folder.ts'
import { startTimer } from '#src/server/server-jobs.ts'

import { makeManifests } from './day-manifest.ts'

type Start = { path: string; dataPath: string; nowMs: number }

const HOUR_MS = 3_600_000
/** A start has enough to do without one. */
const FIRST_MS = 60_000

/** Makes what is due, soon after the start and every hour. */
export function startManifests(
  context: CliContext,
  report?: JobReport,
  { firstMs = FIRST_MS } = {},
) {
  const { clock, config, printError } = context
  const lock = jobLockFor(context, 'history', 'manifests')
  let thread: Thread<string[], 'stop'> | undefined
  const job = createReportedJob({ startTimer, clock, report, lock }, async () => {
    try {
      const { dataPath } = config()
      thread = manifestWorker(context).start({
        path: historyOf(context),
        dataPath,
        nowMs: clock(),
      })
      const made = await thread.result
      const outcome = made.length === 0 ? 'Nothing was due.' : `Made ${made.join(', ')}.`
      return { outcome, waitMs: HOUR_MS }
    } catch (error) {
      const outcome = messageOf(error)
      printError(`bookfeed: manifests cannot be made: ${outcome}`, 'error')
      return { outcome, isFailed: true, waitMs: HOUR_MS }
    } finally {
      thread = undefined
    }
  })
  job.hasten(firstMs)
  return {
    async dispose(): Promise<void> {
      // Each manifest is made in one transaction: what is due is made by the next process.
      thread?.send('stop')
      await job.dispose()
    },
  }
}

async function makeDue(
  { path, nowMs }: Start,
  listFiles: ListFiles,
  parent: Parent<never, 'stop'>,
) {
  let isStopped = false
  void parent.receive(() => {
    isStopped = true
  })
  const history = openHistory(path, { chunkCacheBytes: 0 })
  const made: string[] = []
  for (const manifest of makeManifests(history, nowMs, listFiles)) {
    if (manifest) made.push(`${manifest.day} r${manifest.revision}`)
    // Messages come in between.
    await Bun.sleep(0)
    if (isStopped) break
  }
  history.dispose()
  return made
}

export const manifestWorker = ({ extensions }: Pick<CliContext, 'extensions'>) =>
  defineWorker(
    { name: 'manifests', purpose: 'makes them', isLowPriority: true },
    async (start: Start, parent: Parent<never, 'stop'>) => {
      await prepareStore(start.path)
      return makeDue(start, await listFilesIn(start.dataPath, extensions), parent)
    },
  )
