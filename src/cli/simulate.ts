import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

import { Command, InvalidArgumentError, Option } from 'commander'

import {
  type Coin,
  coins,
  isCoin,
  isTimeframe,
  type Timeframe,
  timeframeMs,
} from '#src/core/market.ts'
import { simulate, simulatedSpan, type SimulateOptions } from '#src/ingest/simulator/simulator.ts'
import { type SimulationProgress, storeSimulation } from '#src/ingest/simulator/store-simulation.ts'
import { toRecordedLine } from '#src/venue/polymarket/recorded-line.ts'

import { type CliContext, CliError } from './context.ts'
import { formatCount } from './import-progress.ts'
import { openDataFolder } from './open-data-folder.ts'
import { createSimulateProgress, type SimulateProgress, toRate } from './simulate-progress.ts'

const STDOUT = '-'
const MARKETS_MAX = 100_000
const SNAPSHOTS_MAX = 1_000_000_000

/** The first day of the recordings; fixed, so that the same command makes the same books. */
const DEFAULT_START = '2026-04-13T00:00:00Z'

const help = `
The books follow the statistics of recorded Bitcoin 5-minute markets: depth, sizes, changes a state,
states a second, the run of the price to 0 or 1. No one ever traded them, and wherever they are shown
they are marked as simulated. The same options make the same books, byte for byte; running a command
twice changes nothing.

A 5-minute market has about 3,700 states, twice as many snapshots with both outcomes.

Examples:
  bookfeed simulate                                one 5-minute market of each coin
  bookfeed simulate --coins btc,eth --markets 12   an hour of Bitcoin and Ethereum
  bookfeed simulate --timeframes 5m,15m --start 2026-05-01T08:00:00Z
  bookfeed simulate --seed 2                       other books of the same windows
  bookfeed simulate --coins btc --output books.jsonl.gz
                                                   a file for bookfeed import --simulated
  bookfeed simulate --max-snapshots 100 --output - | head -1

Exit code: 0 when everything was made, 1 when it was stopped or could not be written, 2 for a wrong
option.`

type Flags = {
  seed: string
  coins: Coin[]
  timeframes: Timeframe[]
  markets: number
  start: number
  outcomes: 'both' | 'up' | 'down'
  maxSnapshots?: number
  output?: string
}

type Task = { context: CliContext; options: SimulateOptions; signal: AbortSignal }

/** `bookfeed simulate`: makes order books, into the history or a file. */
export const simulateCommand = (context: CliContext): Command =>
  new Command('simulate')
    .description('make simulated markets, for trying things out and for load')
    .option('--seed <text>', 'any text or number; another seed makes other books', '1')
    .addOption(
      new Option('--coins <list>', 'of which coins')
        .argParser(parseCoins)
        .default([...coins], coins.join(',')),
    )
    .addOption(
      new Option('--timeframes <list>', `of ${listTimeframes()}`)
        .argParser(parseTimeframes)
        .default(['5m'], '5m'),
    )
    .option('--markets <n>', 'windows of each coin and timeframe', parseMarkets, 1)
    .addOption(
      new Option(
        '--start <time>',
        'of the first window: ISO 8601 or Unix milliseconds; moved up to a full one',
      )
        .argParser(parseStart)
        .default(parseStart(DEFAULT_START), DEFAULT_START),
    )
    .addOption(
      new Option('--outcomes <which>', 'whose books')
        .choices(['both', 'up', 'down'])
        .default('both'),
    )
    .option('--max-snapshots <n>', 'end the recording of a market at this number', parseSnapshots)
    .option('--output <file>', 'write JSON lines instead, gzipped if it ends in .gz; - is stdout')
    .addHelpText('after', help)
    .action((flags: Flags) => runSimulate(context, flags))

async function runSimulate(context: CliContext, flags: Flags): Promise<void> {
  const stop = new AbortController()
  const release = context.onStop(() => stop.abort())
  const task = { context, options: toOptions(flags), signal: stop.signal }
  try {
    if (flags.output === undefined) await fillHistory(task)
    else await writeLines(task, flags.output)
  } finally {
    release()
  }
  if (stop.signal.aborted) {
    const isFile = flags.output !== undefined
    const next = isFile ? 'The output is not complete.' : 'Run the same command again for the rest.'
    throw new CliError(`Stopped. ${next}`)
  }
}

function toOptions({ start, maxSnapshots, output: _, ...shared }: Flags): SimulateOptions {
  return { ...shared, startMs: start, maxSnapshotsPerMarket: maxSnapshots }
}

