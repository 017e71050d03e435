import { mkdirSync } from 'node:fs'

import { Command, Option } from 'commander'

import { messageOf } from '#src/platform/message.ts'
import { addressOf, isPostgres } from '#src/postgres/address.ts'
import { postgresHistory, postgresLedger } from '#src/postgres/database.ts'

import { type CliContext, commandError, stopSignal, usageError } from '../server/context.ts'
import { type Copy, copyInWorker, type Store, stores } from '../server/copy-in-worker.ts'
import { historyOf, historyPathOf, ledgerOf, ledgerPathOf } from '../server/open-data-folder.ts'

const help = `
A place is a data folder, or the address of a PostgreSQL as BOOKFEED_HISTORY and BOOKFEED_LEDGER take it. Both are
copied, the ledger first; what is not there is left out. An address with ?schema=name is that of only one of them: say which with --only.
Every row is copied as it is: ids, cursors, tags, keys, payments and the audit chain stay what they were. Stop servers,
recorders and imports of source and target before; a ledger that is in use is refused.

The ledger is copied whole or not at all, and counts and digests of every table are compared, and the audit chain
verified, before it counts. From then on the source is refused by every command, because two ledgers must not sell to the same
addresses; --keep-source leaves it in use, for a trial of the copy, or to go back to it while the copy is the same.
The history resumes where it was stopped, and all of the copy is read again at the end. A target must be empty, or
an unfinished or unchanged copy of the same.

Examples:
  bookfeed copy --to postgres://bookfeed@db/books
  bookfeed copy --from postgres://bookfeed@db/books --to ./data
  bookfeed copy --only ledger --to 'postgres://bookfeed@db/books?schema=trial' --keep-source`

type Flags = { from?: string; to: string; only?: Store; keepSource?: true }

/** `bookfeed copy`: moves ledger and history from one engine to another. */
export const copyCommand = (context: CliContext): Command =>
  new Command('copy')
    .description('copy ledger and history from a folder to a PostgreSQL, or back')
    .option('--from <place>', 'what is copied; that of the configuration by default')
    .requiredOption('--to <place>', 'where to: nothing, or a copy of the same')
    .addOption(new Option('--only <store>', 'copy only one of them').choices(stores))
    .option('--keep-source', 'the ledger that is copied stays in use')
    .addHelpText('after', help)
    .action((flags: Flags) => copy(context, flags))

async function copy(context: CliContext, flags: Flags): Promise<void> {
  const { clock, config, print, printError } = context
  const asked = flags.only === undefined ? stores : [flags.only]
  const copies = asked.map((store): Copy => {
    const from =
      flags.from === undefined ? placesOf[store].configured(config()) : placeIn(flags.from, store)
    return { store, from, to: placeIn(flags.to, store) }
  })
  const isNamed = [flags.from ?? '', flags.to].some((place) => hasSchema(place))
  if (isNamed && flags.only === undefined)
    throw usageError(
      'A schema is of the ledger or of the history. Add --only ledger or --only history.',
    )
  const moving = copies.filter(({ store, from, to }) => nameOf(store, from) !== nameOf(store, to))
  if (moving.length === 0) throw usageError('Source and target are the same place.')
  if (!isPostgres(flags.to)) mkdirSync(flags.to, { recursive: true, mode: 0o700 })
  using stop = stopSignal(context)
  const start = { copies: moving, keepsSource: flags.keepSource === true, nowMs: clock() }
  try {
    await copyInWorker(start, stop.signal, { print, progress: printError })
  } catch (cause) {
    throw commandError(messageOf(cause), { cause })
  }
}

const placesOf = {
  ledger: { configured: ledgerOf, inFolder: ledgerPathOf, format: postgresLedger },
  history: { configured: historyOf, inFolder: historyPathOf, format: postgresHistory },
} as const

const placeIn = (place: string, store: Store): string =>
  isPostgres(place) ? place : placesOf[store].inFolder(place)

const hasSchema = (place: string): boolean =>
  isPostgres(place) && addressOf(place, UNNAMED).schema !== UNNAMED
const UNNAMED = 'unnamed'

/** The same for the same place, however it is written. */
function nameOf(store: Store, place: string): string {
  if (!isPostgres(place)) return place
  const { url, schema } = addressOf(place, placesOf[store].format.schema)
  return `${url} ${schema}`
}
