import { accessSync, constants, existsSync, statSync } from 'node:fs'

import { Command, InvalidArgumentError } from 'commander'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { ImportFault, ImportProgress, ImportReport } from '#src/ingest/import-run.ts'
import { importFiles } from '#src/ingest/importer.ts'
import { readFaultOf, STDIN } from '#src/ingest/line-source.ts'
import { openRehearsal } from '#src/ingest/rehearsal.ts'
import { count, formatCount } from '#src/platform/count.ts'
import { codeOf } from '#src/platform/message.ts'

import { commandError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { historyOf, isShared, openDataFolder } from '../server/open-data-folder.ts'
import { createProgress, type Progress } from '../server/progress.ts'
import { assertRoomLeft, workSignal } from '../server/room.ts'

const FAULTS_SHOWN_MAX = 20

const help = `
A FILE contains one of the following kinds, plain or gzipped; its content determines the kind. The order of the files
does not matter. - is standard input.

- Snapshots, one JSON object a line:
    {"id":"52af…","assetId":"1044…","conditionId":"0x1342…","symbol":"btc",
     "outcome":"down","timeframe":"5m","timestamp":"2026-04-14T08:00:10.672Z",
     "bids":[{"price":"0.49","size":"309.24"},{"price":"0.5","size":"2747.1"}],
     "asks":[{"price":"0.52","size":"173.98"},{"price":"0.51","size":"299.43"}]}

- Last trade prices, one a line:
    {"conditionId":"0x1342…","slug":"btc-updown-5m-1776153600",
     "timestamp":"2026-04-14T08:00:10.672Z","lastTradePrice":"0.510"}

- Markets or events of the venue's catalogue (Gamma), as a JSON array, as one object or one a line.

- Tokens, as a JSON array or one a line; a winner may be null:
    {"slug":"btc-updown-5m-1776153600","conditionId":"0x1342…",
     "assetId":"1044…","outcome":"down","winner":"down"}

- Raw messages that a recorder stored (BOOKFEED_RAW): pass all files of a period together, in the order of
  their names. The import makes exactly the rows that the recorder stored.

- Messages of the venue's market socket and books of its REST routes, one or an array of them a line;
  the member _recv is the time of receipt:
    {"event_type":"price_change","market":"0x1342…","price_changes":[…],
     "timestamp":"1776153610672"}

- The same messages in a member (raw, payload, payloadUtf8, msg, message, data, frame or body) as text or as an
  object, with the time of receipt beside it (received_ms, recv_ts_ns, local_timestamp, ts, …) as a date-time or in
  seconds, milliseconds, microseconds or nanoseconds, recognised by its magnitude. Other lines of such a capture,
  such as pings and messages of other feeds, are counted and passed over. Messages of the venue's socket of
  reference prices (topic crypto_prices_…) become prices of coins.

- Books under other names, one a line or in a list (snapshots, results, books or data): the token as token_id or
  assetId, the market as market_id or condition_id or not at all, the time as ts or event_ts_ms, the levels as
  {"p","s"}, as pairs or as JSON text.

- Trades and resolutions of the venue's Data API and markets of its order book API, as returned: a list, a page
  or one object. Resolutions, and markets in their short form, add to markets that are known.

- Exports of this service as NDJSON, CSV or Parquet, and its markets (GET /v1/{coin}/markets), which
  CSV and Parquet need.

- CSV of the Tardis kind: book_snapshot_N and incremental_book_L2, whose symbol is a token's id, or a
  condition id or slug with :up or :down after it. Parquet of the PMXT kind.

- CSV or Parquet with one state per row: ts_ms, outcome, window_slug and clob_token_id, and levels in
  columns such as bid_p1, bid_s1, ask_p1 and ask_s1.

- The same with both outcomes a row: up_bid_p1, down_bid_p1 and so on, or up_bids and down_bids as JSON.

- CSV or Parquet with one level per row (token_id, timestamp, side, price, size), with one book per row whose bids and asks
  are JSON, with one message per row (raw), and with one trade of the Data API per row.

- Outcomes of 5-minute windows of a coin, as CSV with a first line that names the columns timestamp
  (the window's start in Unix seconds), outcome, btc_open and btc_close, or eth_open …. They add to the
  markets of their windows; rows of windows without a market are kept, and wait for it.

Messages and tables of books name their markets only, so they are read after everything else. A file of books may
list them in any order. Changes are read in the order in which they came: those that come after a later
message are refused.

The members of an object determine its kind, so the lines of a file may be mixed. Prices and sizes are
strings or numbers with at most six decimals; a side may be sorted either way. A timestamp has a zone (Z or an offset
such as +00:00) and a T or a space before the time of day, or is Unix milliseconds, or seconds below 100000000000; objects before 2020, in the future or more than
two days from the window of their market are refused. Other members are ignored. A snapshot id of 40 hex
digits is stored as the venue's hash of the book, and the book is checked against it: if they contradict
each other between books that match, a gap is recorded.

--dry-run reads everything and changes nothing: it prints as what each file is read, how much would be imported,
and what not and why. It knows the markets of the history, and does not compare what the history already contains.
--map names columns of tables: --map token_id=tok --map price=px.

You can stop an import at any time, or run it twice: it recognises and skips what the history already
contains. A bad line or entry is reported with its file and number and skipped; all others are imported.
Records of coins or kinds that are not stored are counted with the reason, and so are messages of their
markets if the same command names the catalogue or tokens. A JSON array may have up to 64 MiB.

Examples:
  bookfeed import books.jsonl                    add the snapshots of a file
  bookfeed import day-1.jsonl.gz day-2.jsonl.gz  several files, in this order
  bookfeed import books.jsonl.gz markets.json outcomes.csv.gz
                                                 books, and facts of their markets
  zstd -dc books.zst | bookfeed import -         any other compression
  bookfeed import raw/raw-2026-11-22T*.jsonl.gz  the messages of a day
  bookfeed import wire.jsonl.gz tokens.json      messages, and their tokens
  bookfeed import --strict books.jsonl           stop at the first bad line
  bookfeed import --dry-run wire.jsonl.gz        say what would be read, and why not
  bookfeed import --map token_id=tok books.csv   name a column of a table

Exit code: 0 if all files were read and no line or entry was refused; 1 if one was refused (all others
are imported), if a file cannot be read, if --strict found a bad line, or if the import was stopped.`

type Options = {
  strict?: true
  simulated?: true
  dryRun?: true
  map?: ReadonlyMap<string, string>
}

export const importCommand = (context: CliContext): Command =>
  new Command('import')
    .description('add recorded snapshots, trades and facts of markets from files')
    .argument('<file...>', 'files to read, plain or gzipped; - is standard input')
    .option('--strict', 'stop at the first bad line or entry, and discard its batch')
    .option('--simulated', 'mark markets as simulated if their file does not state a source')
    .option('--dry-run', 'print what would be read, what not, and why; change nothing')
    .option('--map <ours=theirs>', 'name a column of tables; may be repeated', addColumn)
    .addHelpText('after', help)
    .action((files: string[], options: Options) => runImport(context, files, options))

/** Adds a column: the name in the file, and our name for it. */
function addColumn(
  text: string,
  before: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const [, ours, theirs] = /^([^=]+)=(.+)$/.exec(text) ?? []
  if (ours === undefined || theirs === undefined)
    throw new InvalidArgumentError('It must be OURS=THEIRS, such as token_id=tok.')
  return new Map([...before, [theirs, ours]])
}

/** The history to import into; with `--dry-run` a temporary one. */
async function openTarget(
  context: CliContext,
  isDryRun: boolean,
): Promise<MarketHistory & Disposable> {
  if (!isDryRun) return openDataFolder(context)
  const place = historyOf(context)
  if (isShared(context, 'history')) return openRehearsal(await openDataFolder(context))
  const isThere = existsSync(place)
  return openRehearsal(
    isThere ? openHistory(place, { isReadOnly: true, chunkCacheBytes: 0 }) : undefined,
  )
}

async function runImport(context: CliContext, files: string[], options: Options): Promise<void> {
  const sizes = checkFiles(files)
  const isDryRun = options.dryRun === true
  using history = await openTarget(context, isDryRun)
  const progress = createProgress(context, 'importing', 'lines')
  using stop = workSignal(context)
  const report = await importFiles({
    history,
    files,
    source: options.simulated ? 'simulated' : 'recorded',
    clock: context.clock,
    isStrict: options.strict === true,
    signal: stop.signal,
    onFault: createFaultPrinter(progress.note),
    ...(isDryRun && { onFile: (file, kind) => context.print(`${nameOf(file)}: read as ${kind}`) }),
    ...(options.map && { columns: options.map }),
    onProgress: createImportProgress(progress, [...sizes.values()]),
  }).finally(progress.end)
  for (const line of summarize(report, isDryRun)) context.print(line)
  assertRoomLeft(stop.signal)
  assertComplete(report)
}

/** Shows the progress of importing files of these sizes; a size is undefined for a pipe. */
function createImportProgress({ update, seconds }: Progress, sizes: (number | undefined)[]) {
  const total = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0)
  const isKnown = total > 0 && !sizes.includes(undefined)
  let current = ''
  let bytesBefore = 0
  let bytesHere = 0
  return ({ file, bytesRead, lines }: ImportProgress): void => {
    if (file !== current) bytesBefore += bytesHere
    current = file
    bytesHere = bytesRead
    const fraction = isKnown ? Math.min(1, (bytesBefore + bytesHere) / total) : undefined
    const left = fraction && formatSeconds((seconds() * (1 - fraction)) / fraction)
    update(lines, fraction, left ? [`${left} left`] : [])
  }
}

