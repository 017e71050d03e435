/** Rows of the subscription table. */
import type { Subscription } from '#src/selling/subscription.ts'
import { type Terms, termsOf } from '#src/selling/tier.ts'
import type { Database } from '#src/sqlite/database.ts'

type SubscriptionRow = {
  id: string
  account_id: string
  tier_id: string
  terms: string | null
  start_ms: number
  end_ms: number | null
  payment_id: string | null
  created_ms: number
}

/** Finds, lists and adds subscriptions. */
export function createSubscriptionTable(db: Database) {
  const byId = db.prepare<SubscriptionRow, [string]>('SELECT * FROM subscription WHERE id = ?')
  const ofAccount = db.prepare<SubscriptionRow, [string]>(
    'SELECT * FROM subscription WHERE account_id = ? ORDER BY start_ms, rowid',
  )
  const insert = db.prepare(
    `INSERT INTO subscription (id, account_id, tier_id, terms, start_ms, end_ms, payment_id, created_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return {
    list: (accountId: string): Subscription[] => ofAccount.all(accountId).map(toSubscription),

    /** Throws if there is no such subscription. */
    get(id: string): Subscription {
      const row = byId.get(id)
      if (row === null) throw new Error(`There is no subscription ${id}.`)
      return toSubscription(row)
    },

    /** Throws if the payment has paid for another one. */
    insert(subscription: Subscription): void {
      const { terms } = subscription
      insert.run(
        ...[subscription.id, subscription.accountId, subscription.tierId],
        terms === undefined ? null : printTerms(terms),
        ...[subscription.startMs, subscription.endMs ?? null, subscription.paymentId ?? null],
        subscription.createdMs,
      )
    },
  }
}

export type SubscriptionTable = ReturnType<typeof createSubscriptionTable>

/** As JSON, without what an entry of the catalogue has besides. */
export const printTerms = (terms: Terms): string => JSON.stringify(termsOf(terms))

const toSubscription = (row: SubscriptionRow): Subscription => ({
  id: row.id,
  accountId: row.account_id,
  tierId: row.tier_id,
  terms: row.terms === null ? undefined : (JSON.parse(row.terms) as Terms),
  startMs: row.start_ms,
  endMs: row.end_ms ?? undefined,
  paymentId: row.payment_id ?? undefined,
  createdMs: row.created_ms,
})
