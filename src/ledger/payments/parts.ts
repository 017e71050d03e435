import type { Database } from '#src/sqlite/database.ts'

import type { AccountTable } from '../account-table.ts'
import type { RowAction } from '../audited-rows.ts'
import type { Deed } from '../ledger.ts'
import type { SubscriptionTable } from '../subscription-table.ts'

/** What payments share with the rest of the ledger: its file, transactions and audit chain. */
export type LedgerParts = {
  db: Database
  atomically: <T>(body: () => T) => T
  /** Audits what became of a row. */
  note: (by: Deed, action: RowAction, subject: string) => void
  /** The same, where it decides who may do what. */
  record: (by: Deed, action: RowAction, subject: string) => void
  accounts: AccountTable
  subscriptions: SubscriptionTable
}
