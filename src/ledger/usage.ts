/** What keys were used for: see `Ledger`. */
import { transact } from '#src/database/database.ts'

import type { LedgerCore } from './core.ts'
import type { Ledger, UsageEntry, UsageRow } from './ledger.ts'

const NUMBER_BYTES = 6
const NO_NUMBER = new Uint8Array(0)

/** A query that has a row where a flush was done. */
const IS_DONE = 'SELECT 1 FROM meta WHERE key = $meter AND value >= $number'

export function createUsage({ db }: LedgerCore) {
  const count = db.prepare<unknown, [UsageEntry & FlushMark]>(
    `INSERT INTO usage (key_id, day, route, requests, bytes)
     SELECT $keyId, $day, $route, CAST($requests AS BIGINT), CAST($bytes AS BIGINT)
     WHERE NOT EXISTS (${IS_DONE})
     ON CONFLICT (key_id, day, route) DO UPDATE SET
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
  const removeBefore = db.prepare<unknown, [day: string]>('DELETE FROM usage WHERE day < $1')
  // The last flush of each meter. One that is tried again, because it is not known whether it was
  // done, waits at its mark for the first, and then finds that it was.
  const beginFlush = db.prepare<unknown, [FlushMark]>(
    `INSERT INTO meta (key, value) VALUES ($meter, $number)
     ON CONFLICT (key) DO UPDATE SET value = meta.value`,
  )
  const endFlush = db.prepare<unknown, [FlushMark]>(
    'UPDATE meta SET value = $number WHERE key = $meter AND value < $number',
  )
  const removeMarks = db.prepare<unknown, [day: string]>(
    "DELETE FROM meta WHERE key >= 'usage ' AND key < 'usage ' || CAST($1 AS TEXT)",
  )

  /** Never waits, except within a transaction. Throws while another process writes. */
  const run = (body: () => void): void =>
    db.inTransaction ? body() : db.engine.withoutWaiting(db, () => transact(db, body))

  return {
    addUsage(entries, flush) {
      if (entries.length === 0) return
      const mark = toMark(flush)
      // Two processes that take the same rows take them in the same order.
      const ordered = entries.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1))
      run(() => {
        if (flush !== undefined) beginFlush.run({ ...mark, number: NO_NUMBER })
        for (const entry of ordered) {
          count.run({ ...entry, ...mark })
          touch.run(entry)
        }
        if (flush !== undefined) endFlush.run(mark)
      })
    },
    usageOf: (accountId, fromDay) => listOf.all(accountId, fromDay),
    pruneUsage: (beforeDay) =>
      run(() => {
        removeBefore.run(beforeDay)
        removeMarks.run(beforeDay)
      }),
  } satisfies Partial<Ledger>
}

/** Names a flush; both are null of what is counted without one. */
type FlushMark = { meter: string | null; number: Uint8Array | null }

/** Bytes are compared like the numbers that they are. */
function toMark(flush: Parameters<Ledger['addUsage']>[1]): FlushMark {
  if (flush === undefined) return { meter: null, number: null }
  const number = Buffer.alloc(NUMBER_BYTES)
  number.writeUIntBE(flush.number, 0, NUMBER_BYTES)
  return { meter: `usage ${flush.meter}`, number: new Uint8Array(number) }
}
