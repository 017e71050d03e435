/** Verifies a file on a thread of low priority. */

import { prepareStore } from '#src/database/stores.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { count } from '#src/platform/count.ts'
import type { JobReport } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'
import { BACKGROUND, defineWorker, type Parent } from '#src/platform/worker.ts'

import { type CliContext, listFaultsIn } from './extension.ts'

type Start = {
  verifies: 'history' | 'ledger'
  path: string
  /** The files of extensions in this folder are verified with the history. */
  dataPath: string
  nowMs: number
}
type Progress = { done: number; total: number }

const FAULTS_SHOWN_MAX = 20

/** Resolves with a description of the sound file; rejects with the first faults. */
export async function verifyInWorker(
  context: CliContext,
  start: Start,
  report: JobReport,
): Promise<string> {
  const thread = verifyWorker(context).start(start, ({ done, total }) =>
    report.progress(done, total),
  )
  const { faults, count: found, held } = await thread.result
  if (found > 0) throw new Error(`${count(found, 'fault')} in ${held}: ${faults.join(' ')}`)
  return `Sound: ${held}.`
}

function* listFaults(
  { verifies, path, nowMs }: Start,
  ofExtensions: readonly Iterable<string>[],
  onProgress: (done: number, total: number) => void,
): Generator<string, string> {
  if (verifies === 'ledger') {
    using ledger = openLedger(path, { nowMs, isReadOnly: true })
    const head = ledger.auditHead()
    yield* ledger.verifyAudit()
    return head === undefined
      ? 'no rows'
      : `${count(head.seq, 'row')}, head ${head.seq}:${head.hash}`
  }
  const history = openHistory(path, { isReadOnly: true, chunkCacheBytes: 0 })
  yield* history.verify(onProgress)
  for (const faults of ofExtensions) yield* faults
  const { markets, snapshots } = history.totals()
  history.dispose()
  return `${count(snapshots, 'snapshot')} of ${count(markets, 'market')}`
}

function verify(
  start: Start,
  ofExtensions: readonly Iterable<string>[],
  onProgress: (done: number, total: number) => void,
) {
  const faults: string[] = []
  let count = 0
  let held = start.path
  try {
    const found = listFaults(start, ofExtensions, onProgress)
    let next = found.next()
    for (; next.done !== true; next = found.next()) {
      if (++count <= FAULTS_SHOWN_MAX) faults.push(next.value)
    }
    held = next.value
  } catch (error) {
    count++
    faults.push(messageOf(error))
  }
  return { faults, count, held }
}

export const verifyWorker = ({ extensions }: Pick<CliContext, 'extensions'>) =>
  defineWorker(
    { name: 'verify', purpose: 'verifies', nice: BACKGROUND },
    async (start: Start, parent: Parent<Progress>) => {
      await prepareStore()
      const ofExtensions = await listFaultsIn(start.dataPath, extensions)
      return verify(start, ofExtensions, (done, total) => parent.send({ done, total }))
    },
  )
