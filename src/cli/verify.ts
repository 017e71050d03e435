import { existsSync } from 'node:fs'

import { Command } from 'commander'

import { formatCount, printFaults } from './command-line.ts'
import { type CliContext, CliError } from './context.ts'
import { historyPathOf, openDataFolder } from './open-data-folder.ts'

const PROGRESS_EVERY_MS = 1000

const help = `
Every chunk is decoded and every snapshot parsed; order, counts, CRCs and the columns for best bid and
ask are compared with the books themselves, totals with what they are of, and all else (trades, facts,
gaps, hashes) with its checksum. SQLite checks its own pages and indexes. Nothing is changed. A server
may keep serving meanwhile.

Exit code: 0 when the history is sound, 1 when anything is not.`

export const verifyCommand = (context: CliContext): Command =>
  new Command('verify')
    .description('re-read the whole history and report damage')
    .addHelpText('after', help)
    .action(() => verify(context))

function verify(context: CliContext): void {
  const { clock, print, printError } = context
  const { dataPath } = context.config()
  // Opening would make an empty one, which is sound and not what was meant.
  if (!existsSync(historyPathOf(dataPath))) {
    throw new CliError(`There is no history in ${dataPath}. Set BOOKFEED_DATA to its folder.`)
  }
  using history = openDataFolder(context)
  const startMs = clock()
  let shownMs = startMs
  const onProgress = (done: number, total: number): void => {
    if (clock() - shownMs < PROGRESS_EVERY_MS) return
    shownMs = clock()
    printError(`verified ${formatCount(done)} of ${formatCount(total)} markets`)
  }
  const faults = printFaults(context, history.verify(onProgress))
  const { markets, snapshots } = history.totals()
  const held = `${formatCount(snapshots)} snapshots of ${formatCount(markets)} markets`
  const seconds = ((clock() - startMs) / 1000).toFixed(1)
  if (faults > 0) throw new CliError(`${formatCount(faults)} faults in ${held}.`)
  print(`sound: ${held}, read in ${seconds} s`)
}
