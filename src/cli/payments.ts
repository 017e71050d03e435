import { Command } from 'commander'

import { formatMillionths } from '#src/core/decimal.ts'
import type { AuditRow, Ledger } from '#src/ledger/ledger.ts'
import type { ReservedOffer, UnmatchedTransfer } from '#src/ledger/payments.ts'
import { findChain } from '#src/selling/payment-chain.ts'
import { type Payment, type PaymentState, paymentStates } from '#src/selling/payment.ts'

import { formatTime, integerIn, listOf, parseText, printTable, renderJson } from './command-line.ts'
import { byOperator, type CliContext, CliError } from './context.ts'
import { openExistingLedger } from './open-data-folder.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 100_000
/** Rows of the audit chain that are looked through at a time. */
const AUDIT_PAGE = 1000

const listHelp = `
Newest first. Below the payments come the transfers to your address that no payment explains. What waits
for you is in the state review, or such a transfer: read docs/payments.md, decide, and note the decision
with bookfeed payments resolve.

Examples:
  bookfeed payments list
  bookfeed payments list --state review
  bookfeed payments list --state pending,unknown --json`

const resolveHelp = `
It only notes what you decided; it moves no money and gives nobody a tier. To give one:
bookfeed keys create --account ID --tier TIER --days N.

Example:
  bookfeed payments resolve pay_… --note 'refunded by hand in 0x5c…'`

const offersHelp = `
Quotes to wallets other than the account's own hold an amount each, for half an hour: by it a payment says
which quote it is for. bookfeed payments release frees some before that, for example where one person holds
many; whoever has signed such a quote has to ask for another. What is being paid is never released.

Examples:
  bookfeed payments offers
  bookfeed payments release quote_… acc_…`

type JsonFlag = { json?: true }
type ListFlags = JsonFlag & { state?: PaymentState[]; limit: number }

export function paymentsCommand(context: CliContext): Command {
  const payments = new Command('payments').description(
    'list payments, look into one, note what you decided, free held amounts',
  )
  payments
    .command('list')
    .description('list payments and unmatched transfers, newest first')
    .option('--state <list>', `only of ${paymentStates.join(', ')}`, listOf(paymentStates))
    .option('--limit <n>', 'at most this many payments', integerIn(1, LIMIT_MAX), LIMIT_DEFAULT)
    .option('--json', 'print a JSON object')
    .addHelpText('after', listHelp)
    .action((flags: ListFlags) => listPayments(context, flags))
  payments
    .command('show')
    .description('show a payment or an unmatched transfer with all that was done to it')
    .argument('<id>', 'pay_… or transfer_…')
    .option('--json', 'print a JSON object')
    .action((id: string, flags: JsonFlag) => showPayment(context, id, flags))
  payments
    .command('resolve')
    .description('note what you decided about a payment in review or an unmatched transfer')
    .argument('<id>', 'pay_… or transfer_…')
    .requiredOption('--note <text>', 'what you decided', parseText)
    .addHelpText('after', resolveHelp)
    .action((id: string, { note }: { note: string }) => resolveReview(context, id, note))
  payments
    .command('offers')
    .description('list the quotes that hold an amount of their own, oldest first')
    .option('--json', 'print a JSON array')
    .addHelpText('after', offersHelp)
    .action((flags: JsonFlag) => listOffers(context, flags))
  payments
    .command('release')
    .description('free the amounts of quotes, or of all quotes of an account')
    .argument('<ids...>', 'quote_… or acc_…')
    .addHelpText('after', offersHelp)
    .action((ids: string[]) => releaseOffers(context, ids))
  return payments
}

const columns = ['id', 'state', 'account', 'amount', 'token', 'payer', 'created', 'reason', 'tx']
const transferColumns = ['id', 'amount', 'token', 'from', 'found', 'tx', 'resolution']
const offerColumns = ['id', 'account', 'amount', 'token', 'tier', 'created', 'held until']

function listPayments(context: CliContext, flags: ListFlags): void {
  const { limit, json } = flags
  using ledger = openExistingLedger(context)
  const payments = findPayments(ledger, flags).map(toJson)
  const unmatchedTransfers = ledger.payments.listUnmatchedTransfers(false).map(toTransferJson)
  if (json) {
    context.print(renderJson({ payments, unmatchedTransfers }))
    return
  }
  if (payments.length > 0) printTable(context, columns, payments.map(toCells))
  if (payments.length === 0) context.printError('no payments')
  if (payments.length === limit) context.printError('there may be more: --limit')
  if (unmatchedTransfers.length === 0) return
  context.printError('transfers that no payment explains:')
  printTable(context, transferColumns, unmatchedTransfers.map(toTransferCells))
}

function findPayments({ payments }: Ledger, { state: states, limit }: ListFlags): Payment[] {
  if (states === undefined) return payments.listPayments({ limit })
  // What was decided is no longer something to do.
  const open = payments.listPaymentsIn(states).filter(({ resolution }) => resolution === undefined)
  return open.reverse().slice(0, limit)
}

function showPayment(context: CliContext, id: string, { json }: JsonFlag): void {
  using ledger = openExistingLedger(context)
  const subject = findSubject(ledger, id)
  if (subject === undefined) throw unknownSubject(id)
  const subscriptionId = ledger.payments.findSubscriptionOf(id)?.id ?? null
  const described = { ...subject, subscriptionId }
  const audit = auditOf(ledger, id).map(({ seq, timeMs, actor, action, state }) => {
    return { seq, time: formatTime(timeMs), actor, action, state }
  })
  if (json) {
    context.print(renderJson({ ...described, audit }))
    return
  }
  const facts = Object.entries(described).map(([name, value]) => [name, String(value ?? '-')])
  printTable(context, ['what', 'value'], facts)
  context.print('')
  const cells = audit.map(({ time, actor, action, state }) => [time, actor, action, state])
  printTable(context, ['time', 'actor', 'action', 'state'], cells)
}

