/**
 * Copies a history from a file to PostgreSQL or back, each row unchanged, so that ids, cursors and
 * tags stay the same. Neither store may be written to meanwhile.
 */

import { assertSound } from '#src/database/checksum.ts'
import { type Cell, storageError } from '#src/database/database.ts'
import { COPYING, metaChecksum, type MetaValue } from '#src/history/tables/meta-table.ts'

import type { CopyStore } from './copy-store.ts'
import { formats } from './formats.ts'
import { sequences, type StoreTable } from './tables.ts'

const tableOf = (name: string): StoreTable => {
  const found = formats.history.tables.find((table) => table.name === name)
  if (found === undefined) throw new Error(`There is no table ${name}.`)
  return found
}
/** Tables of facts come last: a history without them is incomplete. */
const facts = [tableOf('log_meta'), tableOf('meta')]
const totals = tableOf('coin_total')
/** Markets come first, because rows of other tables refer to them. */
const tables = formats.history.tables
  .filter((table) => table !== totals && table !== sequences && !facts.includes(table))
  .toSorted((a, b) => Number(b.name === 'market') - Number(a.name === 'market'))

const ANOTHER =
  'The target contains another history, or a part of one. Choose an empty target: another folder, or another schema (?schema=name).'
const CHANGED =
  'The target contains a copy of this history, and source or target has changed since. Continue with one of them, or choose an empty target.'
const CHECKSUM = 'checksum'

export type CopyStep = { table: string; rows: number; isComparing: boolean }

/**
 * Copies in steps and compares all rows. Continues an interrupted copy; if the copy is complete,
 * only compares. Rejects with `storage_unavailable` if `to` has another history, and with a
 * `damage` fault if rows differ afterwards.
 */
export async function* copyHistory(from: CopyStore, to: CopyStore): AsyncGenerator<CopyStep> {
  const source = await factsOf(from, tableOf('meta'))
  const held = await factsOf(to, tableOf('meta'))
  assertSound(source.get(CHECKSUM) === metaChecksum(source), 'the meta table')
  const key = source.get('cursor_key')
  if (!(key instanceof Uint8Array)) throw storageError('There is no history to copy.')
  const known = held.get(COPYING) ?? held.get('cursor_key')
  const isOfSource = known instanceof Uint8Array && known.toHex() === key.toHex()
  if (held.size === 0) await putFacts(to, tableOf('meta'), new Map([[COPYING, key]]))
  else if (!isOfSource) throw storageError(ANOTHER)
  else if (!held.has(COPYING)) {
    for (const table of tables) if (!(await isSame(from, to, table))) throw storageError(CHANGED)
    yield* compareAll(from, to)
    return
  }
  for (const table of tables) yield* copyTable(from, to, table)
  await to.transact(async () => {
    for (const table of to.keepsTotals ? [sequences] : [sequences, totals])
      for await (const rows of from.table(table).after()) await to.table(table).insert(rows)
    for (const table of facts) {
      for (const key of (await factsOf(to, table)).keys()) await to.table(table).remove([key])
      for await (const rows of from.table(table).after()) await to.table(table).insert(rows)
    }
  })
  yield* compareAll(from, to)
}

async function* copyTable(
  from: CopyStore,
  to: CopyStore,
  table: StoreTable,
): AsyncGenerator<CopyStep> {
  const target = to.table(table)
  for await (const rows of from.table(table).after(await target.last())) {
    await to.transact(() => target.insert(rows))
    yield { table: table.name, rows: rows.length, isComparing: false }
  }
  assertSound(await isSame(from, to, table), `the copy of ${table.name}`)
}

/** True if both have the same number of rows. */
const isSame = async (from: CopyStore, to: CopyStore, table: StoreTable): Promise<boolean> =>
  (await from.table(table).count()) === (await to.table(table).count())

async function* compareAll(from: CopyStore, to: CopyStore): AsyncGenerator<CopyStep> {
  for (const table of [...tables, totals, ...facts]) {
    const others = to.table(table).after()
    for await (const rows of from.table(table).after()) {
      const { value } = await others.next()
      assertSound(Bun.deepEquals(rows, value), `the copy of ${table.name}`)
      yield { table: table.name, rows: rows.length, isComparing: true }
    }
  }
}

type Facts = Map<string, MetaValue>

async function factsOf(store: CopyStore, table: StoreTable): Promise<Facts> {
  const found: Facts = new Map()
  for await (const rows of store.table(table).after())
    for (const [key, value] of rows) found.set(String(key), value as MetaValue)
  return found
}

const putFacts = (store: CopyStore, table: StoreTable, all: Facts): Promise<void> =>
  store.transact(() =>
    store
      .table(table)
      .insert([...all, [CHECKSUM, metaChecksum(all)]].map((row): Cell[] => row as Cell[])),
  )
