/**
 * Moves a payment through its states (`domain/selling/payment.ts`), as far as it goes now and from
 * whatever state it is in: a first call, a repeated one and a recovery after a crash are the same
 * walk. The facilitator is called only after `settling` was committed; only the chain makes a
 * payment `settled` or `void`, and only it may call one unpaid.
 */

import type { ChainVerdict, ChainView, PaymentFault } from '#src/domain/selling/chain-view.ts'
import type { Facilitator, SettleResult } from '#src/domain/selling/facilitator.ts'
import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'
import {
  type Offer,
  type Payment,
  type PaymentProof,
  type PaymentState,
  type SignedPayment,
  VALID_BEFORE_MS_MAX,
} from '#src/domain/selling/payment.ts'
import type { Actor, AuditContext } from '#src/ledger/ledger.ts'
import type { PaymentChange } from '#src/ledger/payments.ts'
import { assert } from '#src/platform/assert.ts'
import { isFault } from '#src/platform/fault.ts'

import type { BillingDeps, Origin } from './billing.ts'
import { describeDrift, latestOf, type Moment, readMoment } from './chain-clock.ts'
import { extensionsOf } from './extensions.ts'
import { signatureOf } from './payload.ts'
import {
  tooLateError,
  toPaymentRequired,
  unaskedError,
  unavailableError,
  unscreenedError,
} from './payment-errors.ts'
import { SEAL } from './sealed-offer.ts'

/** `actor`: the account that submits a payment, or `system` for the reconciler. */
export type Flow = {
  deps: BillingDeps
  chain: ChainView
  /** Undefined where none is configured any more: payments are then only looked for. */
  facilitator: Facilitator | undefined
  actor: Actor
} & Origin

/** What works on payments of a network; undefined where no node of it is configured any more. */
export function flowOn(deps: BillingDeps, network: string, actor: Actor): Flow | undefined {
  const sold = deps.chains.find(({ chain }) => chain.network === network)
  return sold?.view && { deps, chain: sold.view, facilitator: sold.facilitator, actor }
}

export type Case = { payment: Payment; offer: Offer }

/** The first steps of a payment need this long; the token is strict to the second. */
export const FRESH_MS_MIN = 30_000
/**
 * A lease ends soon after the process that holds it, which renews it while it waits for the
 * facilitator: so a payment is taken up again within this time after a kill.
 */
const LEASE_MS = 15_000
const RENEW_LEASE_MS = 5000
/** How often a payment that may have been sent is sent again at most. */
export const ATTEMPTS_MAX = 3
/** So long a payment of unknown fate is given to appear, and one that was seen on its way. */
export const RESEND_UNKNOWN_MS = 15_000
const RESEND_PENDING_MS = 60_000
/** Eight seconds in all: a few blocks of Polygon and its finality. */
const PENDING_STEPS_MS = [50, 100, 200, 400, 750, 1500, 2500, 2500]
/** A payment that nobody saw on its way is less likely to arrive. */
const UNKNOWN_STEPS = 4

const steps: Record<PaymentState, (flow: Flow, it: Case) => Payment | Promise<Payment>> = {
  received: begin,
  screened: begin,
  settling: follow,
  pending: follow,
  unknown: follow,
  settled: observe,
  rejected: reconsider,
  provisioned: (_, { payment }) => payment,
  void: (_, { payment }) => payment,
  review: (_, { payment }) => payment,
}

/** Takes a payment as far as it goes now. Throws only where nothing was ever sent. */
export const advance = async (flow: Flow, it: Case): Promise<Payment> =>
  steps[it.payment.state](flow, it)

/** Looks again and again while a payment is in flight, so that most callers get its end. */
export async function waitForFinality(flow: Flow, it: Case): Promise<Payment> {
  let { payment } = it
  for (const [step, ms] of PENDING_STEPS_MS.entries()) {
    const { state } = payment
    if (state !== 'pending' && (state !== 'unknown' || step >= UNKNOWN_STEPS)) break
    await flow.deps.sleep(ms)
    payment = await observe(flow, { ...it, payment })
  }
  return payment
}