function findSubject(ledger: Ledger, id: string) {
  const payment = ledger.payments.findPayment(id)
  if (payment) return toJson(payment)
  const transfer = findTransfer(ledger, id)
  return transfer && toTransferJson(transfer)
}

const findTransfer = ({ payments }: Ledger, id: string): UnmatchedTransfer | undefined =>
  [...payments.listUnmatchedTransfers(false), ...payments.listUnmatchedTransfers(true)].find(
    (transfer) => transfer.id === id,
  )

/** The chain has no index by subject: this is for one payment, by hand. */
function auditOf(ledger: Ledger, id: string): AuditRow[] {
  const found: AuditRow[] = []
  let after = 0
  for (;;) {
    const rows = ledger.listAudit(after, AUDIT_PAGE)
    found.push(...rows.filter(({ subject }) => subject === id))
    after = rows.at(-1)?.seq ?? after
    if (rows.length < AUDIT_PAGE) return found
  }
}

function resolveReview(context: CliContext, id: string, note: string): void {
  using ledger = openExistingLedger(context)
  if (ledger.payments.resolveReview(id, note, byOperator(context.clock()))) {
    context.print(`${id} is resolved: ${note}`)
    return
  }
  const payment = ledger.payments.findPayment(id)
  if (payment === undefined && findTransfer(ledger, id) === undefined) throw unknownSubject(id)
  if (payment !== undefined && payment.state !== 'review') {
    throw new CliError(`${id} is ${payment.state}: only payments in review are resolved by hand.`)
  }
  throw new CliError(`${id} is resolved already. bookfeed payments show ${id} says how.`)
}

const unknownSubject = (id: string) =>
  new CliError(`There is no payment or transfer ${JSON.stringify(id)}. See: bookfeed payments list`)

function listOffers(context: CliContext, { json }: JsonFlag): void {
  using ledger = openExistingLedger(context)
  const offers = ledger.payments.listReservedOffers(context.clock()).map(toOfferJson)
  if (json) context.print(renderJson(offers))
  else if (offers.length === 0) context.printError('no quote holds an amount')
  else printTable(context, offerColumns, offers.map(Object.values<string | undefined>))
}

function releaseOffers(context: CliContext, ids: readonly string[]): void {
  const nowMs = context.clock()
  using ledger = openExistingLedger(context)
  const held = ledger.payments.listReservedOffers(nowMs)
  const released = ledger.atomically(() =>
    held
      .filter(({ id, accountId }) => ids.includes(id) || ids.includes(accountId))
      .filter(({ id }) => ledger.payments.releaseOffer(id, byOperator(nowMs))),
  )
  if (released.length === 0) {
    throw new CliError(
      'None of these holds an amount, or a payment of it is on its way. See: bookfeed payments offers',
    )
  }
  for (const { id } of released) context.print(`${id} is released`)
}

/** Each token has six decimals; what has another number stays in atomic units. */
function describeMoney({
  network,
  asset,
  amount,
}: Pick<UnmatchedTransfer, 'network' | 'asset' | 'amount'>) {
  const tokens = findChain(network)?.tokens
  const token = tokens?.find(({ address }) => address.toLowerCase() === asset.toLowerCase())
  const isSafe = amount >= 0n && amount <= BigInt(Number.MAX_SAFE_INTEGER)
  const isPlain = isSafe && token?.decimals === 6
  return {
    network,
    token: token?.symbol ?? asset,
    amount: isPlain ? formatMillionths(Number(amount)) : `${amount} atomic`,
    amountAtomic: String(amount),
  }
}

const toCells = (payment: ReturnType<typeof toJson>) => {
  const { id, state, accountId, amount, token, payer, createdAt, reason, transaction } = payment
  return [id, state, accountId, amount, token, payer, createdAt, reason, transaction]
}

const toJson = ({ signed, ...payment }: Payment) => ({
  id: payment.id,
  state: payment.state,
  reason: payment.reason ?? null,
  accountId: payment.accountId,
  quoteId: payment.offerId,
  ...describeMoney(signed),
  payer: signed.payer,
  payTo: signed.payTo,
  nonce: signed.nonce,
  validBefore: formatTime(Number(signed.validBefore) * 1000) ?? null,
  attempts: payment.attempts,
  transaction: payment.proof?.txHash ?? payment.txHash ?? null,
  blockNumber: payment.proof?.blockNumber ?? null,
  resolution: payment.resolution ?? null,
  createdAt: formatTime(payment.createdMs),
  updatedAt: formatTime(payment.updatedMs),
})

const toTransferCells = (transfer: ReturnType<typeof toTransferJson>) => {
  const { id, amount, token, from, foundAt, transaction, resolution } = transfer
  return [id, amount, token, from, foundAt, transaction, resolution]
}

const toTransferJson = (transfer: UnmatchedTransfer) => ({
  id: transfer.id,
  ...describeMoney(transfer),
  from: transfer.from,
  transaction: transfer.txHash,
  blockNumber: transfer.blockNumber,
  logIndex: transfer.logIndex,
  foundAt: formatTime(transfer.foundMs),
  resolution: transfer.resolution ?? null,
})

const toOfferJson = ({ id, accountId, requirements, ...offer }: ReservedOffer) => ({
  id,
  accountId,
  amount: formatMillionths(Number(requirements.amount)),
  token: offer.symbol,
  tierId: offer.terms.tierId,
  createdAt: formatTime(offer.createdMs),
  reservedUntil: formatTime(offer.reservedUntilMs),
})
