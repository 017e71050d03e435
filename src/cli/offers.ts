import { Command } from 'commander'

import { formatMillionths } from '#src/core/decimal.ts'
import type { ReservedOffer } from '#src/ledger/payments.ts'

import { type CliContext, CliError } from './context.ts'
import { byOperator } from './issue-key.ts'
import { withExistingLedger } from './open-data-folder.ts'
import { formatTime, printTable, renderJson } from './table.ts'

const help = `
Quotes to wallets other than the account's own hold an amount each, for half an hour: by it a payment says
which quote it is for. bookfeed payments release frees some before that, for example where one person holds
many; whoever has signed such a quote has to ask for another. What is being paid is never released.

Examples:
  bookfeed payments offers
  bookfeed payments release quote_… acc_…`

const columns = ['id', 'account', 'amount', 'token', 'tier', 'created', 'held until']

/** `bookfeed payments offers`: the amounts that are held, oldest first. */
export const offersCommand = (context: CliContext): Command =>
  new Command('offers')
    .description('list the quotes that hold an amount of their own, oldest first')
    .option('--json', 'print a JSON array')
    .addHelpText('after', help)
    .action((flags: { json?: true }) => listOffers(context, flags))

/** `bookfeed payments release`: frees amounts. */
export const releaseCommand = (context: CliContext): Command =>
  new Command('release')
    .description('free the amounts of quotes, or of all quotes of an account')
    .argument('<ids...>', 'quote_… or acc_…')
    .addHelpText('after', help)
    .action((ids: string[]) => releaseOffers(context, ids))

function listOffers(context: CliContext, { json }: { json?: true }): void {
  const offers = withExistingLedger(context, ({ payments }) =>
    payments.listReservedOffers(context.clock()),
  ).map(toJson)
  if (json) context.print(renderJson(offers))
  else if (offers.length === 0) context.printError('no quote holds an amount')
  else printTable(context, columns, offers.map(Object.values<string | undefined>))
}

const toJson = ({ id, accountId, requirements, ...offer }: ReservedOffer) => ({
  id,
  accountId,
  amount: formatMillionths(Number(requirements.amount)),
  token: offer.symbol,
  tierId: offer.terms.tierId,
  createdAt: formatTime(offer.createdMs),
  reservedUntil: formatTime(offer.reservedUntilMs),
})

function releaseOffers(context: CliContext, ids: readonly string[]): void {
  const nowMs = context.clock()
  const released = withExistingLedger(context, (ledger) => {
    const held = ledger.payments.listReservedOffers(nowMs)
    return ledger.atomically(() =>
      held
        .filter(({ id, accountId }) => ids.includes(id) || ids.includes(accountId))
        .filter(({ id }) => ledger.payments.releaseOffer(id, byOperator(nowMs))),
    )
  })
  if (released.length === 0) {
    throw new CliError(
      'None of these holds an amount, or a payment of it is on its way. See: bookfeed payments offers',
    )
  }
  for (const { id } of released) context.print(`${id} is released`)
}
