import { ledgerFormat, openDatabase, toStoreFault } from '#src/sqlite/database.ts'

import type { Ledger } from './ledger.ts'
import { createSqliteLedger } from './sqlite-ledger.ts'

export type LedgerOptions = {
  /** When the default tiers of a new ledger are audited as put. */
  nowMs: number
  /** How late commits of other connections may show; 0, the default, asks at each use. */
  lagMs?: number
}

/** Opens or creates the ledger at `path` and migrates it. Throws `StoreFault` if it cannot. */
export function openLedger(path: string, { nowMs, lagMs = 0 }: LedgerOptions): Ledger {
  const db = openDatabase(path, { format: ledgerFormat })
  try {
    return createSqliteLedger(db, { nowMs, lagMs })
  } catch (error) {
    db.close()
    throw toStoreFault(error, path)
  }
}
