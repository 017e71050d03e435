/** Rows of a table as they are, in the order of its key, some at a time: copies are made so. */
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core'

import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'

/** With the names of the schema, in its order. */
export type Row = Record<string, string | number | Uint8Array | null>

/** Some megabytes of chunks. */
const ROWS_AT_ONCE = 500

/** Opens a table of which every row is read or written. */
export function openRows(db: Database, table: SQLiteTable) {
  const { name, columns, primaryKeys } = getTableConfig(table)
  const sql = sqlOf(table)
  const keys = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)
  const names = new Map(Object.entries(table).map(([own, column]) => [column, own]))
  const values = keys.map((column) => `$${names.get(column) ?? column.name}`).join(', ')
  const order = keys.map((column) => column.name).join(', ')
  const select = (rest: string) => `SELECT ${sql.columns()} FROM ${name} ${rest}`
  const last = db.prepare<Row, []>(
    select(`ORDER BY ${keys.map((column) => `${column.name} DESC`).join(', ')} LIMIT 1`),
  )
  const first = db.prepare<Row, []>(select(`ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`))
  const next = db.prepare<Row, [Row]>(
    select(`WHERE (${order}) > (${values}) ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`),
  )
  const insert = db.prepare<unknown, [Row]>(sql.insert())
  const count = db.prepare<{ count: number }, []>(`SELECT count(*) AS count FROM ${name}`)

  return {
    name,
    count: (): number => count.get()?.count ?? 0,
    last: (): Row | null => last.get(),

    /** Those after a row, or all of them, in pieces. */
    *after(row: Row | null = null): Generator<Row[]> {
      for (let at = row; ;) {
        const rows = at === null ? first.all() : next.all(at)
        at = rows.at(-1) ?? null
        if (at === null) return
        yield rows
      }
    },

    /** To be called in a transaction. */
    insert(rows: readonly Row[]): void {
      let changes = 0
      for (const [at, row] of rows.entries()) {
        const done = insert.run(row)
        // To be asked for that has everything before it sent.
        if (at === rows.length - 1) changes = done.changes
      }
      if (rows.length > 0 && changes !== 1) throw new Error(`A row of ${name} was not written.`)
    },
  }
}
