/**
 * Moves a payment through its states (`domain/selling/payment.ts`) from any state as far as
 * possible: a first call, a repeated call and a recovery after a crash take the same path. The
 * facilitator is called only after `settling` was committed; only the chain makes a payment
 * `settled` or `void`, and only the chain proves it unpaid.
 */

import type { ChainVerdict, ChainView, PaymentFault } from '#src/domain/selling/chain-view.ts'
import type { Facilitator, SettleResult } from '#src/domain/selling/facilitator.ts'
import { signatureOf } from '#src/domain/selling/payload.ts'
import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'
import {
  ELSEWHERE,
  type Offer,
  type Payment,
  type PaymentState,
  type SignedPayment,
  VALID_BEFORE_MS_MAX,
} from '#src/domain/selling/payment.ts'
import type { Actor, AuditContext } from '#src/ledger/actor.ts'
import type { PaymentChange } from '#src/ledger/payments.ts'
import { assert } from '#src/platform/assert.ts'
import { isFault } from '#src/platform/fault.ts'

import type { BillingOptions, Origin } from './billing.ts'
import { describeDrift, type Moment, readMoment } from './chain-clock.ts'
import {
  tooLateError,
  toPaymentRequired,
  unaskedError,
  unavailableError,
  unscreenedError,
} from './payment-errors.ts'
import { isUnquoted, toExtensions } from './sealed-offer.ts'

/** The context of payments on one network. */
export type SettlementContext = Omit<BillingOptions, 'chains' | 'payTo' | 'listTiers'> & {
  chain: PaymentChain
  view: ChainView
  /** Undefined if none is configured any more: payments are then only looked up. */
  facilitator: Facilitator | undefined
  /** The account that submits a payment, or `system` for the reconciler. */
  actor: Actor
} & Origin

/** Undefined if no node of the network is configured any more. */
export function findContext(
  { chains, ...options }: BillingOptions,
  network: string,
  actor: Actor,
): SettlementContext | undefined {
  const sold = chains.find(({ chain }) => chain.network === network)
  if (sold?.view === undefined) return undefined
  return { ...options, chain: sold.chain, view: sold.view, facilitator: sold.facilitator, actor }
}

export type PaymentWithOffer = { payment: Payment; offer: Offer }

/**
 * The minimum remaining validity: the first steps take this long, and the token is strict to the
 * second.
 */
export const FRESH_MS_MIN = 30_000
/**
 * The duration of a lease, which its process renews while it waits for the facilitator. After a
 * kill another process takes over the payment within this time.
 */
const LEASE_MS = 15_000
const RENEW_LEASE_MS = 5000
/** The maximum number of times that a payment is sent. */
export const ATTEMPTS_MAX = 3
/** How long to wait for a payment to appear on the chain before sending it again. */
export const RESEND_UNKNOWN_MS = 15_000
const RESEND_PENDING_MS = 60_000
/** Eight seconds in total: a few blocks of Polygon and its finality. */
const PENDING_STEPS_MS = [50, 100, 200, 400, 750, 1500, 2500, 2500]
/**
 * The number of steps for a payment that was not seen on its way, which is less likely to arrive.
 */
const UNKNOWN_STEPS = 4

const steps: Record<
  PaymentState,
  (context: SettlementContext, payment: Payment, offer: Offer) => Payment | Promise<Payment>
> = {
  received: begin,
  screened: begin,
  settling: follow,
  pending: follow,
  unknown: follow,
  settled: observe,
  rejected: reconsider,
  provisioned: (_, payment) => payment,
  void: (_, payment) => payment,
  review: (_, payment) => payment,
}

/** Advances a payment as far as possible. Throws only if nothing was ever sent. */
export const advance = async (
  context: SettlementContext,
  payment: Payment,
  offer: Offer,
): Promise<Payment> => steps[payment.state](context, payment, offer)

/**
 * Polls while a payment is in flight, including one sent by another server, so that most callers
 * receive the final state.
 */
export async function waitForFinality(
  context: SettlementContext,
  first: Payment,
  offer: Offer,
): Promise<Payment> {
  let payment = first
  for (const [step, ms] of PENDING_STEPS_MS.entries()) {
    if (!isInFlight(payment, step)) break
    await context.sleep(ms)
    payment = readPayment(context, payment.id)
    if (isInFlight(payment, step)) payment = await observe(context, payment, offer)
  }
  return payment
}

