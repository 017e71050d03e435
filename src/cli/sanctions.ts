import { Command } from 'commander'

import { isFault } from '#src/platform/fault.ts'
import { refreshList } from '#src/screening/list-refresh.ts'

import { commandError, stopSignal, usageError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { openLedgerFile } from '../server/open-data-folder.ts'

export function sanctionsCommand(context: CliContext): Command {
  const sanctions = new Command('sanctions').description('show and refresh the sanctions list')
  sanctions
    .command('show')
    .description('show the current list')
    .action(async () => {
      using ledger = await openLedgerFile(context)
      const list = ledger.sanctionsList()
      context.print(list === undefined ? 'There is no current list.' : JSON.stringify(list))
    })
  sanctions
    .command('refresh')
    .description('fetch the list of BOOKFEED_SANCTIONS_LIST now')
    .option(
      '--accept-loss',
      'accept a list that lacks many addresses, after a delisting that you know of',
    )
    .action((flags: { acceptLoss?: true }) => refresh(context, flags.acceptLoss === true))
  return sanctions
}

async function refresh(context: CliContext, acceptsLoss: boolean): Promise<void> {
  if (context.config().sanctionsList === '') throw usageError('BOOKFEED_SANCTIONS_LIST is not set.')
  using stop = stopSignal(context)
  using ledger = await openLedgerFile(context)
  const { clock, config } = context
  const location = config().sanctionsList
  const { signal } = stop
  try {
    const options = { ledger, location, signal, clock, acceptsLoss, actor: 'operator' } as const
    const { list, isChanged } = await refreshList(options)
    const { publishedOn, entryCount } = list
    const what = isChanged ? 'is now the current list' : 'is confirmed'
    context.print(`The list of ${publishedOn} with ${entryCount} addresses ${what}.`)
  } catch (cause) {
    if (!isFault(cause, 'sanctions_list')) throw cause
    throw commandError(`The list ${cause.message}. The current list stays in use.`, { cause })
  }
}
