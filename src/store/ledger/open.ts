import { closeSync, openSync } from 'node:fs'

import { ledgerFormat, openDatabase, toStoreFault } from '#src/store/database.ts'
import type { Ledger } from '#src/store/payments.ts'

import { createSqliteLedger } from './sqlite-ledger.ts'

export type LedgerOptions = {
  /** When the default tiers of a new ledger are audited as put. */
  nowMs: number
  /** Milliseconds that commits of other connections may show late; 0, the default, asks at each use. */
  lagMs?: number
}

/** Opens or creates the ledger at `path`, brought up to date. Throws `StoreFault` on a file that cannot be used. */
export function openLedger(path: string, { nowMs, lagMs = 0 }: LedgerOptions): Ledger {
  makePrivate(path)
  const db = openDatabase(path, { format: ledgerFormat })
  try {
    return createSqliteLedger(db, { nowMs, lagMs })
  } catch (error) {
    db.close()
    throw toStoreFault(error, path)
  }
}

const OWNER_ONLY = 0o600

/** A new file is its owner's alone, and so are those that SQLite puts beside it. */
function makePrivate(path: string): void {
  if (path === ':memory:') return
  try {
    closeSync(openSync(path, 'ax', OWNER_ONLY))
  } catch {
    // It is there already, or cannot be made: opening it says so better.
  }
}
