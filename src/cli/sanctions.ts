import { Command } from 'commander'

import { ListFault } from '#src/screening/list-format.ts'
import { refreshList } from '#src/screening/list-refresh.ts'

import { type CliContext, CliError } from './context.ts'
import { openLedgerFile } from './open-data-folder.ts'

/** `bookfeed sanctions`: the list by which addresses are screened. */
export const sanctionsCommand = (context: CliContext): Command =>
  new Command('sanctions')
    .description('show and refresh the sanctions list')
    .addCommand(showCommand(context))
    .addCommand(refreshCommand(context))

const showCommand = (context: CliContext): Command =>
  new Command('show').description('say which list is in force').action(() => {
    using ledger = openLedgerFile(context)
    const list = ledger.sanctionsList()
    context.print(list === undefined ? 'No list is in force.' : JSON.stringify(list))
  })

const refreshCommand = (context: CliContext): Command =>
  new Command('refresh')
    .description('fetch the list of BOOKFEED_SANCTIONS_LIST now')
    .option('--accept-loss', 'also if it lacks many addresses: after a delisting that you know of')
    .action((flags: { acceptLoss?: true }) => refresh(context, flags))

async function refresh(context: CliContext, { acceptLoss }: { acceptLoss?: true }): Promise<void> {
  const { sanctionsList: location } = context.config()
  if (location === '') throw new CliError('BOOKFEED_SANCTIONS_LIST is not set.', { exitCode: 2 })
  const stop = new AbortController()
  using cleanup = new DisposableStack()
  cleanup.defer(context.onStop(() => stop.abort()))
  const ledger = cleanup.use(openLedgerFile(context))
  try {
    const { signal } = stop
    const refreshed = await refreshList({
      ...{ ledger, location, signal, clock: context.clock },
      ...{ acceptsLoss: acceptLoss === true, actor: 'operator' },
    })
    const { publishedOn, entryCount } = refreshed.list
    const what = refreshed.isChanged ? 'is in force' : 'is confirmed'
    context.print(`The list of ${publishedOn} with ${entryCount} addresses ${what}.`)
  } catch (cause) {
    if (!(cause instanceof ListFault)) throw cause
    throw new CliError(`The list ${cause.message}. The one in force stays.`, { cause })
  }
}
