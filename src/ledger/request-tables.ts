/** What the server remembers: answered challenges, answers, the use of keys, and of itself. */
import { randomBytes } from 'node:crypto'

import { idempotency, usedNonce } from '#db/ledger/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Database, transact } from '#src/database/database.ts'
import { packingOf } from '#src/database/packing.ts'
import { coins } from '#src/domain/market.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { Eventually } from '#src/platform/eventually.ts'

import type { Ledger, StoredAnswer, UsageEntry, UsageFlush, UsageRow } from './ledger.ts'
import { change, exists } from './rows.ts'
import { SEAL_PRIME, sealNames, type Seals } from './seals.ts'

export const createNonceTable = (db: Database) => ({
  has: exists<[nonce: string]>(db, 'SELECT 1 FROM used_nonce WHERE nonce = $1'),
  insert: change<[typeof usedNonce.$inferSelect]>(db, sqlOf(usedNonce).insert()),
  /** One that expires this very moment is kept: nobody can gain by the edge. */
  forgetExpired: change<[nowMs: number]>(db, 'DELETE FROM used_nonce WHERE expires_ms < $1'),
})

export function createAnswerTable(db: Database, seals: Seals) {
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
      const row = { ...answer, createdMs: nowMs }
      insert({ ...row, seal: seals.ofRow(sealNames.answer(row)) })
    },
  }
}

/** Counts and sums what keys were used for: see `Ledger`. */
export function createUsage(db: Database, seals: Seals) {
  const marks = createFlushMarks(db)
  const count = db.prepare<unknown, [UsageEntry & Mark & { seal: number; growth: number }]>(
    `INSERT INTO usage (key_id, day, route, requests, bytes, seal)
     SELECT $keyId, $day, $route, CAST($requests AS BIGINT), CAST($bytes AS BIGINT),
       CAST($seal AS BIGINT)
     WHERE NOT EXISTS (${marks.later})
     ON CONFLICT (key_id, day, route) DO UPDATE SET
       requests = usage.requests + excluded.requests, bytes = usage.bytes + excluded.bytes,
       seal = (usage.seal + CAST($growth AS BIGINT)) % ${SEAL_PRIME}`,
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

  /** Never waits, except within a transaction. Throws while another process writes. */
  const run = (body: () => void): Eventually<void> =>
    db.inTransaction ? body() : db.engine.withoutWaiting(db, () => transact(db, body))

  return {
    addUsage(entries, flush) {
      if (entries.length === 0) return undefined
      const mark = toMark(flush)
      // Two processes that take the same rows take them in the same order.
      const ordered = entries.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1))
      return run(() => {
        if (flush !== undefined) marks.begin(mark)
        for (const entry of ordered) {
          const name = sealNames.usage(entry)
          const counters = [entry.requests, entry.bytes]
          const seal = seals.ofCounters(name, counters)
          count.run({ ...entry, ...mark, seal, growth: seals.ofGrowth(name, counters) })
          touch.run(entry)
        }
        if (flush !== undefined) marks.end(mark)
      })
    },
    usageOf: (accountId, fromDay) => listOf.all(accountId, fromDay),
    pruneUsage: (beforeDay) =>
      run(() => {
        removeBefore.run(beforeDay)
        marks.removeBefore(beforeDay)
      }),
  } satisfies Partial<Ledger>
}

type Mark = { meter: string | null; number: Uint8Array | null }

/** Bytes are compared like the numbers that they are. */
function toMark(flush: UsageFlush | undefined): Mark {
  if (flush === undefined) return { meter: null, number: null }
  const number = Buffer.alloc(NUMBER_BYTES)
  number.writeUIntBE(flush.number, 0, NUMBER_BYTES)
  return { meter: `usage ${flush.meter}`, number: new Uint8Array(number) }
}
const NUMBER_BYTES = 6
const NO_NUMBER = new Uint8Array(0)

