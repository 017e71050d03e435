/** The SQL of the history is that of two engines: what SQLite is asked, PostgreSQL understands. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { SQL } from 'bun'
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core'

import * as schema from '#db/history/schema.ts'
import { createSqliteHistory } from '#src/history/sqlite-history.ts'
import { type Database, indexedBy, openDatabase } from '#src/sqlite/database.ts'

import { type Postgres, postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { appendAll, aSnapshot, getMarket } from './books.ts'

const tables: SQLiteTable[] = Object.values(schema)
const START_MS_MAX = 120_000

const types = { integer: 'bigint', text: 'text COLLATE "C"', blob: 'bytea' }
/** A table as PostgreSQL has it, with what `ON CONFLICT` names. */
function createTable(table: SQLiteTable): string {
  const { name, columns, primaryKeys, indexes } = getTableConfig(table)
  const keys = [
    ...primaryKeys.map((key) => `PRIMARY KEY (${key.columns.map((each) => each.name).join()})`),
    ...indexes.flatMap(({ config }) =>
      config.unique
        ? [`UNIQUE (${config.columns.map((each) => ('name' in each ? each.name : '')).join()})`]
        : [],
    ),
  ]
  const parts = columns.map((column) => {
    const key = column.primary ? ' PRIMARY KEY' : ''
    const type = types[column.getSQLType() as keyof typeof types]
    return `${column.name} ${type}${key}${column.isUnique ? ' UNIQUE' : ''}`
  })
  return `CREATE TABLE ${name} (${[...parts, ...keys].join(', ')})`
}

/** What each dialect has to say in its own words: settings, transactions, the clock. */
const ofDialect = /^\s*(BEGIN|COMMIT|PRAGMA)\b|\bunixepoch\(/

/** Every text that a history prepares, through the verbs that make theirs when they are used. */
function listStatements(): string[] {
  const texts = new Set<string>()
  const db = openDatabase(':memory:')
  const listening = new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (text: string, ...rest: unknown[]) => {
        if (name === 'prepare' || name === 'query') texts.add(text)
        return value.call(target, text, ...rest)
      }
    },
  }) satisfies Database
  const history = createSqliteHistory(listening, { chunkCacheBytes: 0, lagMs: 0 })
  appendAll(history, [aSnapshot({ assetId: '7' })])
  const { coin, conditionId } = getMarket(history)
  for (const order of ['asc', 'desc'] as const) {
    for (const status of [undefined, 'open', 'upcoming', 'closed', 'resolved'] as const)
      for (const part of [{}, { timeframe: '5m', winner: 'up', toMs: 1, fromMs: 0 }] as const)
        history.listMarkets({ coin, limit: 1, order, status, nowMs: 1, ...part })
  }
  history.coinTotals(1)
  history.close(conditionId)
  expect([...history.verify()]).toEqual([])
  while (history.deleteOldest(Number.MAX_SAFE_INTEGER));
  history.dispose()
  return [...texts].filter((text) => !ofDialect.test(text))
}

/** As a driver binds them: by number. The words that name an index are SQLite's alone. */
function toNumbered(text: string): string {
  const indexes = tables.flatMap((table) => getTableConfig(table).indexes)
  const names: string[] = []
  let plain = 0
  return indexes
    .reduce((sql, { config }) => sql.replaceAll(indexedBy(config.name), ''), text)
    .replace(/\$([a-z]\w*)/gi, (_, name: string) => {
      if (!names.includes(name)) names.push(name)
      return `$${names.indexOf(name) + 1}`
    })
    .replace(/\?(\d*)/g, (_, number: string) => `$${number || ++plain}`)
}

describe.skipIf(postgresPrograms === undefined)('the SQL of the history', () => {
  let postgres: Postgres | undefined
  beforeAll(async () => {
    postgres = await startPostgres()
  }, START_MS_MAX)
  afterAll(() => postgres?.[Symbol.asyncDispose]())

  test(
    'default: PostgreSQL understands each statement, and the types of its parameters',
    async () => {
      const statements = listStatements()
      await using sql = new SQL(postgres?.url ?? '', { max: 1 })
      for (const table of tables) await sql.unsafe(createTable(table))
      const faults: string[] = []
      for (const [at, text] of statements.entries())
        await sql
          .unsafe(`PREPARE s${at} AS ${toNumbered(text)}`)
          .catch((error: Error) => faults.push(`${error.message}: ${text}`))
      expect(faults).toEqual([])
      // Without quotes it would lose its capitals.
      expect(statements.filter((text) => /\bAS [a-z]+[A-Z]/.test(text))).toEqual([])
      expect(statements.length).toBeGreaterThan(80)
    },
    START_MS_MAX,
  )
})
