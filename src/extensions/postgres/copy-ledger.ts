/**
 * Carries a ledger from one database to another, of any engine: every row as it is, all of them or
 * none, compared before it counts. The source is then marked as moved (`meta.ts`).
 */

import { createHash } from 'node:crypto'

import { assertSound } from '#src/database/checksum.ts'
import { type Cell, type Database, storageError, transact } from '#src/database/database.ts'
import { packingOf } from '#src/database/packing.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { createMoved, MOVED } from '#src/ledger/meta.ts'
import { createSqliteLedger } from '#src/ledger/sqlite-ledger.ts'

import { MAY_STAND_STILL } from './bridge.ts'
import { PostgresDatabase } from './database.ts'
import { formats } from './formats.ts'
import { openRows } from './tables.ts'

const { tables } = formats.ledger
/** The only table whose rows are not the same in every engine. */
const META = 'meta'

const ANOTHER =
  'The target holds another ledger, or another state of this one. Name an empty place: another folder, or a schema (?schema=name). Whoever needs nothing of it may move ledger.db away, or drop the schema.'

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
  const source = digestTables(from)
  if (!source.has('meta')) throw storageError('There is no ledger to copy.')
  const [isNew, head] = transact(to, () => {
    waitForTheOther(to)
    const held = digestTables(to)
    // What was sold at the other place since then would be missing in this copy.
    if (held.size === 0 && movedTo !== undefined) moved.assertInUse()
    if (held.size === 0) insertAll(from, to, options)
    else if (!Bun.deepEquals(held, source)) throw storageError(ANOTHER)
    return [held.size === 0, check(to, source, nowMs)] as const
  })
  moved.put(movedTo)
  const rows = [...source.values()].reduce((sum, digest) => sum + digest.rows, 0)
  return { isNew, rows, tables: tables.length, head }
}

/** One transaction stands still while the tables of the other database are read. */
function waitForTheOther(db: Database): void {
  if (db instanceof PostgresDatabase) db.run(MAY_STAND_STILL)
}

function insertAll(from: Database, to: Database, { onRows }: Options): void {
  for (const table of tables) {
    const target = openRows(to, table)
    for (const rows of openRows(from, table).after()) {
      target.insert(table.name === META ? metaRows(from, to, rows) : rows)
      onRows(rows.length, table.name)
    }
  }
}

function check(to: Database, source: Digests, nowMs: number): LedgerCopy['head'] {
  const target = digestTables(to)
  for (const [name, digest] of source)
    assertSound(Bun.deepEquals(target.get(name), digest), `the copy of ${name}`)
  const ledger = createSqliteLedger(to, { nowMs, isReadOnly: true })
  const [fault] = ledger.verifyAudit()
  if (fault !== undefined)
    throw storageError(`The audit chain is not sound, so nothing was copied: ${fault}`)
  return ledger.auditHead()
}

type Digests = Map<string, { rows: number; sha256: string }>

/** A digest of each table that has rows, without the mark; it is the same in every engine. */
function digestTables(db: Database): Digests {
  const digests: Digests = new Map()
  for (const table of tables) {
    const hasher = createHash('sha256')
    let count = 0
    for (const piece of openRows(db, table).after()) {
      for (const row of table.name === META ? metaRows(db, undefined, piece) : piece) {
        count++
        hasher.update(`${printRow(row)}\n`)
      }
    }
    if (count > 0) digests.set(table.name, { rows: count, sha256: hasher.digest('hex') })
  }
  return digests
}

const printRow = (row: readonly Cell[]): string =>
  JSON.stringify(row.map((value) => (value instanceof Uint8Array ? [value.toHex()] : value)))

/** Without the mark; numbers as `to` keeps them beside bytes, or as numbers. */
function metaRows(from: Database, to: Database | undefined, rows: readonly Cell[][]): Cell[][] {
  const { unpack } = packingOf(from)
  const pack = to === undefined ? unpack : packingOf(to).pack
  return rows
    .filter(([key]) => key !== MOVED)
    .map(([key = null, value]) => [key, pack(unpack(value as number | Uint8Array))])
}
