import { createHash } from 'node:crypto'

import { AppError, type ErrorCode } from '#src/core/errors.ts'
import type { Source } from '#src/core/market.ts'
import type { Clock } from '#src/core/time.ts'
import type { HistoryStore } from '#src/history/history.ts'

import type { BatchScanner } from './batch-scanner.ts'
import type { BookCheck } from './book-check.ts'
import type { ImportFault, ImportPlace, ImportProgress, ImportReport } from './import-report.ts'

export type ImportOptions = {
  history: HistoryStore
  /** Paths of plain or gzipped files; `-` is standard input. */
  files: readonly string[]
  source: Source
  clock: Clock
  /** Stops at the first bad line or entry. Of its batch nothing is then kept, unless the history contradicts it. */
  isStrict: boolean
  /** Stops after the running batch. */
  signal: AbortSignal
  onFault: (fault: ImportFault) => void
  /** Called after each batch. */
  onProgress: (progress: ImportProgress) => void
}

/** An import that is under way. */
export type ImportRun = ImportOptions & {
  scanner: BatchScanner
  check: BookCheck
  report: ImportReport
  /** Markets of which snapshots were read. */
  touched: Set<string>
}

/** Reasons counted one by one; hostile files could name any number of them. */
const REASONS_MAX = 20

/** Names a batch by its content, and by the name of the batch that it continues. */
export function batchIdOf({ source }: ImportRun, bytes: Uint8Array, before = ''): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const line = text.subarray(0, text.indexOf('\n') + 1 || text.length)
  // Versions that left times of receipt out gave the other name: what they imported is read once more. The first
  // line stands for all, because recorders write each line alike.
  const isTimed = line.includes('"_recv"') || line.includes('"receivedAt"')
  const hash = createHash('sha256').update(before).update(bytes).digest('hex')
  return `import:${source}:${hash}${isTimed ? ':timed' : ''}`
}

/** Reports a bad line or entry, and ends a strict import. */
export function refuse({ report, isStrict, onFault }: ImportRun, fault: ImportFault): void {
  report.invalid++
  if (isStrict) report.ending = 'refused'
  onFault(fault)
}

/** Names facts that were left out of what is kept. */
export function warn(
  { report, onFault }: ImportRun,
  place: ImportPlace,
  reasons: readonly string[],
) {
  report.factsLeftOut += reasons.length
  for (const reason of reasons) onFault({ ...place, reason: `${reason}; only this was left out` })
}

/** Counts a market of a kind that is not kept. */
export function leaveOut({ report }: ImportRun, reason: string): void {
  const { leftOutReasons: reasons } = report
  const key = reasons.has(reason) || reasons.size < REASONS_MAX ? reason : 'other reasons'
  reasons.set(key, (reasons.get(key) ?? 0) + 1)
  report.leftOut++
}

/** Returns a function that says whether everything read since was kept. */
export function watchLosses({ report }: ImportRun): () => boolean {
  const losses = () => report.invalid + report.leftOut + report.factsLeftOut
  const before = losses()
  return () => report.ending === 'complete' && losses() === before
}

/** What concerns single records: the rest of an import goes on. */
const refusals: ReadonlySet<ErrorCode> = new Set(['market_conflict', 'damaged'])

/** Writes to the history; returns why it refuses what it was given, if it does. */
export function tryWrite(write: () => void): AppError | undefined {
  try {
    write()
    return undefined
  } catch (error) {
    if (error instanceof AppError && refusals.has(error.code)) return error
    throw error
  }
}
