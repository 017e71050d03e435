/** What each store is in PostgreSQL, and the format of a file of it. */

import * as historySchema from '#db/history/schema.ts'
import * as ledgerSchema from '#db/ledger/schema.ts'
import {
  type Migrations,
  postgresHistoryMigrations,
  postgresLedgerMigrations,
} from '#db/migrations.ts'
import { type FileFormat, historyFormat, ledgerFormat } from '#src/database/sqlite/database.ts'
import type { StoreName } from '#src/database/stores.ts'

import { type StoreTable, tablesIn } from './tables.ts'

export type Format = {
  name: StoreName
  schema: string
  /** A table that no other kind of store has. */
  mark: string
  migrations: Migrations
  tables: readonly StoreTable[]
  /** A query of what changes with each commit that matters, as `count`. */
  commitCount: string
  /** Whether each commit is confirmed by `CONFIRM`, or only one that is answered late. */
  confirmsEach: boolean
  /** Of a file with the same tables. */
  file: FileFormat
}

export const postgresHistory: Format = {
  name: 'history',
  schema: 'bookfeed',
  mark: 'market',
  migrations: postgresHistoryMigrations,
  tables: tablesIn(historySchema),
  commitCount: 'SELECT CAST(pg_current_snapshot() AS TEXT) AS count',
  confirmsEach: false,
  file: historyFormat,
}
export const postgresLedger: Format = {
  name: 'ledger',
  schema: 'bookfeed_ledger',
  mark: 'account',
  migrations: postgresLedgerMigrations,
  tables: tablesIn(ledgerSchema),
  commitCount: 'SELECT last_value AS count FROM change_count',
  confirmsEach: true,
  file: ledgerFormat,
}

export const formats: Record<StoreName, Format> = {
  history: postgresHistory,
  ledger: postgresLedger,
}
