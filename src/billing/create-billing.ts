/** Puts the parts of billing together, or none of them where nothing is sold. */
import { AppError } from '#src/core/errors.ts'
import { homeChain, type PaymentChain } from '#src/selling/payment-chain.ts'
import type { Payment } from '#src/selling/payment.ts'

import { admit } from './admission.ts'
import type { Billing, BillingDeps, Settlement } from './billing.ts'
import { createAvailability, createOffers, statusOf } from './offers.ts'
import {
  allowanceError,
  rejectedError,
  reviewError,
  unavailableError,
  usedOfferError,
} from './payment-errors.ts'
import { advance, type Case, caseOf, flowOn, reread, waitForFinality } from './payment-machine.ts'
import { createReconciler } from './reconciler.ts'

/** It does nothing by itself: `refresh`, `reconcile` and `watch` want a timer. */
export function createBilling(deps: BillingDeps): Billing {
  const { ledger } = deps
  const availability = createAvailability(deps)
  const { poll, work, reconcile, watch } = createReconciler(deps)
  const listeners: (() => void)[] = []
  const describe = (payment: Payment) => toSettlement(deps, caseOf(deps, payment))
  const settle: Billing['settle'] = async (caller, payload) => {
    const it = await admit(deps, caller, payload)
    if (it.payment.state === 'provisioned') return toAnswer(deps, it)
    const { id, signed } = it.payment
    const flow = flowOn(deps, signed.network, `account:${caller.accountId}`)
    if (!flow) throw unavailableError('No node of the chain is configured any more.')
    const payment = await work(id, async () => {
      const advanced = await advance(flow, { ...it, payment: reread(flow, id) })
      return waitForFinality(flow, { ...it, payment: advanced })
    })
    return toAnswer(deps, { ...it, payment })
  }
  const findOwn: (...args: Parameters<Billing['payment']>) => Payment = ({ accountId }, id) => {
    const payment = ledger.payments.findPayment(id)
    if (payment?.accountId === accountId) return payment
    throw new AppError(
      'unknown_payment',
      'You have no such payment. GET /v1/billing/payments lists those you have.',
      { param: 'id' },
    )
  }
  return {
    chains: availability.chains,
    refresh: availability.refresh,
    ...createOffers(deps, availability),
    async payment(caller, id) {
      await poll(findOwn(caller, id))
      return describe(findOwn(caller, id))
    },
    payments: ({ accountId }, page) =>
      ledger.payments.listPayments({ accountId, ...page }).map(describe),
    subscriptions: ({ accountId }) => ledger.listSubscriptions(accountId),
    settle: (caller, payload) =>
      settle(caller, payload).finally(() => {
        for (const listener of listeners) listener()
      }),
    onSubmitted: (listener) => void listeners.push(listener),
    reconcile,
    watch,
  }
}

/** The payment if it is made or in flight. Throws why it is neither. */
function toAnswer(deps: BillingDeps, it: Case): Settlement {
  const { state, reason } = it.payment
  if (state === 'received' || state === 'screened') {
    throw unavailableError('The payment is not sent yet. Submit the same payment again.')
  }
  if (state === 'review') throw reviewError(reason)
  if (state === 'rejected' || state === 'void') throw deadError(deps, it)
  return toSettlement(deps, it)
}

/** For what was never sent, or is void. Nobody is asked to pay what another payment is paying. */
function deadError(deps: BillingDeps, { payment, offer }: Case): AppError {
  const { reason = 'rejected' } = payment
  const isTaken = deps.ledger.payments.isOfferTaken(offer.id)
  if (reason === 'offer_used' || isTaken) return usedOfferError()
  if (reason === 'allowance_required' && payment.state === 'rejected') {
    return allowanceError(payment, offer)
  }
  return rejectedError(deps, { reason, signed: payment.signed, offer })
}

const toSettlement = ({ ledger }: BillingDeps, { payment, offer }: Case): Settlement => ({
  payment,
  offer,
  subscription: ledger.payments.findSubscriptionOf(payment.id),
})

/** Billing of a server that sells nothing: all is unavailable, for a reason that callers see. */
export function closedBilling(
  reason: string,
  chains: readonly PaymentChain[] = [homeChain],
): Billing {
  const refuse = (): never => {
    throw new AppError('billing_unavailable', reason, { retryAction: 'ask_operator' })
  }
  const statuses = chains.map((chain) => statusOf(chain, () => reason))
  return {
    chains: () => statuses,
    quote: async () => refuse(),
    challenge: refuse,
    settle: async () => refuse(),
    payment: async () => refuse(),
    // Not an empty list: there may be payments from before.
    payments: refuse,
    subscriptions: () => [],
    onSubmitted: () => undefined,
    reconcile: async () => 0,
    watch: async () => undefined,
    refresh: async () => undefined,
  }
}
