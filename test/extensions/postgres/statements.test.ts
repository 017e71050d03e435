/** PostgreSQL understands each statement that a store makes, also those that no test runs. */
import { describe, expect, test } from 'bun:test'

import { SQL } from 'bun'

import type { Database } from '#src/database/database.ts'
import { addressOf } from '#src/extensions/postgres/address.ts'
import { numbered, openPostgres } from '#src/extensions/postgres/database.ts'
import { postgresHistory, postgresLedger } from '#src/extensions/postgres/formats.ts'
import { createSqliteHistory } from '#src/history/sqlite-history.ts'
import { createSqliteLedger } from '#src/ledger/sqlite-ledger.ts'

import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'

const stores = {
  history: {
    format: postgresHistory,
    make: (db: Database) => createSqliteHistory(db, { chunkCacheBytes: 0, lagMs: 0 }),
    least: 120,
  },
  ledger: {
    format: postgresLedger,
    make: (db: Database) => createSqliteLedger(db, { nowMs: 0 }),
    least: 100,
  },
}

/** Notes the texts that are prepared. */
const listening = (db: Database, texts: Set<string>): Database =>
  new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => {
        if (name === 'prepare' || name === 'query') texts.add(String(given[0]))
        return value.apply(target, given)
      }
    },
  })

describe.skipIf(postgresPrograms === undefined)('PostgreSQL', () => {
  const { server } = usePostgres()

  test.each(Object.entries(stores))(
    'default: understands each statement of the %s',
    async (...given) => {
      const [, { format, make, least }] = given
      const { url, schema } = addressOf(server().url, format.schema)
      const texts = new Set<string>()
      const db = openPostgres(url, format)
      make(listening(db, texts))
      await using sql = new SQL({ url, max: 1, connection: { search_path: schema } })
      const faults: string[] = []
      const statements = [...texts].filter((text) => !/^(BEGIN|COMMIT)/.test(text))
      for (const [at, text] of statements.entries())
        await sql
          .unsafe(`PREPARE s${at} AS ${numbered(text).text}`)
          .catch((error: Error) => faults.push(`${error.message}: ${text}`))
      db.close()
      expect(faults).toEqual([])
      expect(statements.length).toBeGreaterThan(least)
    },
  )
})
