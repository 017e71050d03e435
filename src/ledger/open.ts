import { isPostgres } from '#src/postgres/address.ts'
import { openPostgres, postgresLedger } from '#src/postgres/database.ts'
import { ledgerFormat, openDatabase, toStoreFault } from '#src/sqlite/database.ts'

import type { Ledger } from './ledger.ts'
import { createSqliteLedger, type LedgerOptions } from './sqlite-ledger.ts'

type OpenOptions = LedgerOptions & {
  /** Of a PostgreSQL: a call that has no answer soon fails, and changes by others are heard of. */
  isServing?: boolean
}

/**
 * Opens or creates the ledger, in a file or at the address of a PostgreSQL, and migrates it. Throws
 * `StoreFault`.
 */
export function openLedger(path: string, { isServing, ...options }: OpenOptions): Ledger {
  if (isPostgres(path)) {
    const db = openPostgres(path, postgresLedger, isServing)
    const ledger = createSqliteLedger(db, { ...options, isReadOnly: false })
    if (isServing) db.hurry()
    return ledger
  }
  const db = openDatabase(path, { format: ledgerFormat, isReadOnly: options.isReadOnly })
  try {
    return createSqliteLedger(db, options)
  } catch (error) {
    db.close()
    throw toStoreFault(error, path)
  }
}
