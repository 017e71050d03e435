/**
 * Carries a history from one database to another, of any engine: every row as it is, so that ids,
 * cursors and tags stay what they were. Nothing may write to either meanwhile.
 */

import { assertSound } from '#src/database/checksum.ts'
import { type Database, readConsistently, storageError, transact } from '#src/database/database.ts'
import { COPYING, createMeta } from '#src/history/tables/meta-table.ts'

import { formats } from './formats.ts'
import { openRows, type StoreTable } from './tables.ts'

/** Totals of coins follow from the markets; `meta`, without which a history is none, is last. */
const apart = ['coin_total', 'log_meta', 'meta']
/** Markets first, of which the rows of other tables are. */
const tables = formats.history.tables
  .filter(({ name }) => !apart.includes(name))
  .toSorted((a, b) => Number(b.name === 'market') - Number(a.name === 'market'))

const ANOTHER =
  'The target holds another history, or a part of one. Name an empty place: another folder, or a schema (?schema=name).'
const CHANGED =
  'The target holds a copy of this history, and one of them has changed since. Go on with that one, or name an empty place.'

export type CopyStep = { table: string; rows: number }

/**
 * Copies a step at a time; goes on where an earlier call was interrupted, and does nothing where
 * all of it is there. Throws `storage_unavailable` where `to` holds another history, and a `damage`
 * fault where not all of it arrived.
 */
export function* copyHistory(from: Database, to: Database): Generator<CopyStep> {
  const source = createMeta(from, 'meta')
  const target = createMeta(to, 'meta')
  assertSound(source.isSound(), 'the meta table')
  const { cursor_key: key } = source.list()
  if (!(key instanceof Uint8Array)) throw storageError('There is no history to copy.')
  const held = target.list()
  const known = held[COPYING] ?? held.cursor_key
  const isOfSource = known instanceof Uint8Array && known.toHex() === key.toHex()
  if (Object.keys(held).length === 0) target.begin({ [COPYING]: key })
  else if (!isOfSource) throw storageError(ANOTHER)
  else if (held[COPYING] === undefined) {
    if (tables.every((table) => isSame([from, to], table))) return
    throw storageError(CHANGED)
  }
  for (const table of tables) yield* copyTable(from, to, table)
  transact(to, () => {
    for (const name of ['chunk', 'segment']) to.engine.continueIds(to, name)
    for (const name of ['log_meta', 'meta'] as const) {
      const { checksum: _, ...rows } = createMeta(from, name).list()
      const there = createMeta(to, name)
      if (name === 'meta') there.remove(COPYING)
      there.begin(rows)
    }
  })
}

function* copyTable(from: Database, to: Database, table: StoreTable): Generator<CopyStep> {
  const source = openRows(from, table)
  const target = openRows(to, table)
  for (const rows of source.after(target.last())) {
    transact(to, () => target.insert(rows))
    yield { table: table.name, rows: rows.length }
  }
  assertSound(isSame([from, to], table), `the copy of ${table.name}`)
}

/** As far as counts tell. */
const isSame = (both: readonly Database[], table: StoreTable): boolean => {
  const counts = both.map((db) => readConsistently(db, openRows(db, table).count))
  return counts[0] === counts[1]
}
