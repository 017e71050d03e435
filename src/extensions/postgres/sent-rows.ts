/**
 * Statements that send rows of the local copy to PostgreSQL, many rows each: a column is one array,
 * and the bytes of all rows are one value, from which each row takes its parts.
 */
import type { Cell } from '#src/database/database.ts'

import type { Query } from './connection.ts'
import { hasPacked, packRow, sizeOfRow } from './packing.ts'
import type { StoreTable } from './tables.ts'

/** Rows of a table that a verb has changed; `gone` rows are deleted first. */
export type Changed = { table: StoreTable; gone: readonly Cell[][]; rows: readonly Cell[][] }

/** Limits of one statement, which has at least one row. */
const BYTES_MAX = 8 * 1024 * 1024
const ROWS_MAX = 20_000

export function* sendChanged({ table, gone, rows }: Changed): Generator<Query> {
  const statements = statementsOf(table)
  for (const piece of piecesOf(gone))
    yield { text: statements.remove, values: parametersOf(table.keys, piece) }
  for (const piece of piecesOf(hasPacked(table) ? rows.map(packRow) : rows))
    yield {
      text: statements.insert,
      values: parametersOf(typed(table), piece),
    }
}

const known = new WeakMap<StoreTable, ReturnType<typeof makeStatements>>()
function statementsOf(table: StoreTable) {
  const held = known.get(table) ?? makeStatements(table)
  known.set(table, held)
  return held
}

type Typed = { name: string; type: string }
const typed = ({ columns, types }: StoreTable): Typed[] =>
  columns.map((name, at) => ({ name, type: types[at] ?? 'TEXT' }))

function makeStatements(table: StoreTable) {
  const { name, columns, keys } = table
  const keyNames = keys.map((key) => key.name)
  const set = columns
    .filter((column) => !keyNames.includes(column))
    .map((column) => `${column} = excluded.${column}`)
  const isSame = keyNames.map((key) => `${name}.${key} = given.${key}`).join(' AND ')
  return {
    insert: `INSERT INTO ${name} (${columns}) ${selectGiven(typed(table))}
      ON CONFLICT (${keyNames}) DO ${set.length === 0 ? 'NOTHING' : `UPDATE SET ${set}`}`,
    remove: `DELETE FROM ${name} USING (${selectGiven(keys)}) AS given WHERE ${isSame}`,
  }
}

/** Selects the rows of `parametersOf`. */
function selectGiven(columns: readonly Typed[]): string {
  const arrays: string[] = []
  const names: string[] = []
  const given = (type: string, name: string): string => {
    names.push(name)
    arrays.push(`CAST(CAST($${arrays.length + 1} AS TEXT) AS ${type}[])`)
    return name
  }
  const selected = columns.map(({ name, type }) => {
    if (type !== 'BYTEA') return given(type, name)
    const from = given('INT', `${name}_from`)
    return `substring(CAST($BYTES AS BYTEA) FROM ${from} FOR ${given('INT', `${name}_for`)}) AS ${name}`
  })
  return `SELECT ${selected} FROM unnest(${arrays}) AS given_row (${names})`.replaceAll(
    '$BYTES',
    `$${arrays.length + 1}`,
  )
}

function parametersOf(columns: readonly Typed[], rows: readonly Cell[][]): unknown[] {
  const parts: Uint8Array[] = []
  let end = 1
  const arrays = columns.flatMap(({ type }, at) => {
    if (type === 'TEXT') return [`{${rows.map((row) => textOf(row[at]))}}`]
    if (type !== 'BYTEA') return [`{${rows.map((row) => row[at] ?? 'NULL')}}`]
    const from: (number | 'NULL')[] = []
    const count: (number | 'NULL')[] = []
    for (const row of rows) {
      const bytes = row[at]
      const isBytes = bytes instanceof Uint8Array
      from.push(isBytes ? end : 'NULL')
      count.push(isBytes ? bytes.length : 'NULL')
      if (!isBytes) continue
      parts.push(bytes)
      end += bytes.length
    }
    return [`{${from}}`, `{${count}}`]
  })
  const hasBytes = columns.some(({ type }) => type === 'BYTEA')
  return hasBytes ? [...arrays, new Uint8Array(Buffer.concat(parts))] : arrays
}

const textOf = (cell: Cell | undefined): string =>
  typeof cell === 'string' ? `"${cell.replace(/["\\]/g, '\\$&')}"` : 'NULL'

function* piecesOf(rows: readonly Cell[][]): Generator<readonly Cell[][]> {
  let bytes = 0
  let from = 0
  for (const [at, row] of rows.entries()) {
    const own = sizeOfRow(row)
    if (at > from && (bytes + own > BYTES_MAX || at - from === ROWS_MAX)) {
      yield rows.slice(from, at)
      from = at
      bytes = 0
    }
    bytes += own
  }
  if (from < rows.length) yield rows.slice(from)
}