const isInFlight = ({ state }: Payment, step: number): boolean =>
  ['settling', 'pending', 'settled'].includes(state) ||
  (state === 'unknown' && step < UNKNOWN_STEPS)

/**
 * Begins a payment that we have not sent. The payer may have, so the nonce is checked before the
 * clock.
 */
async function begin(context: SettlementContext, payment: Payment, offer: Offer): Promise<Payment> {
  const screened = await screenPayer(context, payment)
  if (screened.state !== 'screened') return screened
  const fault = await findFault(context, screened)
  // A payment that arrives after its offer expired is not submitted: the terms may have changed.
  const moment = await readMoment(context.clock, context.view)
  const isLate = !isFresh(payment.signed, moment) || payment.createdMs >= offer.expiresMs
  if (fault === 'nonce_used' || isLate) {
    // Another party who saw the signature may have submitted it, or it was canceled: the chain
    // knows.
    const seen = await observe(context, screened, offer)
    if (seen.state !== screened.state) return seen
    if (fault === 'nonce_used') return move(context, seen, { to: 'unknown', reason: fault })
    // Another server may have found it in time, and be sending it.
    const current = await askPayment(context, payment.id)
    if (current.state !== screened.state) return current
    // Only the payer can still submit it, until it is proved void.
    const drift = describeDrift(moment, context.chain)
    throw tooLateError(payment.signed, { moment, offer, drift })
  }
  const reason = fault ?? clockFault(payment.signed, moment)
  return reason === undefined
    ? relay(context, screened, offer)
    : move(context, screened, { to: 'rejected', reason })
}

/**
 * The reason why a payment that has not ended is not sent at this time; its payer may still submit
 * it.
 */
export function clockFault({ validAfter, validBefore }: SignedPayment, moment: Moment) {
  // The later of the two: a payment that is over by only one clock is finally judged by the chain.
  const nowMs = Math.max(moment.chainMs, moment.serverMs)
  // These numbers may be inexact, but only far beyond every limit.
  if (Number(validBefore) * 1000 > nowMs + VALID_BEFORE_MS_MAX) return 'expires_too_late'
  return Number(validAfter) * 1000 > nowMs ? 'not_yet_valid' : undefined
}

/**
 * Follows a payment that may have been sent. A failure here changes nothing: the first call may
 * still succeed.
 */
async function follow(context: SettlementContext, last: Payment, offer: Offer): Promise<Payment> {
  const payment = await observe(context, last, offer)
  if (!mayResend(context, payment)) return payment
  try {
    if (!isFresh(payment.signed, await readMoment(context.clock, context.view))) return payment
    if ((await findFault(context, payment)) !== undefined) return payment
    const screened = await screenPayer(context, payment)
    return screened.state === payment.state ? await relay(context, payment, offer) : screened
  } catch (error) {
    const line = `billing: ${payment.id} is not sent again: ${String(error)}`
    context.log(line, 'warn', context.requestId)
    return readPayment(context, payment.id)
  }
}

function mayResend({ clock, facilitator }: SettlementContext, payment: Payment): boolean {
  const { state, attempts, leaseUntilMs, updatedMs } = payment
  const nowMs = clock()
  if (!facilitator || attempts >= ATTEMPTS_MAX) return false
  if (state === 'settling') return (leaseUntilMs ?? 0) <= nowMs
  if (state === 'unknown') return updatedMs + RESEND_UNKNOWN_MS <= nowMs
  return state === 'pending' && updatedMs + RESEND_PENDING_MS <= nowMs
}

const mendable: readonly (string | undefined)[] = [
  'allowance_required',
  'insufficient_balance',
  'expires_too_late',
  'not_yet_valid',
]

/**
 * Retries a rejected payment whose missing condition may now hold. All others stay rejected, unless
 * the payer submitted them.
 */
