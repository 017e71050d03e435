/**
 * The tables whose every change is in the audit chain, and what is written there about a row: all
 * its columns as JSON, null ones left out, bytes in hex. Read from the file in the transaction of
 * the change, so that reading it again later must give the same. Names are those of the file, as
 * derived here: the names of the schema may change, and what is in the chain may not.
 */
import type { PaymentState } from '#src/selling/payment.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { Deed } from './ledger.ts'

/** What can happen to an audited row; the word before the point names the table (see `kindOf`). */
export type RowAction =
  | 'tier.put'
  | 'account.created'
  | 'account.blocked'
  | 'account.unblocked'
  | 'account.forgotten'
  | 'key.created'
  | 'key.expiring'
  | 'key.revoked'
  | 'key.forgotten'
  | 'subscription.added'
  | 'subscription.moved'
  | 'offer.opened'
  | 'offer.released'
  | `payment.${PaymentState}`
  | 'transfer.unmatched'
  | 'review.resolved'

/** Writes into the chain what became of a row. */
export type Note = (by: Deed, action: RowAction, subject: string) => void

/** A row of an audited table as it is now. */
export type AuditedRow = { kind: Kind; id: string; state: string }

const tables = {
  tier: 'tier',
  account: 'account',
  key: 'api_key',
  subscription: 'subscription',
  offer: 'offer',
  payment: 'payment',
  transfer: 'unmatched_transfer',
} as const
type Kind = keyof typeof tables
type Row = Record<string, unknown>

/**
 * `last_used_ms` changes with each use of a key, by which nobody gains. `payload` holds a
 * signature, which is worth money until it is used; `payload_hash` represents it. `seq` is the
 * order of the file alone.
 */
const unauditedColumns = new Set(['last_used_ms', 'payload', 'seq'])

/** Reads the state of audited rows. */
export function createAuditedRows(db: Database) {
  const readers = new Map(
    Object.keys(tables)
      .filter(isKind)
      .map((kind) => [
        kind,
        {
          get: db.prepare<Row, [{ id: string }]>(`SELECT * FROM ${tables[kind]} WHERE id = $id`),
          all: db.prepare<Row, []>(`SELECT * FROM ${tables[kind]} ORDER BY id`),
        },
      ]),
  )
  return {
    /** The row that an action was done to. */
    stateOf(action: RowAction, id: string): string {
      const kind = kindOf(action, id)
      const row = kind && readers.get(kind)?.get.get({ id })
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

export type AuditedRows = ReturnType<typeof createAuditedRows>

/** True if the row is gone after an action, for good: its last state is in the chain. */
export const isEnd = (action: string): boolean => action.endsWith('.forgotten')

/** The kind of row that an action of the chain is about, if it is about one. */
export function kindOf(action: string, subject: string): Kind | undefined {
  const [kind = ''] = action.split('.')
  // What is reviewed is of either kind.
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
