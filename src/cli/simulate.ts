import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

import { Command, InvalidArgumentError, Option } from 'commander'

import { coins, timeframes } from '#src/domain/market.ts'
import { parseMoment } from '#src/domain/time.ts'
import { count, formatCount } from '#src/platform/count.ts'
import { isFault } from '#src/platform/fault.ts'
import { codeOf } from '#src/platform/message.ts'
import { simulate, type SimulateOptions, storeSimulation } from '#src/simulator/simulator.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { commandError, stopSignal } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { openDataFolder } from '../server/open-data-folder.ts'
import { createProgress, type Progress } from '../server/progress.ts'
import { assertRoomLeft, workSignal } from '../server/room.ts'
import { integerIn, listOption, optionWith } from './command-line.ts'

const STDOUT = '-'
const MARKETS_MAX = 100_000
const SNAPSHOTS_MAX = 1_000_000_000

/** The first day of the recordings; fixed, so that the same command creates the same books. */
const DEFAULT_START = '2026-04-13T00:00:00Z'

const startHelp = 'start of the first window, rounded up to a full one: ISO 8601 or Unix time'

const help = `
The books follow the statistics of recorded Bitcoin 5-minute markets: depth, sizes, changes per state,
states per second, and the path of the price to 0 or 1. They were never traded, and they are marked as
simulated wherever they are shown. The same options make the same books, byte for byte; a second run of the
same command changes nothing.

A 5-minute market has about 3,700 states, twice as many snapshots with both outcomes.

Examples:
  bookfeed simulate                                one 5-minute market of each coin
  bookfeed simulate --coins btc,eth --markets 12   an hour of Bitcoin and Ethereum
  bookfeed simulate --timeframes 5m,15m --start 2026-05-01T08:00:00Z
                                                   two lengths, from a time on
  bookfeed simulate --seed 2                       other books of the same windows
  bookfeed simulate --coins btc --output books.jsonl.gz
                                                   a file for bookfeed import --simulated
  bookfeed simulate --max-snapshots 100 --output - | head -1
                                                   a line of the file, to see its form

Exit code: 0 if everything was made, 1 if the command was stopped or cannot write, 2 for a wrong option.`

type Flags = Pick<SimulateOptions, 'seed' | 'coins' | 'timeframes' | 'markets' | 'outcomes'> & {
  start: number
  maxSnapshots?: number
  output?: string
}

type Task = {
  context: CliContext
  options: SimulateOptions
  signal: AbortSignal
  progress: Progress
}

export const simulateCommand = (context: CliContext): Command =>
  new Command('simulate')
    .description('make simulated markets, for trials and load tests')
    .option('--seed <text>', 'any text or number; another seed makes other books', '1')
    .addOption(
      listOption(['--coins <list>', 'coins, separated by commas'], coins).default(
        [...coins],
        'all',
      ),
    )
    .addOption(
      listOption(['--timeframes <list>', 'timeframes, separated by commas'], timeframes).default(
        ['5m'],
        '5m',
      ),
    )
    .option(
      '--markets <n>',
      'number of windows of each coin and timeframe',
      integerIn(1, MARKETS_MAX),
      1,
    )
    .addOption(optionWith(['--start <time>', startHelp], parseStart, DEFAULT_START))
    .addOption(
      new Option('--outcomes <which>', 'outcomes whose books are made')
        .choices(['both', 'up', 'down'])
        .default('both'),
    )
    .option(
      '--max-snapshots <n>',
      'end each market at this number of snapshots',
      integerIn(1, SNAPSHOTS_MAX),
    )
    .option(
      '--output <file>',
      'write JSON lines to this file instead, gzipped if it ends in .gz; - is standard output',
    )
    .addHelpText('after', help)
    .action((flags: Flags) => runSimulate(context, flags))

