/** Turns money into time: the only place where paid periods are made and moved. */
import type { Payment } from '#src/selling/payment.ts'
import { bookPeriod, type Period } from '#src/selling/period.ts'
import type { Subscription } from '#src/selling/subscription.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { Deed } from '../ledger.ts'
import type { Moves } from './moves.ts'
import type { OfferTable } from './offer-table.ts'
import type { LedgerParts } from './parts.ts'
import type { PaymentTable } from './payment-table.ts'

type Tables = Pick<LedgerParts, 'db' | 'atomically' | 'record' | 'subscriptions'> &
  Pick<Moves, 'write'> & { offers: OfferTable; payments: PaymentTable }
type Ids = { subscriptionId: string; restId: string }

export function createProvision(tables: Tables) {
  const { db, atomically, subscriptions, payments } = tables
  const findOf = createFinder(db)
  const book = createBook(tables)

  function findSubscriptionOf(paymentId: string): Subscription | undefined {
    const id = findOf(paymentId)
    return id === undefined ? undefined : subscriptions.get(id)
  }

  return {
    findSubscriptionOf,

    provision: (id: string, ids: Ids, by: Deed): Subscription =>
      atomically(() => {
        const existing = findSubscriptionOf(id)
        if (existing !== undefined) return existing
        const payment = payments.get(id)
        if (payment.state !== 'settled') {
          throw new Error(`Payment ${id} is ${payment.state}, not settled.`)
        }
        book(payment, ids, by)
        tables.write({ ...payment, state: 'provisioned', updatedMs: by.nowMs }, by)
        return subscriptions.get(ids.subscriptionId)
      }),
  }
}

function createBook({ db, record, subscriptions, offers }: Tables) {
  const move = db.prepare('UPDATE subscription SET start_ms = ?, end_ms = ? WHERE id = ?')

  return (payment: Payment, { subscriptionId, restId }: Ids, by: Deed): void => {
    const { accountId } = payment
    const { terms, periodDays: days } = offers.get(payment.offerId)
    const periods = subscriptions.list(accountId).flatMap(toPeriod)
    const { startMs, endMs, moved, rest } = bookPeriod(periods, { terms, days, nowMs: by.nowMs })
    const add = (period: Period, paymentId?: string): void => {
      subscriptions.insert({ ...period, accountId, paymentId, createdMs: by.nowMs })
      record(by, 'subscription.added', period.id)
    }
    for (const period of moved) {
      move.run(period.startMs, period.endMs, period.id)
      record(by, 'subscription.moved', period.id)
    }
    // What was cut off carries no payment: that has one subscription, which goes on being its.
    if (rest !== undefined) add({ ...rest, id: restId })
    const { tierId } = terms
    add({ id: subscriptionId, tierId, terms, startMs, endMs }, payment.id)
  }
}

function createFinder(db: Database) {
  const byPayment = db.prepare<{ id: string }, [string]>(
    'SELECT id FROM subscription WHERE payment_id = ?',
  )
  return (paymentId: string): string | undefined => byPayment.get(paymentId)?.id
}

/** Grants have no terms of their own, and stay where they are. */
function toPeriod({ id, tierId, terms, startMs, endMs }: Subscription): Period[] {
  if (terms === undefined || endMs === undefined) return []
  return [{ id, tierId, terms, startMs, endMs }]
}
