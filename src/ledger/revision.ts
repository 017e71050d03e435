/**
 * A number that changes with every change of access. Our own changes increase it at once; changes
 * by other connections are detected by asking SQLite, at each use or as rarely as `lagMs` permits,
 * because asking takes about a microsecond.
 */
import type { Database } from '#src/database/database.ts'
import { createCommitCount } from '#src/database/sqlite/database.ts'

export function createRevision(db: Database, lagMs: number) {
  const commitCount = createCommitCount(db)
  let revision = 0
  /** No revision is used twice, even after a rollback: results may be cached under it. */
  let last = 0
  let seenCommits = commitCount()
  let askedMs = Number.NEGATIVE_INFINITY

  function raise(): void {
    revision = ++last
  }

  function ask(): void {
    const commits = commitCount()
    if (commits !== seenCommits) raise()
    seenCommits = commits
  }

  return {
    raise,

    /** Increases with each call of `raise`. */
    raises: (): number => last,

    current(): number {
      const nowMs = performance.now()
      if (nowMs - askedMs < lagMs) return revision
      askedMs = nowMs
      ask()
      return revision
    },

    /** Runs the body of a transaction; if it throws, nothing is raised. */
    during<T>(body: () => T): T {
      const before = { revision, seenCommits }
      try {
        // Others cannot commit from here on.
        ask()
        const end = body()
        seenCommits = commitCount()
        return end
      } catch (error) {
        // Changes committed by others before the transaction are detected again.
        revision = before.revision
        seenCommits = before.seenCommits
        throw error
      }
    },
  }
}
