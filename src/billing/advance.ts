import { LedgerRuleError } from '#src/ledger/payments.ts'
/**
 * Takes a payment as far as it goes now, from whatever state it is in: a first call, a repeated one
 * and a recovery after a crash are the same walk. Throws only where nothing was ever sent.
 */
import type { PaymentFault } from '#src/selling/chain-view.ts'
import type { Payment } from '#src/selling/payment.ts'

import { type Case, type Flow, isFresh, move, reread } from './flow.ts'
import { observe } from './observation.ts'
import { findFault, screenPayer } from './preparation.ts'
import { refuseTooLate } from './refusals.ts'
import { relay } from './relay.ts'

/** How often a payment that may have been sent is sent again at most. */
export const ATTEMPTS_MAX = 3
/** A payment of unknown fate is given this long to appear, one that was seen on its way this long. */
export const RESEND_UNKNOWN_MS = 15_000
const RESEND_PENDING_MS = 60_000

export async function advance(flow: Flow, it: Case): Promise<Payment> {
  switch (it.payment.state) {
    case 'received':
    case 'screened':
      return begin(flow, it)
    case 'settling':
    case 'pending':
    case 'unknown':
      return follow(flow, it)
    case 'settled':
      return observe(flow, it)
    case 'rejected':
      return reconsider(flow, it)
    case 'provisioned':
    case 'void':
    case 'review':
      return it.payment
  }
}

/** Nothing was sent by us yet; the payer may have had it made himself, so the nonce comes before the clock. */
async function begin(flow: Flow, { payment, offer }: Case): Promise<Payment> {
  const screened = await screenPayer(flow, payment)
  if (screened.state !== 'screened') return screened
  const it = { payment: screened, offer }
  const fault = await findFault(flow, screened)
  // What came when its offer had ended is not sent at terms that may have changed.
  const isLate = !isFresh(flow, payment) || payment.createdMs >= offer.expiresMs
  if (fault !== 'nonce_used' && isLate) return giveUp(flow, it)
  return fault === undefined ? relay(flow, it) : refuse(flow, it, fault)
}

/** Too late to send; only the payer himself can still have it made, until it is proved that nobody can. */
async function giveUp(flow: Flow, it: Case): Promise<Payment> {
  const seen = await observe(flow, it)
  if (seen.state !== it.payment.state) return seen
  throw refuseTooLate(it.payment.signed, flow.deps.clock())
}

async function refuse(flow: Flow, it: Case, fault: PaymentFault): Promise<Payment> {
  if (fault !== 'nonce_used') return move(flow, it.payment, { to: 'rejected', reason: fault })
  // Paid before by somebody who saw the signature, or canceled: the chain knows.
  const seen = await observe(flow, it)
  if (seen.state !== it.payment.state) return seen
  return move(flow, seen, { to: 'unknown', reason: fault })
}

/** It may have been sent. */
async function follow(flow: Flow, it: Case): Promise<Payment> {
  const payment = await observe(flow, it)
  return mayResend(flow, payment) ? resend(flow, { ...it, payment }) : payment
}

function mayResend(flow: Flow, payment: Payment): boolean {
  const { state, attempts, leaseUntilMs, updatedMs } = payment
  const nowMs = flow.deps.clock()
  if (!flow.facilitator || attempts >= ATTEMPTS_MAX || !isFresh(flow, payment)) return false
  if (state === 'settling') return (leaseUntilMs ?? 0) <= nowMs
  if (state === 'unknown') return updatedMs + RESEND_UNKNOWN_MS <= nowMs
  return state === 'pending' && updatedMs + RESEND_PENDING_MS <= nowMs
}

/** Whatever fails on the way changes nothing: the first call may have been the one that counts. */
async function resend(flow: Flow, it: Case): Promise<Payment> {
  try {
    if ((await findFault(flow, it.payment)) !== undefined) return it.payment
    const screened = await screenPayer(flow, it.payment)
    return screened.state === it.payment.state ? await relay(flow, it) : screened
  } catch (error) {
    flow.deps.log(`billing: ${it.payment.id} is not sent again: ${String(error)}`)
    return reread(flow, it.payment.id)
  }
}

/** What was missing may be there now. All else stays refused, unless the payer had it made himself. */
async function reconsider(flow: Flow, it: Case): Promise<Payment> {
  const { offer } = it
  const seen = await observe(flow, it)
  if (seen.state !== 'rejected') return seen
  const fault = await findFault(flow, seen)
  const isMended = fault === undefined && isMendable(seen) && isFresh(flow, seen)
  const mayBegin = isMended && flow.deps.clock() < offer.expiresMs
  if (fault !== 'nonce_used' && !mayBegin) return seen
  const reopened = reopen(flow, seen)
  return reopened.state === 'screened' ? begin(flow, { payment: reopened, offer }) : reopened
}

const isMendable = ({ reason }: Payment): boolean =>
  reason === 'allowance_required' || reason === 'insufficient_balance'

/** Stays rejected if another payment has taken the offer meanwhile: the ledger refuses two. */
function reopen(flow: Flow, payment: Payment): Payment {
  try {
    return move(flow, payment, { to: 'screened' })
  } catch (error) {
    if (!(error instanceof LedgerRuleError)) throw error
    return { ...payment, reason: 'offer_used' }
  }
}
