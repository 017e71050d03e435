import { Command } from 'commander'

import { type PaymentState, paymentStates } from '#src/domain/selling/payment.ts'
import { showActor } from '#src/operator/actors.ts'
import {
  findPayments,
  listOffers,
  listTransfers,
  type PaymentJson,
  releaseOffers,
  resolveReview,
  showPayment,
  type TransferJson,
} from '#src/operator/payments.ts'

import type { CliContext } from '../server/extension.ts'
import { openExistingLedger } from '../server/open-data-folder.ts'
import { integerIn, listOption, parseText, printTable, renderJson } from './command-line.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 100_000

const listHelp = `
Newest first. Transfers to your address that belong to no payment follow the payments. Payments in the state
review, and such transfers, need your decision: read docs/payments.md, decide, and note the decision with
bookfeed payments resolve.

Examples:
  bookfeed payments list
  bookfeed payments list --state review
  bookfeed payments list --state pending,unknown --json`

const resolveHelp = `
Notes your decision only: it moves no money and grants no tier. To grant a tier:
bookfeed keys create --account ID --tier TIER --days N.

Example:
  bookfeed payments resolve pay_… --note 'refunded by hand in 0x5c…'`

const offersHelp = `
A quote to a wallet other than the account's own holds an amount of its own for half an hour; the amount tells
which quote a payment is for. bookfeed payments release releases amounts before that, for example if one account
holds many. If a buyer has already signed such a quote, the buyer must request another one. A quote that is being
paid is never released.

Examples:
  bookfeed payments offers
  bookfeed payments release quote_… acc_…`

type JsonFlag = { json?: true }
type ListFlags = JsonFlag & { state?: PaymentState[]; limit: number }

export function paymentsCommand(context: CliContext): Command {
  const payments = new Command('payments').description(
    'list and show payments, note decisions, release held amounts',
  )
  payments
    .command('list')
    .description('list payments and unmatched transfers, newest first')
    .addOption(
      listOption(['--state <list>', 'states, separated by commas; default: all'], paymentStates),
    )
    .option('--limit <n>', 'at most this many payments', integerIn(1, LIMIT_MAX), LIMIT_DEFAULT)
    .option('--json', 'print a JSON object')
    .addHelpText('after', listHelp)
    .action((flags: ListFlags) => printPayments(context, flags))
  payments
    .command('show')
    .description('show a payment or an unmatched transfer with its history')
    .argument('<id>', 'pay_… or transfer_…')
    .option('--json', 'print a JSON object')
    .action((id: string, flags: JsonFlag) => printPayment(context, id, flags))
  payments
    .command('resolve')
    .description('note your decision about a payment in review or an unmatched transfer')
    .argument('<id>', 'pay_… or transfer_…')
    .requiredOption('--note <text>', 'your decision', parseText)
    .addHelpText('after', resolveHelp)
    .action((id: string, { note }: { note: string }) => resolve(context, id, note))
  payments
    .command('offers')
    .description('list the quotes that hold an amount of their own, oldest first')
    .option('--json', 'print a JSON array')
    .addHelpText('after', offersHelp)
    .action((flags: JsonFlag) => printOffers(context, flags))
  payments
    .command('release')
    .description('release the amounts of quotes, or of all quotes of an account')
    .argument('<ids...>', 'quote_… or acc_…')
    .addHelpText('after', offersHelp)
    .action((ids: string[]) => release(context, ids))
  return payments
}

const columns = ['id', 'state', 'account', 'amount', 'token', 'payer', 'created', 'reason', 'tx']
const transferColumns = ['id', 'amount', 'token', 'from', 'found', 'tx', 'resolution']
const offerColumns = ['id', 'account', 'amount', 'token', 'tier', 'created', 'held until']

async function printPayments(
  context: CliContext,
  { state, limit, json }: ListFlags,
): Promise<void> {
  using ledger = await openExistingLedger(context)
  const payments = findPayments(ledger, { states: state, limit })
  const unmatchedTransfers = listTransfers(ledger)
  if (json) {
    context.print(renderJson({ payments, unmatchedTransfers }))
    return
  }
  if (payments.length > 0) printTable(context, columns, payments.map(toCells))
  if (payments.length === 0) context.printError('no payments')
  if (payments.length === limit) context.printError('there may be more: --limit')
  if (unmatchedTransfers.length === 0) return
  context.printError('transfers that belong to no payment:')
  printTable(context, transferColumns, unmatchedTransfers.map(toTransferCells))
}

async function printPayment(context: CliContext, id: string, { json }: JsonFlag): Promise<void> {
  using ledger = await openExistingLedger(context)
  const { audit, ...described } = showPayment(ledger, id)
  if (json) {
    context.print(renderJson({ ...described, audit }))
    return
  }
  const facts = Object.entries(described).map(([name, value]) => [name, String(value ?? '-')])
  printTable(context, ['what', 'value'], facts)
  context.print('')
  const cells = audit.map((row) => [row.time, showActor(row), row.action, row.state])
  printTable(context, ['time', 'actor', 'action', 'state'], cells)
}

async function resolve(context: CliContext, id: string, note: string): Promise<void> {
  using ledger = await openExistingLedger(context)
  await resolveReview(ledger, { id, note, nowMs: context.clock() })
  context.print(`${id} is resolved: ${note}`)
}

async function printOffers(context: CliContext, { json }: JsonFlag): Promise<void> {
  using ledger = await openExistingLedger(context)
  const offers = listOffers(ledger, context.clock())
  if (json) context.print(renderJson(offers))
  else if (offers.length === 0) context.printError('no quote holds an amount')
  else printTable(context, offerColumns, offers.map(Object.values<string | undefined>))
}

async function release(context: CliContext, ids: readonly string[]): Promise<void> {
  using ledger = await openExistingLedger(context)
  const released = await releaseOffers(ledger, ids, context.clock())
  for (const id of released) context.print(`${id} is released`)
}

const toCells = (payment: PaymentJson) => {
  const { id, state, accountId, amount, token, payer, createdAt, reason, transaction } = payment
  return [id, state, accountId, amount, token, payer, createdAt, reason, transaction]
}

const toTransferCells = (transfer: TransferJson) => {
  const { id, amount, token, from, foundAt, transaction, resolution } = transfer
  return [id, amount, token, from, foundAt, transaction, resolution]
}
