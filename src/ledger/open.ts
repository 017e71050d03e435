import { ledgerFormat, openDatabase, toStorageError } from '#src/database/sqlite/database.ts'
import { engineAt } from '#src/database/stores.ts'

import type { Ledger } from './ledger.ts'
import { createMoved } from './meta.ts'
import { createSqliteLedger, type LedgerOptions } from './sqlite-ledger.ts'

/**
 * Opens or creates the ledger, in a file or at an address, and migrates it. Throws
 * `storage_unavailable`, also where it was copied elsewhere, unless it is only read.
 */
export function openLedger(
  path: string,
  {
    isServing,
    ...options
  }: LedgerOptions & {
    /** At an address: an answer is waited for for seconds at most. */
    isServing?: boolean
  },
): Ledger {
  const engine = engineAt(path)
  const remote = engine?.open(path, 'ledger')
  const db = remote ?? openDatabase(path, { format: ledgerFormat, isReadOnly: options.isReadOnly })
  try {
    if (!options.isReadOnly) createMoved(db).assertInUse()
    const ledger = createSqliteLedger(db, remote ? { ...options, isReadOnly: false } : options)
    if (isServing) remote?.waitBriefly()
    return ledger
  } catch (error) {
    db.close()
    throw engine?.openingFault(error, path, 'ledger') ?? toStorageError(error, path)
  }
}
