/** Payments as shown to the operator, and the decisions about them. */
import { formatMillionths } from '#src/domain/decimal.ts'
import { findChain, findPaidChain } from '#src/domain/selling/payment-chain.ts'
import type { Payment, PaymentState } from '#src/domain/selling/payment.ts'
import { formatTime } from '#src/domain/time.ts'
import { byOperator } from '#src/ledger/actor.ts'
import type { AuditRow, Ledger } from '#src/ledger/ledger.ts'
import type { PaymentSum, ReservedOffer, UnmatchedTransfer } from '#src/ledger/payments.ts'

import { createActors } from './actors.ts'
import { wrongState } from './values.ts'

/** The reasons for a payment's state, in words; docs/payments.md lists their codes. */
const reasons: Readonly<Record<string, string>> = {
  allowance_required: 'Permit2 may not spend the token of the payer yet',
  canceled: 'the payer canceled it on the chain',
  expired: 'it ended before it was made',
  expires_too_late: 'it is valid for more than a day',
  expires_too_soon: 'it came too late to be sent',
  facilitator_token_failed: 'no token for the facilitator could be signed',
  foreign_payer: 'it was paid by a wallet of another account',
  gas_exhausted: 'the gas wallet has no coin left',
  insufficient_balance: 'the wallet holds less than the amount',
  nonce_used: 'its nonce was spent, and the payment is looked for on the chain',
  not_final: 'the chain has it, and it is not final yet',
  submitted_elsewhere: 'the transfer is in a transaction that this server did not send',
  not_yet_valid: 'it is not valid yet',
  offer_used: 'another payment has paid its quote',
  paid_before_offer: 'it was paid before its quote was made',
  paid_twice: 'another payment has paid its quote already',
  payer_blocked: 'the issuer of the token does not let the payer pay',
  pending: 'sent, and not on the chain yet',
  received: 'not screened yet',
  recipient_mismatch: 'it was signed for another recipient',
  rpc_unavailable: 'the node of the chain did not answer',
  rpc_unavailable_after_broadcast: 'the node of the chain did not answer after it was sent',
  sanctioned: 'the payer is on a sanctions list',
  screened: 'screened, and not sent yet',
  settling: 'being sent',
  signature_invalid: 'its signature is not valid',
  unexpected_settle_error: 'the facilitator could not settle it',
  unknown: 'the facilitator did not say whether it was sent',
  used_elsewhere: 'its nonce was spent on something else',
}

export function describeReason(reason: string): string {
  const [, status] = /^facilitator_http_(\d+)$/.exec(reason) ?? []
  if (status !== undefined) return `the facilitator answered with status ${status}`
  return reasons[reason] ?? reason
}

/** Rows of the audit chain that are read at a time. */
const AUDIT_PAGE = 1000

const fault = (message: string) => wrongState('id', message)

/** Payments, newest first. With `states`: payments in these states that the operator has not decided. */
export function findPayments(
  { payments }: Ledger,
  { states, limit }: { states?: readonly PaymentState[] | undefined; limit: number },
) {
  if (states === undefined) return payments.listPayments({ limit }).map(toPaymentJson)
  const open = payments.listPaymentsIn(states).filter(({ resolution }) => resolution === undefined)
  return open.reverse().slice(0, limit).map(toPaymentJson)
}

/** Payments whose ids, payer, transaction or account label contain a text, newest first. */
export const searchPayments = ({ payments }: Ledger, search: string, limit: number) =>
  payments.searchPayments({ search, limit }).map(toPaymentJson)

/** Sums the sales since a moment. */
export function sumSales({ payments }: Pick<Ledger, 'payments'>, sinceMs: number) {
  const sums = payments.sumPayments({ sinceMs, stepMs: Number.MAX_SAFE_INTEGER })
  const made = sums.filter(({ state }) => state === 'provisioned')
  const failed = sums.filter(({ state }) => state === 'rejected' || state === 'void')
  return {
    payments: made.reduce((sum, { count }) => sum + count, 0),
    revenue: formatMillionths(made.reduce((sum, each) => sum + millionthsOf(each), 0)),
    failed: failed.reduce((sum, { count }) => sum + count, 0),
  }
}

/** Transfers to our address without a payment and without a decision. */
export const listTransfers = ({ payments }: Ledger) =>
  payments.listUnmatchedTransfers(false).map(toTransferJson)

