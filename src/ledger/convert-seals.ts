/**
 * Converts a ledger of version 0.8.0 or older, whose rows have seals: keyed numbers in the column
 * that the migration renamed to `checksum`. Rows with a valid seal get a checksum; all others stay
 * unchanged, so that `verifyAudit` still reports them.
 */
import { createHmac } from 'node:crypto'

import { getTableName, type Table } from 'drizzle-orm/table'

import { credit, idempotency, paidAnswer, sanctionsList } from '#db/ledger/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Database, olderStore } from '#src/database/database.ts'

import { addressesDigest, checksums, listAddresses, sealKey } from './checksums.ts'
import { change } from './rows.ts'

/** Entry of `meta`: the seal of the key itself. A ledger that has it is not converted yet. */
const KEY_SEAL = 'challenge_seal'
/** The placeholder in a ledger without seals whose sealing was not completed. */
const UNSEALED = '00'

const PRIME = 4_503_599_627_370_449n
/** Bytes of the digest that form a number below the prime. */
const NUMBER_BYTES = 6

/** True for a ledger that is not converted yet. */
export const hasSeals = (db: Database): boolean => readMeta(db, KEY_SEAL) !== undefined

/**
 * Converts a ledger that has seals, in a write transaction. Throws `storage_unavailable` for a
 * ledger of a version without seals.
 */
export function convertSeals(db: Database): void {
  const keySeal = readMeta(db, KEY_SEAL)
  if (keySeal === undefined) return
  if (keySeal.toHex() === UNSEALED) throw olderStore('The ledger')
  const key = readMeta(db, 'challenge_key')
  if (key !== undefined) convert(db, key, keySeal)
  change<[string]>(db, 'DELETE FROM meta WHERE key = $1')(KEY_SEAL)
}

function convert(db: Database, key: Uint8Array, keySeal: Uint8Array): void {
  const { ofKey, ofRow, ofCounter } = createSeals(key)
  convertRows(db, credit, (row) => ({
    seal: ofCounter(['credit', row.id], row.used),
    checksum: checksums.credit(row),
  }))
  convertRows(db, paidAnswer, ({ id, address, answers, deliveredMs }) => ({
    seal: ofRow(['paid answer', id, address, answers, deliveredMs]),
    checksum: checksums.paidAnswer({ id, address, answers, deliveredMs: deliveredMs ?? undefined }),
  }))
  convertRows(db, idempotency, (row) => {
    const { id, fingerprint, sealed, createdMs } = row
    const bytes: unknown = sealed instanceof Uint8Array ? sealed.toHex() : sealed
    return {
      seal: ofRow(['answer', id, fingerprint, bytes, createdMs]),
      checksum: checksums.answer(row),
    }
  })
  const addresses = listAddresses(db)
  convertRows(db, sanctionsList, (row) => {
    const { publishedOn, confirmedMs, sha256, entryCount } = row
    const facts = [publishedOn, confirmedMs, sha256, entryCount, addressesDigest(addresses)]
    return { seal: ofRow(['sanctions', ...facts]), checksum: checksums.sanctions(row, addresses) }
  })
  if (ofKey().toHex() === keySeal.toHex()) {
    const put = change<[Uint8Array, string]>(db, 'UPDATE meta SET value = $1 WHERE key = $2')
    put(sealKey(key), 'challenge_key')
  }
}

function convertRows<T extends Table>(
  db: Database,
  table: T,
  describe: (row: T['$inferSelect']) => { seal: number; checksum: number },
): void {
  type Row = T['$inferSelect'] & { id: string | number; checksum: number | null }
  const name = getTableName(table)
  const rows = db.prepare<Row, []>(`SELECT ${sqlOf(table).columns()} FROM ${name} ORDER BY id`)
  const put = change<[number, string | number]>(
    db,
    `UPDATE ${name} SET checksum = $1 WHERE id = $2`,
  )
  for (const row of rows.all()) {
    const { seal, checksum } = describe(row)
    if (row.checksum === seal) put(checksum, row.id)
  }
}

function createSeals(key: Uint8Array) {
  const digestOf = (name: readonly unknown[]): Buffer =>
    createHmac('sha256', key).update(JSON.stringify(name)).digest()
  return {
    ofKey: (): Uint8Array => new Uint8Array(digestOf(['challenge_key'])),
    ofRow: (name: readonly unknown[]): number => digestOf(name).readUIntBE(0, NUMBER_BYTES),
    /** A number written by hand has no seal. */
    ofCounter(name: readonly unknown[], counter: number): number {
      if (!Number.isSafeInteger(counter)) return Number.NaN
      const digest = digestOf(name)
      const weight = BigInt(digest.readUIntBE(NUMBER_BYTES, NUMBER_BYTES))
      return Number((BigInt(digest.readUIntBE(0, NUMBER_BYTES)) + weight * BigInt(counter)) % PRIME)
    },
  }
}

function readMeta(db: Database, key: string): Uint8Array | undefined {
  const row = db
    .prepare<{ value: unknown }, [string]>('SELECT value FROM meta WHERE key = $1')
    .get(key)
  if (row === null) return undefined
  return row.value instanceof Uint8Array ? row.value : new Uint8Array()
}
