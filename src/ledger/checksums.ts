/**
 * Checksums of rows that decide about money but change too often for the audit chain, or belong to
 * requests: used requests of packs, paid responses, stored responses, the sanctions list and the
 * key of the ledger. `verifyAudit` compares them, so it detects rows changed by hand or by a fault
 * of the disk. Like the chain, they do not stop a person who has both the file and the program.
 */
import { getTableName, type Table } from 'drizzle-orm/table'

import { credit, idempotency, paidAnswer, sanctionsList } from '#db/ledger/schema.ts'
import { checksumOf, seal, unseal } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import type { Credit, PaidAnswer } from '#src/domain/selling/credit.ts'

import type { SanctionsList } from './ledger.ts'

/** A digest of the addresses of a list, independent of their order. */
export const addressesDigest = (addresses: Iterable<string>): string =>
  new Bun.CryptoHasher('sha256').update([...addresses].toSorted().join('\n')).digest('hex')

/** The checksum of each kind of row, without the columns covered by the audit chain. */
export const checksums = {
  credit: ({ id, used }: Pick<Credit, 'id' | 'used'>): number => checksumOf({ id, used }),
  paidAnswer: ({ id, address, answers, deliveredMs }: PaidAnswer): number =>
    checksumOf({ id, address, answers, deliveredMs }),
  answer: ({
    id,
    fingerprint,
    sealed,
    createdMs,
  }: Omit<typeof idempotency.$inferSelect, 'checksum'>): number =>
    checksumOf({ id, fingerprint, sealed, createdMs }),
  sanctions: (
    { publishedOn, confirmedMs, sha256, entryCount }: SanctionsList,
    addresses: Iterable<string>,
  ): number => {
    const addressesSha256 = addressesDigest(addresses)
    return checksumOf({ publishedOn, confirmedMs, sha256, entryCount, addressesSha256 })
  },
}

/**
 * SQL for the checksum of an updated row: the new one (`$checksum`), or NULL if the row did not
 * match its checksum before (`$before` is the checksum of the previous content), so that a damaged
 * row stays damaged.
 */
export const NEXT_CHECKSUM = 'CASE WHEN checksum = $before THEN $checksum END'

/** Rows of a table that do not match their checksum, each as a sentence. */
function* findBrokenIn<T extends Table>(
  db: Database,
  table: T,
  describe: (row: T['$inferSelect']) => { what: string; checksum: number | undefined },
): Generator<string> {
  type Row = T['$inferSelect'] & { checksum: number | null }
  const rows = db.prepare<Row, []>(
    `SELECT ${sqlOf(table).columns()} FROM ${getTableName(table)} ORDER BY id`,
  )
  for (const row of rows.iterate()) {
    const { what, checksum } = describe(row)
    if (row.checksum !== checksum) yield `${what} is not what the program wrote.`
  }
}

/** Rows that do not match their checksum, and the key of the ledger if it does not. */
export function* findBrokenChecksums(db: Database): Generator<string> {
  yield* findKeyFault(db)
  yield* findBrokenIn(db, credit, (row) => ({
    what: `credit ${row.id}`,
    checksum: checksums.credit(row),
  }))
  yield* findBrokenIn(db, paidAnswer, ({ deliveredMs, ...row }) => ({
    what: `the answer to payment ${row.id}`,
    checksum: checksums.paidAnswer({ ...row, deliveredMs: deliveredMs ?? undefined }),
  }))
  yield* findBrokenIn(db, idempotency, (row) => ({
    what: `the stored answer ${row.id}`,
    checksum: checksums.answer(row),
  }))
  const addresses = listAddresses(db)
  yield* findBrokenIn(db, sanctionsList, (row) => ({
    what: 'the sanctions list, or an address on it,',
    // The program writes one row, with this id.
    checksum: row.id === 1 ? checksums.sanctions(row, addresses) : undefined,
  }))
}

export const listAddresses = (db: Database): string[] =>
  db
    .prepare<{ address: string }, []>('SELECT address FROM sanctions_address')
    .all()
    .map(({ address }) => address)

const KEY = 'challenge_key'

/** Stores the key of the ledger as its bytes followed by their checksum. */
export const sealKey = (key: Uint8Array): Uint8Array => seal(key, [])

/** The stored key, even if it is damaged. */
export const unsealKey = (stored: Uint8Array): Uint8Array => unseal(stored, []) ?? stored

function* findKeyFault(db: Database): Generator<string> {
  const row = db.prepare<{ value: unknown }, [string]>('SELECT value FROM meta WHERE key = $1')
  const value = row.get(KEY)?.value
  if (value === undefined) yield 'The key of the ledger is gone from meta.'
  else if (unseal(value, []) === undefined)
    yield 'The key of the ledger in meta is not the one that it was made with.'
}