/** Nothing was sent by us yet; the payer may have, so the nonce is checked before the clock. */
async function begin(flow: Flow, { payment, offer }: Case): Promise<Payment> {
  const screened = await screenPayer(flow, payment)
  if (screened.state !== 'screened') return screened
  const it = { payment: screened, offer }
  const fault = await findFault(flow, screened)
  // What came when its offer had ended is not sent at terms that may have changed.
  const moment = await momentOf(flow)
  const isLate = !isFresh(payment.signed, moment) || payment.createdMs >= offer.expiresMs
  if (fault === 'nonce_used' || isLate) {
    // Paid before by somebody who saw the signature, or canceled: the chain knows.
    const seen = await observe(flow, it)
    if (seen.state !== screened.state) return seen
    if (fault === 'nonce_used') return move(flow, seen, { to: 'unknown', reason: fault })
    // Only the payer can still submit it, until it is proved that nobody can.
    const drift = describeDrift(moment, chainOf(flow, payment))
    throw tooLateError(payment.signed, { moment, offer, drift })
  }
  const reason = fault ?? clockFault(payment.signed, moment)
  return reason === undefined ? relay(flow, it) : move(flow, screened, { to: 'rejected', reason })
}

/** Why the time is against sending a payment that has not ended; its payer may have it made. */
export function clockFault({ validAfter, validBefore }: SignedPayment, moment: Moment) {
  const nowMs = latestOf(moment)
  // As numbers these may be inexact, but then they are far beyond every limit.
  if (Number(validBefore) * 1000 > nowMs + VALID_BEFORE_MS_MAX) return 'expires_too_late'
  return Number(validAfter) * 1000 > nowMs ? 'not_yet_valid' : undefined
}

/** It may have been sent. What fails here changes nothing: the first call may be what counts. */
async function follow(flow: Flow, it: Case): Promise<Payment> {
  const payment = await observe(flow, it)
  if (!mayResend(flow, payment)) return payment
  try {
    if (!isFresh(payment.signed, await momentOf(flow))) return payment
    if ((await findFault(flow, payment)) !== undefined) return payment
    const screened = await screenPayer(flow, payment)
    return screened.state === payment.state ? await relay(flow, { ...it, payment }) : screened
  } catch (error) {
    const line = `billing: ${payment.id} is not sent again: ${String(error)}`
    flow.deps.log(line, 'warn', flow.requestId)
    return reread(flow, payment.id)
  }
}

function mayResend(flow: Flow, payment: Payment): boolean {
  const { state, attempts, leaseUntilMs, updatedMs } = payment
  const nowMs = flow.deps.clock()
  if (!flow.facilitator || attempts >= ATTEMPTS_MAX) return false
  if (state === 'settling') return (leaseUntilMs ?? 0) <= nowMs
  if (state === 'unknown') return updatedMs + RESEND_UNKNOWN_MS <= nowMs
  return state === 'pending' && updatedMs + RESEND_PENDING_MS <= nowMs
}

const mendable: readonly (string | undefined)[] = [
  ...['allowance_required', 'insufficient_balance', 'expires_too_late', 'not_yet_valid'],
]

/** What was missing may be there now. All else stays rejected, unless the payer submitted it. */
async function reconsider(flow: Flow, it: Case): Promise<Payment> {
  const { offer } = it
  const seen = await observe(flow, it)
  if (seen.state !== 'rejected') return seen
  const fault = await findFault(flow, seen)
  const moment = await momentOf(flow)
  const isTimely = isFresh(seen.signed, moment) && clockFault(seen.signed, moment) === undefined
  const isMended = fault === undefined && mendable.includes(seen.reason) && isTimely
  const mayBegin = isMended && flow.deps.clock() < offer.expiresMs
  if (fault !== 'nonce_used' && !mayBegin) return seen
  const reopened = unlessRefused(
    () => move(flow, seen, { to: 'screened' }),
    // Another payment has taken the offer meanwhile.
    () => ({ ...seen, reason: 'offer_used' }),
  )
  return reopened.state === 'screened' ? begin(flow, { payment: reopened, offer }) : reopened
}

/** A hit ends in `review`, whatever was sent before. Throws `screening_unavailable`. */
async function screenPayer(flow: Flow, payment: Payment): Promise<Payment> {
  const { screen, ledger } = flow.deps
  const { verdict } = await screen(payment.signed.payer)
  if (verdict === 'unknown') throw unscreenedError()
  if (verdict === 'hit') {
    const account = ledger.findAccountByAddress(payment.signed.payer)
    if (account) ledger.setBlocked(account.id, true, { ...deedOf(flow), actor: 'system' })
    return move(flow, payment, { to: 'review', reason: 'sanctioned' })
  }
  return payment.state === 'received' ? move(flow, payment, { to: 'screened' }) : payment
}

