/** Makes manifests on a separate low-priority thread. */

import { prepareStore, type StorePlace } from '#src/database/stores.ts'
import { openHistoryAt } from '#src/history/open.ts'
import { createReportedJob, type JobReport, startTimer } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'
import { BACKGROUND, defineWorker, type Parent, type Thread } from '#src/platform/worker.ts'
import { type CliContext, type ListFiles, listFilesIn } from '#src/server/extension.ts'
import { jobLockFor, placeOf } from '#src/server/open-data-folder.ts'

import { makeManifests } from './day-manifest.ts'

type Start = { place: StorePlace; dataPath: string; nowMs: number }

const HOUR_MS = 3_600_000
/** The delay after the start, which is busy enough. */
const FIRST_MS = 60_000

/** Makes due manifests soon after the start and every hour. */
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
        place: placeOf(context, 'history'),
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
      // Each manifest is made in one transaction: the next process makes the remaining ones.
      thread?.send('stop')
      await job.dispose()
    },
  }
}

async function makeDue(
  { place, nowMs }: Start,
  listFiles: ListFiles,
  parent: Parent<never, 'stop'>,
) {
  let isStopped = false
  void parent.receive(() => {
    isStopped = true
  })
  // A copy is as new as its database then, or this rejects.
  const history = await openHistoryAt(place, { chunkCacheBytes: 0 })
  const made: string[] = []
  try {
    for await (const manifest of makeManifests(history, nowMs, listFiles)) {
      if (manifest) made.push(`${manifest.day} r${manifest.revision}`)
      // Lets messages arrive.
      await Bun.sleep(0)
      if (isStopped) break
    }
    return made
  } finally {
    history.dispose()
  }
}

export const manifestWorker = ({ extensions }: Pick<CliContext, 'extensions'>) =>
  defineWorker(
    { name: 'manifests', purpose: 'makes them', nice: BACKGROUND },
    async (start: Start, parent: Parent<never, 'stop'>) => {
      await prepareStore()
      return makeDue(start, await listFilesIn(start.dataPath, extensions), parent)
    },
  )
