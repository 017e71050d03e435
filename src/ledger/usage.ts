/** The usage of keys: see `Ledger`. */
import type { LedgerCore } from './core.ts'
import type { LedgerReads, LedgerVerbs, UsageEntry, UsageFlush, UsageRow } from './ledger.ts'

const NUMBER_BYTES = 6
const NO_NUMBER = new Uint8Array(0)

/** A query that returns a row if a flush was completed. */
const IS_DONE = 'SELECT 1 FROM meta WHERE key = $meter AND value >= $number'

export function createUsage({ db }: LedgerCore) {
  const count = db.prepare<unknown, [UsageEntry & FlushMark]>(
    `INSERT INTO usage (key_id, day, route, requests, bytes)
     SELECT $keyId, $day, $route, $requests, $bytes
     WHERE NOT EXISTS (${IS_DONE})
     ON CONFLICT (key_id, day, route) DO UPDATE SET
       requests = usage.requests + excluded.requests, bytes = usage.bytes + excluded.bytes`,
  )
  const touch = db.prepare<unknown, [UsageEntry]>(
    `UPDATE api_key SET last_used_ms = $lastUsedMs
     WHERE id = $keyId AND (last_used_ms IS NULL OR last_used_ms < $lastUsedMs)`,
  )
  const listOf = db.prepare<UsageRow, [accountId: string, fromDay: string]>(
    `SELECT day, route, sum(requests) AS requests, sum(bytes) AS bytes
     FROM usage JOIN api_key ON api_key.id = usage.key_id
     WHERE account_id = $1 AND day >= $2 GROUP BY day, route ORDER BY day, route`,
  )
  const removeBefore = db.prepare<unknown, [day: string]>('DELETE FROM usage WHERE day < $1')
  // The last flush of each meter. A repeated flush, whose first attempt has an unknown outcome,
  // waits here for the first to end, and then finds it completed.
  const beginFlush = db.prepare<unknown, [FlushMark]>(
    `INSERT INTO meta (key, value) VALUES ($meter, $number)
     ON CONFLICT (key) DO UPDATE SET value = meta.value`,
  )
  const endFlush = db.prepare<unknown, [FlushMark]>(
    'UPDATE meta SET value = $number WHERE key = $meter AND value < $number',
  )
  const removeMarks = db.prepare<unknown, [day: string]>(
    "DELETE FROM meta WHERE key >= 'usage ' AND key < 'usage ' || $1",
  )

  return {
    reads: {
      usageOf: (accountId, fromDay) => listOf.all(accountId, fromDay),
    } satisfies Partial<LedgerReads>,

    counters: {
      addUsage(entries, flush) {
        if (entries.length === 0) return
        const mark = toMark(flush)
        // A fixed order, so that two processes lock the same rows in the same order.
        const ordered = entries.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1))
        if (flush !== undefined) beginFlush.run({ ...mark, number: NO_NUMBER })
        for (const entry of ordered) {
          count.run({ ...entry, ...mark })
          touch.run(entry)
        }
        if (flush !== undefined) endFlush.run(mark)
      },

      pruneUsage(beforeDay) {
        removeBefore.run(beforeDay)
        removeMarks.run(beforeDay)
      },
    } satisfies Partial<LedgerVerbs>,
  }
}

/** The name of a flush; both are null for usage counted without one. */
type FlushMark = { meter: string | null; number: Uint8Array | null }

/** Encodes the number so that its bytes compare like the number. */
function toMark(flush: UsageFlush | undefined): FlushMark {
  if (flush === undefined) return { meter: null, number: null }
  const number = Buffer.alloc(NUMBER_BYTES)
  number.writeUIntBE(flush.number, 0, NUMBER_BYTES)
  return { meter: `usage ${flush.meter}`, number: new Uint8Array(number) }
}
