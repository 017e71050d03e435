/** What a caller is told of a payment. */
import { AppError } from '#src/core/errors.ts'
import type { Payment } from '#src/core/payment.ts'
import { assert } from '#src/lib/assert.ts'

import type { Billing, BillingDeps, Settlement } from './billing.ts'
import type { Case } from './flow.ts'
import {
  refuseAllowance,
  refusePayment,
  refuseReview,
  refuseUnavailable,
  refuseUsedOffer,
} from './refusals.ts'
import { toPaymentRequired } from './requirements.ts'

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
      throw refuseUnavailable('Nothing was sent yet. Hand in the same payment again.')
    case 'review':
      throw refuseReview(it.payment.reason)
    case 'rejected':
    case 'void':
      throw refuseDead(deps, it)
  }
}

/** Only here is a payer told to sign anew: what he signed was never sent, or is proved void. */
function refuseDead(deps: Deps, { payment, offer }: Case): AppError {
  const { reason = 'rejected' } = payment
  if (reason === 'offer_used') return refuseUsedOffer()
  if (reason === 'allowance_required' && payment.state === 'rejected') {
    return refuseAllowance(payment, offer)
  }
  const isOpen = deps.clock() < offer.expiresMs
  return refusePayment(reason, isOpen ? toPaymentRequired(deps, offer) : undefined)
}

const toSettlement = ({ ledger }: Pick<Deps, 'ledger'>, { payment, offer }: Case): Settlement => ({
  payment,
  offer,
  subscription: ledger.payments.findSubscriptionOf(payment.id),
})

/** Creates what an account may see of its payments and periods. */
export function createHistory(
  deps: Pick<BillingDeps, 'ledger'>,
): Pick<Billing, 'payment' | 'payments' | 'subscriptions'> {
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