/** Why the chain would not take the payment now, if it would not. Throws `billing_unavailable`. */
const findFault = async ({ chain }: Flow, { signed }: Payment): Promise<PaymentFault | undefined> =>
  (await askFaults(chain, signed, signatureOf(signed)))[0]

/** All that the chain has against a payment now. Throws `billing_unavailable` without an answer. */
export async function askFaults(chain: ChainView, signed: SignedPayment, signature: string) {
  const preflight = await chain.preflight(signed, signature)
  if (preflight.kind === 'unavailable') throw unaskedError()
  return preflight.kind === 'fault' ? preflight.faults : []
}

/**
 * Sends a payment that is ready, or once more one whose fate is unknown: the same bytes, under a
 * lease that is committed first. If somebody else holds the lease, their outcome counts. Throws
 * `billing_unavailable` if nothing was ever sent.
 */
async function relay(flow: Flow, { payment, offer }: Case): Promise<Payment> {
  const { chain, facilitator, deps, trace } = flow
  if (!facilitator) throw unsentError()
  const leaseMs = deps.lease?.ms ?? LEASE_MS
  const leased = deps.ledger.payments.lease(payment.id, deps.clock() + leaseMs, deedOf(flow))
  if (!leased) return reread(flow, payment.id)
  // Another process may have sent it between our reading and the lease.
  const wasSent = payment.state !== 'screened' || leased.attempts !== payment.attempts + 1
  const payload = withResource(deps, leased.signed.payload, offer)
  const result = await whileLeased(flow, leased, () =>
    facilitator.settle(payload, offer.requirements, trace),
  )
  const word = byWordAlone(result)
  const hint = { fromBlock: offer.fromBlock, txHash: word.txHash ?? leased.txHash }
  const seen = afterLook(await chain.look(leased.signed, hint))
  if (seen === undefined && result.kind === 'refused' && !wasSent) {
    move(flow, leased, { to: 'screened', reason: result.reason })
    // It says that it took nothing, and the chain shows nothing; neither proves it.
    throw refusedError()
  }
  return take(flow, leased, seen ?? word)
}

