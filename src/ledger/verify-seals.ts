/** Sets and checks the seals of a ledger (`seals.ts`). */
import type { Database } from '#src/database/database.ts'
import { packingOf } from '#src/database/packing.ts'

import { change } from './rows.ts'
import { sealNames, type Seals } from './seals.ts'
import type { Tables } from './sqlite-ledger.ts'

/**
 * Entry of `meta`: the seal of the key where every row is sealed, or the mark of a ledger of an
 * earlier version, which no version with seals has opened yet. A new ledger has it from its first
 * opening, so where it is missing it was removed.
 */
const KEY_SEAL = 'challenge_seal'
const UNSEALED = '00'
/** The tables with a seal in each row. */
const sealedTables = ['credit', 'paid_answer', 'usage', 'idempotency', 'sanctions_list'] as const

type Sealed = { seal: number | null }
type Credit = Sealed & { id: string; used: number }
type Paid = Sealed & {
  id: string
  address: string
  answers: number
  deliveredMs: number | null
}
type Usage = Sealed & {
  keyId: string
  day: string
  route: string
  requests: number
  bytes: number
}
type Answer = Sealed & { id: string; fingerprint: string; sealed: Uint8Array; createdMs: number }
type List = Sealed & {
  publishedOn: string
  confirmedMs: number
  sha256: string
  entryCount: number
}

/** Rows with the seals that they must have, and how each is named and sealed anew. */
function createSealedTables(db: Database, seals: Seals) {
  const addresses = db.prepare<{ address: string }, []>('SELECT address FROM sanctions_address')
  const credits = db.prepare<Credit, []>('SELECT id, used, seal FROM credit ORDER BY id')
  const usage = db.prepare<Usage, []>(
    `SELECT key_id AS "keyId", day, route, requests, bytes, seal FROM usage
     ORDER BY key_id, day, route`,
  )
  const answers = db.prepare<Answer, []>(
    `SELECT id, fingerprint, sealed, created_ms AS "createdMs", seal FROM idempotency ORDER BY id`,
  )
  const paid = db.prepare<Paid, []>(
    `SELECT id, address, answers, delivered_ms AS "deliveredMs", seal FROM paid_answer ORDER BY id`,
  )
  const lists = db.prepare<List, []>(
    `SELECT published_on AS "publishedOn", confirmed_ms AS "confirmedMs", sha256,
       entry_count AS "entryCount", seal FROM sanctions_list`,
  )
  return {
    *credits() {
      for (const row of credits.iterate()) {
        const { id, used } = row
        yield { row, what: `credit ${id}`, seal: seals.ofCounters(sealNames.credit(id), [used]) }
      }
    },
    *paid() {
      for (const row of paid.iterate()) {
        const deliveredMs = row.deliveredMs ?? undefined
        const seal = seals.ofRow(sealNames.paidAnswer({ ...row, deliveredMs }))
        yield { row, what: `the answer to payment ${row.id}`, seal }
      }
    },
    *usage() {
      for (const row of usage.iterate()) {
        const { keyId, day, route, requests, bytes } = row
        const seal = seals.ofCounters(sealNames.usage(row), [requests, bytes])
        yield { row, what: `usage of ${keyId} on ${day} of ${route}`, seal }
      }
    },
    *answers() {
      for (const row of answers.iterate()) {
        const seal = seals.ofRow(sealNames.answer(row))
        yield { row, what: `the stored answer ${row.id}`, seal }
      }
    },
    *lists() {
      for (const row of lists.all()) {
        const names = addresses.all().map(({ address }) => address)
        const seal = seals.ofRow(sealNames.sanctions(row, names))
        yield { row, what: 'the sanctions list, or an address on it,', seal }
      }
    },
  }
}

const readKeySeal = (db: Database): unknown => {
  const found = db
    .prepare<{ value: number | Uint8Array }, [string]>('SELECT value FROM meta WHERE key = $1')
    .get(KEY_SEAL)
  return found === null ? undefined : packingOf(db).unpack(found.value)
}

const isMark = (value: unknown): boolean =>
  value instanceof Uint8Array && value.toHex() === UNSEALED

/** Whether a row has a seal, which none has in a ledger that was not sealed yet. */
const hasSeals = (db: Database): boolean =>
  sealedTables.some(
    (table) =>
      db.prepare<unknown, []>(`SELECT 1 FROM ${table} WHERE seal IS NOT NULL LIMIT 1`).get() !==
      null,
  )

/** Seals a ledger that has no seals yet, once: later a row without a seal is a fault. */
export function sealAll({ db, seals, chain }: Pick<Tables, 'db' | 'seals' | 'chain'>): void {
  const keySeal = readKeySeal(db)
  const isNew = keySeal === undefined && chain.head() === undefined
  if (!isNew && !isMark(keySeal)) return
  if (hasSeals(db)) return
  const tables = createSealedTables(db, seals)
  type Change = { seal: number } & Record<string, string | number>
  const write = (sql: string) => change<[Change]>(db, sql)
  const sealCredit = write('UPDATE credit SET seal = $seal WHERE id = $id')
  const sealPaid = write('UPDATE paid_answer SET seal = $seal WHERE id = $id')
  const sealUsage = write(
    'UPDATE usage SET seal = $seal WHERE key_id = $keyId AND day = $day AND route = $route',
  )
  const sealAnswer = write('UPDATE idempotency SET seal = $seal WHERE id = $id')
  const sealList = write('UPDATE sanctions_list SET seal = $seal')
  for (const { row, seal } of [...tables.credits()]) sealCredit({ id: row.id, seal })
  for (const { row, seal } of [...tables.paid()]) sealPaid({ id: row.id, seal })
  for (const { row, seal } of [...tables.usage()]) {
    sealUsage({ keyId: row.keyId, day: row.day, route: row.route, seal })
  }
  for (const { row, seal } of [...tables.answers()]) sealAnswer({ id: row.id, seal })
  for (const { seal } of tables.lists()) sealList({ seal })
  const put = change<[string, Uint8Array]>(
    db,
    `INSERT INTO meta (key, value) VALUES ($1, $2)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  )
  put(KEY_SEAL, seals.ofKey())
}

/** Rows whose seal is not that of what is in them, each a sentence. */
export function* findBrokenSeals({ db, seals }: Pick<Tables, 'db' | 'seals'>): Generator<string> {
  const keySeal = readKeySeal(db)
  // A ledger that an earlier version wrote, and none has written since.
  if (isMark(keySeal) && !hasSeals(db)) return
  if (keySeal === undefined) {
    yield 'The seal of the key of the ledger is gone from meta: whether rows were changed is not known.'
    return
  }
  if (!(keySeal instanceof Uint8Array) || keySeal.toHex() !== seals.ofKey().toHex()) {
    yield 'The key of the ledger in meta is not the one that it was made with.'
    return
  }
  const tables = createSealedTables(db, seals)
  for (const rows of [
    tables.credits(),
    tables.paid(),
    tables.usage(),
    tables.answers(),
    tables.lists(),
  ]) {
    for (const { row, what, seal } of rows) {
      if (row.seal !== seal) yield `${what} is not what the program wrote.`
    }
  }
}
