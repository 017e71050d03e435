/**
 * Transactions, and the revision: one number that changes with everything that decides who may do
 * what. Our own changes raise it at once; for those of other connections SQLite is asked for a
 * number that changes with them, at each use or as seldom as the caller allows, because asking
 * takes about a microsecond.
 */
import { createCommitCount, type Database, transact } from '#src/sqlite/database.ts'

/** Makes the transactions of a file. Commits of other connections may show `lagMs` late. */
export function createTransactions(db: Database, lagMs: number) {
  const commitCount = createCommitCount(db)
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

    /** To be called at every change of our own, which SQLite does not count. */
    raise,

    /**
     * The outermost call is the transaction, those within are part of it. Verbs check before they
     * write, so one that threw and was caught left nothing.
     */
    atomically<T>(body: () => T): T {
      if (db.inTransaction) return runWithin(body)
      let atStart: number | undefined
      try {
        return transact(db, () => {
          // Others cannot commit from here on, so this holds again after a rollback.
          atStart = ask()
          return body()
        })
      } catch (error) {
        if (atStart !== undefined) revision = atStart
        throw error
      }
    },
  }
}

/** The outer transaction would commit without what a promise still had to do. */
function runWithin<T>(body: () => T): T {
  const result = body()
  if (result instanceof Promise) throw new Error('A transaction must be synchronous.')
  return result
}