/**
 * The last flush of each meter. One that is tried again, because nobody knows whether it was done,
 * waits at its mark for the first, and then finds that it was.
 */
function createFlushMarks(db: Database) {
  const begin = db.prepare<unknown, [{ meter: string | null; number: Uint8Array }]>(
    `INSERT INTO meta (key, value) VALUES ($meter, $number)
     ON CONFLICT (key) DO UPDATE SET value = meta.value`,
  )
  const end = db.prepare<unknown, [Mark]>(
    'UPDATE meta SET value = $number WHERE key = $meter AND value < $number',
  )
  const removeBefore = db.prepare<unknown, [day: string]>(
    "DELETE FROM meta WHERE key >= 'usage ' AND key < 'usage ' || CAST($1 AS TEXT)",
  )
  return {
    /** A query that has a row where a flush was done. */
    later: 'SELECT 1 FROM meta WHERE key = $meter AND value >= $number',
    begin: ({ meter }: Mark) => void begin.run({ meter, number: NO_NUMBER }),
    end: (mark: Mark) => void end.run(mark),
    removeBefore: (day: string) => void removeBefore.run(day),
  }
}

/** What every coin was before a ledger wrote down which coins there are. */
const FIRST_COINS = 'btc,eth,sol,xrp'

/** The coins that the version knew that used the ledger last. */
export function createKnownCoins(db: Database) {
  const find = db.prepare<{ value: unknown }, []>("SELECT value FROM meta WHERE key = 'coins'")
  const store = db.prepare<unknown, [value: Uint8Array]>(
    `INSERT INTO meta (key, value) VALUES ('coins', $1)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  )
  const get = (): string[] => {
    const value = find.get()?.value
    const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : FIRST_COINS
    return text.split(',')
  }
  return {
    get,
    put(): void {
      if (find.get() === null || get().join(',') !== coins.join(','))
        store.run(new TextEncoder().encode(coins.join(',')))
    },
  }
}

/** A clock that is behind by more is right, and what was kept was far ahead. */
const AHEAD_MS_MAX = DAY_MS

/**
 * Opens the facts of a ledger, whose challenge key the first opening makes. With `isAsItIs` none is
 * made: a ledger without one then has the empty key, which no seal is of.
 */
export function createMeta(db: Database, { isAsItIs = false } = {}) {
  const find = db.prepare<{ value: number | Uint8Array }, [key: string]>(
    'SELECT value FROM meta WHERE key = $1',
  )
  const { pack, unpack } = packingOf(db)
  const put = db.prepare<unknown, [value: number | Uint8Array]>(
    `INSERT INTO meta (key, value) VALUES ('time_floor', $1)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  )

  function readChallengeKey(): Uint8Array {
    const read = () => find.get('challenge_key')?.value
    if (read() === undefined && isAsItIs) return new Uint8Array()
    if (read() === undefined) {
      // Another process may be making one: whichever is first stays.
      const sql = `INSERT INTO meta (key, value) VALUES ('challenge_key', $1) ON CONFLICT (key) DO NOTHING`
      change<[Uint8Array]>(db, sql)(randomBytes(32))
    }
    const value = read()
    if (value instanceof Uint8Array) return value
    throw new Error('The challenge key of the ledger is not bytes.')
  }

  function timeFloor(): number | undefined {
    const row = find.get('time_floor')
    const value = row === null ? undefined : unpack(row.value)
    return typeof value === 'number' ? value : undefined
  }

  return {
    challengeKey: readChallengeKey(),
    timeFloor,
    putTimeFloor(nowMs) {
      const aheadMs = (timeFloor() ?? 0) - nowMs
      // Of another server, whose clock is ahead.
      if (aheadMs >= 0 && aheadMs <= AHEAD_MS_MAX) return undefined
      return db.engine.withoutWaiting(db, () => transact(db, () => void put.run(pack(nowMs))))
    },
  } satisfies Partial<Ledger>
}
