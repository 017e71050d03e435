/** What stands between a payment and the facilitator: the payer is screened and the chain is asked. */
import type { PaymentFault } from '#src/selling/chain-view.ts'
import type { Payment } from '#src/selling/payment.ts'

import { deedOf, type Flow, move } from './flow.ts'
import { signatureOf } from './payload.ts'
import { refuseUnasked, refuseUnscreened } from './refusals.ts'

/**
 * Screens the payer. A hit ends in `review`, whatever was sent before; without an answer nothing
 * changes and `screening_unavailable` is thrown.
 */
export async function screenPayer(flow: Flow, payment: Payment): Promise<Payment> {
  const { verdict } = await flow.deps.screen(payment.signed.payer)
  if (verdict === 'unknown') throw refuseUnscreened()
  if (verdict === 'hit') {
    const account = flow.deps.ledger.findAccountByAddress(payment.signed.payer)
    if (account) flow.deps.ledger.setBlocked(account.id, true, { ...deedOf(flow), actor: 'system' })
    return move(flow, payment, { to: 'review', reason: 'sanctioned' })
  }
  return payment.state === 'received' ? move(flow, payment, { to: 'screened' }) : payment
}

/** Why the chain would not take the payment now; undefined if it would. Throws `billing_unavailable`. */
export async function findFault(
  { chain }: Flow,
  { signed }: Payment,
): Promise<PaymentFault | undefined> {
  const preflight = await chain.preflight(signed, signatureOf(signed))
  if (preflight.kind === 'unavailable') {
    throw refuseUnasked()
  }
  return preflight.kind === 'fault' ? preflight.faults[0] : undefined
}