/** Holds a lease for as long as the work takes. */
async function whileLeased<T>(
  { deps }: Flow,
  { id, attempts }: Payment,
  work: () => Promise<T>,
): Promise<T> {
  const { ms, renewMs } = deps.lease ?? { ms: LEASE_MS, renewMs: RENEW_LEASE_MS }
  const renew = () => {
    try {
      deps.ledger.payments.renewLease(id, { attempts, untilMs: deps.clock() + ms })
    } catch (error) {
      // Without it another process may send the same bytes, which moves no more money.
      deps.log(`billing: the lease of ${id} is not renewed: ${String(error)}`, 'warn')
    }
  }
  const timer = setInterval(renew, renewMs)
  timer.unref()
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/** Facilitators list what is bought without a key by what comes with the payment. */
function withResource(deps: BillingDeps, payload: string, offer: Offer): string {
  if (!Object.hasOwn(offer.requirements.extra, SEAL)) return payload
  const { resource } = toPaymentRequired(deps, offer)
  const extensions = extensionsOf(offer.requests === 1 ? 'GET' : 'POST')
  return JSON.stringify({ ...(JSON.parse(payload) as object), resource, extensions })
}

const refusedError = () =>
  unavailableError(
    'The facilitator did not take the payment just now, and the chain does not show it yet. Submit the same payment again, and sign no other.',
  )

const unsentError = () =>
  unavailableError(
    'The payment could not be submitted just now. Nothing was sent; submit the same payment again.',
  )

/** Moves a payment as far as the chain proves; unchanged where it proves nothing. */
export async function observe(flow: Flow, { payment, offer }: Case): Promise<Payment> {
  if (payment.state === 'settled') return provision(flow, payment.id)
  const hint = { fromBlock: offer.fromBlock, txHash: payment.txHash }
  const next = afterLook(await flow.chain.look(payment.signed, hint))
  const doubt = next?.proof && doubtOf(flow, { payment, offer }, next.proof)
  if (next && doubt !== undefined) return toReview(flow, payment, { ...next, reason: doubt })
  return next ? await take(flow, payment, next) : payment
}

/**
 * Why money that moved before we sent anything does not count by itself. Whoever reads a chain can
 * present a payment seen there: so it must be the account's own wallet's, and newer than the offer.
 */
function doubtOf({ deps }: Flow, { payment, offer }: Case, { blockNumber }: PaymentProof) {
  if (payment.attempts > 0) return undefined
  const owner = deps.ledger.findAccountByAddress(payment.signed.payer)
  if (owner?.id !== payment.accountId) return 'foreign_payer'
  return blockNumber <= offer.fromBlock ? 'paid_before_offer' : undefined
}

/** Takes what was learned; money that is final gives its period at once. */
async function take(flow: Flow, payment: Payment, next: PaymentChange): Promise<Payment> {
  const isMoney = next.to === 'settled' || next.to === 'pending'
  if (isMoney && payment.state === 'received') {
    // Sent by the payer before we knew who that is.
    const screened = await screenPayer(flow, payment)
    return screened.state === 'screened' ? await take(flow, screened, next) : screened
  }
  const moved = unlessRefused(
    () => move(flow, payment, next),
    // Two payments of one offer, or one transfer for two: the operator has to see it.
    () => isMoney && toReview(flow, payment, { ...next, reason: 'paid_twice' }),
  )
  return moved.state === 'settled' ? provision(flow, moved.id) : moved
}

/** Leaves money to the operator; where it is, unless that transfer is another payment's. */
const toReview = (flow: Flow, payment: Payment, { proof, ...next }: PaymentChange) =>
  unlessRefused(
    () => move(flow, payment, { ...next, proof, to: 'review' }),
    () => move(flow, payment, { ...next, to: 'review' }),
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
  // The nonce went to something else that the payer signed: perhaps money, for the operator.
  const to = verdict.reason === 'used_elsewhere' ? 'review' : 'void'
  return { to, reason: verdict.reason }
}

/** Where the chain has not decided: whatever the facilitator says, money may land. */
function byWordAlone(result: SettleResult): PaymentChange {
  const txHash = 'txHash' in result ? result.txHash : undefined
  const isSent = result.kind === 'success' || result.kind === 'pending'
  return isSent ? { to: 'pending', txHash } : { to: 'unknown', reason: result.reason, txHash }
}

/** Moves a payment on; if somebody else was faster, their state counts. */
export function move(flow: Flow, payment: Payment, next: PaymentChange): Payment {
  const { id, state, txHash } = payment
  if (state === next.to && (next.txHash ?? txHash) === txHash) return payment
  const moved = flow.deps.ledger.payments.move(id, { ...next, from: [state] }, deedOf(flow))
  if (!moved) return reread(flow, id)
  const reason = next.reason === undefined ? '' : ` (${next.reason})`
  flow.deps.log(`billing: ${id} ${state} -> ${next.to}${reason}`, 'info', flow.requestId)
  return moved
}

/** The outcome of `change`, or of `instead` where a rule of the ledger refuses it. */
function unlessRefused(change: () => Payment, instead: () => Payment | false): Payment {
  try {
    return change()
  } catch (error) {
    const other = isFault(error, 'ledger_rule') && instead()
    if (other === false) throw error
    return other
  }
}

function provision(flow: Flow, id: string): Payment {
  const { ledger, createId } = flow.deps
  const ids = { subscriptionId: `sub_${createId()}`, restId: `sub_${createId()}` }
  ledger.payments.provision(id, ids, deedOf(flow))
  return reread(flow, id)
}

export function caseOf({ ledger }: BillingDeps, payment: Payment): Case {
  const offer = ledger.payments.findOffer(payment.offerId)
  assert(offer !== undefined, 'Offers are never deleted.')
  return { payment, offer }
}

export function reread({ deps }: Flow, id: string): Payment {
  const payment = deps.ledger.payments.findPayment(id)
  assert(payment !== undefined, 'Payments are never deleted.')
  return payment
}

const deedOf = ({ deps, actor }: Flow): AuditContext => ({ actor, nowMs: deps.clock() })

const momentOf = ({ deps, chain }: Flow): Promise<Moment> => readMoment(deps.clock, chain)

function chainOf({ deps }: Flow, { signed }: Payment): PaymentChain {
  const sold = deps.chains.find(({ chain }) => chain.network === signed.network)
  assert(sold !== undefined, 'A flow is on a chain that is sold on.')
  return sold.chain
}

export const isFresh = (
  { validBefore }: Pick<SignedPayment, 'validBefore'>,
  { chainMs }: Moment,
): boolean => Number(validBefore) * 1000 >= chainMs + FRESH_MS_MIN
