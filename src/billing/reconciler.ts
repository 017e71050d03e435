/**
 * Brings payments to their end without their payers: at start, and on a timer. From the chain alone
 * each of them becomes provisioned or void, at the latest once its last second is final.
 */
import { AppError } from '#src/core/errors.ts'
import { openStates, type Payment } from '#src/core/payment.ts'
import { assert } from '#src/lib/assert.ts'

import { advance, ATTEMPTS_MAX, RESEND_UNKNOWN_MS } from './advance.ts'
import type { BillingDeps } from './billing.ts'
import { type Flow, move } from './flow.ts'
import { observe } from './observation.ts'
import type { SingleFlight } from './single-flight.ts'

export type Flights = SingleFlight<Payment>

/** See `Billing.reconcile`. */
export async function reconcile(deps: BillingDeps, flights: Flights): Promise<number> {
  const { chain, facilitator, ledger, log } = deps
  if (chain) {
    const flow: Flow = { deps, chain, facilitator, actor: 'system' }
    for (const payment of ledger.payments.listPaymentsIn([...openStates, 'rejected'])) {
      // A caller is at it.
      if (flights.has(payment.id)) continue
      try {
        await flights.run(payment.id, () => step(flow, payment))
      } catch (error) {
        // A refusal is for callers; it comes again at every look.
        if (!(error instanceof AppError))
          log(`billing: ${payment.id} stays ${payment.state}: ${String(error)}`)
      }
    }
  }
  return ledger.payments.listPaymentsIn(openStates).length
}

async function step(flow: Flow, listed: Payment): Promise<Payment> {
  const payment = flow.deps.ledger.payments.findPayment(listed.id) ?? listed
  if (payment.state === 'rejected') return followRejected(flow, payment)
  const it = { payment, offer: offerOf(flow, payment) }
  if (payment.state !== 'received' && payment.state !== 'screened') return advance(flow, it)
  // The payer may have had it made himself while we were away.
  const seen = await observe(flow, it)
  return seen.state === payment.state && isDue(flow, seen) ? advance(flow, it) : seen
}

/** A facilitator that refuses is asked a few times more; after that the payer has to ask. */
const isDue = ({ deps }: Flow, { attempts, updatedMs }: Payment): boolean =>
  attempts < ATTEMPTS_MAX && updatedMs + RESEND_UNKNOWN_MS <= deps.clock()

/** We never sent it, but the payer can, until it is void; a forged signature cannot arrive at all. */
async function followRejected(flow: Flow, payment: Payment): Promise<Payment> {
  if (payment.reason === 'signature_invalid') {
    return move(flow, payment, { to: 'void', reason: payment.reason })
  }
  return observe(flow, { payment, offer: offerOf(flow, payment) })
}

function offerOf({ deps }: Flow, { offerId }: Payment) {
  const offer = deps.ledger.payments.findOffer(offerId)
  assert(offer !== undefined, 'Offers are never deleted.')
  return offer
}
