/**
 * The audit chain: who did what, row by row. Each row contains the hash of all rows before it:
 *
 *     hash of row n = SHA-256(hash of row n - 1, then the row as JSON in UTF-8)
 *     the row as JSON = [seq, timeMs, actor, action, subject, state]
 *
 * The first row follows 32 zero bytes. `state` is the resulting row of the subject: all its columns
 * as JSON, without nulls, bytes in hex, read in the transaction of the change, so that reading it
 * again must give the same. Names derive from the columns in the file: names in the schema may
 * change, the content of the chain may not.
 */
import { audit } from '#db/ledger/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Database, readConsistently } from '#src/database/database.ts'
import { listFaults } from '#src/database/sqlite/database.ts'
import type { PaymentState } from '#src/domain/selling/payment.ts'
import type { Verdict } from '#src/domain/selling/screening.ts'
import { messageOf } from '#src/platform/message.ts'

import type { AuditContext } from './actor.ts'
import { addressesDigest, findBrokenChecksums, listAddresses } from './checksums.ts'
import type { AuditRow } from './ledger.ts'
import { read } from './rows.ts'

/** Actions on audited rows; the word before the point names the table (see `findKind`). */
export type RowAction =
  | 'tier.put'
  | `account.${'created' | 'blocked' | 'unblocked' | 'forgotten'}`
  | `key.${'created' | 'labelled' | 'expiring' | 'revoked' | 'forgotten'}`
  | `subscription.${'added' | 'moved'}`
  | 'credit.added'
  | `offer.${'opened' | 'released'}`
  | `payment.${PaymentState}`
  | 'transfer.unmatched'
  | 'review.resolved'

type Entry = Pick<AuditRow, 'subject' | 'state'> & {
  action: RowAction | `screening.${Verdict['verdict']}` | 'sanctions_list.replaced' | 'job.started'
}

type Head = Pick<AuditRow, 'seq' | 'hash'>

const chainStart: Readonly<Head> = { seq: 0, hash: new Uint8Array(32) }

export function createAuditChain(db: Database) {
  const sql = sqlOf(audit)
  const select = `SELECT ${sql.columns()} FROM audit`
  const head = read<[], Head, Head | undefined>(
    db,
    'SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1',
    ([row]) => row,
  )
  const list = db.prepare<AuditRow, [afterSeq: number, limit: number]>(
    `${select} WHERE seq > $1 ORDER BY seq LIMIT $2`,
  )
  const ofOperator = db.prepare<AuditRow, [subject: string, limit: number]>(
    `${select} WHERE actor = 'operator' AND subject = $1 ORDER BY seq DESC LIMIT $2`,
  )
  const all = db.prepare<AuditRow, []>(`${select} ORDER BY seq`)
  const insert = db.prepare<unknown, [AuditRow]>(sql.insert())
  return {
    head,
    list: (afterSeq: number, limit: number): AuditRow[] => list.all(afterSeq, limit),
    listOfOperator: (subject: string, limit: number): AuditRow[] => ofOperator.all(subject, limit),
    all: (): Iterable<AuditRow> => all.iterate(),

    /** Appends a row in the transaction of the change. */
    append({ actor, nowMs: timeMs }: AuditContext, { action, subject, state }: Entry): void {
      const before = head() ?? chainStart
      const row = { seq: before.seq + 1, timeMs, actor, action, subject, state }
      insert.run({ ...row, hash: hashOf(before.hash, row) })
    },
  }
}

export function hashOf(before: Uint8Array, row: Omit<AuditRow, 'hash'>): Uint8Array {
  const { seq, timeMs, actor, action, subject, state } = row
  const json = JSON.stringify([seq, timeMs, actor, action, subject, state])
  return new Bun.CryptoHasher('sha256').update(before).update(json).digest()
}

/** The tables whose every change is in the chain. */
const tables = {
  tier: 'tier',
  account: 'account',
  key: 'api_key',
  subscription: 'subscription',
  credit: 'credit',
  offer: 'offer',
  payment: 'payment',
  transfer: 'unmatched_transfer',
} as const
type Kind = keyof typeof tables
type Row = Record<string, unknown>
type AuditedRow = { kind: Kind; id: string; state: string }

