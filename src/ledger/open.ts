import { ledgerFormat, openDatabase, toStorageError } from '#src/database/sqlite/database.ts'
import { isPostgres } from '#src/postgres/address.ts'
import { openingFault, openPostgres, postgresLedger } from '#src/postgres/database.ts'

import type { Ledger } from './ledger.ts'
import { createMoved } from './meta.ts'
import { createSqliteLedger, type LedgerOptions } from './sqlite-ledger.ts'

/**
 * Opens or creates the ledger, in a file or at the address of a PostgreSQL, and migrates it. Throws
 * `storage_unavailable`, also where it was copied elsewhere, unless it is only read.
 */
export function openLedger(
  path: string,
  {
    isServing,
    ...options
  }: LedgerOptions & {
    /** With PostgreSQL: a call without an answer fails soon, and changes by others are noticed. */
    isServing?: boolean
  },
): Ledger {
  const postgres = isPostgres(path) ? openPostgres(path, postgresLedger, isServing) : undefined
  const db =
    postgres ?? openDatabase(path, { format: ledgerFormat, isReadOnly: options.isReadOnly })
  try {
    if (!options.isReadOnly) createMoved(db).assertInUse()
    const ledger = createSqliteLedger(
      db,
      postgres
        ? { ...options, isReadOnly: false, eventually: postgres.reads?.eventually }
        : options,
    )
    if (isServing) postgres?.waitAs('serve')
    return ledger
  } catch (error) {
    db.close()
    throw postgres ? openingFault(error, path, postgresLedger) : toStorageError(error, path)
  }
}
