/** Rows of the subscription table. */
import { subscription } from '#db/ledger/schema.ts'
import type { Subscription } from '#src/selling/subscription.ts'
import { type Terms, termsOf } from '#src/selling/tier.ts'
import type { Database } from '#src/sqlite/database.ts'

import { createRows } from './rows.ts'

/** Finds, lists, adds and moves subscriptions. */
export function createSubscriptionTable(db: Database) {
  const rows = createRows(db, subscription, {
    what: 'subscription',
    parse: ({ seq, terms, ...row }): Subscription => ({
      ...row,
      terms: terms === undefined ? undefined : (JSON.parse(terms) as Terms),
    }),
  })
  const ofAccount = rows.list<{ accountId: string }>(
    'WHERE account_id = $accountId ORDER BY start_ms, seq',
  )
  const ofPayment = rows.one<{ paymentId: string }>('WHERE payment_id = $paymentId')
  return {
    get: rows.get,
    list: (accountId: string): Subscription[] => ofAccount({ accountId }),
    findOfPayment: (paymentId: string): Subscription | undefined => ofPayment({ paymentId }),
    move: rows.update('startMs', 'endMs'),

    /** Throws if the payment has paid for another one. */
    insert: ({ terms, ...row }: Subscription): void =>
      rows.insert({ ...row, terms: terms === undefined ? null : printTerms(terms) }),
  }
}

/** As JSON, without what an entry of the catalogue has besides. */
export const printTerms = (terms: Terms): string => JSON.stringify(termsOf(terms))
