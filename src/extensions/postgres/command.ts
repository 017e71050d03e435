import { mkdirSync } from 'node:fs'

import { Command, Option } from 'commander'

import type { StoreName } from '#src/database/stores.ts'
import { describeFolderFault } from '#src/platform/folder.ts'
import { messageOf } from '#src/platform/message.ts'
import { commandError, stopSignal, usageError } from '#src/server/command-end.ts'
import type { CliContext } from '#src/server/extension.ts'
import { historyPathOf, ledgerPathOf, placeOf } from '#src/server/open-data-folder.ts'

import { addressOf, isPostgres } from './address.ts'
import { type Copy, copyStores, stores } from './copy.ts'
import { formats } from './formats.ts'

const help = `
A location is a data folder, or the address of a PostgreSQL database as in BOOKFEED_HISTORY and BOOKFEED_LEDGER. The
ledger is copied first, then the history; a store that does not exist is skipped. An address with ?schema=name refers to
one store: choose it with --only. Every row is copied unchanged, so ids, cursors, tags, keys, payments and the audit
chain stay the same. Before you copy, stop the servers, recorders and imports of source and target; a ledger that is in
use is refused.

The ledger is copied whole or not at all: the copy is valid after every row was compared and the audit chain was
verified. From then on every command refuses the source, because two ledgers must not sell to the same addresses. With
--keep-source the source stays in use, for a trial of the copy, or to return to it while the copy is unchanged. A copy
of the history continues where it was stopped, and is read again at the end. The target must be empty, or an unfinished
or unchanged copy of the same source.

Examples:
  bookfeed copy --to postgres://bookfeed@db/books
  bookfeed copy --from postgres://bookfeed@db/books --to ./data
  bookfeed copy --only ledger --to 'postgres://bookfeed@db/books?schema=trial' --keep-source`

type Flags = { from?: string; to: string; only?: StoreName; keepSource?: true }

/** `bookfeed copy`: moves ledger and history from one engine to another. */
export const copyCommand = (context: CliContext): Command =>
  new Command('copy')
    .description('copy the ledger and the history from a folder to PostgreSQL, or back')
    .option('--from <place>', 'source; default: the stores of the configuration')
    .requiredOption('--to <place>', 'target: empty, or a copy of the same source')
    .addOption(new Option('--only <store>', 'copy only this store').choices(stores))
    .option('--keep-source', 'keep the source ledger in use')
    .addHelpText('after', help)
    .action((flags: Flags) => copy(context, flags))

async function copy(context: CliContext, flags: Flags): Promise<void> {
  const { clock, print, printError } = context
  const asked = flags.only === undefined ? stores : [flags.only]
  const copies = asked.map((store): Copy => {
    const from = flags.from === undefined ? configured(context, store) : placeIn(flags.from, store)
    return { store, from, to: placeIn(flags.to, store) }
  })
  const isNamed = [flags.from ?? '', flags.to].some((place) => hasSchema(place))
  if (isNamed && flags.only === undefined)
    throw usageError(
      'A schema contains either the ledger or the history. Add --only ledger or --only history.',
    )
  const moving = copies.filter(({ store, from, to }) => nameOf(store, from) !== nameOf(store, to))
  if (moving.length === 0) throw usageError('Source and target are the same.')
  if (!isPostgres(flags.to)) makeTarget(flags.to)
  using stop = stopSignal(context)
  const start = { copies: moving, keepsSource: flags.keepSource === true, nowMs: clock() }
  try {
    await copyStores(start, stop.signal, { print, progress: printError })
  } catch (cause) {
    throw commandError(messageOf(cause), { cause })
  }
}

function makeTarget(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const reason = describeFolderFault(folder, cause)
    throw commandError(`--to: ${folder} cannot be written (${reason}).`, { cause })
  }
}

function configured(context: CliContext, store: StoreName): string {
  const { address, path } = placeOf(context, store)
  return address ?? path
}

function placeIn(place: string, store: StoreName): string {
  if (isPostgres(place)) return place
  return store === 'ledger' ? ledgerPathOf(place) : historyPathOf(place)
}

const hasSchema = (place: string): boolean =>
  isPostgres(place) && addressOf(place, UNNAMED).schema !== UNNAMED
const UNNAMED = 'unnamed'

/** Name of a place, equal for different spellings of it. */
function nameOf(store: StoreName, place: string): string {
  if (!isPostgres(place)) return place
  const { url, schema } = addressOf(place, formats[store].schema)
  return `${url} ${schema}`
}