function formatSeconds(seconds: number): string {
  const whole = Math.ceil(seconds)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}

/** Checks all files before the first is read; returns their sizes. */
function checkFiles(files: readonly string[]): Map<string, number | undefined> {
  const sizes = new Map<string, number | undefined>()
  const faults: string[] = []
  for (const file of files) {
    if (sizes.has(file)) faults.push(`${file}: named twice`)
    sizes.set(file, undefined)
    if (file === STDIN) continue
    try {
      const entry = statSync(file)
      accessSync(file, constants.R_OK)
      if (entry.isDirectory()) faults.push(`${file}: a folder, not a file`)
      if (entry.isFile()) sizes.set(file, entry.size)
    } catch (error) {
      faults.push(`${file}: ${readFaultOf(error) ?? `cannot be read (${codeOf(error)})`}`)
    }
  }
  if (faults.length > 0) throw commandError(`Nothing was imported. ${faults.join('; ')}.`)
  return sizes
}

const nameOf = (file: string): string => (file === STDIN ? 'standard input' : file)

function createFaultPrinter(note: (line: string) => void): (fault: ImportFault) => void {
  let shown = 0
  return ({ file, line, entry, reason }) => {
    const isPart = line !== undefined || entry !== undefined
    if (isPart && ++shown > FAULTS_SHOWN_MAX) {
      if (shown === FAULTS_SHOWN_MAX + 1) note('further bad lines are counted, not shown')
      return
    }
    const name = nameOf(file)
    const place = entry === undefined ? '' : ` entry ${entry}:`
    note(line === undefined ? `${name}:${place} ${reason}` : `${name}:${line}: ${reason}`)
  }
}

