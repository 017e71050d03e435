/** `bookfeed migrate`: brings tables in PostgreSQL up to date, when the operator says so. */
import { Command } from 'commander'

import { commandError, usageError } from '#src/server/command-end.ts'
import type { CliContext } from '#src/server/extension.ts'
import { historyOf, ledgerOf } from '#src/server/open-data-folder.ts'

import { isPostgres, shownAddress } from './address.ts'
import { migratePostgres } from './database.ts'
import { postgresHistory, postgresLedger } from './formats.ts'

const help = `
Servers, recorders and commands refuse tables of an older format, and leave them as they are. Without --backed-up this
command changes nothing: it prints the formats, and exits with 1 if a migration is due. A migration is one transaction.
From its end on, processes of the older version write nothing any more, and say so: replace them then.

Examples:
  bookfeed migrate               what would be done
  bookfeed migrate --backed-up   after a backup of the database`

export const migrateCommand = (context: CliContext): Command =>
  new Command('migrate')
    .description('bring the tables in PostgreSQL to the format of this version')
    .option('--backed-up', 'there is a backup of the database, made just now')
    .addHelpText('after', help)
    .action((flags: { backedUp?: true }) => migrate(context, flags.backedUp === true))

function migrate(context: CliContext, isBackedUp: boolean): void {
  const stores = [
    { place: historyOf(context), format: postgresHistory },
    { place: ledgerOf(context), format: postgresLedger },
  ].filter(({ place }) => isPostgres(place))
  if (stores.length === 0) {
    throw usageError(
      'Neither BOOKFEED_HISTORY nor BOOKFEED_LEDGER is a PostgreSQL. Files are brought up to date by the first command that opens them.',
    )
  }
  let isDue = false
  for (const { place, format } of stores) {
    const { from, to } = migratePostgres(place, format, isBackedUp)
    const name = `${format.name} at ${shownAddress(place)}`
    if (from === 0) context.print(`${name}: nothing is there yet.`)
    else if (from === to) context.print(`${name}: format ${to}, up to date.`)
    else if (isBackedUp) context.print(`${name}: migrated from format ${from} to ${to}.`)
    else context.print(`${name}: format ${from}, to be migrated to ${to}.`)
    isDue ||= from > 0 && from < to && !isBackedUp
  }
  if (isDue) {
    throw commandError(
      'Nothing was changed. Back up the database, then run bookfeed migrate --backed-up.',
    )
  }
}