/**
 * Columns outside the chain: `last_used_ms` and `used` change with requests (`used` has a
 * checksum), and `payload` is a signature, represented by `payload_hash`.
 */
const unauditedColumns = new Set(['last_used_ms', 'used', 'payload', 'checksum', 'seq'])

export function createAuditedRows(db: Database) {
  const kinds = Object.keys(tables).filter(isKind)
  const readers = new Map(
    kinds.map((kind) => [
      kind,
      {
        get: read<[id: string], Row, Row | undefined>(
          db,
          `SELECT * FROM ${tables[kind]} WHERE id = $1`,
          ([row]) => row,
        ),
        all: db.prepare<Row, []>(`SELECT * FROM ${tables[kind]} ORDER BY id`),
      },
    ]),
  )
  const payloads = db.prepare<{ id: string; payload: string; hash: string }, []>(
    'SELECT id, payload, payload_hash AS hash FROM payment ORDER BY id',
  )
  return {
    /** Payments whose stored bytes do not match their audited hash. */
    *changedPayloads(): Generator<string> {
      for (const { id, payload, hash } of payloads.iterate()) {
        if (new Bun.CryptoHasher('sha256').update(payload).digest('hex') !== hash) yield id
      }
    },

    stateOf(action: RowAction, id: string): string {
      const kind = findKind(action, id)
      const row = kind && readers.get(kind)?.get(id)
      if (!row) throw new Error(`There is no row ${id} to be audited as ${action}.`)
      return toState(row)
    },

    *all(): Generator<AuditedRow> {
      for (const [kind, { all }] of readers) {
        for (const row of all.iterate()) yield { kind, id: String(row.id), state: toState(row) }
      }
    },
  }
}

/** True for an action that removes the row for good: its last state is in the chain. */
const isEnd = (action: string): boolean => action.endsWith('.forgotten')

/** The kind of row that an action concerns; undefined if it concerns none. */
function findKind(action: string, subject: string): Kind | undefined {
  const [kind = ''] = action.split('.')
  // Reviews concern transfers or payments.
  if (kind === 'review') return subject.startsWith('transfer_') ? 'transfer' : 'payment'
  return isKind(kind) ? kind : undefined
}

const isKind = (text: string): text is Kind => Object.hasOwn(tables, text)

function toState(row: Row): string {
  const entries = Object.entries(row)
    .filter(([column, value]) => !unauditedColumns.has(column) && value !== null)
    .map(([column, value]) => [
      column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      value instanceof Uint8Array ? value.toHex() : value,
    ])
  return JSON.stringify(Object.fromEntries(entries))
}

type LastState = Pick<AuditRow, 'seq' | 'state' | 'action'>

type AuditedLedger = {
  db: Database
  chain: ReturnType<typeof createAuditChain>
  rows: ReturnType<typeof createAuditedRows>
}

/** Verifies the chain and every table that it covers. Returns the faults, each a sentence. */
export function verifyAudit(ledger: AuditedLedger): string[] {
  const faults: string[] = []
  // Reads one state of the file, so that concurrent writes cause no false faults.
  readConsistently(ledger.db, () => {
    try {
      for (const fault of findFaults(ledger)) faults.push(fault)
    } catch (error) {
      // The file may be damaged: the faults found so far are reported.
      faults.push(`The rest cannot be read: ${messageOf(error)}`)
    }
  })
  return faults
}

