/** Verifies a file on a thread of its own, which gives way to the one that serves. */
import { setPriority } from 'node:os'
import { parentPort, Worker, workerData } from 'node:worker_threads'

import { listLogFaults } from '#src/database/sqlite/log-scan.ts'
import { createFileStore, filesPathOf } from '#src/files/store.ts'
import { verifyDayFiles } from '#src/files/verify.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { count } from '#src/platform/count.ts'
import type { JobReport } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'
import { isPostgres } from '#src/postgres/address.ts'

type Start = {
  verifies: 'history' | 'ledger'
  path: string
  /** With the files of days, which are verified with the history. */
  dataPath: string
  nowMs: number
}
type Message = { done: number; total: number } | { faults: string[]; count: number; held: string }

const FAULTS_SHOWN_MAX = 20
/** On Linux of one thread, elsewhere of the whole process. */
const LOW_PRIORITY = 10

/** Resolves with what was found sound; rejects with the first faults. */
export function verifyAside(start: Start, report: JobReport): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const worker = new Worker(import.meta.filename, { workerData: start })
  worker.unref()
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('The thread that verifies has ended.')))
  worker.on('message', (message: Message) => {
    if ('total' in message) report.progress(message.done, message.total)
    else if (message.count === 0) resolve(`Sound: ${message.held}.`)
    else
      reject(new Error(`${message.count} faults in ${message.held}: ${message.faults.join(' ')}`))
  })
  return promise
}

function* listFaults({ verifies, path, dataPath, nowMs }: Start): Generator<string, string> {
  if (!isPostgres(path)) yield* listLogFaults(path)
  if (verifies === 'ledger') {
    using ledger = openLedger(path, { nowMs })
    const head = ledger.auditHead()
    yield* ledger.verifyAudit()
    return head === undefined ? 'no rows' : `${head.seq} rows, head ${head.seq}:${head.hash}`
  }
  const history = openHistory(path, { isReadOnly: true, chunkCacheBytes: 0 })
  const onProgress = (done: number, total: number) => {
    parentPort?.postMessage({ done, total } satisfies Message)
  }
  yield* history.verify(onProgress)
  yield* verifyDayFiles(createFileStore(filesPathOf(dataPath)))
  const { markets, snapshots } = history.totals()
  history.dispose()
  return `${count(snapshots, 'snapshot')} of ${count(markets, 'market')}`
}

function run(start: Start): void {
  if (process.platform === 'linux') setPriority(LOW_PRIORITY)
  const faults: string[] = []
  let count = 0
  let held = start.path
  try {
    const found = listFaults(start)
    let next = found.next()
    for (; next.done !== true; next = found.next()) {
      if (++count <= FAULTS_SHOWN_MAX) faults.push(next.value)
    }
    held = next.value
  } catch (error) {
    count++
    faults.push(messageOf(error))
  }
  parentPort?.postMessage({ faults, count, held } satisfies Message)
}

// Other threads of ours load this file, too.
if ((workerData as Start | null)?.verifies !== undefined) run(workerData as Start)
