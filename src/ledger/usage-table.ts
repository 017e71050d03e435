/** Rows of the usage table. */
import { type Database, transact, withoutWaiting } from '#src/sqlite/database.ts'

import type { UsageEntry, UsageRow } from './ledger.ts'

/** Counts and sums what keys were used for. */
export function createUsageTable(db: Database) {
  const count = db.prepare(
    `INSERT INTO usage (key_id, day, route, requests, bytes) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (key_id, day, route) DO UPDATE SET
       requests = requests + excluded.requests, bytes = bytes + excluded.bytes`,
  )
  const touch = db.prepare(
    'UPDATE api_key SET last_used_ms = max(ifnull(last_used_ms, ?1), ?1) WHERE id = ?2',
  )
  const listOf = db.prepare<UsageRow, [string, string]>(
    `SELECT day, route, sum(requests) AS requests, sum(bytes) AS bytes
     FROM usage JOIN api_key ON api_key.id = usage.key_id
     WHERE account_id = ? AND day >= ? GROUP BY day, route ORDER BY day, route`,
  )
  const removeBefore = db.prepare('DELETE FROM usage WHERE day < ?')

  function addAll(entries: readonly UsageEntry[]): void {
    for (const { keyId, day, route, requests, bytes, lastUsedMs } of entries) {
      count.run(keyId, day, route, requests, bytes)
      touch.run(lastUsedMs, keyId)
    }
  }

  return {
    /** Waits for nothing, unless it is part of a transaction that does. Throws while another process writes. */
    add(entries: readonly UsageEntry[]): void {
      if (entries.length === 0) return
      if (db.inTransaction) addAll(entries)
      else withoutWaiting(db, () => transact(db, () => addAll(entries)))
    },

    listOf: (accountId: string, fromDay: string): UsageRow[] => listOf.all(accountId, fromDay),

    removeBefore(day: string): void {
      if (db.inTransaction) removeBefore.run(day)
      else withoutWaiting(db, () => transact(db, () => removeBefore.run(day)))
    },
  }
}

export type UsageTable = ReturnType<typeof createUsageTable>
