import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'

import { AppError } from '#src/core/errors.ts'
import type { Source } from '#src/core/market.ts'
import type { Snapshot } from '#src/core/snapshot.ts'
import type { Clock } from '#src/core/time.ts'
import type { HistoryStore } from '#src/store/history.ts'

import { type BatchScanner, createBatchScanner, type ScannedBatch } from './batch-scanner.ts'
import { closeEndedMarkets } from './ended-markets.ts'
import type { LineBatch } from './line-batcher.ts'
import { type LineSourceItem, readLineBatches, SourceFault } from './line-source.ts'

/**
 * Brings recorded snapshots from files into the history. A batch is named by the hash of its bytes,
 * so that an import can be broken off anywhere, even by a power cut, and simply run again: what is
 * in the history already is recognised without being looked at line by line.
 */

/** Small enough that little is lost when an import is killed, large enough for one transaction. */
const BATCH_LINES_MAX = 2000
const BATCH_BYTES_MAX = 8_388_608

export type ImportOptions = {
  history: HistoryStore
  /** Paths of plain or gzipped files; `-` is standard input. */
  files: readonly string[]
  source: Source
  clock: Clock
  /** Stops at the first bad line, of whose batch nothing is then kept. */
  isStrict: boolean
  /** Stops after the running batch. */
  signal: AbortSignal
  onFault: (fault: ImportFault) => void
  /** Called after each batch. */
  onProgress: (progress: ImportProgress) => void
}

/** A line that was not kept, or without `line` a file that could not be read to its end. */
export type ImportFault = { file: string; line?: number; reason: string }

export type ImportProgress = {
  file: string
  /** Bytes of this file as they are on disk. */
  bytesRead: number
  /** Undefined for a pipe. */
  bytesTotal: number | undefined
  /** Lines of all files so far. */
  lines: number
}

export type ImportReport = {
  /** `stopped` by the signal, `refused` a bad line because of `isStrict`. */
  ending: 'complete' | 'stopped' | 'refused'
  /** Files read to their end. */
  files: number
  filesFailed: number
  /** Lines read, blank ones and those of skipped batches included. */
  lines: number
  accepted: number
  duplicates: number
  invalid: number
  batches: number
  /** Batches found in the history already, and their lines. */
  batchesSkipped: number
  linesSkipped: number
  seconds: number
  linesPerSecond: number
}

type Run = ImportOptions & { scanner: BatchScanner; report: ImportReport }

/** Imports files in their order. Rejects only for faults of the history, such as a full disk. */
export async function importFiles(options: ImportOptions): Promise<ImportReport> {
  const { history, files, clock } = options
  const report = emptyReport()
  const run: Run = { ...options, scanner: createBatchScanner(), report }
  const startedMs = clock()
  for (const file of files) {
    await importFile(run, file)
    if (report.ending !== 'complete') break
  }
  if (report.ending === 'complete') closeEndedMarkets(history, clock())
  report.seconds = (clock() - startedMs) / 1000
  report.linesPerSecond = report.seconds > 0 ? Math.round(report.lines / report.seconds) : 0
  return report
}

const emptyReport = (): ImportReport => ({
  ending: 'complete',
  files: 0,
  filesFailed: 0,
  lines: 0,
  accepted: 0,
  duplicates: 0,
  invalid: 0,
  batches: 0,
  batchesSkipped: 0,
  linesSkipped: 0,
  seconds: 0,
  linesPerSecond: 0,
})

async function importFile(run: Run, file: string): Promise<void> {
  const { report, signal } = run
  const limits = { linesMax: BATCH_LINES_MAX, bytesMax: BATCH_BYTES_MAX }
  try {
    for await (const item of readAhead(readLineBatches(file, { ...limits, signal }))) {
      signal.throwIfAborted()
      takeItem(run, file, item)
      if (report.ending !== 'complete') return
      // Reading ahead can leave nothing to wait for; signals and timers need their turn.
      await setImmediate()
    }
    report.files++
  } catch (error) {
    if (signal.aborted) report.ending = 'stopped'
    else if (error instanceof SourceFault) {
      report.filesFailed++
      run.onFault({ file, reason: error.message })
    } else throw error
  }
}