async function reconsider(
  context: SettlementContext,
  payment: Payment,
  offer: Offer,
): Promise<Payment> {
  const seen = await observe(context, payment, offer)
  if (seen.state !== 'rejected') return seen
  const fault = await findFault(context, seen)
  const moment = await readMoment(context.clock, context.view)
  const isTimely = isFresh(seen.signed, moment) && clockFault(seen.signed, moment) === undefined
  const isMended = fault === undefined && mendable.includes(seen.reason) && isTimely
  const mayBegin = isMended && context.clock() < offer.expiresMs
  if (fault !== 'nonce_used' && !mayBegin) return seen
  const reopened = await unlessRefused(
    () => move(context, seen, { to: 'screened' }),
    // Another payment has taken the offer meanwhile.
    async () => ({ ...seen, reason: 'offer_used' }),
  )
  return reopened.state === 'screened' ? begin(context, reopened, offer) : reopened
}

/**
 * Screens the payer. A hit moves the payment to `review`, even if it was sent before. Throws
 * `screening_unavailable`.
 */
async function screenPayer(context: SettlementContext, payment: Payment): Promise<Payment> {
  const { screen, ledger, clock } = context
  const { verdict } = await screen(payment.signed.payer)
  if (verdict === 'unknown') throw unscreenedError()
  if (verdict === 'hit') {
    const account = ledger.findAccountByAddress(payment.signed.payer)
    if (account) await ledger.setBlocked(account.id, true, { actor: 'system', nowMs: clock() })
    return move(context, payment, { to: 'review', reason: 'sanctioned' })
  }
  return payment.state === 'received' ? move(context, payment, { to: 'screened' }) : payment
}

/**
 * Why the chain would currently refuse the payment; undefined if it would not. Throws
 * `billing_unavailable`.
 */
const findFault = async (
  { view }: SettlementContext,
  { signed }: Payment,
): Promise<PaymentFault | undefined> => (await askFaults(view, signed, signatureOf(signed)))[0]

/** All objections of the chain to a payment. Throws `billing_unavailable` without an answer. */
export async function askFaults(view: ChainView, signed: SignedPayment, signature: string) {
  const preflight = await view.preflight(signed, signature)
  if (preflight.kind === 'unavailable') throw unaskedError()
  return preflight.kind === 'fault' ? preflight.faults : []
}

/**
 * Sends a payment, or sends the same bytes again if its fate is unknown, under a lease that is
 * committed first. If another process holds the lease, its outcome counts. Throws
 * `billing_unavailable` if nothing was ever sent.
 */
async function relay(context: SettlementContext, payment: Payment, offer: Offer): Promise<Payment> {
  const { view, facilitator, ledger, clock, trace } = context
  if (!facilitator) {
    throw unavailableError(
      'The payment could not be submitted just now. Nothing was sent; submit the same payment again.',
    )
  }
  const leaseMs = context.lease?.ms ?? LEASE_MS
  const leased = await ledger.payments.lease(payment.id, clock() + leaseMs, auditContext(context))
  if (!leased) return readPayment(context, payment.id)
  // Another process may have sent it between the read and the lease.
  const wasSent = payment.state !== 'screened' || leased.attempts !== payment.attempts + 1
  const payload = withResource(context, leased.signed.payload, offer)
  const result = await whileLeased(context, leased, () =>
    facilitator.settle(payload, offer.requirements, trace),
  )
  const word = byWordAlone(result)
  const hint = { fromBlock: offer.fromBlock, txHash: word.txHash ?? leased.txHash }
  const seen = afterLook(await view.look(leased.signed, hint))
  if (seen === undefined && result.kind === 'refused' && !wasSent) {
    const current = await move(context, leased, { to: 'screened', reason: result.reason })
    // Another server has seen it on the chain since.
    if (current.state !== 'screened') return current
    // The facilitator reports that it sent nothing, and the chain shows nothing; neither is proof.
    throw unavailableError(
      'The facilitator did not accept the payment, and the chain does not show it yet. Submit the same payment again, and sign no other.',
    )
  }
  if (seen === undefined) return take(context, leased, await explain(context, leased, result, word))
  const sent = [word.txHash, leased.txHash]
  return take(context, leased, await withSubmitter(context, { payment: leased, offer, sent }, seen))
}

/**
 * Explains why a payment could not be settled: by the chain if it objects, for example to a balance
 * spent by another payment of the wallet, otherwise by the facilitator's own reason.
 */
