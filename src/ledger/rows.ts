/**
 * Statements on a table whose rows have a text `id`. Rows are converted to the domain by `parse`,
 * with undefined in place of NULL. A column `seq` counts insertions: it orders rows of the same
 * time.
 */
import { getTableName, type Table } from 'drizzle-orm/table'
import { getTableColumns } from 'drizzle-orm/utils'

import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'

/** A row of drizzle's table, with optional members in place of nullable columns. */
export type Row<T extends Table, R = T['$inferSelect']> = {
  [K in keyof R as null extends R[K] ? never : K]: R[K]
} & {
  [K in keyof R as null extends R[K] ? K : never]?: Exclude<R[K], null> | undefined
}

type Value = string | number | boolean | Uint8Array | null
type Stored = Record<string, string | number | Uint8Array | null>
type Values = Record<string, Value>
/** Bound values: by position, or by name in one object, whose other members are ignored. */
type Bound = (Value | Values)[]

/** Creates a function that converts the rows of a statement with `toAnswer`. */
export function read<P extends Bound, R, Answer>(
  db: Database,
  sql: string,
  toAnswer: (rows: R[]) => Answer,
): (...values: P) => Answer {
  const statement = db.prepare<R, Bound>(sql)
  return (...values) => toAnswer(statement.all(...values))
}

export const exists = <P extends Bound>(db: Database, sql: string): ((...values: P) => boolean) =>
  read<P, unknown, boolean>(db, sql, (rows) => rows.length > 0)

/** Creates a function that changes rows; it returns true if any row changed. */
export function change<P extends Bound>(db: Database, sql: string): (...values: P) => boolean {
  const statement = db.prepare<unknown, Bound>(sql)
  return (...values) => statement.run(...values).changes > 0
}

/** Creates the statements of a table; `what` names a row in errors. */
export function createRows<T extends Table, D>(
  db: Database,
  table: T,
  { what, parse }: { what: string; parse: (row: Row<T>) => D },
) {
  const sql = sqlOf(table)
  const name = getTableName(table)
  const names = Object.keys(getTableColumns(table))
  const select = `SELECT ${sql.columns()} FROM ${name}`
  const nextSeq = `(SELECT coalesce(max(seq), 0) + 1 FROM ${name})`
  const insert = db.prepare<unknown, [Values]>(sql.insert().replace(/\$seq\b/, nextSeq))

  function toDomain(stored: Stored): D {
    const row: Record<string, unknown> = stored
    for (const column in row) row[column] ??= undefined
    // The statement selects every column of the table under its name in the schema.
    return parse(row as Row<T>)
  }

  /** The first row of `SELECT … FROM table`, followed by `rest`. */
  const one = <P extends Bound>(rest: string): ((...values: P) => D | undefined) =>
    read<P, Stored, D | undefined>(db, `${select} ${rest}`, ([row]) => row && toDomain(row))

  const find = one<[id: string]>('WHERE id = $1')

  return {
    one,
    find,

    /** All rows of `SELECT … FROM table`, followed by `rest`. */
    list: <P extends Bound>(rest: string): ((...values: P) => D[]) =>
      read<P, Stored, D[]>(db, `${select} ${rest}`, (rows) => rows.map(toDomain)),

    /** Throws if there is no such row. */
    get(id: string): D {
      const row = find(id)
      if (row === undefined) throw new Error(`There is no ${what} ${id}.`)
      return row
    },

    insert(row: T['$inferInsert']): void {
      insert.run(pick(row, names))
    },

    /**
     * Creates a function that writes some columns of the row with an id; absent columns become
     * NULL.
     */
    update<K extends keyof Row<T> & string>(...columns: K[]) {
      const statement = db.prepare<unknown, [Values]>(
        `UPDATE ${name} SET ${sql.set(columns)} WHERE id = $id`,
      )
      return (row: { id: string } & Partial<Pick<Row<T>, K>>): void =>
        void statement.run(pick(row, ['id', ...columns]))
    },
  }
}

/** The values to bind; absent columns are NULL. The table determines the type of each value. */
const pick = (row: Readonly<Record<string, unknown>>, columns: readonly string[]): Values =>
  Object.fromEntries(columns.map((column) => [column, (row[column] ?? null) as Values[string]]))
