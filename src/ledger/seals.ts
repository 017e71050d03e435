/**
 * Seals of rows that change too often for the audit chain, or are made by requests of others: usage,
 * requests of packs, stored answers, the sanctions list. A seal is a number that only the holder of
 * the ledger's own key can make for what is in the row, so `verifyAudit` finds a row that was
 * changed by hand or by a fault of the disk. Like the chain, it does not stop a person who has both
 * the file and the program.
 *
 * The seal of a counter is linear: adding to the counter adds to the seal, in one statement of SQL.
 */
import { createHmac } from 'node:crypto'

import { getTableName, type Table } from 'drizzle-orm/table'

import { credit, idempotency, paidAnswer, sanctionsList, usage } from '#db/ledger/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Database, olderStore } from '#src/database/database.ts'
import { packingOf } from '#src/database/packing.ts'
import type { PaidAnswer } from '#src/domain/selling/credit.ts'

import type { SanctionsList, UsageEntry } from './ledger.ts'
import { change } from './rows.ts'

/** The largest prime below 2^52: the sum of two seals is an exact number in every engine. */
export const SEAL_PRIME = 4_503_599_627_370_449
const PRIME = BigInt(SEAL_PRIME)
/** Bytes of the digest that make one number below the prime. */
const NUMBER_BYTES = 6

export type Seals = ReturnType<typeof createSeals>

/** A seal is made for a name, which says which row it is, and for its counters. */
export function createSeals(key: Uint8Array) {
  const digestOf = (name: readonly unknown[]): Buffer =>
    createHmac('sha256', key).update(JSON.stringify(name)).digest()

  /** A seal of counters that are all 0, and what each counter adds for one. */
  function weightsOf(name: readonly unknown[], counters: number): bigint[] {
    const digest = digestOf(name)
    return Array.from({ length: counters + 1 }, (_, index) =>
      BigInt(digest.readUIntBE(index * NUMBER_BYTES, NUMBER_BYTES)),
    )
  }

  return {
    ofRow: (name: readonly unknown[]): number => digestOf(name).readUIntBE(0, NUMBER_BYTES),

    ofCounters(name: readonly unknown[], counters: readonly number[]): number {
      // A number that was written by hand has no seal.
      if (!counters.every(Number.isSafeInteger)) return Number.NaN
      const [base = 0n, ...weights] = weightsOf(name, counters.length)
      return Number((base + weigh(weights, counters)) % PRIME)
    },

    /** What a seal grows by, modulo the prime, when counters grow; they may be negative. */
    ofGrowth(name: readonly unknown[], counters: readonly number[]): number {
      const [, ...weights] = weightsOf(name, counters.length)
      const growth = weigh(weights, counters) % PRIME
      return Number(growth < 0n ? growth + PRIME : growth)
    },

    /** The seal of the key itself, which all other seals depend on. */
    ofKey: (): Uint8Array => new Uint8Array(digestOf(['challenge_key'])),
  }
}

const weigh = (weights: readonly bigint[], counters: readonly number[]): bigint =>
  weights.reduce((sum, weight, index) => sum + weight * BigInt(counters[index] ?? 0), 0n)

/** A digest of the addresses of a list, in any order. */
export const addressesDigest = (addresses: Iterable<string>): string =>
  new Bun.CryptoHasher('sha256').update([...addresses].toSorted().join('\n')).digest('hex')

/** The name under which each kind of row is sealed. */
export const sealNames = {
  usage: ({ keyId, day, route }: Pick<UsageEntry, 'keyId' | 'day' | 'route'>) => [
    'usage',
    keyId,
    day,
    route,
  ],
  credit: (id: string) => ['credit', id],
  paidAnswer: ({ id, address, answers, deliveredMs }: PaidAnswer) => [
    'paid answer',
    id,
    address,
    answers,
    deliveredMs ?? null,
  ],
  answer: ({
    id,
    fingerprint,
    sealed,
    createdMs,
  }: Omit<typeof idempotency.$inferSelect, 'seal'>) => [
    'answer',
    id,
    fingerprint,
    // Written by hand, it may be anything.
    sealed instanceof Uint8Array ? sealed.toHex() : sealed,
    createdMs,
  ],
  sanctions: (
    { publishedOn, confirmedMs, sha256, entryCount }: SanctionsList,
    addresses: Iterable<string>,
  ) => ['sanctions', publishedOn, confirmedMs, sha256, entryCount, addressesDigest(addresses)],
}