async function explain(
  { view }: SettlementContext,
  { signed }: Payment,
  result: SettleResult,
  word: PaymentChange,
): Promise<PaymentChange> {
  if (result.kind !== 'failed') return word
  const preflight = await view.preflight(signed, signatureOf(signed))
  // A used nonce may be this payment, which the next look finds.
  if (preflight.kind !== 'fault' || preflight.faults.includes('nonce_used')) return word
  return { ...word, reason: preflight.faults[0] }
}

/** Holds a lease while the work runs. */
async function whileLeased<T>(
  { ledger, clock, log, lease }: SettlementContext,
  { id, attempts }: Payment,
  work: () => Promise<T>,
): Promise<T> {
  const { ms, renewMs } = lease ?? { ms: LEASE_MS, renewMs: RENEW_LEASE_MS }
  const renew = async (): Promise<void> => {
    try {
      await ledger.payments.renewLease(id, { attempts, untilMs: clock() + ms })
    } catch (error) {
      // Without the lease another process may send the same bytes, which moves no more money.
      log(`billing: the lease of ${id} is not renewed: ${String(error)}`, 'warn')
    }
  }
  const timer = setInterval(() => void renew(), renewMs)
  timer.unref()
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/** Adds the resource: facilitators list keyless products by the resource sent with the payment. */
function withResource(context: SettlementContext, payload: string, offer: Offer): string {
  if (!isUnquoted(offer)) return payload
  const { resource } = toPaymentRequired(context, offer)
  const extensions = toExtensions(offer.requests === 1 ? 'GET' : 'POST')
  return JSON.stringify({ ...(JSON.parse(payload) as object), resource, extensions })
}

/** Moves a payment as far as the chain proves; unchanged if it proves nothing. */
export async function observe(
  context: SettlementContext,
  payment: Payment,
  offer: Offer,
): Promise<Payment> {
  if (payment.state === 'settled') return provision(context, payment.id)
  const hint = { fromBlock: offer.fromBlock, txHash: payment.txHash }
  const next = afterLook(await context.view.look(payment.signed, hint))
  const doubt = next?.proof && findDoubt(context, payment, offer, next.proof.blockNumber)
  if (next && doubt !== undefined) return toReview(context, payment, { ...next, reason: doubt })
  if (next === undefined) return payment
  const sent = [payment.txHash]
  return take(context, payment, await withSubmitter(context, { payment, offer, sent }, next))
}

/**
 * Marks a keyless purchase whose money was moved by a transaction other than ours: the signed data
 * may have been public before it was submitted here. `sent` are the hashes named by the
 * facilitator.
 */
async function withSubmitter(
  { view, facilitator }: SettlementContext,
  { payment, offer, sent }: PaymentWithOffer & { sent: readonly (string | undefined)[] },
  next: PaymentChange,
): Promise<PaymentChange> {
  if (next.proof === undefined || !isUnquoted(offer)) return next
  const { txHash } = next.proof
  const elsewhere = { ...next, reason: ELSEWHERE }
  if (payment.attempts === 0 || payment.reason === ELSEWHERE) return elsewhere
  if (sent.includes(txHash)) return next
  const [sender, own] = await Promise.all([view.senderOf(txHash), facilitator?.sender?.()])
  return sender !== undefined && sender === own?.toLowerCase() ? next : elsewhere
}

/**
 * The reason why money that moved before we sent anything does not count by itself. A payload
 * copied from the chain can be presented by anyone, so the payer must be the account's own wallet,
 * and the transfer newer than the offer.
 */
function findDoubt(
  { ledger }: SettlementContext,
  payment: Payment,
  offer: Offer,
  blockNumber: number,
) {
  if (payment.attempts > 0) return undefined
  const owner = ledger.findAccountByAddress(payment.signed.payer)
  if (owner?.id !== payment.accountId) return 'foreign_payer'
  return blockNumber <= offer.fromBlock ? 'paid_before_offer' : undefined
}

/** Applies new facts; final money grants its period at once. */
async function take(
  context: SettlementContext,
  payment: Payment,
  next: PaymentChange,
): Promise<Payment> {
  const isMoney = next.to === 'settled' || next.to === 'pending'
  if (isMoney && payment.state === 'received') {
    // The payer submitted it before we knew who the payer is.
    const screened = await screenPayer(context, payment)
    return screened.state === 'screened' ? await take(context, screened, next) : screened
  }
  const moved = await unlessRefused(
    () => move(context, payment, next),
    // Two payments of one offer, or one transfer for two payments: the operator must decide.
    async () => isMoney && toReview(context, payment, { ...next, reason: 'paid_twice' }),
  )
  return moved.state === 'settled' ? provision(context, moved.id) : moved
}

/** Leaves money to the operator, with its transfer unless that belongs to another payment. */
const toReview = (
  context: SettlementContext,
  payment: Payment,
  { proof, ...next }: PaymentChange,
) =>
  unlessRefused(
    () => move(context, payment, { ...next, proof, to: 'review' }),
    () => move(context, payment, { ...next, to: 'review' }),
  )

function afterLook(verdict: ChainVerdict): PaymentChange | undefined {
  if (verdict.kind === 'paid') {
    const { proof, isFinal } = verdict
    const { txHash } = proof
    return isFinal
      ? { to: 'settled', txHash, proof }
      : { to: 'pending', txHash, reason: 'not_final' }
  }
  if (verdict.kind !== 'void') return undefined
  // The nonce was used for something else that the payer signed, possibly money, so the operator
  // decides.
  const to = verdict.reason === 'used_elsewhere' ? 'review' : 'void'
  return { to, reason: verdict.reason }
}

/** The change when the chain has not decided: whatever the facilitator reports, money may land. */
function byWordAlone(result: SettleResult): PaymentChange {
  const txHash = 'txHash' in result ? result.txHash : undefined
  const isSent = result.kind === 'success' || result.kind === 'pending'
  return isSent ? { to: 'pending', txHash } : { to: 'unknown', reason: result.reason, txHash }
}

/** Moves a payment on; if another process was faster, its state counts. */
export async function move(
  context: SettlementContext,
  payment: Payment,
  next: PaymentChange,
): Promise<Payment> {
  const { id, state, txHash } = payment
  if (state === next.to && (next.txHash ?? txHash) === txHash) return payment
  const change = { ...next, from: [state] }
  const moved = await context.ledger.payments.move(id, change, auditContext(context))
  if (!moved) return readPayment(context, id)
  const reason = next.reason === undefined ? '' : ` (${next.reason})`
  context.log(`billing: ${id} ${state} -> ${next.to}${reason}`, 'info', context.requestId)
  return moved
}

/** The outcome of `change`, or of `instead` if a rule of the ledger refuses it. */
async function unlessRefused(
  change: () => Promise<Payment>,
  instead: () => Promise<Payment | false>,
): Promise<Payment> {
  try {
    return await change()
  } catch (error) {
    const other = isFault(error, 'ledger_rule') && (await instead())
    if (other === false) throw error
    return other
  }
}

async function provision(context: SettlementContext, id: string): Promise<Payment> {
  const { ledger, createId } = context
  const ids = { subscriptionId: `sub_${createId()}`, restId: `sub_${createId()}` }
  await ledger.payments.provision(id, ids, auditContext(context))
  return readPayment(context, id)
}

export function findOfferOf({ ledger }: Pick<BillingOptions, 'ledger'>, payment: Payment): Offer {
  const offer = ledger.payments.findOffer(payment.offerId)
  assert(offer !== undefined, 'Offers are never deleted.')
  return offer
}

/** A payment, with everything that this server has written or read by a verb. */
const readPayment = ({ ledger }: SettlementContext, id: string): Payment =>
  assertThere(ledger.payments.findPayment(id))

/** A payment, with what any server has written before the call. */
export const askPayment = ({ ledger }: SettlementContext, id: string): Promise<Payment> =>
  ledger.atomically(({ payments }) => assertThere(payments.findPayment(id)))

function assertThere(payment: Payment | undefined): Payment {
  assert(payment !== undefined, 'Payments are never deleted.')
  return payment
}

const auditContext = ({ actor, clock }: SettlementContext): AuditContext => ({
  actor,
  nowMs: clock(),
})

export const isFresh = (
  { validBefore }: Pick<SignedPayment, 'validBefore'>,
  { chainMs }: Moment,
): boolean => Number(validBefore) * 1000 >= chainMs + FRESH_MS_MIN
