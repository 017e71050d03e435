/** Hands a payment to the facilitator, under a lease that is committed before. */
import type { Payment } from '#src/selling/payment.ts'

import { type Case, deedOf, type Flow, move, reread } from './flow.ts'
import { take } from './observation.ts'
import { afterSettle } from './outcome.ts'
import { refuseUnavailable } from './refusals.ts'

/** Longer than any facilitator is waited for. */
const LEASE_MS = 90_000

/**
 * Sends a payment that is ready, or one whose fate is unknown once more: always the same bytes. If
 * somebody else is at it, his outcome stands. Throws `billing_unavailable` if nothing was ever sent.
 */
export async function relay(flow: Flow, { payment, offer }: Case): Promise<Payment> {
  const { chain, facilitator, deps } = flow
  if (!facilitator) throw refuseUnsent()
  const leased = deps.ledger.payments.lease(payment.id, deps.clock() + LEASE_MS, deedOf(flow))
  if (!leased) return reread(flow, payment.id)
  // Another process may have sent it between our reading and the lease.
  const wasSent = payment.state !== 'screened' || leased.attempts !== payment.attempts + 1
  const result = await facilitator.settle(leased.signed.payload, offer.requirements)
  if (result.kind === 'refused' && !wasSent) {
    move(flow, leased, { to: 'screened', reason: result.reason })
    throw refuseUnsent()
  }
  const txHash = ('txHash' in result ? result.txHash : undefined) ?? leased.txHash
  const verdict = await chain.look(leased.signed, { fromBlock: offer.fromBlock, txHash })
  return take(flow, leased, afterSettle(result, verdict, { wasSent }))
}

const refuseUnsent = () =>
  refuseUnavailable(
    'The payment could not be handed over just now. Nothing was sent; submit the same payment again.',
  )
