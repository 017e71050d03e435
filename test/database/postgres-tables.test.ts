/**
 * Tables are told twice: by drizzle (`schema.ts`), of which SQLite's are made, and in the words of
 * PostgreSQL (`db/<name>/postgres`). Both say the same.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { SQL } from 'bun'
import { is } from 'drizzle-orm/entity'
import { getTableConfig, type Index, SQLiteSyncDialect, SQLiteTable } from 'drizzle-orm/sqlite-core'

import * as history from '#db/history/schema.ts'
import * as ledger from '#db/ledger/schema.ts'
import { postgresHistory, postgresLedger } from '#src/extensions/postgres/formats.ts'
import { prepareTables } from '#src/extensions/postgres/server-tables.ts'

import { type Postgres, postgresPrograms, startPostgres } from '../support/engines/postgres.ts'

const START_MS_MAX = 300_000
const dialect = new SQLiteSyncDialect()
/** With the order of their bytes, as in SQLite. */
const types: Record<string, string> = { integer: 'bigint', text: 'text C', blob: 'bytea' }

type Config = ReturnType<typeof getTableConfig>
const configsOf = (schema: object): Config[] =>
  Object.values(schema)
    .filter((each) => is(each, SQLiteTable))
    .map(getTableConfig)

const keyOf = ({ columns, primaryKeys }: Config): string[] =>
  (primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)).map(({ name }) => name)

/** A name, a type and whether it may be null, in the order of the table. */
const columnsOf = (config: Config): string[] => {
  const keys = keyOf(config)
  return config.columns.map((column) =>
    [
      column.name,
      types[column.getSQLType()],
      ...(column.notNull || keys.includes(column.name) ? ['not null'] : []),
      ...(column.default !== undefined ? ['default'] : []),
    ].join(' '),
  )
}

/** What is unique without an index of its own name. */
const keysOf = (config: Config): string[] =>
  [keyOf(config), ...config.columns.filter(({ isUnique }) => isUnique).map(({ name }) => [name])]
    .map((names) => names.join(', '))
    .sort()

/** The statement of an index, in the words of drizzle. */
function indexOf({ name }: Config, { config }: Index, own: string): string {
  const columns = config.columns.map((column) =>
    'name' in column ? column.name : dialect.sqlToQuery(column).sql,
  )
  const where = config.where === undefined ? '' : ` WHERE ${dialect.sqlToQuery(config.where).sql}`
  return `CREATE ${config.unique ? 'UNIQUE ' : ''}INDEX ${own} ON ${name} (${columns})${where}`
}

const listColumns = `SELECT CAST(attrelid AS regclass)::text AS name, concat_ws(' ', attname,
    format_type(atttypid, atttypmod), (SELECT nullif(collname, 'default') FROM pg_collation WHERE oid = attcollation),
    CASE WHEN attnotnull THEN 'not null' END, CASE WHEN atthasdef THEN 'default' END) AS text
  FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  WHERE relkind = 'r' AND relnamespace = CAST(current_schema() AS regnamespace)
    AND attnum > 0 AND NOT attisdropped
  ORDER BY attrelid, attnum`
const listKeys = `SELECT CAST(conrelid AS regclass)::text AS name,
    regexp_replace(pg_get_constraintdef(oid), '^.*\\((.*)\\)$', '\\1') AS text
  FROM pg_constraint
  WHERE contype IN ('p', 'u') AND connamespace = CAST(current_schema() AS regnamespace)`
const listIndexes = `SELECT CAST(indrelid AS regclass)::text AS name, pg_get_indexdef(indexrelid) AS text
  FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE relnamespace = CAST(current_schema() AS regnamespace)
    AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)`

/** What of each table is written into the log of changes. */
const listLogged = `SELECT DISTINCT event_object_table AS name, event_manipulation AS text
  FROM information_schema.triggers
  WHERE trigger_schema = current_schema() AND action_statement ~ 'FUNCTION ([a-z_]+\\.)?log_'
  ORDER BY 1, 2`

describe.skipIf(postgresPrograms === undefined)('tables of PostgreSQL', () => {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await startPostgres()
  }, START_MS_MAX)
  afterAll(() => postgres?.[Symbol.asyncDispose]())

  test.each([
    {
      name: 'history',
      schema: history,
      format: postgresHistory,
      own: ['change', 'format', 'heartbeat', 'sqlite_sequence'],
    },
    {
      name: 'ledger',
      schema: ledger,
      format: postgresLedger,
      own: ['change', 'format', 'heartbeat'],
    },
  ])('default: those of the $name have the columns, keys and indexes of drizzle', async (given) => {
    await prepareTables(postgres.url, given.format)
    await using sql = new SQL(postgres.url, { max: 1 })
    await sql.unsafe(`SET search_path TO ${given.format.schema}`)
    const list = async (question: string): Promise<Record<string, string[]>> => {
      const rows: { name: string; text: string }[] = await sql.unsafe(question)
      const groups = Object.entries(Object.groupBy(rows, ({ name }) => name))
      return Object.fromEntries(
        groups.map(([name, group = []]) => [name, group.map(({ text }) => text)]),
      )
    }
    const configs = configsOf(given.schema)
    const byName = (of: (config: Config) => string[]): Record<string, string[]> =>
      Object.fromEntries(configs.map((config) => [config.name, of(config)]))

    const columns = await list(listColumns)
    expect(Object.keys(columns).sort()).toEqual(
      [...configs.map(({ name }) => name), ...given.own].sort(),
    )
    expect(columns).toMatchObject(byName(columnsOf))
    // Each of them is logged, whatever changes in it.
    const logged = await list(listLogged)
    expect(logged).toEqual({
      ...byName(() => ['DELETE', 'INSERT', 'UPDATE']),
      ...(given.name === 'history' && {
        sqlite_sequence: ['DELETE', 'INSERT', 'UPDATE'],
      }),
    })
    const keys = await list(listKeys)
    for (const texts of Object.values(keys)) texts.sort()
    expect(keys).toEqual(expect.objectContaining(byName(keysOf)))

    // PostgreSQL prints what it is told in words of its own, so it is told both.
    const before = await list(listIndexes)
    for (const config of configs)
      for (const index of config.indexes)
        await sql.unsafe(indexOf(config, index, `of_drizzle_${index.config.name}`))
    const all = Object.values(await list(listIndexes)).flat()
    const told = all.filter((text) => text.includes(' of_drizzle_'))
    expect(told.map((text) => text.replace(' of_drizzle_', ' ')).sort()).toEqual(
      Object.values(before).flat().sort(),
    )
  })
})
