import { createHash } from 'node:crypto'

import { AppError, type ErrorCode } from '#src/core/errors.ts'
import type { Source } from '#src/core/market.ts'
import { RecordFault } from '#src/core/record-fault.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

/** Where in its file something is; with neither number it is the file itself. */
export type ImportPlace = {
  file: string
  /** Of a file of lines, from 1. */
  line?: number
  /** Of a JSON document: the place of the entry in its array, from 1. */
  entry?: number
}

/**
 * A line or an entry that was not kept, a fact that was left out of one, or a file
 * that could not be read to its end.
 */
export type ImportFault = ImportPlace & { reason: string }

export type ImportProgress = {
  file: string
  /** Bytes of this file as they are on disk. */
  bytesRead: number
  /** Undefined for a pipe. */
  bytesTotal: number | undefined
  /** Lines of all files so far. */
  lines: number
}

export type ImportOptions = {
  history: MarketHistory
  /** Paths of plain or gzipped files; `-` is standard input. */
  files: readonly string[]
  source: Source
  clock: Clock
  /**
   * Stops at the first bad line or entry. Of its batch nothing is then kept,
   * unless the history contradicts it.
   */
  isStrict: boolean
  /** Stops after the running batch. */
  signal: AbortSignal
  onFault: (fault: ImportFault) => void
  /** Called after each batch. */
  onProgress: (progress: ImportProgress) => void
}

/** An import that is under way. */
export type ImportRun = ImportOptions & {
  report: ImportReport
  /** Markets of which snapshots were read. */
  touched: Set<string>
}

export type ImportReport = ReturnType<typeof emptyReport>

/** The report of an import that has not begun. */
export const emptyReport = () => ({
  /** `stopped` by the signal, `refused` a bad line or entry because of `isStrict`. */
  ending: 'complete' as 'complete' | 'stopped' | 'refused',
  /** Files read to their end. */
  files: 0,
  filesFailed: 0,
  /** Files of which nothing could be kept, because all that is in them was refused. */
  filesRefused: [] as string[],
  /** Lines read, blank ones and those of skipped batches included. */
  lines: 0,
  /** Entries of JSON documents read, without those of skipped documents. */
  entries: 0,
  /** Snapshots. */
  accepted: 0,
  duplicates: 0,
  /** Lines and entries. */
  invalid: 0,
  /** Facts that could not be read, of entries that were kept without them. */
  factsLeftOut: 0,
  batches: 0,
  /** Batches found in the history already, and their lines. */
  batchesSkipped: 0,
  linesSkipped: 0,
  /** JSON documents found in the history already. */
  documentsSkipped: 0,
  trades: { accepted: 0, duplicates: 0 },
  /** What was said of markets: it changed one, or was known already. */
  facts: { accepted: 0, duplicates: 0 },
  /** Markets of a kind that is not kept, and the reasons with how often each was met. */
  leftOut: 0,
  leftOutReasons: new Map<string, number>(),
  /** Rows of outcome files about windows of which no market is held. */
  windowsNotHeld: 0,
  /**
   * Of the markets that snapshots were read of, once the import is over: snapshots held, those
   * verified by their hash, and gaps of books that contradict theirs. `mismatched` are the
   * snapshots read that did.
   */
  hashes: { held: 0, verified: 0, gaps: 0, mismatched: 0 },
  seconds: 0,
  linesPerSecond: 0,
})

/** Reasons counted one by one; hostile files could name any number of them. */
const REASONS_MAX = 20

/** Names a batch by its content, and by the name of the batch that it continues. */
export function batchIdOf({ source }: ImportRun, bytes: Uint8Array, before = ''): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const line = text.subarray(0, text.indexOf('\n') + 1 || text.length)
  // Versions that left times of receipt out gave the other name: what they imported is read once
  // more. The first line represents all, because recorders write each line alike.
  const isTimed = line.includes('"_recv"') || line.includes('"receivedAt"')
  const hash = createHash('sha256').update(before).update(bytes).digest('hex')
  return `import:${source}:${hash}${isTimed ? ':timed' : ''}`
}

/** What concerns single records in the history: the import continues with the next. */
const refusals: ReadonlySet<ErrorCode> = new Set(['market_conflict', 'damaged'])

/**
 * Reads or writes records. Returns why they are refused: what is wrong with them, or
 * why the history cannot keep them.
 */
export function refusalOf(work: () => void): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    const isRefusal = error instanceof AppError && refusals.has(error.code)
    if (error instanceof RecordFault || isRefusal) return error.message
    throw error
  }
}

/** Reports a bad line or entry, and ends a strict import. */
export function refuse(
  { report, isStrict, onFault }: ImportRun,
  place: ImportPlace,
  reason: string,
): void {
  report.invalid++
  if (isStrict) report.ending = 'refused'
  onFault({ ...place, reason })
}

/** Reports facts that were left out of what is kept. */
export function warn(
  { report, onFault }: ImportRun,
  place: ImportPlace,
  reasons: readonly string[],
): void {
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
