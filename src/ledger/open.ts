import { transact } from '#src/database/database.ts'
import { ledgerFormat, openDatabase, toStorageError } from '#src/database/sqlite/database.ts'
import { loadEngine, type StorePlace } from '#src/database/stores.ts'
import { handlesOf } from '#src/database/transact.ts'

import { convertSeals, hasSeals } from './convert-seals.ts'
import type { Ledger } from './ledger.ts'
import { createMoved } from './meta.ts'
import { prepareLedger } from './prepare.ts'
import { createSqliteLedger, type LedgerOptions } from './sqlite-ledger.ts'

export type OpenLedgerOptions = LedgerOptions & {
  /** The audited time of the default tiers of a new ledger. */
  nowMs: number
  /** The ledger was opened by another connection; writes through this one fail. */
  isReadOnly?: boolean
  /** At an address, a response is awaited for a few seconds only. */
  isServing?: boolean
}

/**
 * Opens or creates the ledger in a file, and migrates it. Throws `storage_unavailable`, also where it
 * was copied elsewhere, unless it is only read.
 */
export function openLedger(path: string, given: OpenLedgerOptions): Ledger {
  const { nowMs, isReadOnly = false, isServing: _, ...options } = given
  const db = openDatabase(path, { format: ledgerFormat, isReadOnly })
  try {
    if (!isReadOnly) createMoved(db).assertInUse()
    if (options.isAsItIs) {
      if (hasSeals(db)) transact(db, () => convertSeals(db))
    } else if (!isReadOnly) transact(db, () => prepareLedger(db, nowMs))
    return createSqliteLedger(handlesOf(db), options)
  } catch (error) {
    db.close()
    throw toStorageError(error, path)
  }
}

/**
 * Opens the ledger of any place; at an address, after the local copy has caught up. It ends once the
 * verbs that were called have ended; only an asynchronous disposal waits for that.
 */
export async function openLedgerAt(
  place: StorePlace,
  given: OpenLedgerOptions,
): Promise<Ledger & AsyncDisposable> {
  const { path, address } = place
  const { nowMs, isReadOnly, isServing = false, ...options } = given
  if (address === undefined || isReadOnly) {
    const ledger = openLedger(path, given)
    return { ...ledger, [Symbol.asyncDispose]: async () => ledger.dispose() }
  }
  const engine = await loadEngine()
  const shared = await engine.open({ ...place, address }, { isBrief: isServing })
  try {
    createMoved(shared.reading).assertInUse()
    if (!options.isAsItIs) await shared.transact(() => prepareLedger(shared.writing, nowMs))
    else if (hasSeals(shared.reading)) await shared.transact(() => convertSeals(shared.writing))
    const ledger = createSqliteLedger(shared, options)
    const end = async (): Promise<void> => {
      await shared.drained()
      ledger.dispose()
      shared.close()
    }
    const dispose = () => void end()
    return { ...ledger, dispose, [Symbol.dispose]: dispose, [Symbol.asyncDispose]: end }
  } catch (error) {
    shared.close()
    throw toStorageError(error, path)
  }
}
