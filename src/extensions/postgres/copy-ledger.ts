/**
 * Copies a ledger from a file to PostgreSQL or back: all rows unchanged, or none, and compared
 * before the copy is valid. The source is then marked as moved (`meta.ts`).
 */

import { assertSound } from '#src/database/checksum.ts'
import { type Cell, storageError } from '#src/database/database.ts'
import { ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { handlesOf } from '#src/database/transact.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { MOVED, movedError } from '#src/ledger/meta.ts'
import { createSqliteLedger } from '#src/ledger/sqlite-ledger.ts'

import { type CopyStore, ROWS_AT_ONCE } from './copy-store.ts'
import { formats } from './formats.ts'
import { openRows, type StoreTable } from './tables.ts'

const { tables } = formats.ledger
/** Table with the mark of a moved ledger, which is not copied. */
const META = 'meta'

const ANOTHER =
  'The target contains another ledger, or another state of this one. Choose an empty target: another folder, or another schema (?schema=name). If its contents are not needed, move ledger.db away or drop the schema.'

export type LedgerCopy = {
  /** False if the target was already equal. */
  isNew: boolean
  rows: number
  tables: number
  head: ReturnType<Ledger['auditHead']>
}
type Options = {
  /** Location for the mark in the source; undefined keeps the source in use. */
  movedTo: string | undefined
  onRows: (count: number, table: string) => void
}

/**
 * Copies the whole ledger in one transaction of each store, while no other process writes. Called
 * again, it only sets or removes the mark of the source. The target is opened once no other process
 * has the source open. Rejects with `storage_unavailable` if another process has it open, if the
 * source was moved, or if the target has other contents; and with a `damage` fault if the stores
 * differ or the audit chain is broken. The target then stays unchanged.
 */
export function copyLedger(
  from: CopyStore,
  target: { isThere: () => Promise<boolean>; open: () => Promise<CopyStore> },
  options: Options,
): Promise<LedgerCopy> {
  return from.alone(async () => {
    // Opening the target would create it.
    if (options.movedTo !== undefined && !(await target.isThere())) await assertInUse(from)
    const to = await target.open()
    try {
      return await from.transact(() => copyAll(from, to, options))
    } finally {
      await to.close()
    }
  })
}

async function copyAll(from: CopyStore, to: CopyStore, options: Options): Promise<LedgerCopy> {
  const { movedTo } = options
  if (await isEmpty(from)) throw storageError('There is no ledger to copy.')
  const copied = await to.transact(async () => {
    const isNew = await isEmpty(to)
    // Sales at the other location since the move would be missing in this copy.
    if (isNew && movedTo !== undefined) await assertInUse(from)
    if (isNew) await insertAll(from, to, options)
    const { rows, differing } = await compare(from, to)
    if (!isNew && differing !== undefined) throw storageError(ANOTHER)
    assertSound(differing === undefined, `the copy of ${differing}`)
    return { isNew, rows, tables: tables.length, head: await verifiedHead(from) }
  })
  await mark(from, movedTo)
  return copied
}

async function isEmpty(store: CopyStore): Promise<boolean> {
  for (const table of tables) if ((await store.table(table).count()) > 0) return false
  return true
}

async function insertAll(from: CopyStore, to: CopyStore, { onRows }: Options): Promise<void> {
  for (const table of tables)
    for await (const rows of piecesOf(from, table)) {
      await to.table(table).insert(rows)
      onRows(rows.length, table.name)
    }
}

/** Number of rows, and the name of the first table whose rows differ. */
async function compare(
  from: CopyStore,
  to: CopyStore,
): Promise<{ rows: number; differing?: string }> {
  let rows = 0
  for (const table of tables) {
    const others = piecesOf(to, table)
    for await (const piece of piecesOf(from, table)) {
      if (!Bun.deepEquals(piece, (await others.next()).value))
        return { rows, differing: table.name }
      rows += piece.length
    }
    if ((await others.next()).done !== true) return { rows, differing: table.name }
  }
  return { rows }
}

/** Rows of a table in pieces, without the mark. */
async function* piecesOf(store: CopyStore, table: StoreTable): AsyncGenerator<Cell[][]> {
  for await (const rows of store.table(table).after())
    yield table.name === META ? rows.filter(([key]) => key !== MOVED) : rows
}

const metaOf = (store: CopyStore) => {
  const found = tables.find(({ name }) => name === META)
  if (found === undefined) throw new Error('There is no table of facts.')
  return store.table(found)
}

/** Undefined removes the mark. */
async function mark(store: CopyStore, place: string | undefined): Promise<void> {
  const meta = metaOf(store)
  await meta.remove([MOVED])
  if (place !== undefined) await meta.insert([[MOVED, new TextEncoder().encode(place)]])
}

async function assertInUse(store: CopyStore): Promise<void> {
  for await (const rows of metaOf(store).after())
    for (const [key, value] of rows)
      if (key === MOVED) throw movedError(new TextDecoder().decode(value as Uint8Array))
}

/** Head of the audit chain, after its rows were verified. */
async function verifiedHead(store: CopyStore): Promise<LedgerCopy['head']> {
  const db = openDatabase(':memory:', { format: ledgerFormat })
  try {
    for (const table of tables) {
      const target = openRows(db, table, ROWS_AT_ONCE)
      for await (const rows of piecesOf(store, table)) target.insert(rows)
    }
    const ledger = createSqliteLedger(handlesOf(db), { isAsItIs: true })
    const [fault] = ledger.verifyAudit()
    if (fault !== undefined)
      throw storageError(`The audit chain is broken, so nothing was copied: ${fault}`)
    return ledger.auditHead()
  } finally {
    db.close()
  }
}
