import { AppError } from '#src/core/errors.ts'
import { assert } from '#src/lib/assert.ts'
/** What a caller is told of a payment. */
import type { Caller } from '#src/selling/caller.ts'
import type { Payment } from '#src/selling/payment.ts'

import type { Billing, BillingDeps, Settlement } from './billing.ts'
import type { Case } from './flow.ts'
import {
  refuseAllowance,
  refusePayment,
  refuseReview,
  refuseUnavailable,
  refuseUsedOffer,
} from './refusals.ts'

type Deps = Pick<BillingDeps, 'ledger' | 'origin' | 'clock'>

/** The payment if it is made or in flight. Throws what stands against it. */
export function toAnswer(deps: Deps, it: Case): Settlement {
  switch (it.payment.state) {
    case 'provisioned':
    case 'settled':
    case 'settling':
    case 'pending':
    case 'unknown':
      return toSettlement(deps, it)
    case 'received':
    case 'screened':
      throw refuseUnavailable('The payment is not sent yet. Submit the same payment again.')
    case 'review':
      throw refuseReview(it.payment.reason)
    case 'rejected':
    case 'void':
      throw refuseDead(deps, it)
  }
}

/** What was never sent, or is proved void. Nobody is asked to pay what another payment is paying. */
function refuseDead(deps: Deps, { payment, offer }: Case): AppError {
  const { reason = 'rejected' } = payment
  const isTaken = deps.ledger.payments.isOfferTaken(offer.id)
  if (reason === 'offer_used' || isTaken) return refuseUsedOffer()
  if (reason === 'allowance_required' && payment.state === 'rejected') {
    return refuseAllowance(payment, offer)
  }
  return refusePayment(deps, { reason, signed: payment.signed, offer })
}

/** The payment of an account that may still be made: whoever asks for another offer is told of it. */
export const paymentInFlight = (
  { ledger }: Pick<BillingDeps, 'ledger'>,
  accountId: string,
): Payment | undefined => ledger.payments.findOpenPayment(accountId)

const toSettlement = ({ ledger }: Pick<Deps, 'ledger'>, { payment, offer }: Case): Settlement => ({
  payment,
  offer,
  subscription: ledger.payments.findSubscriptionOf(payment.id),
})

/** Creates what an account may see of its payments and periods. */
export function createHistory(deps: Pick<BillingDeps, 'ledger'>): Pick<
  Billing,
  'payments' | 'subscriptions'
> & {
  payment(caller: Caller, id: string): Settlement
} {
  const { ledger } = deps
  const describe = (payment: Payment): Settlement => {
    const offer = ledger.payments.findOffer(payment.offerId)
    assert(offer !== undefined, 'Offers are never deleted.')
    return toSettlement(deps, { payment, offer })
  }
  return {
    payment({ accountId }, id) {
      const payment = ledger.payments.findPayment(id)
      if (payment?.accountId === accountId) return describe(payment)
      throw new AppError(
        'unknown_payment',
        'You have no such payment. GET /v1/billing/payments lists those you have.',
        { param: 'id' },
      )
    },

    payments: ({ accountId }, page) =>
      ledger.payments.listPayments({ accountId, ...page }).map(describe),

    subscriptions: ({ accountId }) => ledger.listSubscriptions(accountId),
  }
}