/** Asks for each item before the one before it is worked on, so that both happen at once. */
async function* readAhead<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  try {
    let next = items.next()
    for (;;) {
      const { done, value } = await next
      if (done) return
      next = items.next()
      // A failure is met when its turn comes; until then it must not count as unhandled.
      next.catch(() => {})
      yield value
    }
  } finally {
    await items.return(undefined)
  }
}

function takeItem(run: Run, file: string, item: LineSourceItem): void {
  const { report } = run
  if (item.kind === 'lines') {
    report.lines += item.lineCount
    takeBatch(run, file, item)
  } else {
    report.lines++
    refuseLine(run, { file, line: item.line, reason: 'longer than a snapshot can be' })
  }
  const { bytesRead, bytesTotal } = item
  run.onProgress({ file, bytesRead, bytesTotal, lines: report.lines })
}

function takeBatch(run: Run, file: string, batch: LineBatch): void {
  const { history, report, scanner } = run
  const id = `import:${run.source}:${createHash('sha256').update(batch.bytes).digest('hex')}`
  report.batches++
  if (history.findBatch(id) !== undefined) {
    report.batchesSkipped++
    report.linesSkipped += batch.lineCount
    return
  }
  const invalidBefore = report.invalid
  const scanned = scanner.scan(batch, (line, reason) => {
    refuseLine(run, { file, line, reason })
    return report.ending === 'complete'
  })
  if (report.ending !== 'complete') return
  // Only a batch that was kept whole is skipped the next time: what is refused is named each time,
  // and may be right by then. What could be kept is kept under other names.
  const batchId = report.invalid > invalidBefore ? `${id}:rest` : id
  append(run, { file, batchId, scanned, from: 0, to: scanned.lines.length })
}

/** The scanned lines `[from, to)` of a batch. */
type Part = { file: string; batchId: string; scanned: ScannedBatch; from: number; to: number }

/**
 * Keeps a part of a batch, or when the history finds a contradiction in it, its halves, down to the
 * single lines that contradict.
 */
function append(run: Run, part: Part): void {
  const { file, scanned, from, to } = part
  const conflict = tryAppend(run, toId(part), scanned.snapshots.slice(from, to))
  if (conflict === undefined) return
  const line = scanned.lines[from] ?? 0
  if (to - from === 1) {
    refuseLine(run, { file, line, reason: conflict.message })
  } else if (run.isStrict) {
    // To find the very line, others would have to be kept.
    const reason = `this line or one of the ${to - from - 1} after it: ${conflict.message}`
    refuseLine(run, { file, line, reason })
  } else {
    const middle = Math.ceil((from + to) / 2)
    append(run, { ...part, to: middle })
    append(run, { ...part, from: middle })
  }
}

const toId = ({ batchId, scanned, from, to }: Part): string =>
  to - from === scanned.lines.length ? batchId : `${batchId}:${from}-${to}`

function tryAppend(
  { history, source, report }: Run,
  id: string,
  snapshots: readonly Snapshot[],
): AppError | undefined {
  try {
    const { kind, accepted, duplicates } = history.append({ id, source, snapshots })
    const isNew = kind === 'appended'
    report.accepted += isNew ? accepted : 0
    report.duplicates += isNew ? duplicates : snapshots.length
    return undefined
  } catch (error) {
    if (error instanceof AppError && error.code === 'market_conflict') return error
    throw error
  }
}

function refuseLine({ report, isStrict, onFault }: Run, fault: ImportFault): void {
  report.invalid++
  if (isStrict) report.ending = 'refused'
  onFault(fault)
}
