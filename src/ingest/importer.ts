/**
 * Brings recorded files into the history. What comes again is recognised, so an import can be
 * broken off anywhere, even by a power cut, and simply run again.
 */
import { setImmediate } from 'node:timers/promises'

import { ifSound } from '#src/core/errors.ts'
import { type Market, timeframeMs } from '#src/core/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { LINE_BYTES_MAX } from '#src/wire/snapshot-json.ts'

import { importDocument } from './import-document.ts'
import { createLineImport } from './import-lines.ts'
import { createOutcomeImport, isOutcomeHeader } from './import-outcomes.ts'
import {
  emptyReport,
  type ImportOptions,
  type ImportReport,
  type ImportRun,
  refuse,
} from './import-run.ts'
import { batchLines, type LineBatch, openText, SourceFault, type TextFile } from './line-source.ts'

/** Small enough that little is lost when an import is killed, large enough for one transaction. */
const batchLimits = { linesMax: 2000, bytesMax: 8_388_608 }

type TakeBatch = (file: string, batch: LineBatch) => void
type Importer = ImportRun & { takeLines: TakeBatch }

/** Takes outcome tables last: they add to markets held. Rejects only for faults of the history. */
export async function importFiles(options: ImportOptions): Promise<ImportReport> {
  const { history, files, clock, signal } = options
  const report = emptyReport()
  const run: ImportRun = { ...options, report, touched: new Set() }
  const importer: Importer = { ...run, takeLines: createLineImport(run) }
  const startedMs = clock()
  const queue: Queued[] = files.map((path) => ({ path }))
  for (const { path, opened, isLast } of queue) {
    await guard(run, path, async () => {
      const file = opened ?? (await openText(path, signal))
      const kind = kindOf(file.head)
      if (kind !== 'outcomes' || isLast) await importFile(importer, file, kind)
      else queue.push(await putOff(file))
    })
    if (report.ending !== 'complete') break
  }
  if (report.ending === 'complete') closeEndedMarkets(history, clock())
  countHeld(run)
  report.seconds = (clock() - startedMs) / 1000
  report.linesPerSecond = report.seconds > 0 ? Math.round(report.lines / report.seconds) : 0
  return report
}

type Queued = { path: string; opened?: TextFile; isLast?: true }

/** A pipe cannot be opened twice, so it waits open; other files would take up memory. */
async function putOff(file: TextFile): Promise<Queued> {
  const isPipe = file.progress.bytesTotal === undefined
  if (!isPipe) await file.close()
  return { path: file.path, isLast: true, ...(isPipe ? { opened: file } : {}) }
}

function countHeld({ history, report: { hashes }, touched }: ImportRun): void {
  for (const conditionId of touched) {
    const held = ifSound(() => {
      const market = history.findMarket(conditionId)
      return market && { ...market, gaps: history.gaps(market) }
    })
    if (held === undefined) continue
    const { snapshotCounts, verifiedCounts, gaps } = held
    hashes.held += snapshotCounts.up + snapshotCounts.down
    hashes.verified += verifiedCounts.up + verifiedCounts.down
    hashes.gaps += gaps.filter(({ reason }) => reason === 'hash_mismatch').length
  }
}

async function guard(run: ImportRun, file: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (run.signal.aborted) run.report.ending = 'stopped'
    else if (error instanceof SourceFault) {
      run.report.filesFailed++
      run.onFault({ file, reason: error.message })
    } else throw error
  }
}

type FileKind = 'lines' | 'document' | 'outcomes'

/** An array, or an object whose first line does not end it, is a document. */
function kindOf(head: Uint8Array): FileKind {
  const text = new TextDecoder().decode(head).trimStart()
  const [line = ''] = text.split('\n', 1)
  if (text.startsWith('[') || line.trimEnd() === '{') return 'document'
  return isOutcomeHeader(line) ? 'outcomes' : 'lines'
}

async function importFile(importer: Importer, file: TextFile, kind: FileKind): Promise<void> {
  const { report } = importer
  const { invalid } = report
  const known = countKnown(report)
  if (kind === 'document') await importDocument(importer, file)
  else {
    const take = kind === 'outcomes' ? createOutcomeImport(importer) : importer.takeLines
    await importLines(importer, file, take)
  }
  if (report.ending === 'complete') report.files++
  if (report.invalid > invalid && countKnown(report) === known) report.filesRefused.push(file.path)
}

/** How much was read that is of use: kept now or before, or of a kind that is not kept. */
const countKnown = ({ trades, facts, ...report }: ImportReport): number =>
  [report, trades, facts].reduce((sum, each) => sum + each.accepted + each.duplicates, 0) +
  report.linesSkipped +
  report.documentsSkipped +
  report.leftOut +
  report.windowsNotHeld

async function importLines(run: ImportRun, file: TextFile, take: TakeBatch): Promise<void> {
  const { report, signal } = run
  const { path } = file
  for await (const item of readAhead(batchLines(file, batchLimits))) {
    signal.throwIfAborted()
    if (item.kind === 'lines') {
      report.lines += item.lineCount
      take(path, item)
    } else {
      report.lines++
      refuse(run, { file: path, line: item.line }, `longer than ${LINE_BYTES_MAX} bytes`)
    }
    run.onProgress({ file: path, bytesRead: item.bytesRead, lines: report.lines })
    if (report.ending !== 'complete') return
    // Reading ahead can leave nothing to wait for; signals and timers need their turn.
    await setImmediate()
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

/**
 * Closes every open market whose window is over. It asks the history, not the memory of a run, so
 * that a run that was killed leaves nothing open once another one has ended. A market that is
 * damaged is left as it is.
 */
export function closeEndedMarkets(history: MarketHistory, nowMs: number): void {
  for (const conditionId of history.listUnclosed()) {
    ifSound(() => {
      const market = history.findMarket(conditionId)
      if (market && isOver(market, nowMs)) history.close(conditionId)
    })
  }
}

/**
 * A market without snapshots has nothing to seal, and they may yet come. One without a known window
 * lasts at most its timeframe beyond the last snapshot held.
 */
function isOver({ windowEndMs, lastSnapshotMs, timeframe }: Market, nowMs: number): boolean {
  if (lastSnapshotMs === undefined) return false
  return (windowEndMs ?? lastSnapshotMs + timeframeMs[timeframe]) < nowMs
}
