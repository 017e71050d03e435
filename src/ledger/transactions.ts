import { type Database, transact } from '#src/sqlite/database.ts'

import type { Revision } from './revision.ts'

/**
 * Returns the function behind `LedgerStore.atomically`: the outermost call is the transaction, those
 * within are part of it. Verbs check before they write, so one that threw and was caught left nothing.
 */
export function createAtomically(db: Database, revision: Revision) {
  return <T>(body: () => T): T => {
    if (db.inTransaction) return runWithin(body)
    let atStart: number | undefined
    try {
      return transact(db, () => {
        atStart = revision.settle()
        return body()
      })
    } catch (error) {
      if (atStart !== undefined) revision.restore(atStart)
      throw error
    }
  }
}

/** The outer transaction would commit without what a promise still had to do. */
function runWithin<T>(body: () => T): T {
  const result = body()
  if (result instanceof Promise) throw new Error('A transaction must be synchronous.')
  return result
}
