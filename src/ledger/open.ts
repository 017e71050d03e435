import { ledgerFormat, openDatabase, toStoreFault } from '#src/sqlite/database.ts'

import type { Ledger } from './ledger.ts'
import { createSqliteLedger, type LedgerOptions } from './sqlite-ledger.ts'

/** Opens or creates the ledger at `path` and migrates it. Throws `StoreFault` if it cannot. */
export function openLedger(path: string, options: LedgerOptions): Ledger {
  const db = openDatabase(path, { format: ledgerFormat, isReadOnly: options.isReadOnly })
  try {
    return createSqliteLedger(db, options)
  } catch (error) {
    db.close()
    throw toStoreFault(error, path)
  }
}
