/**
 * Imports recorded files into the history. Repeated input is recognized, so an interrupted import,
 * even by a power cut, can simply be run again.
 */

import { setImmediate } from 'node:timers/promises'

import { ifSound, isDamaged } from '#src/domain/errors.ts'
import { isVerifiedMarket, type Market, timeframeMs } from '#src/domain/market.ts'
import { LINE_BYTES_MAX } from '#src/domain/wire/snapshot-json.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { Fault, isFault } from '#src/platform/fault.ts'

import { describeBinary } from './binary-kinds.ts'
import { importDocument, readEntries } from './import-document.ts'
import { createLineImport } from './import-lines.ts'
import { createMessageImport, holdsMessages } from './import-messages.ts'
import { createOutcomeImport, isOutcomeHeader } from './import-outcomes.ts'
import {
  emptyReport,
  type ImportOptions,
  type ImportPlace,
  type ImportReport,
  type ImportRun,
  passOver,
  refuse,
} from './import-run.ts'
import { createTableImport, isTableHeader, splitCells } from './import-tables.ts'
import { LINES_OF_TEXT } from './kept-forms.ts'
import { batchLines, isPlainText, type LineBatch, openText, type TextFile } from './line-source.ts'
import { isParquet, openParquet } from './parquet-rows.ts'
import { findForms, formTexts, type Row } from './table-forms.ts'

/** Small enough that a killed import loses little, large enough for one transaction. */
const batchLimits = { linesMax: 2000, bytesMax: 8_388_608 }

/** Columns of an unknown table that a message lists. */
const COLUMNS_SHOWN_MAX = 12

type TakeBatch = (file: string, batch: LineBatch) => Promise<void>
type Importer = ImportRun & {
  takeLines: TakeBatch
  messages: ReturnType<typeof createMessageImport>
}

/**
 * Imports files in order, except that messages and tables of books follow the files that describe
 * markets, to which they only add, and tables of outcomes come last, so that rows that wait for a
 * market are counted. Rejects only for faults of the history, such as a full disk.
 */
export async function importFiles(options: ImportOptions): Promise<ImportReport> {
  const { history, files, clock, signal } = options
  const report = emptyReport()
  const run: ImportRun = {
    ...options,
    report,
    touched: new Set(),
    unknown: new Map(),
    marketsLeftOut: new Map(),
  }
  const messages = createMessageImport(run)
  const importer: Importer = { ...run, takeLines: createLineImport(run), messages }
  const startedMs = clock()

  /** Imports the queued files of these kinds and returns the others. */
  async function take(queue: readonly Queued[], kinds: readonly FileKind[]): Promise<Queued[]> {
    const others: Queued[] = []
    for (const { path, opened } of queue) {
      if (report.ending !== 'complete') return []
      await guard(run, path, async () => {
        const file = opened ?? (await openText(path, signal))
        const kind = kindOf(file)
        const binary = kind === 'parquet' ? undefined : describeBinary(path, file.head)
        if (binary !== undefined) {
          await file.close()
          throw new Fault(binary, { kind: 'source' })
        }
        if (kinds.includes(kind)) await importFile(importer, file, kind)
        else others.push(await putOff(file))
      })
    }
    return others
  }

  const namingOnly = await take(
    files.map((path) => ({ path })),
    ['lines', 'document'],
  )
  const withBooks = await take(namingOnly, ['additions'])
  const outcomeTables = await take(withBooks, ['messages', 'table', 'parquet'])
  await messages.end()
  await take(outcomeTables, ['outcomes'])
  if (report.ending === 'complete') await closeEndedMarkets(history, clock())
  countHeld(run)
  report.seconds = (clock() - startedMs) / 1000
  report.linesPerSecond = report.seconds > 0 ? Math.round(report.lines / report.seconds) : 0
  return report
}

type Queued = { path: string; opened?: TextFile }

/**
 * Defers a file. A pipe cannot be opened twice, so it stays open; other files are closed to save
 * memory.
 */
async function putOff(file: TextFile): Promise<Queued> {
  const isPipe = file.progress.bytesTotal === undefined
  if (!isPipe) await file.close()
  return { path: file.path, ...(isPipe ? { opened: file } : {}) }
}

function countHeld({ history, report: { hashes }, touched, unknown }: ImportRun): void {
  for (const conditionId of touched) {
    const held = ifSound(() => {
      const market = history.findMarket(conditionId)
      return market && { ...market, gaps: history.gaps(market) }
    })
    if (held === undefined) continue
    const { snapshotCounts, verifiedCounts, gaps } = held
    hashes.held += snapshotCounts.up + snapshotCounts.down
    hashes.verified += verifiedCounts.up + verifiedCounts.down
    if (!isVerifiedMarket(held)) hashes.unknown += unknown.get(conditionId) ?? 0
    hashes.gaps += gaps.filter(({ reason }) => reason === 'hash_mismatch').length
  }
}

