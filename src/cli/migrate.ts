/** `bookfeed migrate`: brings stores to the format of this version, when the operator says so. */
import { Command } from 'commander'

import { formatOf } from '#src/database/migrations.ts'
import {
  assertUnused,
  formatOfFile,
  historyFormat,
  ledgerFormat,
} from '#src/database/sqlite/database.ts'
import { loadEngine, type Migration, storeNames, type StorePlace } from '#src/database/stores.ts'

import { commandError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { openDataFolder, openLedgerFile, placeOf } from '../server/open-data-folder.ts'

const help = `
Without --backed-up this command changes nothing: it prints the formats, and exits with 1 if a migration is due. A
migration of a store is one transaction, and makes no backup.

Files below 10 GB need no such command: what opens them backs them up and migrates them. Stop all that uses the files.

Tables in PostgreSQL of an older format are refused by servers, recorders and commands until you migrate them. From
then on, processes of the older version write nothing any more, and say so: replace them then.

Examples:
  bookfeed migrate               what would be done
  bookfeed migrate --backed-up   after a backup of the stores`

export const migrateCommand = (context: CliContext): Command =>
  new Command('migrate')
    .description('bring the stores to the format of this version')
    .option('--backed-up', 'there is a backup of the stores, made just now')
    .addHelpText('after', help)
    .action((flags: { backedUp?: true }) => migrate(context, flags.backedUp === true))

async function migrate(context: CliContext, isBackedUp: boolean): Promise<void> {
  let isDue = false
  for (const store of storeNames) {
    const { shown, from, to } = await migrateStore(context, placeOf(context, store), isBackedUp)
    const name = `${store} at ${shown}`
    if (from === 0) context.print(`${name}: nothing is there yet.`)
    else if (from === to) context.print(`${name}: format ${to}, up to date.`)
    else if (isBackedUp) context.print(`${name}: migrated from format ${from} to ${to}.`)
    else context.print(`${name}: format ${from}, to be migrated to ${to}.`)
    isDue ||= from > 0 && from < to && !isBackedUp
  }
  if (isDue) {
    throw commandError(
      'Nothing was changed. Back up these stores, then run bookfeed migrate --backed-up.',
    )
  }
}

async function migrateStore(
  context: CliContext,
  place: StorePlace,
  isWanted: boolean,
): Promise<Migration> {
  const { store, path, address } = place
  if (address !== undefined) return (await loadEngine()).migrate({ ...place, address }, isWanted)
  const format = store === 'history' ? historyFormat : ledgerFormat
  const from = formatOfFile(path, format)
  const to = formatOf(format.migrations)
  if (isWanted && from > 0 && from < to) {
    assertUnused(path, format)
    // The opening migrates.
    const opened = await (store === 'history' ? openDataFolder(context) : openLedgerFile(context))
    opened.dispose()
  }
  return { shown: path, from, to }
}
