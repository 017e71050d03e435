/** Turns money into time: the only place where paid periods are made and moved. */
import type { Payment } from '#src/selling/payment.ts'
import { bookPeriod, type Period } from '#src/selling/period.ts'
import type { Subscription } from '#src/selling/subscription.ts'

import type { Deed } from '../ledger.ts'
import type { PaymentStore } from '../payments.ts'
import type { Moves } from './moves.ts'
import type { PaymentParts } from './sqlite-payments.ts'

type Ids = Parameters<PaymentStore['provision']>[1]

export function createProvision(parts: PaymentParts, write: Moves['write']) {
  const { atomically, subscriptions, payments } = parts
  return {
    findSubscriptionOf: subscriptions.findOfPayment,

    provision: (id, ids, by) =>
      atomically(() => {
        const existing = subscriptions.findOfPayment(id)
        if (existing !== undefined) return existing
        const payment = payments.get(id)
        if (payment.state !== 'settled') {
          throw new Error(`Payment ${id} is ${payment.state}, not settled.`)
        }
        book(parts, { payment, ids }, by)
        write({ ...payment, state: 'provisioned', updatedMs: by.nowMs }, by)
        return subscriptions.get(ids.subscriptionId)
      }),
  } satisfies Partial<PaymentStore>
}

function book(
  { record, subscriptions, offers }: PaymentParts,
  { payment, ids }: { payment: Payment; ids: Ids },
  by: Deed,
): void {
  const { accountId } = payment
  const { terms, periodDays: days } = offers.get(payment.offerId)
  const periods = subscriptions.list(accountId).flatMap(toPeriod)
  const { startMs, endMs, moved, rest } = bookPeriod(periods, { terms, days, nowMs: by.nowMs })
  const add = (period: Period, paymentId?: string): void => {
    subscriptions.insert({ ...period, accountId, paymentId, createdMs: by.nowMs })
    record(by, 'subscription.added', period.id)
  }
  for (const period of moved) {
    subscriptions.move(period)
    record(by, 'subscription.moved', period.id)
  }
  // What was cut off carries no payment: that has one subscription, which goes on being its.
  if (rest !== undefined) add({ ...rest, id: ids.restId })
  add({ id: ids.subscriptionId, tierId: terms.tierId, terms, startMs, endMs }, payment.id)
}

/** Grants have no terms of their own, and stay where they are. */
function toPeriod({ id, tierId, terms, startMs, endMs }: Subscription): Period[] {
  if (terms === undefined || endMs === undefined) return []
  return [{ id, tierId, terms, startMs, endMs }]
}
