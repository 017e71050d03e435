/** Rows of the idempotency table. */
import { DAY_MS } from '#src/core/time.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { StoredAnswer } from './ledger.ts'

/** Finds and keeps answers, each for a day. */
export function createAnswerTable(db: Database) {
  const find = db.prepare<StoredAnswer, [string, number]>(
    'SELECT id, fingerprint, sealed FROM idempotency WHERE id = ? AND created_ms > ?',
  )
  const insert = db.prepare(
    'INSERT INTO idempotency (id, fingerprint, sealed, created_ms) VALUES (?, ?, ?, ?)',
  )
  const forget = db.prepare('DELETE FROM idempotency WHERE created_ms <= ?')
  return {
    find: (id: string, nowMs: number): StoredAnswer | undefined =>
      find.get(id, nowMs - DAY_MS) ?? undefined,

    /** Throws if there is one already: what it answers must not be done twice. */
    insert({ id, fingerprint, sealed }: StoredAnswer, nowMs: number): void {
      insert.run(id, fingerprint, sealed, nowMs)
    },

    forgetOld(nowMs: number): void {
      forget.run(nowMs - DAY_MS)
    },
  }
}

export type AnswerTable = ReturnType<typeof createAnswerTable>