/** A payment or transfer with every audited change. */
export function showPayment(ledger: Ledger, id: string) {
  const payment = ledger.payments.findPayment(id)
  const transfer = payment === undefined ? findTransfer(ledger, id) : undefined
  const subject = payment ? toPaymentJson(payment) : transfer && toTransferJson(transfer)
  if (subject === undefined) throw unknownSubject(id)
  const subscriptionId = ledger.payments.findSubscriptionOf(id)?.id ?? null
  const describeActor = createActors(ledger)
  const audit = findAuditRows(ledger, id).map(({ seq, timeMs, actor, action, state }) => {
    return { seq, time: formatTime(timeMs), actor, ...describeActor(actor), action, state }
  })
  return { ...subject, subscriptionId, audit }
}

const findTransfer = ({ payments }: Ledger, id: string): UnmatchedTransfer | undefined =>
  [...payments.listUnmatchedTransfers(false), ...payments.listUnmatchedTransfers(true)].find(
    (transfer) => transfer.id === id,
  )

/** Audit rows about an id. The chain has no index by subject, so use this for one payment only. */
function findAuditRows(ledger: Ledger, id: string): AuditRow[] {
  const found: AuditRow[] = []
  let after = 0
  for (;;) {
    const rows = ledger.listAudit(after, AUDIT_PAGE)
    found.push(...rows.filter(({ subject }) => subject === id))
    after = rows.at(-1)?.seq ?? after
    if (rows.length < AUDIT_PAGE) return found
  }
}

/** Stores a decision without moving money. */
export async function resolveReview(
  ledger: Ledger,
  { id, note, nowMs }: { id: string; note: string; nowMs: number },
): Promise<void> {
  if (await ledger.payments.resolveReview(id, note, byOperator(nowMs))) return
  const payment = ledger.payments.findPayment(id)
  if (payment === undefined && findTransfer(ledger, id) === undefined) throw unknownSubject(id)
  if (payment !== undefined && payment.state !== 'review') {
    throw fault(`${id} is ${payment.state}: only payments in review are resolved by hand.`)
  }
  throw fault(`${id} is already resolved: see bookfeed payments show ${id}.`)
}

const unknownSubject = (id: string) =>
  fault(`There is no payment or transfer ${JSON.stringify(id)}. See: bookfeed payments list`)

export const listOffers = ({ payments }: Ledger, nowMs: number) =>
  payments.listReservedOffers(nowMs).map(toOfferJson)

/** Frees the amounts of some quotes, or of all quotes of an account; returns the quotes. */
export async function releaseOffers(
  ledger: Ledger,
  ids: readonly string[],
  nowMs: number,
): Promise<string[]> {
  const released = await ledger.atomically(({ payments }) =>
    payments
      .listReservedOffers(nowMs)
      .filter(({ id, accountId }) => ids.includes(id) || ids.includes(accountId))
      .filter(({ id }) => payments.releaseOffer(id, byOperator(nowMs))),
  )
  if (released.length > 0) return released.map(({ id }) => id)
  throw fault(
    'No such quote holds an amount, or its payment is in flight. See: bookfeed payments offers',
  )
}

/** Describes an amount: tokens with six decimals in dollars, all others in atomic units. */
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

/** Millionths of a dollar, for the tokens that are sold for; 0 for others. */
export function millionthsOf({
  network,
  asset,
  amount,
}: Pick<PaymentSum, 'network' | 'asset' | 'amount'>): number {
  const tokens = findPaidChain(network)?.tokens
  const token = tokens?.find(({ address }) => address.toLowerCase() === asset)
  return token === undefined ? 0 : Math.round(amount / 10 ** (token.decimals - 6))
}

/** A payment as JSON, without signed data. */
const toPaymentJson = ({ signed, ...payment }: Payment) => ({
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
export type PaymentJson = ReturnType<typeof toPaymentJson>

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
export type TransferJson = ReturnType<typeof toTransferJson>

export type OfferJson = ReturnType<typeof toOfferJson>

const toOfferJson = ({ id, accountId, requirements, ...offer }: ReservedOffer) => ({
  id,
  accountId,
  amount: formatMillionths(Number(requirements.amount)),
  token: offer.symbol,
  tierId: offer.terms.tierId,
  createdAt: formatTime(offer.createdMs),
  reservedUntil: formatTime(offer.reservedUntilMs),
})
