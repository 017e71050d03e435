import { Command } from 'commander'

import { formatMillionths } from '#src/core/decimal.ts'
import type { AuditRow, Ledger } from '#src/ledger/ledger.ts'
import type { UnmatchedTransfer } from '#src/ledger/payments.ts'
import { findChain } from '#src/selling/payment-chain.ts'
import { type Payment, type PaymentState, paymentStates } from '#src/selling/payment.ts'

import { type CliContext, CliError } from './context.ts'
import { byOperator } from './issue-key.ts'
import { offersCommand, releaseCommand } from './offers.ts'
import { withExistingLedger } from './open-data-folder.ts'
import { integerIn, listOf, parseText } from './option-values.ts'
import { formatTime, printTable, renderJson } from './table.ts'

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

const columns = ['id', 'state', 'account', 'amount', 'token', 'payer', 'created', 'reason', 'tx']
const transferColumns = ['id', 'amount', 'token', 'from', 'found', 'tx', 'resolution']

type ListFlags = { state?: PaymentState[]; limit: number; json?: true }

/** `bookfeed payments`: what was paid, and what the operator has to decide. */
export const paymentsCommand = (context: CliContext): Command =>
  new Command('payments')
    .description('list payments, look into one, note what you decided, free held amounts')
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(resolveCommand(context))
    .addCommand(offersCommand(context))
    .addCommand(releaseCommand(context))

const listCommand = (context: CliContext): Command =>
  new Command('list')
    .description('list payments and unmatched transfers, newest first')
    .option('--state <list>', `only of ${paymentStates.join(', ')}`, listOf(paymentStates))
    .option('--limit <n>', 'at most this many payments', integerIn(1, LIMIT_MAX), LIMIT_DEFAULT)
    .option('--json', 'print a JSON object')
    .addHelpText('after', listHelp)
    .action((flags: ListFlags) => listPayments(context, flags))

const showCommand = (context: CliContext): Command =>
  new Command('show')
    .description('show a payment or an unmatched transfer with all that was done to it')
    .argument('<id>', 'pay_… or transfer_…')
    .option('--json', 'print a JSON object')
    .action((id: string, flags: { json?: true }) => showPayment(context, id, flags))

const resolveCommand = (context: CliContext): Command =>
  new Command('resolve')
    .description('note what you decided about a payment in review or an unmatched transfer')
    .argument('<id>', 'pay_… or transfer_…')
    .requiredOption('--note <text>', 'what you decided', parseText)
    .addHelpText('after', resolveHelp)
    .action((id: string, { note }: { note: string }) => resolveReview(context, id, note))

function listPayments(context: CliContext, { state, limit, json }: ListFlags): void {
  const { payments, transfers } = withExistingLedger(context, (ledger) => ({
    payments: findPayments(ledger, state, limit),
    transfers: ledger.payments.listUnmatchedTransfers(false),
  }))
  if (json) {
    const unmatchedTransfers = transfers.map(toTransferJson)
    context.print(renderJson({ payments: payments.map(toJson), unmatchedTransfers }))
    return
  }
  if (payments.length > 0) printTable(context, columns, payments.map(toCells))
  if (payments.length === 0) context.printError('no payments')
  if (payments.length === limit) context.printError('there may be more: --limit')
  if (transfers.length === 0) return
  context.printError('transfers that no payment explains:')
  printTable(context, transferColumns, transfers.map(toTransferCells))
}

function findPayments(
  { payments }: Ledger,
  states: PaymentState[] | undefined,
  limit: number,
): Payment[] {
  if (states === undefined) return payments.listPayments({ limit })
  // What was decided is no longer something to do.
  const open = payments.listPaymentsIn(states).filter(({ resolution }) => resolution === undefined)
  return open.reverse().slice(0, limit)
}

function showPayment(context: CliContext, id: string, { json }: { json?: true }): void {
  const { subject, rows, subscription } = withExistingLedger(context, (ledger) => ({
    subject: findSubject(ledger, id),
    rows: auditOf(ledger, id),
    subscription: ledger.payments.findSubscriptionOf(id),
  }))
  if (subject === undefined) throw unknownSubject(id)
  const described = { ...subject, subscriptionId: subscription?.id ?? null }
  if (json) {
    context.print(renderJson({ ...described, audit: rows.map(toAuditJson) }))
    return
  }
  const facts = Object.entries(described).map(([name, value]) => [name, String(value ?? '-')])
  printTable(context, ['what', 'value'], facts)
  context.print('')
  const cells = rows.map((row) => [formatTime(row.timeMs), row.actor, row.action, row.state])
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
  withExistingLedger(context, (ledger) => {
    if (ledger.payments.resolveReview(id, note, byOperator(context.clock()))) return
    const payment = ledger.payments.findPayment(id)
    if (payment === undefined && findTransfer(ledger, id) === undefined) throw unknownSubject(id)
    if (payment !== undefined && payment.state !== 'review') {
      throw new CliError(`${id} is ${payment.state}: only payments in review are resolved by hand.`)
    }
    throw new CliError(`${id} is resolved already. bookfeed payments show ${id} says how.`)
  })
  context.print(`${id} is resolved: ${note}`)
}

const unknownSubject = (id: string) =>
  new CliError(`There is no payment or transfer ${JSON.stringify(id)}. See: bookfeed payments list`)

const tokenOf = (network: string, asset: string) =>
  findChain(network)?.tokens.find(({ address }) => address.toLowerCase() === asset.toLowerCase())

/** Each token has six decimals; what has another number stays in atomic units. */
function formatAmount(amount: bigint, decimals: number | undefined): string {
  const isSafe = amount >= 0n && amount <= BigInt(Number.MAX_SAFE_INTEGER)
  return isSafe && decimals === 6 ? formatMillionths(Number(amount)) : `${amount} atomic`
}

function toCells(payment: Payment) {
  const { amount, token, state, id, accountId, payer, createdAt, reason, transaction } =
    toJson(payment)
  const cells = [id, state, accountId, amount, token, payer, createdAt]
  return [...cells, reason ?? undefined, transaction ?? undefined]
}

function toJson({ signed, ...payment }: Payment) {
  const token = tokenOf(signed.network, signed.asset)
  return {
    id: payment.id,
    state: payment.state,
    reason: payment.reason ?? null,
    accountId: payment.accountId,
    quoteId: payment.offerId,
    network: signed.network,
    token: token?.symbol ?? signed.asset,
    amount: formatAmount(signed.amount, token?.decimals),
    amountAtomic: String(signed.amount),
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
  }
}

function toTransferCells(transfer: UnmatchedTransfer) {
  const { id, amount, token, from, foundAt, transaction, resolution } = toTransferJson(transfer)
  return [id, amount, token, from, foundAt, transaction, resolution ?? undefined]
}

function toTransferJson(transfer: UnmatchedTransfer) {
  const token = tokenOf(transfer.network, transfer.asset)
  return {
    id: transfer.id,
    network: transfer.network,
    token: token?.symbol ?? transfer.asset,
    amount: formatAmount(transfer.amount, token?.decimals),
    amountAtomic: String(transfer.amount),
    from: transfer.from,
    transaction: transfer.txHash,
    blockNumber: transfer.blockNumber,
    logIndex: transfer.logIndex,
    foundAt: formatTime(transfer.foundMs),
    resolution: transfer.resolution ?? null,
  }
}

const toAuditJson = ({ seq, timeMs, actor, action, state }: AuditRow) => ({
  seq,
  time: formatTime(timeMs),
  actor,
  action,
  state,
})
