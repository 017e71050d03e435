import { existsSync } from 'node:fs'

import { Command } from 'commander'

import { count, formatCount } from '#src/platform/count.ts'
import { throttleLines } from '#src/platform/throttle.ts'

import { commandError } from '../server/command-end.ts'
import { type CliContext, listFaultsIn } from '../server/extension.ts'
import { historyOf, isShared, openDataFolder } from '../server/open-data-folder.ts'
import { printFaults } from './command-line.ts'

const PROGRESS_EVERY_MS = 1000

const help = `
Decodes every chunk and parses every snapshot. Order, counts, CRCs and the columns of best bid and ask are
compared with the books, totals with their rows, and all other data (trades, facts, gaps, hashes) with its
checksum. SQLite checks its own pages and indexes. Each Parquet file of a day is compared with its SHA-256. Nothing is
changed, and a server may keep serving.

Exit code: 0 if everything is sound, 1 if it is not.`

export const verifyCommand = (context: CliContext): Command =>
  new Command('verify')
    .description('re-read the whole history and report damage')
    .addHelpText('after', help)
    .action(() => verify(context))

export async function verify(context: CliContext): Promise<void> {
  const { clock, print, printError } = context
  const { dataPath } = context.config()
  // Opening would create an empty history, which would pass the verification.
  if (!isShared(context, 'history') && !existsSync(historyOf(context))) {
    throw commandError(`There is no history in ${dataPath}. Set BOOKFEED_DATA to its folder.`)
  }
  using history = await openDataFolder(context)
  const startMs = clock()
  const report = throttleLines(PROGRESS_EVERY_MS, clock, printError)
  const onProgress = (done: number, total: number): void =>
    report(() => `verified ${formatCount(done)} of ${formatCount(total)} markets`)
  const ofExtensions = await listFaultsIn(dataPath, context.extensions)
  function* listFaults(): Generator<string> {
    yield* history.verify(onProgress)
    for (const faults of ofExtensions) yield* faults
  }
  const faults = printFaults(context, listFaults())
  const { markets, snapshots } = history.totals()
  const held = `${count(snapshots, 'snapshot')} of ${count(markets, 'market')}`
  const seconds = ((clock() - startMs) / 1000).toFixed(1)
  if (faults > 0) throw commandError(`${count(faults, 'fault')} in ${held}.`)
  print(`sound: ${held}, read in ${seconds} s`)
}