/**
 * Entry of `meta`: the seal of the key. A ledger has it from its first opening, so where it is
 * missing it was removed.
 */
const KEY_SEAL = 'challenge_seal'
/** In its place where the converting version did not finish to seal an older ledger. */
const UNSEALED = '00'

/** A table with a seal in each row; `key` names its primary key. */
function sealedTable<T extends Table>(
  db: Database,
  table: T,
  key: readonly (keyof T['$inferSelect'] & string)[],
  /** What a row is, for people, and the seal that it must have. */
  describe: (row: T['$inferSelect']) => { what: string; seal: number },
) {
  type Row = T['$inferSelect'] & { seal: number | null }
  const sql = sqlOf(table)
  const name = getTableName(table)
  const all = db.prepare<Row, []>(`SELECT ${sql.columns()} FROM ${name} ORDER BY ${sql.names(key)}`)
  return {
    hasSeals: (): boolean =>
      db.prepare<unknown, []>(`SELECT 1 FROM ${name} WHERE seal IS NOT NULL LIMIT 1`).get() !==
      null,

    *findBroken(): Generator<string> {
      for (const row of all.iterate()) {
        const { what, seal } = describe(row)
        if (row.seal !== seal) yield `${what} is not what the program wrote.`
      }
    },
  }
}

function sealedTables(db: Database, seals: Seals) {
  const addresses = db.prepare<{ address: string }, []>('SELECT address FROM sanctions_address')
  return [
    sealedTable(db, credit, ['id'], ({ id, used }) => ({
      what: `credit ${id}`,
      seal: seals.ofCounters(sealNames.credit(id), [used]),
    })),
    sealedTable(db, paidAnswer, ['id'], ({ deliveredMs, ...row }) => ({
      what: `the answer to payment ${row.id}`,
      seal: seals.ofRow(sealNames.paidAnswer({ ...row, deliveredMs: deliveredMs ?? undefined })),
    })),
    sealedTable(db, usage, ['keyId', 'day', 'route'], (row) => ({
      what: `usage of ${row.keyId} on ${row.day} of ${row.route}`,
      seal: seals.ofCounters(sealNames.usage(row), [row.requests, row.bytes]),
    })),
    sealedTable(db, idempotency, ['id'], (row) => ({
      what: `the stored answer ${row.id}`,
      seal: seals.ofRow(sealNames.answer(row)),
    })),
    sealedTable(db, sanctionsList, ['id'], (row) => {
      const names = addresses.all().map(({ address }) => address)
      return {
        what: 'the sanctions list, or an address on it,',
        seal: seals.ofRow(sealNames.sanctions(row, names)),
      }
    }),
  ]
}

const readKeySeal = (db: Database): unknown => {
  const found = db
    .prepare<{ value: number | Uint8Array }, [string]>('SELECT value FROM meta WHERE key = $1')
    .get(KEY_SEAL)
  return found === null ? undefined : packingOf(db).unpack(found.value)
}

/** Throws `storage_unavailable` for a ledger of a version without seals. */
export function assertSealed(db: Database): void {
  const keySeal = readKeySeal(db)
  if (keySeal instanceof Uint8Array && keySeal.toHex() === UNSEALED) throw olderStore('The ledger')
}

/** Seals the key of a new ledger. In any other a seal that is missing was removed. */
export function sealKey(db: Database, seals: Seals, isNew: boolean): void {
  if (!isNew || readKeySeal(db) !== undefined) return
  if (sealedTables(db, seals).some((table) => table.hasSeals())) return
  const put = change<[string, Uint8Array]>(db, 'INSERT INTO meta (key, value) VALUES ($1, $2)')
  put(KEY_SEAL, seals.ofKey())
}

/** Rows whose seal is not that of what is in them, each a sentence. */
export function* findBrokenSeals(db: Database, seals: Seals): Generator<string> {
  const keySeal = readKeySeal(db)
  if (keySeal === undefined) {
    yield 'The seal of the key of the ledger is gone from meta: whether rows were changed is not known.'
    return
  }
  if (!(keySeal instanceof Uint8Array) || keySeal.toHex() !== seals.ofKey().toHex()) {
    yield 'The key of the ledger in meta is not the one that it was made with.'
    return
  }
  for (const table of sealedTables(db, seals)) yield* table.findBroken()
}
