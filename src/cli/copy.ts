import { existsSync, mkdirSync } from 'node:fs'

import { Command } from 'commander'

import type { Database } from '#src/database/database.ts'
import { copyHistory } from '#src/history/copy.ts'
import { openHistory } from '#src/history/open.ts'
import { isPostgres, shownAddress } from '#src/postgres/address.ts'
import { openPostgres, postgresHistory } from '#src/postgres/database.ts'
import { openDatabase } from '#src/sqlite/database.ts'

import { count, formatCount, printFaults } from './command-line.ts'
import { type CliContext, CliError, stopSignal } from './context.ts'
import { historyOf, historyPathOf } from './open-data-folder.ts'

const PROGRESS_EVERY_MS = 2000

const help = `
A place is a data folder, or the address of a PostgreSQL as BOOKFEED_HISTORY takes it. Every row is
copied as it is: ids, cursors and tags stay what they were. Stop what records or imports first, and
the servers of the target. A copy that was stopped goes on when it is run again. At its end all of
the copy is read again. Keys and accounts are in the ledger, which stays where it is.

Examples:
  bookfeed copy --to postgres://bookfeed@db/books
  bookfeed copy --from postgres://bookfeed@db/books --to ./data`

type Flags = { from?: string; to: string }

/** `bookfeed copy`: moves a history from one engine to another. */
export const copyCommand = (context: CliContext): Command =>
  new Command('copy')
    .description('copy the history from a folder to a PostgreSQL, or back')
    .option('--from <place>', 'what is copied; the history of the configuration by default')
    .requiredOption('--to <place>', 'where to: nothing, or an unfinished copy of the same')
    .addHelpText('after', help)
    .action((flags: Flags) => copy(context, flags))

async function copy(context: CliContext, flags: Flags): Promise<void> {
  const { clock, print, printError, config } = context
  const fromPlace = flags.from === undefined ? historyOf(config()) : placeOf(flags.from)
  const toPlace = placeOf(flags.to)
  if (!isPostgres(fromPlace) && !existsSync(fromPlace))
    throw new CliError(`There is no history at ${shown(fromPlace)}. Set --from or BOOKFEED_DATA.`)
  if (!isPostgres(toPlace)) mkdirSync(flags.to, { recursive: true, mode: 0o700 })
  using stop = stopSignal(context)
  const startedMs = clock()
  let [rows, shownMs] = [0, startedMs]
  const [from, to] = [open(fromPlace), open(toPlace)]
  try {
    for (const step of copyHistory(from, to)) {
      rows += step.rows
      if (clock() - shownMs > PROGRESS_EVERY_MS) {
        shownMs = clock()
        printError(`copied ${formatCount(rows)} rows, now of ${step.table}`)
      }
      // A signal comes in between.
      await Bun.sleep(0)
      if (stop.signal.aborted) throw new CliError('Stopped. Run it again to go on.')
    }
  } finally {
    for (const db of [from, to]) db.engine.close(db)
  }
  const history = openHistory(toPlace, { chunkCacheBytes: 0 })
  try {
    const faults = printFaults(context, history.verify())
    if (faults > 0) throw new CliError(`${count(faults, 'fault')} in ${shown(toPlace)}.`)
    const { markets, snapshots } = history.totals()
    const seconds = ((clock() - startedMs) / 1000).toFixed(1)
    print(
      `copied to ${shown(toPlace)} and read again in ${seconds} s: ${count(snapshots, 'snapshot')} of ${count(markets, 'market')}`,
    )
  } finally {
    history.dispose()
  }
}

const placeOf = (place: string): string => (isPostgres(place) ? place : historyPathOf(place))
const shown = (place: string): string => (isPostgres(place) ? shownAddress(place) : place)
const open = (place: string): Database =>
  isPostgres(place) ? openPostgres(place, postgresHistory) : openDatabase(place)
