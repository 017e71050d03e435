/**
 * Statements on a table whose rows have a text `id`. Rows are the domain's: undefined in place of
 * NULL, and whatever else `parse` makes of them. A column `seq` counts insertions: it orders rows
 * of the same time.
 */
import { getTableName, type Table } from 'drizzle-orm/table'
import { getTableColumns } from 'drizzle-orm/utils'

import { sqlOf } from '#src/database/columns.ts'
import { type Database, later, type WithLater, withLater } from '#src/database/database.ts'

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

/** What `toAnswer` makes of the rows of a statement. */
export function read<P extends Bound, R, Answer>(
  db: Database,
  sql: string,
  toAnswer: (rows: R[]) => Answer,
): WithLater<P, Answer> {
  const statement = db.prepare<R, Bound>(sql)
  return withLater((...values: P) => {
    const rows = later(statement, ...values)
    return () => toAnswer(rows())
  })
}

export const exists = <P extends Bound>(db: Database, sql: string): WithLater<P, boolean> =>
  read<P, unknown, boolean>(db, sql, (rows) => rows.length > 0)

/**
 * What changes rows: true if it has changed any. The result of `later` need not be called where that
 * is of no interest.
 */
export function change<P extends Bound>(db: Database, sql: string): WithLater<P, boolean> {
  const statement = db.prepare<unknown, Bound>(sql)
  return withLater((...values: P) => {
    const done = statement.run(...values)
    return () => done.changes > 0
  })
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

  /** The first row of `SELECT … FROM table` and what is added to it. */
  const one = <P extends Bound>(rest: string): WithLater<P, D | undefined> =>
    read<P, Stored, D | undefined>(db, `${select} ${rest}`, ([row]) => row && toDomain(row))

  const find = one<[id: string]>('WHERE id = $1')

  return {
    one,
    find,

    /** All rows of `SELECT … FROM table` and what is added to it. */
    list: <P extends Bound>(rest: string): WithLater<P, D[]> =>
      read<P, Stored, D[]>(db, `${select} ${rest}`, (rows) => rows.map(toDomain)),

    /** Throws if there is no such row. */
    get: withLater((id: string) => {
      const found = find.later(id)
      return (): D => {
        const row = found()
        if (row === undefined) throw new Error(`There is no ${what} ${id}.`)
        return row
      }
    }),

    insert(row: T['$inferInsert']): void {
      insert.run(pick(row, names))
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