const forms =
  "snapshots, trades, the venue's markets or tokens, its messages or those that a recorder stored, outcomes, exports of this service, or a table of books"

function assertComplete({ ending, filesFailed, filesRefused, invalid }: ImportReport): void {
  if (ending === 'stopped') throw commandError('Stopped. Run the same command again to continue.')
  if (ending === 'refused') {
    throw commandError(
      'Stopped at a bad line because of --strict. Correct the line and run the command again.',
    )
  }
  if (filesFailed > 0)
    throw commandError(`Could not read ${count(filesFailed, 'file')} to the end.`)
  const expected = filesRefused.length > 0 ? ` A file must contain ${forms}: see --help.` : ''
  if (invalid > 0) {
    throw commandError(`Some lines or entries were refused: see above.${expected}`)
  }
  if (expected !== '')
    throw commandError(`A file contains nothing that can be imported.${expected}`)
}

function summarize(report: ImportReport, isDryRun: boolean): string[] {
  const { trades, lastPrices, prices, facts, ending } = report
  const factsOf = (number: number): Count => [number, 'fact of a market', 'facts of markets']
  const kept = listCounts(
    [report.accepted, 'snapshot'],
    [trades.accepted, 'trade'],
    [lastPrices.accepted, 'last trade price'],
    [prices.accepted, 'price of a coin', 'prices of coins'],
    factsOf(facts.accepted),
  )
  const read = listCounts([report.lines, 'line'], [report.entries, 'entry', 'entries'])
  const before = listCounts(
    [report.linesSkipped, 'line'],
    [report.documentsSkipped, 'JSON document'],
  )
  const held = listCounts(
    [report.duplicates, 'snapshot'],
    [trades.duplicates, 'trade'],
    [lastPrices.duplicates, 'last trade price'],
    [prices.duplicates, 'price of a coin', 'prices of coins'],
    factsOf(facts.duplicates),
  )
  const speed = `${report.seconds.toFixed(1)} s (${formatCount(report.linesPerSecond)} lines/s)`
  const known = before || held ? 'already imported' : 'nothing to keep'
  return [
    `${isDryRun ? 'would import' : 'imported'} ${kept || '0 snapshots'} from ${read || '0 lines'} in ${speed}`,
    before && `imported before: ${before}`,
    held && `held already: ${held}`,
    report.withoutGaps > 0
      ? 'snapshots and exports do not list gaps: shorter gaps of their source are unknown'
      : '',
    ...describeHashes(report),
    report.withoutVersion > 0
      ? `warning: ${count(report.withoutVersion, 'entry of a market states no version; its', 'entries of markets state no version; their')} ids were read as those of v1`
      : '',
    ...describeLosses(report),
    ending === 'complete' && kept === '' && report.waiting.accepted === 0
      ? `${known}: nothing changed`
      : '',
  ].filter((line) => line !== '')
}

