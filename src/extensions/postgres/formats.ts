/** Tables of each store in PostgreSQL, and the format of its file. */

import * as historySchema from '#db/history/schema.ts'
import * as ledgerSchema from '#db/ledger/schema.ts'
import {
  type Migrations,
  postgresHistoryMigrations,
  postgresLedgerMigrations,
} from '#db/migrations.ts'
import { type FileFormat, historyFormat, ledgerFormat } from '#src/database/sqlite/database.ts'
import type { StoreName } from '#src/database/stores.ts'

import { sequences, type StoreTable, tablesIn } from './tables.ts'

export type Format = {
  name: StoreName
  schema: string
  /** A table that only this kind of store has. */
  mark: string
  migrations: Migrations
  tables: readonly StoreTable[]
  /** True if each commit is confirmed by `CONFIRM`; false if only late ones are. */
  confirmsEach: boolean
  /** Format of a file with the same tables. */
  file: FileFormat
}

export const postgresHistory: Format = {
  name: 'history',
  schema: 'bookfeed',
  mark: 'market',
  migrations: postgresHistoryMigrations,
  tables: [...tablesIn(historySchema), sequences],
  confirmsEach: false,
  file: historyFormat,
}
export const postgresLedger: Format = {
  name: 'ledger',
  schema: 'bookfeed_ledger',
  mark: 'account',
  migrations: postgresLedgerMigrations,
  tables: tablesIn(ledgerSchema),
  confirmsEach: true,
  file: ledgerFormat,
}

export const formats: Record<StoreName, Format> = {
  history: postgresHistory,
  ledger: postgresLedger,
}
