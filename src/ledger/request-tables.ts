/** What is remembered so that nothing is done twice: answered challenges, and answers. */
import { idempotency, usedNonce } from '#db/ledger/schema.ts'
import { DAY_MS } from '#src/core/time.ts'
import { sqlOf } from '#src/sqlite/columns.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { StoredAnswer } from './ledger.ts'

type NonceRow = typeof usedNonce.$inferSelect

/** Remembers which challenges were answered. */
export function createNonceTable(db: Database) {
  const find = db.prepare<unknown, [{ nonce: string }]>(
    'SELECT 1 FROM used_nonce WHERE nonce = $nonce',
  )
  const insert = db.prepare<unknown, [NonceRow]>(sqlOf(usedNonce).insert())
  const forget = db.prepare<unknown, [{ nowMs: number }]>(
    'DELETE FROM used_nonce WHERE expires_ms < $nowMs',
  )
  return {
    has: (nonce: string): boolean => find.get({ nonce }) !== null,
    insert: (row: NonceRow): void => void insert.run(row),

    /** One that expires this very moment is kept: nobody can gain by the edge. */
    forgetExpired: (nowMs: number): void => void forget.run({ nowMs }),
  }
}

/** Finds and keeps answers, each for a day. */
export function createAnswerTable(db: Database) {
  const sql = sqlOf(idempotency)
  const find = db.prepare<StoredAnswer, [{ id: string; sinceMs: number }]>(
    `SELECT ${sql.columns(['id', 'fingerprint', 'sealed'])} FROM idempotency
     WHERE id = $id AND created_ms > $sinceMs`,
  )
  const insert = db.prepare<unknown, [typeof idempotency.$inferSelect]>(sql.insert())
  const forget = db.prepare<unknown, [{ sinceMs: number }]>(
    'DELETE FROM idempotency WHERE created_ms <= $sinceMs',
  )
  return {
    find: (id: string, nowMs: number): StoredAnswer | undefined =>
      find.get({ id, sinceMs: nowMs - DAY_MS }) ?? undefined,

    /** Throws if there is one: nothing is to be done twice. Forgets the old ones. */
    put(answer: StoredAnswer, nowMs: number): void {
      forget.run({ sinceMs: nowMs - DAY_MS })
      insert.run({ ...answer, createdMs: nowMs })
    },
  }
}
