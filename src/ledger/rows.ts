/**
 * Statements on a table whose rows have a text `id`. Rows are the domain's: undefined in place of
 * NULL, and whatever else `parse` makes of them. A column `seq` counts insertions: it orders rows
 * of the same time.
 */
import { getTableName, type Table } from 'drizzle-orm/table'
import { getTableColumns } from 'drizzle-orm/utils'

import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'

/** A row of drizzle's table; what may be null is optional, and undefined in place of null. */
export type Row<T extends Table, R = T['$inferSelect']> = {
  [K in keyof R as null extends R[K] ? never : K]: R[K]
} & {
  [K in keyof R as null extends R[K] ? K : never]?: Exclude<R[K], null> | undefined
}

type Value = string | number | boolean | Uint8Array | null
type Stored = Record<string, string | number | Uint8Array | null>
type Values = Record<string, Value>
/** What is bound: by place, or by name in one object, whose other members are ignored. */
type Bound = (Value | Values)[]

export function exists<P extends Bound>(db: Database, sql: string) {
  const statement = db.prepare<unknown, Bound>(sql)
  return (...values: P): boolean => statement.get(...values) !== null
}

/** What changes rows: true if it has changed any. */
export function change<P extends Bound>(db: Database, sql: string) {
  const statement = db.prepare<unknown, Bound>(sql)
  return (...values: P): boolean => statement.run(...values).changes > 0
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
  const insert = db.prepare<unknown, [Values]>(sql.insert())
  const nextSeq = names.includes('seq')
    ? db.prepare<{ seq: number }, []>(`SELECT coalesce(max(seq), 0) + 1 AS seq FROM ${name}`)
    : undefined

  function toDomain(stored: Stored): D {
    const row: Record<string, unknown> = stored
    for (const column in row) row[column] ??= undefined
    // The statement selects every column of the table under its name in the schema.
    return parse(row as Row<T>)
  }

  /** The first row of `SELECT … FROM table` and what is added to it. */
  function one<P extends Bound>(rest: string) {
    const statement = db.prepare<Stored, Bound>(`${select} ${rest}`)
    return (...values: P): D | undefined => {
      const row = statement.get(...values)
      return row === null ? undefined : toDomain(row)
    }
  }

  const find = one<[id: string]>('WHERE id = $1')

  return {
    one,
    find,

    /** All rows of `SELECT … FROM table` and what is added to it. */
    list<P extends Bound>(rest: string) {
      const statement = db.prepare<Stored, Bound>(`${select} ${rest}`)
      return (...values: P): D[] => statement.all(...values).map(toDomain)
    },

    /** Throws if there is no such row. */
    get(id: string): D {
      const row = find(id)
      if (row === undefined) throw new Error(`There is no ${what} ${id}.`)
      return row
    },

    insert(row: T['$inferInsert']): void {
      insert.run(pick({ seq: nextSeq?.get()?.seq, ...row }, names))
    },

    /** Creates what writes some columns of the row with an id; one that is absent becomes NULL. */
    update<K extends keyof Row<T> & string>(...columns: K[]) {
      const statement = db.prepare<unknown, [Values]>(
        `UPDATE ${name} SET ${sql.set(columns)} WHERE id = $id`,
      )
      return (row: { id: string } & Partial<Pick<Row<T>, K>>): void =>
        void statement.run(pick(row, ['id', ...columns]))
    },
  }
}

/** What is bound; an absent column is NULL. The table gives each value its type. */
const pick = (row: Readonly<Record<string, unknown>>, columns: readonly string[]): Values =>
  Object.fromEntries(columns.map((column) => [column, (row[column] ?? null) as Values[string]]))
