/** Makes manifests on a thread of its own, which gives way to the one that serves. */
import { setPriority } from 'node:os'
import { parentPort, Worker, workerData } from 'node:worker_threads'

import { createFileStore, filesPathOf } from '#src/files/store.ts'
import { makeManifests } from '#src/history/day-manifest.ts'
import { openHistory } from '#src/history/open.ts'
import { createShownJob, type JobReport } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import type { CliContext } from './context.ts'
import { historyOf, turnOf } from './open-data-folder.ts'
import { startTimer } from './server-jobs.ts'

type Start = { manifestsOf: string; dataPath: string; nowMs: number }
type Message = { made: string[] } | { fault: string }

const HOUR_MS = 3_600_000
/** A start has enough to do without one. */
const FIRST_MS = 60_000
/** On Linux of one thread, elsewhere of the whole process. */
const LOW_PRIORITY = 10

/** Makes what is due, soon after the start and every hour. */
export function startManifests(
  context: CliContext,
  report?: JobReport,
  { firstMs = FIRST_MS } = {},
) {
  const { clock, config, printError } = context
  const turn = turnOf(context, 'history', 'manifests')
  let worker: Worker | undefined
  const job = createShownJob({ startTimer, clock, report, turn }, async () => {
    try {
      const { dataPath } = config()
      const start = { manifestsOf: historyOf(config()), dataPath, nowMs: clock() }
      worker = new Worker(import.meta.filename, { workerData: start satisfies Start })
      const made = await answerOf(worker)
      const outcome = made.length === 0 ? 'Nothing was due.' : `Made ${made.join(', ')}.`
      return { outcome, waitMs: HOUR_MS }
    } catch (error) {
      const outcome = messageOf(error)
      printError(`bookfeed: manifests cannot be made: ${outcome}`, 'error')
      return { outcome, isFailed: true, waitMs: HOUR_MS }
    } finally {
      worker = undefined
    }
  })
  job.hasten(firstMs)
  return {
    async dispose(): Promise<void> {
      // Each manifest is made in one transaction: what is due is made by the next process.
      worker?.postMessage('stop')
      await job.dispose()
    },
  }
}

function answerOf(worker: Worker): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>()
  worker.unref()
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('The thread that makes them has ended.')))
  worker.on('message', (message: Message) => {
    if ('made' in message) resolve(message.made)
    else reject(new Error(message.fault))
  })
  return promise
}

async function run({ manifestsOf, dataPath, nowMs }: Start): Promise<void> {
  if (process.platform === 'linux') setPriority(LOW_PRIORITY)
  let isStopped = false
  parentPort?.on('message', () => {
    isStopped = true
  })
  try {
    const history = openHistory(manifestsOf, { chunkCacheBytes: 0 })
    const made: string[] = []
    const files = createFileStore(filesPathOf(dataPath))
    for (const manifest of makeManifests(history, nowMs, files.digestsOf)) {
      if (manifest) made.push(`${manifest.day} r${manifest.revision}`)
      // Messages come in between.
      await Bun.sleep(0)
      if (isStopped) break
    }
    history.dispose()
    parentPort?.postMessage({ made } satisfies Message)
  } catch (error) {
    parentPort?.postMessage({ fault: messageOf(error) } satisfies Message)
  }
  parentPort?.close()
}

// Other threads of ours load this file, too.
if ((workerData as Start | null)?.manifestsOf !== undefined) void run(workerData as Start)
