/** A line or an entry that was not kept, or with neither a file that could not be read to its end. */
export type ImportFault = {
  file: string
  /** Of a file of lines, from 1. */
  line?: number
  /** Of a JSON document: the place of the entry in its array, from 1. */
  entry?: number
  reason: string
}

/** Where in its file a fault is. */
export type ImportPlace = Omit<ImportFault, 'reason'>

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
  /** `stopped` by the signal, `refused` a bad line or entry because of `isStrict`. */
  ending: 'complete' | 'stopped' | 'refused'
  /** Files read to their end. */
  files: number
  filesFailed: number
  /** Files of which nothing could be kept, because all that is in them was refused. */
  filesRefused: string[]
  /** Lines read, blank ones and those of skipped batches included. */
  lines: number
  /** Entries of JSON documents read, without those of skipped documents. */
  entries: number
  /** Snapshots. */
  accepted: number
  duplicates: number
  /** Lines and entries. */
  invalid: number
  /** Facts that could not be read, of entries that were kept without them. */
  factsLeftOut: number
  batches: number
  /** Batches found in the history already, and their lines. */
  batchesSkipped: number
  linesSkipped: number
  /** JSON documents found in the history already. */
  documentsSkipped: number
  trades: { accepted: number; duplicates: number }
  /** What was said of markets: it changed one, or was known already. */
  facts: { accepted: number; duplicates: number }
  /** Markets of a kind that is not kept, and the reasons with how often each was met. */
  leftOut: number
  leftOutReasons: Map<string, number>
  /** Rows of outcome files about windows of which no market is held. */
  windowsNotHeld: number
  /**
   * Of the markets that snapshots were read of, once the import is over: snapshots held, those verified by their hash,
   * and gaps of books that contradict theirs. `mismatched` are the snapshots read that did.
   */
  hashes: { held: number; verified: number; gaps: number; mismatched: number }
  seconds: number
  linesPerSecond: number
}

/** How much was read that is of use: kept now or before, or of a kind that is not kept. */
export const countKnown = (report: ImportReport): number =>
  report.accepted +
  report.duplicates +
  report.trades.accepted +
  report.trades.duplicates +
  report.facts.accepted +
  report.facts.duplicates +
  report.linesSkipped +
  report.documentsSkipped +
  report.leftOut +
  report.windowsNotHeld

/** The report of an import that has not begun. */
export const emptyReport = (): ImportReport => ({
  ending: 'complete',
  files: 0,
  filesFailed: 0,
  filesRefused: [],
  lines: 0,
  entries: 0,
  accepted: 0,
  duplicates: 0,
  invalid: 0,
  factsLeftOut: 0,
  batches: 0,
  batchesSkipped: 0,
  linesSkipped: 0,
  documentsSkipped: 0,
  trades: { accepted: 0, duplicates: 0 },
  facts: { accepted: 0, duplicates: 0 },
  leftOut: 0,
  leftOutReasons: new Map(),
  windowsNotHeld: 0,
  hashes: { held: 0, verified: 0, gaps: 0, mismatched: 0 },
  seconds: 0,
  linesPerSecond: 0,
})
