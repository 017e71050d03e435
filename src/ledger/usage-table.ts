/** Rows of the usage table. */
import { usage } from '#db/ledger/schema.ts'
import { sqlOf } from '#src/sqlite/columns.ts'
import { type Database, transact, withoutWaiting } from '#src/sqlite/database.ts'

import type { UsageEntry, UsageRow } from './ledger.ts'

/** Counts and sums what keys were used for. */
export function createUsageTable(db: Database) {
  const count = db.prepare<unknown, [UsageEntry]>(
    `${sqlOf(usage).insert()} ON CONFLICT (key_id, day, route) DO UPDATE SET
       requests = usage.requests + excluded.requests, bytes = usage.bytes + excluded.bytes`,
  )
  const touch = db.prepare<unknown, [UsageEntry]>(
    `UPDATE api_key SET last_used_ms = $lastUsedMs
     WHERE id = $keyId AND (last_used_ms IS NULL OR last_used_ms < $lastUsedMs)`,
  )
  const listOf = db.prepare<UsageRow, [{ accountId: string; fromDay: string }]>(
    `SELECT day, route, sum(requests) AS requests, sum(bytes) AS bytes
     FROM usage JOIN api_key ON api_key.id = usage.key_id
     WHERE account_id = $accountId AND day >= $fromDay GROUP BY day, route ORDER BY day, route`,
  )
  const removeBefore = db.prepare<unknown, [{ day: string }]>('DELETE FROM usage WHERE day < $day')

  /** Never waits, except within a transaction. Throws while another process writes. */
  const run = (body: () => void): void =>
    db.inTransaction ? body() : withoutWaiting(db, () => transact(db, body))

  return {
    add(entries: readonly UsageEntry[]): void {
      if (entries.length === 0) return
      run(() => {
        for (const entry of entries) {
          count.run(entry)
          touch.run(entry)
        }
      })
    },

    listOf: (accountId: string, fromDay: string): UsageRow[] => listOf.all({ accountId, fromDay }),
    removeBefore: (day: string): void => run(() => void removeBefore.run({ day })),
  }
}
