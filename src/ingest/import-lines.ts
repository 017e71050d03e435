import type { Snapshot } from '#src/core/snapshot.ts'

import type { ScannedBatch } from './batch-scanner.ts'
import { countHashes, type HashGap } from './book-check.ts'
import { batchIdOf, type ImportRun, refuse, tryWrite, watchLosses } from './import-run.ts'
import type { LineBatch } from './line-batcher.ts'
import { keepRecords } from './record-keeper.ts'

/**
 * Takes files of lines, batch after batch. A batch is named by the hash of its bytes, so that an import can be
 * broken off anywhere and simply run again: what is in the history is not looked at line by line.
 */
export function createLineImport(run: ImportRun): (file: string, batch: LineBatch) => void {
  const { history, report, scanner, check, source } = run
  /** The batch before, if it was skipped. */
  let skipped: LineBatch | undefined

  /** Tells the check of the books before the first that is new. */
  function catchUp(): void {
    if (skipped !== undefined) check.check(scanner.scan(skipped, () => true).snapshots)
    skipped = undefined
  }

  return (file, batch) => {
    const id = batchIdOf(run, batch.bytes)
    report.batches++
    if (history.findBatch(id) !== undefined) {
      report.batchesSkipped++
      report.linesSkipped += batch.lineCount
      skipped = batch
      return
    }
    catchUp()
    const isWhole = watchLosses(run)
    const scanned = scanner.scan(batch, (line, reason) => {
      refuse(run, { file, line, reason })
      return report.ending === 'complete'
    })
    if (report.ending !== 'complete') return
    const { snapshots, gaps } = check.check(scanned.snapshots)
    countHashes(report, snapshots)
    const part = { file, lines: scanned.lines, snapshots, from: 0, to: snapshots.length }
    const isPlain = scanned.records.length === 0 && gaps.length === 0
    // Only a batch that was kept whole is skipped the next time: what is refused is named each time,
    // and may be right by then. What could be kept is kept under a name that says how much that was.
    append(run, { ...part, batchId: isPlain && isWhole() ? id : `${id}:rest${snapshots.length}` })
    if (isPlain || report.ending !== 'complete') return
    keepOthers(run, { file, id, scanned, gaps })
    // With its name alone, once all of it is there.
    if (isWhole()) history.append({ id, source, snapshots: [] })
  }
}

type Others = { file: string; id: string; scanned: ScannedBatch; gaps: readonly HashGap[] }

/** Keeps what is in a batch besides its snapshots. */
function keepOthers(run: ImportRun, { file, id, scanned, gaps }: Others): void {
  const { history, report } = run
  const records = scanned.records.map(({ line, record }) => ({ place: { file, line }, record }))
  keepRecords(run, id, records)
  for (const { conditionId, assetId, gap } of gaps) {
    // Books that were refused leave no gap: their asset is not one of the market.
    if (history.findMarket(conditionId)?.assetIds[gap.outcome] !== assetId) continue
    history.putGaps(conditionId, [gap])
    report.hashGaps++
  }
}

/** The snapshots `[from, to)` of a batch; `lines[i]` is the number of the line of `snapshots[i]`. */
type Part = {
  file: string
  batchId: string
  lines: readonly number[]
  snapshots: readonly Snapshot[]
  from: number
  to: number
}

/**
 * Keeps a part of a batch, or when the history finds a contradiction in it, its halves, down to the
 * single lines that contradict.
 */
function append(run: ImportRun, part: Part): void {
  const { file, lines, from, to } = part
  const conflict = tryWrite(() => appendSnapshots(run, part))
  if (conflict === undefined) return
  const line = lines[from] ?? 0
  if (to - from === 1) {
    refuse(run, { file, line, reason: conflict.message })
  } else if (run.isStrict) {
    // To find the very line, others would have to be kept.
    const reason = `this line or one of the ${to - from - 1} after it: ${conflict.message}`
    refuse(run, { file, line, reason })
  } else {
    const middle = Math.ceil((from + to) / 2)
    append(run, { ...part, to: middle })
    append(run, { ...part, from: middle })
  }
}

function appendSnapshots({ history, source, report }: ImportRun, part: Part): void {
  const { batchId, from, to } = part
  const isWhole = to - from === part.lines.length
  const id = isWhole ? batchId : `${batchId}:${from}-${to}`
  const snapshots = isWhole ? part.snapshots : part.snapshots.slice(from, to)
  const { kind, accepted, duplicates } = history.append({ id, source, snapshots })
  const isNew = kind === 'appended'
  report.accepted += isNew ? accepted : 0
  report.duplicates += isNew ? duplicates : snapshots.length
}