async function fillHistory({ context, options, signal }: Task): Promise<void> {
  const history = openDataFolder(context)
  const view = createSimulateProgress(context)
  const startedMs = context.clock()
  let last: SimulationProgress = { fraction: 0, markets: 0, snapshots: 0, accepted: 0 }
  try {
    for (last of storeSimulation(history, options)) {
      view.update(last.fraction, last.snapshots)
      // Lets a signal in.
      await Bun.sleep(0)
      if (signal.aborted) break
    }
  } finally {
    view.end()
    history.dispose()
  }
  if (!signal.aborted) context.print(summarize(last, context.clock() - startedMs))
}

function summarize({ markets, snapshots, accepted }: SimulationProgress, tookMs: number): string {
  const noun = markets === 1 ? 'finished market' : 'finished markets'
  const made = `${formatCount(snapshots)} snapshots of ${formatCount(markets)} ${noun}`
  if (accepted === 0) return `already simulated: nothing changed (${made})`
  const rest = accepted < snapshots ? `, ${formatCount(accepted)} of them new` : ''
  return `${made} simulated${rest} in ${(tookMs / 1_000).toFixed(1)} s (${toRate(snapshots, tookMs)})`
}

async function writeLines(task: Task, output: string): Promise<void> {
  const { context } = task
  const view = createSimulateProgress(context)
  const startedMs = context.clock()
  const count = { snapshots: 0 }
  try {
    if (output === STDOUT) {
      for await (const text of listTexts(task, view, count)) context.print(text.trimEnd())
    } else {
      await writeFile(output, listTexts(task, view, count))
    }
  } finally {
    view.end()
  }
  const tookMs = context.clock() - startedMs
  const summary = `${formatCount(count.snapshots)} snapshots written (${toRate(count.snapshots, tookMs)})`
  if (output === STDOUT) context.printError(summary)
  else context.print(`${summary} to ${output}`)
}

/** Yields the lines of each batch as one text that ends in a newline. */
async function* listTexts(
  { options, signal }: Task,
  view: SimulateProgress,
  count: { snapshots: number },
): AsyncGenerator<string, void, undefined> {
  const { fromMs, toMs } = simulatedSpan(options)
  for (const { snapshots } of simulate(options)) {
    const lastMs = snapshots.at(-1)?.timestampMs
    if (lastMs === undefined) continue
    count.snapshots += snapshots.length
    yield `${snapshots.map(toRecordedLine).join('\n')}\n`
    view.update((lastMs - fromMs) / (toMs - fromMs), count.snapshots)
    await Bun.sleep(0)
    if (signal.aborted) return
  }
}

async function writeFile(path: string, texts: AsyncIterable<string>): Promise<void> {
  // Never writes over a file: it may hold what nobody can make again.
  const file = createWriteStream(path, { flags: 'wx' })
  const source = Readable.from(texts)
  try {
    await (path.endsWith('.gz') ? pipeline(source, createGzip(), file) : pipeline(source, file))
  } catch (cause) {
    throw new CliError(`Cannot write ${path}: ${toReason(cause)}.`, { cause })
  }
}

function toReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EEXIST') return 'it exists already; remove it or name another file'
  if (code === 'ENOENT') return 'its folder does not exist'
  return code === 'EACCES' ? 'no permission' : String(code ?? error)
}

function parseCoins(text: string): Coin[] {
  return parseList(text, { isKnown: isCoin, known: coins.join(', ') })
}

function parseTimeframes(text: string): Timeframe[] {
  return parseList(text, { isKnown: isTimeframe, known: listTimeframes() })
}

function listTimeframes(): string {
  return Object.keys(timeframeMs).join(', ')
}

/** Reads a list without duplicates, each of which would be a market twice. */
function parseList<T extends string>(
  text: string,
  { isKnown, known }: { isKnown: (item: string) => item is T; known: string },
): T[] {
  const items = new Set<T>()
  for (const item of text.split(',').map((part) => part.trim())) {
    if (!isKnown(item)) {
      throw new InvalidArgumentError(`${JSON.stringify(item)} is none of ${known}.`)
    }
    items.add(item)
  }
  return [...items]
}

const parseMarkets = (text: string): number => parseCount(text, MARKETS_MAX)
const parseSnapshots = (text: string): number => parseCount(text, SNAPSHOTS_MAX)

function parseCount(text: string, max: number): number {
  const count = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= max) return count
  throw new InvalidArgumentError(`It must be an integer from 1 to ${formatCount(max)}.`)
}

function parseStart(text: string): number {
  const startMs = /^\d{12,13}$/.test(text) ? Number(text) : parseIso(text)
  if (Number.isFinite(startMs)) return startMs
  throw new InvalidArgumentError(
    'It must be ISO 8601 with a zone, such as 2026-05-01T08:00:00Z, or Unix milliseconds.',
  )
}

/** A time without a zone would be another moment on another machine. */
function parseIso(text: string): number {
  const zoned = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/
  return zoned.test(text) ? Date.parse(text) : Number.NaN
}
