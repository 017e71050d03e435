/**
 * SQL texts of a table, derived from drizzle's (`db/<name>/schema.ts`), the one place where its
 * columns are spelled. Rows (`typeof market.$inferSelect`) and parameters have the names of the
 * schema. `openDatabase` makes a statement refuse values that lack one of its parameters; one that
 * is undefined is NULL, and others are ignored.
 *
 *     const sql = sqlOf(market)
 *     const bySlug = db.prepare<MarketRow, [Pick<MarketRow, 'slug'>]>(
 *       `SELECT ${sql.columns()} FROM market WHERE slug = $slug`)
 *     bySlug.get({ slug })
 *     db.prepare<unknown, [MarketRow]>(sql.insert())
 */
import { getTableName, type Table } from 'drizzle-orm/table'
import { getTableColumns } from 'drizzle-orm/utils'

/** Each text is of all columns, in the order of the table, unless some are named. */
export function sqlOf<T extends Table>(table: T) {
  type Name = keyof T['$inferSelect'] & string
  const sqlNames = new Map(
    Object.entries(getTableColumns(table)).map(([name, column]) => [name, column.name]),
  )
  const list = (
    of: readonly string[] | undefined,
    print: (sqlName: string, name: string) => string,
  ) =>
    (of ?? [...sqlNames.keys()]).map((name) => print(sqlNames.get(name) ?? name, name)).join(', ')

  const names = (of?: readonly Name[]): string => list(of, (sqlName) => sqlName)
  const parameters = (of?: readonly Name[]): string => list(of, (_, name) => `$${name}`)

  return {
    /** `id, condition_id AS "conditionId"`: what to select, or to return. */
    columns: (of?: readonly Name[]): string =>
      list(of, (sqlName, name) => (sqlName === name ? name : `${sqlName} AS "${name}"`)),

    /** `id, condition_id`. */
    names,
    /** `$id, $conditionId`. */
    parameters,
    /** `INSERT INTO market (id, condition_id) VALUES ($id, $conditionId)`. */
    insert: (of?: readonly Name[]): string =>
      `INSERT INTO ${getTableName(table)} (${names(of)}) VALUES (${parameters(of)})`,

    /** `slug = $slug, tick_size = $tickSize`. */
    set: (of?: readonly Name[]): string => list(of, (sqlName, name) => `${sqlName} = $${name}`),

    /** `slug = excluded.slug, …`, for `ON CONFLICT … DO UPDATE SET`. */
    setExcluded: (of?: readonly Name[]): string =>
      list(of, (sqlName) => `${sqlName} = excluded.${sqlName}`),
  }
}