async function guard(run: ImportRun, file: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (run.signal.aborted) run.report.ending = 'stopped'
    else if (isFault(error, 'source')) {
      run.report.filesFailed++
      run.onFault({ file, reason: error.message })
    } else throw error
  }
}

type FileKind = 'lines' | 'document' | 'additions' | 'outcomes' | 'messages' | 'table' | 'parquet'

/** Header line of a CSV table with any columns. */
const headerPattern = /^\s*"?[a-z_][^{,]*(,[^{,]+)+$/i

/** Objects that name their market only by condition id are read after those that describe it. */
const additionPattern = /"(?:payouts|mts)"\s*:/

/** True for an array, or an object that continues after its first line. */
const isDocument = (text: string): boolean =>
  text.startsWith('[') || /^\{(?:.*[[{,])?\s*$/.test(text.split('\n', 1)[0] ?? '')

/** The text from its first line that is neither a log line nor a ping; a table header qualifies. */
function beginningOf(head: Uint8Array): string {
  let text = new TextDecoder().decode(head).trimStart()
  for (;;) {
    const [line = ''] = text.split('\n', 1)
    const isTable = isTableHeader(line) || isOutcomeHeader(line) || headerPattern.test(line)
    if (line.length === text.length || isTable || !isPlainText(line)) return text
    text = text.slice(line.length).trimStart()
  }
}

function kindOf({ head, path }: TextFile): FileKind {
  if (isParquet(path, new TextDecoder().decode(head).trimStart())) return 'parquet'
  const text = beginningOf(head)
  const [line = ''] = text.split('\n', 1)
  // Cells of a table may contain messages.
  if (isTableHeader(line)) return 'table'
  if (holdsMessages(text)) return 'messages'
  if (additionPattern.test(text)) return 'additions'
  if (isDocument(text)) return 'document'
  if (isOutcomeHeader(line)) return 'outcomes'
  return headerPattern.test(line) ? 'table' : 'lines'
}

async function importFile(importer: Importer, file: TextFile, kind: FileKind): Promise<void> {
  const { report, messages } = importer
  const { invalid } = report
  const countTaken = () => countKnown(report) + messages.messagesTaken()
  const taken = countTaken()
  const name = kindNames[kind]
  if (name !== undefined) importer.onFile?.(file.path, name)
  const rowsTaken = await importers[kind](importer, file)
  if (report.ending === 'complete') report.files++
  // The first line of a table is never blank, and a capture may contain only other feeds.
  const isBlank =
    report.ending === 'complete' && ['lines', 'document', 'additions', 'messages'].includes(kind)
  const isBare = report.invalid > invalid || isBlank || rowsTaken === 0
  if (isBare && countTaken() === taken) report.filesRefused.push(file.path)
}

/** The names of kinds; a table is named by its form. */
const kindNames: Partial<Record<FileKind, string>> = {
  lines: 'snapshots, trades or facts of markets, one a line',
  document: 'a JSON document of markets, tokens or trades',
  additions: 'facts of markets that are known',
  outcomes: 'a table of outcomes of windows',
  messages: 'messages or books of the venue',
}

/** An import function; imports of tables return the number of imported rows. */
type Import = (importer: Importer, file: TextFile) => Promise<unknown>

const importers: Record<FileKind, Import> = {
  lines: (importer, file) => importLines(importer, file, importer.takeLines),
  document: importDocument,
  additions: (importer, file) =>
    isDocument(beginningOf(file.head))
      ? importDocument(importer, file)
      : importLines(importer, file, importer.takeLines),
  outcomes: (importer, file) => importLines(importer, file, createOutcomeImport(importer)),
  messages: importMessages,
  table: importTable,
  parquet: importParquet,
}

/** Imports messages: one or an array of them per line, or a document that spans lines. */
async function importMessages(importer: Importer, file: TextFile): Promise<void> {
  const { messages, report } = importer
  const [line = ''] = beginningOf(file.head).split('\n', 1)
  if (line.includes('"')) {
    await importLines(importer, file, messages.take)
    return
  }
  for await (const { entry, text } of readEntries(file)) {
    report.entries++
    await messages.takeEntry({ file: file.path, entry }, text)
  }
}

async function importTable(importer: Importer, file: TextFile): Promise<number> {
  const head = new TextDecoder().decode(file.head)
  const beginning = beginningOf(file.head)
  const [line = ''] = beginning.split('\n', 1)
  const headerLine = head.slice(0, head.length - beginning.length).split('\n').length
  const names = renamed(importer, splitCells(line))
  const columns = new Map(names.map((name, at) => [name, at]))
  const table = tableOf(importer, file.path, names)
  const decoder = new TextDecoder()
  await importLines(importer, file, async (path, { bytes, firstLine }) => {
    for (const [index, text] of decoder.decode(bytes).split('\n').entries()) {
      const place = { file: path, line: firstLine + index }
      if (place.line === headerLine || text.trim() === '') continue
      if (place.line < headerLine) {
        passOver(importer, LINES_OF_TEXT)
        continue
      }
      const cells = splitCells(text)
      if (cells.length !== names.length)
        refuse(importer, place, `${cells.length} columns where the first line has ${names.length}`)
      else await table.take(place, (column) => cells[columns.get(column) ?? -1] ?? '')
    }
  })
  return table.end()
}

const renamed = ({ columns }: ImportOptions, names: readonly string[]): string[] =>
  names.map((name) => columns?.get(name) ?? name)

function tableOf(importer: Importer, file: string, names: readonly string[]) {
  const forms = findForms(names)
  const [form] = forms
  if (form !== undefined) {
    const pair = forms.length > 1 ? ', both outcomes a row' : ''
    importer.onFile?.(file, `a table: ${form.name}${pair}`)
    const imports = forms.map((each) =>
      createTableImport(importer, each, importer.messages.takeEntry),
    )
    return {
      async take(place: ImportPlace, row: Row): Promise<void> {
        for (const each of imports) await each.take(place, row)
      },
      async end(): Promise<number> {
        const rows = await Array.fromAsync(imports, (each) => each.end())
        return Math.max(...rows)
      },
    }
  }
  const shown = names.slice(0, COLUMNS_SHOWN_MAX).join(', ')
  throw new Fault(
    `its columns (${shown}${names.length > COLUMNS_SHOWN_MAX ? ', …' : ''}) are those of none of: ${formTexts.join('; ')}. Name its columns as one of these does, with --map OURS=THEIRS`,
    { kind: 'source' },
  )
}

async function importParquet(importer: Importer, file: TextFile): Promise<number | undefined> {
  const { path, progress } = file
  await file.close()
  if (progress.bytesTotal === undefined)
    throw new Fault('a Parquet file is read from its end, and a pipe has none; save it first', {
      kind: 'source',
    })
  const parquet = await openParquet(path)
  const names = renamed(importer, parquet.columns)
  const theirs = new Map(names.map((name, at) => [name, parquet.columns[at] ?? name]))
  const table = tableOf(importer, path, names)
  for await (const rows of parquet.rows()) {
    for (const row of rows) {
      const place = { file: path, entry: ++importer.report.entries }
      await table.take(place, (column) => row(theirs.get(column) ?? column))
      if (importer.report.ending !== 'complete') return undefined
    }
    importer.signal.throwIfAborted()
  }
  return table.end()
}

/** The number of understood items: stored now or earlier, or passed over. */
const countKnown = ({
  trades,
  lastPrices,
  prices,
  facts,
  waiting,
  ...report
}: ImportReport): number =>
  [report, trades, lastPrices, prices, facts, waiting].reduce(
    (sum, each) => sum + each.accepted + each.duplicates,
    0,
  ) +
  report.linesSkipped +
  report.documentsSkipped +
  report.leftOut

async function importLines(run: ImportRun, file: TextFile, take: TakeBatch): Promise<void> {
  const { report, signal } = run
  const { path } = file
  for await (const item of readAhead(batchLines(file, batchLimits))) {
    signal.throwIfAborted()
    if (item.kind === 'lines') {
      report.lines += item.lineCount
      await take(path, item)
    } else {
      report.lines++
      refuse(run, { file: path, line: item.line }, `longer than ${LINE_BYTES_MAX} bytes`)
    }
    run.onProgress({ file: path, bytesRead: item.bytesRead, lines: report.lines })
    if (report.ending !== 'complete') return
    // Reading ahead can leave nothing to wait for, and signals and timers need their turn.
    await setImmediate()
  }
}

/** Requests each item before the previous one is processed, so that both happen concurrently. */
async function* readAhead<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  try {
    let next = items.next()
    for (;;) {
      const { done, value } = await next
      if (done) return
      next = items.next()
      // A failure is thrown when its turn comes; until then it must not count as unhandled.
      next.catch(() => {})
      yield value
    }
  } finally {
    await items.return(undefined)
  }
}

/**
 * Closes every open market whose window is over. The markets are read from the history, not
 * remembered by the run, so that the next completed import also closes those of a killed one.
 * Damaged markets are left unchanged.
 */
export async function closeEndedMarkets(history: MarketHistory, nowMs: number): Promise<void> {
  for (const conditionId of history.listUnclosed()) {
    const market = ifSound(() => history.findMarket(conditionId))
    if (market === undefined || !isOver(market, nowMs)) continue
    await history.close(conditionId).catch((error: unknown) => {
      if (!isDamaged(error)) throw error
    })
  }
}

/**
 * True if a market is over. A market without snapshots has nothing to seal and may still receive
 * some. A market without a known window lasts at most its timeframe beyond the last stored
 * snapshot.
 */
function isOver({ windowEndMs, lastSnapshotMs, timeframe }: Market, nowMs: number): boolean {
  if (lastSnapshotMs === undefined) return false
  return (windowEndMs ?? lastSnapshotMs + timeframeMs[timeframe]) < nowMs
}