function* findFaults({ db, chain, rows }: AuditedLedger) {
  // Indexes are verified too, because keys and payments are found through them.
  yield* listFaults(db)
  /** The last audited state of each row, by `kind id`. */
  const lastStates = new Map<string, LastState>()
  yield* verifyChain(chain.all(), lastStates)
  yield* compareList(db, lastStates.get(LIST))
  lastStates.delete(LIST)
  for (const row of rows.all()) {
    const name = `${row.kind} ${row.id}`
    yield* compare(name, row, lastStates.get(name))
    lastStates.delete(name)
  }
  for (const [name, { seq, action }] of lastStates) {
    if (!isEnd(action)) yield `${name} is gone, though audit row ${seq} records it.`
  }
  for (const id of rows.changedPayloads()) yield `payment ${id} is not what its payer has signed.`
  yield* findBrokenChecksums(db)
}

function* verifyChain(
  rows: Iterable<AuditRow>,
  lastStates: Map<string, LastState>,
): Generator<string> {
  let before: Head = chainStart
  for (const row of rows) {
    if (row.seq !== before.seq + 1) {
      yield `Audit row ${before.seq + 1} is missing: ${row.seq} is in its place.`
    }
    if (!isSame(row.hash, hashOf(before.hash, row))) {
      yield `Audit row ${row.seq} does not carry the hash of all before it and itself.`
    }
    const kind = findKind(row.action, row.subject)
    const name = `${kind} ${row.subject}`
    const known = lastStates.get(name)
    if (known && isEnd(known.action)) {
      yield `${name} was forgotten by audit row ${known.seq}, and row ${row.seq} uses it again.`
    }
    if (kind !== undefined) lastStates.set(name, row)
    if (row.action === 'sanctions_list.replaced') lastStates.set(LIST, row)
    before = row
  }
}

/** The sanctions list among the last states; at most one. */
const LIST = 'sanctions_list'

/** Compares the list. Confirming the same list changes only its time, which has a checksum. */
function* compareList(db: Database, audited?: LastState): Generator<string> {
  const row = db
    .prepare<{ publishedOn: string; sha256: string; entryCount: number }, []>(
      `SELECT published_on AS "publishedOn", sha256, entry_count AS "entryCount"
       FROM sanctions_list`,
    )
    .get()
  const addresses = listAddresses(db)
  if (audited === undefined) {
    if (row !== null || addresses.length > 0) yield 'The sanctions list is in no audit row.'
    return
  }
  const { seq, state } = audited
  if (row === null) {
    yield `The sanctions list is gone, though audit row ${seq} records it.`
    return
  }
  const then = parse(state)
  // An earlier version wrote no digest of the addresses.
  const addressesSha256 =
    then.addressesSha256 === undefined ? undefined : addressesDigest(addresses)
  const now: Record<string, unknown> = { ...row, entryCount: addresses.length, addressesSha256 }
  const fields = Object.keys(now).filter((field) => now[field] !== then[field])
  if (fields.length === 0) return
  yield `The sanctions list differs from its last audited state, row ${seq}, in ${fields.join(', ')}.`
}

function* compare(name: string, row: AuditedRow, audited?: LastState): Generator<string> {
  if (audited === undefined) {
    yield `${name} is in no audit row.`
    return
  }
  if (isEnd(audited.action)) {
    yield `${name} is there, though audit row ${audited.seq} says that it was forgotten.`
    return
  }
  const now = parse(row.state)
  const then = parse(audited.state)
  const fields = Object.keys({ ...then, ...now })
    .filter((field) => now[field] !== then[field])
    .filter((field) => !(field === 'leaseUntilMs' && isRenewedLease(then, now)))
  if (fields.length === 0) return
  yield `${name} differs from its last audited state, row ${audited.seq}, in ${fields.join(', ')}.`
}

/** True if a payment is still being submitted under the audited lease, which was renewed. */
const isRenewedLease = (then: Record<string, unknown>, now: Record<string, unknown>): boolean =>
  now.state === 'settling' && Number(now.leaseUntilMs) >= Number(then.leaseUntilMs)

/** The fields of a state; none if it is no longer JSON. */
function parse(state: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(state)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  } catch {
    return {}
  }
}

/** Rows modified by hand may contain anything in place of a hash. */
const isSame = (a: unknown, b: Uint8Array): boolean =>
  a instanceof Uint8Array && a.toHex() === b.toHex()