async function runSimulate(context: CliContext, flags: Flags): Promise<void> {
  const { start: startMs, maxSnapshots: maxSnapshotsPerMarket, output, ...shared } = flags
  const options = { ...shared, startMs, maxSnapshotsPerMarket }
  const progress = createProgress(context, 'simulating', 'snapshots')
  using stop = output === undefined ? workSignal(context) : stopSignal(context)
  const task: Task = { context, options, signal: stop.signal, progress }
  const work = output === undefined ? fillHistory(task) : writeLines(task, output)
  const summary = await work.finally(progress.end)
  if (stop.signal.aborted) {
    assertRoomLeft(stop.signal)
    throw commandError(`Stopped. ${nextAfterStop(output)}`)
  }
  if (output === STDOUT) context.printError(summary)
  else context.print(summary)
}

function nextAfterStop(output: string | undefined): string {
  if (output === undefined) return 'Run the same command again for the rest.'
  return output === STDOUT ? 'The output is not complete.' : `${output} was not written.`
}

async function fillHistory({ context, options, signal, progress }: Task): Promise<string> {
  using history = await openDataFolder(context)
  let last = { fraction: 0, markets: 0, snapshots: 0, accepted: 0 }
  for await (last of storeSimulation(history, options)) {
    progress.update(last.snapshots, last.fraction)
    // Lets a signal be handled.
    await Bun.sleep(0)
    if (signal.aborted) break
  }
  const { markets, snapshots, accepted } = last
  const made = `${count(snapshots, 'snapshot')} of ${count(markets, 'finished market')}`
  if (accepted === 0) return `already simulated: nothing changed (${made})`
  const rest = accepted < snapshots ? `, ${formatCount(accepted)} of them new` : ''
  const seconds = progress.seconds().toFixed(1)
  return `${made} simulated${rest} in ${seconds} s (${progress.rateOf(snapshots)})`
}

async function writeLines(task: Task, output: string): Promise<string> {
  const { context, options, signal, progress } = task
  let made = 0

  async function* listTexts(): AsyncGenerator<string, void, undefined> {
    for (const { snapshots, fraction } of simulate(options)) {
      if (snapshots.length === 0) continue
      made += snapshots.length
      yield `${snapshots.map(homeVenue.toRecordedLine).join('\n')}\n`
      progress.update(made, fraction)
      await Bun.sleep(0)
      if (signal.aborted) return
    }
  }

  if (output === STDOUT) {
    for await (const text of listTexts()) context.print(text.trimEnd())
  } else await writeFile(output, listTexts(), signal)
  const to = output === STDOUT ? '' : ` to ${output}`
  return `${count(made, 'snapshot')} written (${progress.rateOf(made)})${to}`
}

/** Writes a file completely or not at all, under a temporary name until it is complete. */
async function writeFile(
  path: string,
  texts: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<void> {
  const part = `${path}.part`
  const source = Readable.from(texts)
  assertAbsent(path)
  try {
    const file = createWriteStream(part)
    await (path.endsWith('.gz') ? pipeline(source, createGzip(), file) : pipeline(source, file))
    if (signal.aborted) return
    assertAbsent(path)
    await rename(part, path)
  } catch (cause) {
    if (isFault(cause, 'command')) throw cause
    throw commandError(`Cannot write ${path}: ${toReason(cause)}.`, { cause })
  } finally {
    await rm(part, { force: true })
  }
}

/** Refuses to overwrite a file, which may be impossible to create again. */
function assertAbsent(path: string): void {
  if (!existsSync(path)) return
  throw commandError(`Cannot write ${path}: it exists already; remove it or name another file.`)
}

function toReason(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ENOENT') return 'its folder does not exist'
  return code === 'EACCES' ? 'no permission' : code
}

/** Parses a start. A time without a zone would depend on the machine; a day alone is UTC. */
function parseStart(text: string): number {
  const whole = text
    .replace(/^\d{4}-\d\d-\d\d$/, '$&T00:00Z')
    .replace(/([T ]\d\d:\d\d)(?=Z|[+-])/, '$1:00')
  const startMs = parseMoment(whole)
  if (startMs !== undefined) return startMs
  throw new InvalidArgumentError(
    'It must be ISO 8601 with a zone, such as 2026-05-01T08:00:00Z, or Unix milliseconds or seconds.',
  )
}
