import { ledgerFormat, openDatabase, toStoreFault } from '#src/sqlite/database.ts'

import type { Ledger } from './ledger.ts'
import { createSqliteLedger } from './sqlite-ledger.ts'

export type LedgerOptions = {
  /** When the default tiers of a new ledger are audited as put. */
  nowMs: number
  /** Milliseconds that commits of other connections may show late; 0, the default, asks at each use. */
  lagMs?: number
}

/** Opens or creates the ledger at `path`, brought up to date. Throws `StoreFault` on a file that cannot be used. */
export function openLedger(path: string, { nowMs, lagMs = 0 }: LedgerOptions): Ledger {
  const db = openDatabase(path, { format: ledgerFormat })
  try {
    return createSqliteLedger(db, { nowMs, lagMs })
  } catch (error) {
    db.close()
    throw toStoreFault(error, path)
  }
}
