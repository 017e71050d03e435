/**
 * Carries a ledger from one database to another, of any engine: every row as it is, all of them or
 * none, compared before it counts. The source is then marked as moved (`meta.ts`).
 */

import { assertSound } from '#src/database/checksum.ts'
import { type Cell, type Database, storageError, transact } from '#src/database/database.ts'
import { packingOf } from '#src/database/packing.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { createMoved, MOVED } from '#src/ledger/meta.ts'
import { createSqliteLedger } from '#src/ledger/sqlite-ledger.ts'

import { MAY_STAND_STILL } from './bridge.ts'
import { PostgresDatabase } from './database.ts'
import { formats } from './formats.ts'
import { openRows, type StoreTable } from './tables.ts'

const { tables } = formats.ledger
/** The only table whose rows are not the same in every engine. */
const META = 'meta'

const ANOTHER =
  'The target holds another ledger, or another state of this one. Name an empty place: another folder, or a schema (?schema=name). If nothing in it is needed, move ledger.db away, or drop the schema.'

export type LedgerCopy = {
  /** False where the target was the same before. */
  isNew: boolean
  rows: number
  tables: number
  head: ReturnType<Ledger['auditHead']>
}
type Options = {
  /** Where to, as the mark of the source shows it; undefined: the source stays in use. */
  movedTo: string | undefined
  nowMs: number
  onRows: (count: number, table: string) => void
}

/**
 * Copies all of it in one transaction of each database, in which no other process writes. A second
 * call does nothing but mark the source, or take its mark away. The target is opened once no other
 * process has the source open. Throws `storage_unavailable` if one has, the source was moved, or
 * the target holds something else, and a `damage` fault where both differ or the audit chain is not
 * sound: then the target is as it was.
 */
export function copyLedger(
  from: Database,
  target: { isThere: () => boolean; open: () => Database },
  options: Options,
): LedgerCopy {
  return from.engine.alone(from, () => {
    // Opening the target would make it.
    if (options.movedTo !== undefined && !target.isThere()) createMoved(from).assertInUse()
    const to = target.open()
    try {
      return transact(from, () => copyAll(from, to, options))
    } finally {
      to.engine.close(to)
    }
  })
}

function copyAll(from: Database, to: Database, options: Options): LedgerCopy {
  const { movedTo, nowMs } = options
  waitForTheOther(from)
  const moved = createMoved(from)
  if (isEmpty(from)) throw storageError('There is no ledger to copy.')
  const copied = transact(to, () => {
    waitForTheOther(to)
    const isNew = isEmpty(to)
    // What was sold at the other place since then would be missing in this copy.
    if (isNew && movedTo !== undefined) moved.assertInUse()
    if (isNew) insertAll(from, to, options)
    const { rows, differing } = compare(from, to)
    if (!isNew && differing !== undefined) throw storageError(ANOTHER)
    assertSound(differing === undefined, `the copy of ${differing}`)
    return { isNew, rows, tables: tables.length, head: verifiedHead(to, nowMs) }
  })
  moved.put(movedTo)
  return copied
}

const isEmpty = (db: Database): boolean =>
  tables.every((table) => openRows(db, table).count() === 0)

/** One transaction stands still while the tables of the other database are read. */
function waitForTheOther(db: Database): void {
  if (db instanceof PostgresDatabase) db.run(MAY_STAND_STILL)
}

function insertAll(from: Database, to: Database, { onRows }: Options): void {
  const { pack } = packingOf(to)
  for (const table of tables) {
    const target = openRows(to, table)
    for (const rows of piecesOf(from, table)) {
      target.insert(table.name === META ? withValues(rows, pack) : rows)
      onRows(rows.length, table.name)
    }
  }
}

/** How many rows both have, and the name of the first table whose rows differ. */
function compare(from: Database, to: Database): { rows: number; differing?: string } {
  let rows = 0
  for (const table of tables) {
    const others = piecesOf(to, table)
    for (const piece of piecesOf(from, table)) {
      if (!Bun.deepEquals(piece, others.next().value)) return { rows, differing: table.name }
      rows += piece.length
    }
    if (others.next().done !== true) return { rows, differing: table.name }
  }
  return { rows }
}

/** The rows of a table, some at a time, without the mark; they are the same in every engine. */
function* piecesOf(db: Database, table: StoreTable): Generator<Cell[][]> {
  const { unpack } = packingOf(db)
  for (const rows of openRows(db, table).after())
    yield table.name === META
      ? withValues(
          rows.filter(([key]) => key !== MOVED),
          unpack,
        )
      : rows
}

type Change = (value: number | Uint8Array) => number | Uint8Array

/** Rows of the meta table, with their values changed. */
const withValues = (rows: readonly Cell[][], change: Change): Cell[][] =>
  rows.map(([key = null, value]) => [key, change(value as number | Uint8Array)])

function verifiedHead(db: Database, nowMs: number): LedgerCopy['head'] {
  const ledger = createSqliteLedger(db, { nowMs, isReadOnly: true })
  const [fault] = ledger.verifyAudit()
  if (fault !== undefined)
    throw storageError(`The audit chain is not sound, so nothing was copied: ${fault}`)
  return ledger.auditHead()
}
