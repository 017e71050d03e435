/** Tables of a store as copies take them: rows are their values, in the order of the columns. */
import { is } from 'drizzle-orm/entity'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'

import type { Cell, Database } from '#src/database/database.ts'
import type { StoreName } from '#src/database/stores.ts'
import { formatCount } from '#src/platform/count.ts'
import { throttleLines } from '#src/platform/throttle.ts'

/** Some megabytes of chunks. */
const ROWS_AT_ONCE = 500
const PROGRESS_EVERY_MS = 2000

export type StoreTable = ReturnType<typeof describeTable>

/** All tables of a schema (`db/<store>/schema.ts`). */
export const tablesIn = (schema: object): StoreTable[] =>
  Object.values(schema)
    .filter((table) => is(table, SQLiteTable))
    .map(describeTable)

function describeTable(table: SQLiteTable) {
  const { name, columns, primaryKeys } = getTableConfig(table)
  const names = columns.map((column) => column.name)
  const keys = (primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)).map(
    (column) => ({
      name: column.name,
      type: column.getSQLType() === 'text' ? 'TEXT' : 'BIGINT',
      index: names.indexOf(column.name),
    }),
  )
  return {
    name,
    columns: names,
    /** The primary key. */
    keys,
    order: keys.map((key) => key.name).join(', '),
    /** What follows `INSERT`, with the values of a row by number. */
    into: `INTO ${name} (${names}) VALUES (${placesOf(names)})`,
  }
}

const placesOf = (list: readonly unknown[]): string =>
  list.map((_, index) => `$${index + 1}`).join(', ')

/** Opens a table of which every row is read or written. */
export function openRows(db: Database, { name, columns, keys, order, into }: StoreTable) {
  const select = (rest: string) => `SELECT ${columns} FROM ${name} ${rest}`
  const last = db.prepare<unknown, []>(
    select(`ORDER BY ${keys.map((key) => `${key.name} DESC`).join(', ')} LIMIT 1`),
  )
  const first = db.prepare<unknown, []>(select(`ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`))
  const next = db.prepare<unknown, Cell[]>(
    select(`WHERE (${order}) > (${placesOf(keys)}) ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`),
  )
  const insert = db.prepare<unknown, Cell[]>(`INSERT ${into}`)
  const count = db.prepare<{ count: number }, []>(`SELECT count(*) AS count FROM ${name}`)

  return {
    count: (): number => count.get()?.count ?? 0,
    last: (): Cell[] | undefined => last.values()[0],

    /** Those after a row, or all of them, in pieces. */
    *after(row?: Cell[]): Generator<Cell[][]> {
      let previous = row
      for (;;) {
        const key = keys.map(({ index }) => previous?.[index] ?? null)
        const rows = previous === undefined ? first.values() : next.values(...key)
        previous = rows.at(-1)
        if (previous === undefined) return
        yield rows
      }
    },

    /** To be called in a transaction. */
    insert(rows: readonly Cell[][]): void {
      let changes = 0
      for (const [at, row] of rows.entries()) {
        const done = insert.run(...row)
        // To be asked for that has everything before it sent.
        if (at === rows.length - 1) changes = done.changes
      }
      if (rows.length > 0 && changes !== 1) throw new Error(`A row of ${name} was not written.`)
    },
  }
}

/** Reports how many rows of a store were copied; to be called with each piece of them. */
export function createRowProgress(store: StoreName, say: (line: string) => void) {
  const report = throttleLines(PROGRESS_EVERY_MS, () => performance.now(), say)
  let copied = 0
  return (rows: number, table: string): void => {
    copied += rows
    report(() => `copied ${formatCount(copied)} rows of the ${store}, now of ${table}`)
  }
}
