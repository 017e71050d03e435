/** Tables of a store for copies: rows are arrays of values, in the order of the columns. */
import { is } from 'drizzle-orm/entity'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'

import type { Cell, Database } from '#src/database/database.ts'
import type { StoreName } from '#src/database/stores.ts'
import { formatCount } from '#src/platform/count.ts'
import { throttleLines } from '#src/platform/throttle.ts'

const PROGRESS_EVERY_MS = 2000

export type StoreTable = ReturnType<typeof toTable>

/** All tables of a schema (`db/<store>/schema.ts`). */
export const tablesIn = (schema: object): StoreTable[] =>
  Object.values(schema)
    .filter((table) => is(table, SQLiteTable))
    .map(describeTable)

function describeTable(table: SQLiteTable) {
  const { name, columns, primaryKeys, indexes } = getTableConfig(table)
  const unique = indexes.map(({ config }) => config).filter((config) => config.unique)
  return toTable({
    name,
    columns: columns.map((column) => ({
      name: column.name,
      type: column.getSQLType() as ColumnType,
      isKey: column.primary || primaryKeys.some((key) => key.columns.some((of) => of === column)),
      isUnique:
        column.isUnique ||
        // A unique index may be partial: its condition can refer to any column.
        unique.some(
          (index) =>
            index.where !== undefined ||
            index.columns.some((of) => 'name' in of && of.name === column.name),
        ),
    })),
    order: primaryKeys[0]?.columns.map((column) => column.name),
  })
}

type ColumnType = 'integer' | 'text' | 'blob'
type Column = {
  name: string
  type: ColumnType
  isKey?: boolean
  /** True if two rows cannot have the same value. */
  isUnique?: boolean
}

const placesOf = (list: readonly unknown[]): string =>
  list.map((_, index) => `$${index + 1}`).join(', ')

const serverTypes = { integer: 'BIGINT', text: 'TEXT', blob: 'BYTEA' } as const

type TableText = { name: string; columns: Column[]; order?: readonly string[] | undefined }

function toTable({ name, columns, order }: TableText) {
  const names = columns.map((column) => column.name)
  const keyNames = order ?? columns.flatMap((column) => (column.isKey ? [column.name] : []))
  const typeOf = (own: string) =>
    serverTypes[columns.find((column) => column.name === own)?.type ?? 'text']
  return {
    name,
    columns: names,
    /** Types in PostgreSQL, by column. */
    types: names.map(typeOf),
    /** Columns that are part of a unique index besides the primary key. */
    unique: columns.flatMap((column) => (column.isUnique ? [column.name] : [])),
    /** The primary key. */
    keys: keyNames.map((key) => ({ name: key, type: typeOf(key), index: names.indexOf(key) })),
    order: keyNames.join(', '),
    /** SQL after `INSERT`, with numbered parameters. */
    into: `INTO ${name} (${names}) VALUES (${placesOf(names)})`,
  }
}

/** SQLite's own table of the highest assigned ids, for tables that never reuse an id. */
export const sequences: StoreTable = toTable({
  name: 'sqlite_sequence',
  columns: [
    { name: 'name', type: 'text', isKey: true },
    { name: 'seq', type: 'integer' },
  ],
})

/** Opens a table of a file, to read or write all of its rows. */
export function openRows(
  db: Database,
  { name, columns, keys, order, into }: StoreTable,
  atOnce: number,
) {
  const select = (rest: string) => `SELECT ${columns} FROM ${name} ${rest}`
  const last = db.prepare<unknown, []>(
    select(`ORDER BY ${keys.map((key) => `${key.name} DESC`).join(', ')} LIMIT 1`),
  )
  const first = db.prepare<unknown, []>(select(`ORDER BY ${order} LIMIT ${atOnce}`))
  const next = db.prepare<unknown, Cell[]>(
    select(`WHERE (${order}) > (${placesOf(keys)}) ORDER BY ${order} LIMIT ${atOnce}`),
  )
  const insert = db.prepare<unknown, Cell[]>(`INSERT ${into}`)
  const remove = db.prepare<unknown, Cell[]>(
    `DELETE FROM ${name} WHERE (${order}) = (${placesOf(keys)})`,
  )
  const count = db.prepare<{ count: number }, []>(`SELECT count(*) AS count FROM ${name}`)

  return {
    count: (): number => count.get()?.count ?? 0,
    last: (): Cell[] | undefined => last.values()[0],

    /** Yields rows in pieces: those after a row, or all. */
    *after(row?: readonly Cell[]): Generator<Cell[][]> {
      let previous = row
      for (;;) {
        const key = keys.map(({ index }) => previous?.[index] ?? null)
        const rows = previous === undefined ? first.values() : next.values(...key)
        previous = rows.at(-1)
        if (previous === undefined) return
        yield rows
      }
    },

    /** Call within a transaction. */
    insert(rows: readonly Cell[][]): void {
      for (const row of rows) insert.run(...row)
    },

    remove: (key: readonly Cell[]): void => void remove.run(...key),
  }
}

/** Reports the number of copied rows of a store; call for each piece. */
export function createRowProgress(store: StoreName, say: (line: string) => void, done = 'copied') {
  const report = throttleLines(PROGRESS_EVERY_MS, () => performance.now(), say)
  let copied = 0
  return (rows: number, table: string): void => {
    copied += rows
    report(() => `${done} ${formatCount(copied)} rows of the ${store}, now of ${table}`)
  }
}
