/** What all verbs of the embedded engine share: the file, its transactions and its audit chain. */

import { type Database, nest, transact } from '#src/database/database.ts'

import type { AuditContext } from './actor.ts'
import { createAuditChain, createAuditedRows, type RowAction } from './audit.ts'

export type LedgerCore = ReturnType<typeof createLedgerCore>

export function createLedgerCore(db: Database, { lagMs }: { lagMs: number }) {
  const chain = createAuditChain(db)
  const rows = createAuditedRows(db)
  const { raise, ...transactions } = createTransactions(db, lagMs)

  /** Ends every change of an audited row: what became of it goes into the chain. */
  function note(by: AuditContext, action: RowAction, subject: string): void {
    const append = chain.begin(by)
    append({ action, subject, state: rows.stateOf(action, subject) })
  }

  return {
    db,
    chain,
    rows,
    note,
    /** As `note`, where the change decides who may do what. */
    record(by: AuditContext, action: RowAction, subject: string): void {
      note(by, action, subject)
      raise()
    },
    ...transactions,
  }
}

/**
 * Transactions, and the revision: one number that changes with everything that decides who may do
 * what. Our own changes raise it at once; for those of other connections SQLite is asked, at each
 * use or as seldom as `lagMs` allows, because asking takes about a microsecond.
 */
function createTransactions(db: Database, lagMs: number) {
  const commitCount = db.engine.createCommitCount(db)
  let revision = 0
  /** No revision is given twice, even after a rollback: something may be cached under it. */
  let last = 0
  let seenCommits = commitCount()
  let askedMs = Number.NEGATIVE_INFINITY

  function raise(): void {
    revision = ++last
  }

  function ask(): number {
    const now = commitCount()
    if (now !== seenCommits) raise()
    seenCommits = now
    return revision
  }

  return {
    revision(): number {
      const nowMs = performance.now()
      if (nowMs - askedMs < lagMs) return revision
      askedMs = nowMs
      return ask()
    },

    /** For every change of our own, which SQLite does not count. */
    raise,

    /** The outermost call is the transaction. Verbs check first, so one that threw left nothing. */
    atomically<T>(body: () => T): T {
      if (db.inTransaction) {
        const result = nest(db, body)
        // The outer transaction would commit without what it still had to do.
        if (result instanceof Promise) throw new Error('A transaction must be synchronous.')
        return result
      }
      const before = { revision, seenCommits }
      let atStart = (): unknown => before.seenCommits
      let atEnd = atStart
      try {
        const result = transact(db, () => {
          // Others cannot commit from here on. Some engines count our own changes, too.
          atStart = commitCount.later()
          const result = body()
          atEnd = commitCount.later()
          return result
        })
        if (atStart() !== before.seenCommits) raise()
        seenCommits = atEnd()
        return result
      } catch (error) {
        // What others committed before it is asked for again.
        revision = before.revision
        seenCommits = before.seenCommits
        throw error
      }
    },
  }
}
