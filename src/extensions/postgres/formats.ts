/** What each store is: its SQLite file, its tables in PostgreSQL, and their names and columns. */

import * as historySchema from '#db/history/schema.ts'
import * as ledgerSchema from '#db/ledger/schema.ts'
import { type FileFormat, historyFormat, ledgerFormat } from '#src/database/sqlite/database.ts'
import type { StoreName } from '#src/database/stores.ts'

import { type Format, postgresHistory, postgresLedger } from './database.ts'
import { type StoreTable, tablesIn } from './tables.ts'

export const formats: Record<
  StoreName,
  { file: FileFormat; remote: Format; tables: readonly StoreTable[] }
> = {
  history: { file: historyFormat, remote: postgresHistory, tables: tablesIn(historySchema) },
  ledger: { file: ledgerFormat, remote: postgresLedger, tables: tablesIn(ledgerSchema) },
}
