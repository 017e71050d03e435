/** The formats of each store: of its SQLite file, and of its tables in PostgreSQL. */

import * as historySchema from '#db/history/schema.ts'
import * as ledgerSchema from '#db/ledger/schema.ts'
import { type FileFormat, historyFormat, ledgerFormat } from '#src/database/sqlite/database.ts'
import type { StoreName } from '#src/database/stores.ts'

import { type Format, postgresHistory, postgresLedger } from './database.ts'

export const formats: Record<StoreName, { file: FileFormat; schema: object; remote: Format }> = {
  history: { file: historyFormat, schema: historySchema, remote: postgresHistory },
  ledger: { file: ledgerFormat, schema: ledgerSchema, remote: postgresLedger },
}
