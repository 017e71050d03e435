/** What the server remembers: answered challenges, answers, the use of keys, and of itself. */
import { randomBytes } from 'node:crypto'

import { idempotency, usage, usedNonce } from '#db/ledger/schema.ts'
import { DAY_MS } from '#src/core/time.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Database, transact } from '#src/database/database.ts'
import { packingOf } from '#src/database/packing.ts'

import type { Ledger, StoredAnswer, UsageEntry, UsageRow } from './ledger.ts'
import { change, exists } from './rows.ts'

export const createNonceTable = (db: Database) => ({
  has: exists<[nonce: string]>(db, 'SELECT 1 FROM used_nonce WHERE nonce = $1'),
  insert: change<[typeof usedNonce.$inferSelect]>(db, sqlOf(usedNonce).insert()),
  /** One that expires this very moment is kept: nobody can gain by the edge. */
  forgetExpired: change<[nowMs: number]>(db, 'DELETE FROM used_nonce WHERE expires_ms < $1'),
})

export function createAnswerTable(db: Database) {
  const sql = sqlOf(idempotency)
  const find = db.prepare<StoredAnswer, [id: string, sinceMs: number]>(
    `SELECT ${sql.columns(['id', 'fingerprint', 'sealed'])} FROM idempotency
     WHERE id = $1 AND created_ms > $2`,
  )
  const insert = change<[typeof idempotency.$inferSelect]>(db, sql.insert())
  const forget = change<[sinceMs: number]>(db, 'DELETE FROM idempotency WHERE created_ms <= $1')
  return {
    find: (id: string, nowMs: number): StoredAnswer | undefined =>
      find.get(id, nowMs - DAY_MS) ?? undefined,

    /** Throws if there is one: nothing is to be done twice. Forgets the old ones. */
    put(answer: StoredAnswer, nowMs: number): void {
      forget(nowMs - DAY_MS)
      insert({ ...answer, createdMs: nowMs })
    },
  }
}

/** Counts and sums what keys were used for: see `Ledger`. */
export function createUsage(db: Database) {
  const count = db.prepare<unknown, [UsageEntry]>(
    `${sqlOf(usage).insert()} ON CONFLICT (key_id, day, route) DO UPDATE SET
       requests = usage.requests + excluded.requests, bytes = usage.bytes + excluded.bytes`,
  )
  const touch = db.prepare<unknown, [UsageEntry]>(
    `UPDATE api_key SET last_used_ms = $lastUsedMs
     WHERE id = $keyId AND (last_used_ms IS NULL OR last_used_ms < $lastUsedMs)`,
  )
  const listOf = db.prepare<UsageRow, [accountId: string, fromDay: string]>(
    `SELECT day, route, CAST(sum(requests) AS BIGINT) AS requests,
       CAST(sum(bytes) AS BIGINT) AS bytes
     FROM usage JOIN api_key ON api_key.id = usage.key_id
     WHERE account_id = $1 AND day >= $2 GROUP BY day, route ORDER BY day, route`,
  )
  const removeBefore = change<[day: string]>(db, 'DELETE FROM usage WHERE day < $1')

  /** Never waits, except within a transaction. Throws while another process writes. */
  const run = (body: () => void): void =>
    db.inTransaction ? body() : db.engine.withoutWaiting(db, () => transact(db, body))

  return {
    addUsage(entries) {
      if (entries.length === 0) return
      run(() => {
        for (const entry of entries) {
          count.run(entry)
          touch.run(entry)
        }
      })
    },
    usageOf: (accountId, fromDay) => listOf.all(accountId, fromDay),
    pruneUsage: (beforeDay) => run(() => void removeBefore(beforeDay)),
  } satisfies Partial<Ledger>
}

/** Opens the facts of a ledger, whose challenge key the first opening makes. */
export function createMeta(db: Database) {
  const find = db.prepare<{ value: number | Uint8Array }, [key: string]>(
    'SELECT value FROM meta WHERE key = $1',
  )
  const { pack, unpack } = packingOf(db)
  const put = change<[value: number | Uint8Array]>(
    db,
    `INSERT INTO meta (key, value) VALUES ('time_floor', $1)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  )

  function readChallengeKey(): Uint8Array {
    const read = () => find.get('challenge_key')?.value
    if (read() === undefined) {
      // Another process may be making one: whichever is first stays.
      const sql = `INSERT INTO meta (key, value) VALUES ('challenge_key', $1) ON CONFLICT (key) DO NOTHING`
      change<[Uint8Array]>(db, sql)(randomBytes(32))
    }
    const value = read()
    if (value instanceof Uint8Array) return value
    throw new Error('The challenge key of the ledger is not bytes.')
  }

  return {
    challengeKey: readChallengeKey(),

    timeFloor() {
      const row = find.get('time_floor')
      const value = row === null ? undefined : unpack(row.value)
      return typeof value === 'number' ? value : undefined
    },
    putTimeFloor: (nowMs) =>
      db.engine.withoutWaiting(db, () => transact(db, () => void put(pack(nowMs)))),
  } satisfies Partial<Ledger>
}