type Count = [number: number, noun: string, plural?: string]

function listCounts(...counts: Count[]): string {
  const parts = counts.filter(([number]) => number > 0).map((each) => count(...each))
  const last = parts.pop() ?? ''
  return parts.length === 0 ? last : `${parts.join(', ')} and ${last}`
}

function describeHashes({ hashes }: ImportReport): string[] {
  const { held, verified, mismatched, unknown, gaps } = hashes
  if (verified + mismatched + unknown === 0) return []
  const books = count(mismatched, 'book contradicts its', 'books contradict their')
  const left = gaps > 0 ? `; ${count(gaps, 'gap')} until the next verified book` : ''
  return [
    `verified by the venue's hash: ${formatCount(verified)} of ${count(held, 'book')} held of these markets`,
    mismatched > 0 ? `warning: ${books} hash${left}` : '',
    unknown > 0
      ? `warning: nothing known reproduces the ${count(unknown, 'hash', 'hashes')} of markets without a verified book; these books are kept unverified, without a gap`
      : '',
  ]
}

function describeLosses(report: ImportReport): string[] {
  const { waiting, rowsNotHeld, leftOutReasons, factsLeftOut, invalid } = report
  const bad = count(invalid, ...badThings(report))
  const rowsWaiting = waiting.accepted + waiting.duplicates
  return [
    ...Array.from(
      leftOutReasons,
      ([reason, number]) => `left out ${count(number, 'record')} of markets: ${reason}`,
    ),
    ...Array.from(
      report.passedOver,
      ([what, number]) =>
        `passed over, because they are no messages of the venue: ${formatCount(number)} ${what}`,
    ),
    rowsWaiting > 0
      ? count(
          rowsWaiting,
          'row of outcomes waits for its market',
          'rows of outcomes wait for their markets',
        )
      : '',
    rowsNotHeld > 0 ? `left out ${count(rowsNotHeld, 'row')} of markets that are not held` : '',
    factsLeftOut > 0 ? `warning: left out ${count(factsLeftOut, 'fact')} of markets` : '',
    invalid > 0 ? `warning: left out ${bad}` : '',
    ...report.filesRefused.map((file) => `warning: nothing of ${file} was imported`),
  ]
}

function badThings({ lines, entries }: ImportReport): [string, string] {
  if (entries === 0) return ['bad line', 'bad lines']
  return lines === 0 ? ['bad entry', 'bad entries'] : ['bad line or entry', 'bad lines or entries']
}
