/**
 * One number that stands for everything that decides who may do what. Our own changes raise it at once;
 * for those of other connections SQLite is asked for a number that changes with them, at each use or as
 * seldom as the caller allows, because asking takes about a microsecond.
 */
import type { Database } from '#src/sqlite/database.ts'

/** Makes the revision of a file, which may be `lagMs` behind other connections. */
export function createRevision(db: Database, lagMs: number) {
  const commits = db.prepare<unknown, []>('PRAGMA data_version')
  let revision = 0
  /** No revision is given twice, not even after a rollback: something may have been kept under it. */
  let last = 0
  let seenCommits = commits.values()[0]?.[0]
  let askedMs = Number.NEGATIVE_INFINITY

  function raise(): void {
    revision = ++last
  }

  function ask(): number {
    const now = commits.values()[0]?.[0]
    if (now !== seenCommits) raise()
    seenCommits = now
    return revision
  }

  return {
    current(): number {
      const nowMs = performance.now()
      if (nowMs - askedMs < lagMs) return revision
      askedMs = nowMs
      return ask()
    },

    /** To be called at every change of our own, which SQLite does not count. */
    raise,

    /**
     * Takes in all that others have committed; to be called at the start of a transaction, within which they
     * cannot commit. So what it returns is right again when the transaction is rolled back.
     */
    settle: ask,

    restore(atStart: number): void {
      revision = atStart
    },
  }
}

export type Revision = ReturnType<typeof createRevision>
