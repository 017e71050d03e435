/** Which formats of stores are opened, brought up to date or refused, on each engine. */
import { Database as Driver } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'

import type { Migrations } from '#db/migrations.ts'
import { formatOf } from '#src/database/migrations.ts'
import { historyFormat, ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { postgresHistory, postgresLedger } from '#src/extensions/postgres/formats.ts'
import { migrateTables, prepareTables } from '#src/extensions/postgres/server-tables.ts'

import { NOW_MS } from '../ledger/ledger-records.ts'
import { onEachEngine } from '../support/engines/each.ts'
import { askServer } from '../support/server-sql.ts'
import { openHistoryIn, openLedgerIn } from '../support/stores.ts'

const stores = [
  {
    store: 'history',
    formats: { SQLite: historyFormat, PostgreSQL: postgresHistory },
    open: async (place: string) => (await openHistoryIn(place)).dispose(),
    unfinished: "INSERT INTO meta (key, value) VALUES ('coverage_due', $1)",
    sha256: {
      SQLite: '5029415187f0caac6d99deac467706bcc2ecd99062ab9ae24a9b3200c3a06f16',
      PostgreSQL: '2a411003ba5360da4dc3bd6d8f2f99550fe6cd291279f8e1229a6fac4b52ab03',
    },
  },
  {
    store: 'ledger',
    formats: { SQLite: ledgerFormat, PostgreSQL: postgresLedger },
    open: async (place: string) => (await openLedgerIn(place, { nowMs: NOW_MS })).dispose(),
    unfinished: "INSERT INTO meta (key, value) VALUES ('challenge_seal', $1)",
    sha256: {
      SQLite: 'db900c1426a33a1908a652909c602d5a459092f31b1e6faf6edfd2e20ecbc5de',
      PostgreSQL: '1b4a3020fa005fb63cd447b4a3d8eb2bf1f5bea39959130a6109e373a487b738',
    },
  },
] as const

onEachEngine(({ engine, placeOf }) => {
  const isFile = engine === 'SQLite'

  describe.each(stores)('the $store', ({ store, formats, open, unfinished, sha256 }) => {
    const { migrations } = formats[engine]

    /** Without a look at its format. */
    async function ask(place: string, sql: string, values: Uint8Array[] = []) {
      if (!isFile) return askServer(`${place}`, sql, values)
      using db = new Driver(place)
      return db.prepare<unknown, Uint8Array[]>(sql).values(...values) as unknown[][]
    }

    /** As a release with these migrations does, where the operator lets it change PostgreSQL. */
    async function openWith(place: string, given: Migrations): Promise<void> {
      if (isFile) {
        openDatabase(place, { format: { ...formats.SQLite, migrations: given } }).close()
        return
      }
      const format = { ...formats.PostgreSQL, migrations: given }
      await migrateTables(place, format, true)
      await prepareTables(place, format)
    }

    const readFormat = isFile ? 'PRAGMA user_version' : 'SELECT version FROM format'
    const writeFormat = isFile ? 'PRAGMA user_version = ' : 'UPDATE format SET version = '

    const read = async (place: string, sql: string): Promise<unknown> =>
      (await ask(place, sql))[0]?.[0]

    test('default: begins with the SQL of the first format, which is never edited', async () => {
      const [initial = ''] = migrations.sql
      expect(new Bun.CryptoHasher('sha256').update(initial).digest('hex')).toBe(sha256[engine])
      const place = placeOf(`${store}_new`)
      await open(place)
      expect(await read(place, readFormat)).toBe(formatOf(migrations))
    })

    test.each(['old', 'new'])('behavior: %s ones get each later migration once', async (age) => {
      const place = placeOf(`${store}_${age}_later`)
      if (age === 'old') await open(place)
      const later = ['CREATE TABLE later (id bigint)', 'INSERT INTO later VALUES (7)']
      const { firstFormat, sql } = migrations
      for (let opening = 0; opening < 2; opening++) {
        await openWith(place, { firstFormat, sql: [...sql, ...later] })
        expect(await read(place, 'SELECT CAST(sum(id) AS BIGINT) FROM later')).toBe(7)
        expect(await read(place, readFormat)).toBe(formatOf(migrations) + later.length)
      }
      await expect(open(place)).rejects.toThrow('newer bookfeed')
    })

    test.each([1, migrations.firstFormat - 1])(
      'error: format %d, of an older version, is refused and left as it is',
      async (format) => {
        const place = placeOf(`${store}_${format}`)
        await open(place)
        await ask(place, `${writeFormat}${format}`)
        for (let opening = 0; opening < 2; opening++)
          await expect(open(place)).rejects.toThrow(
            'start commit 038283cb of its repository once with this data',
          )
        expect(await read(place, readFormat)).toBe(format)
      },
    )

    test('error: one that the converting version did not finish is refused', async () => {
      const place = placeOf(`${store}_unfinished`)
      await open(place)
      await ask(place, unfinished, [Uint8Array.of(0)])
      for (let opening = 0; opening < 2; opening++)
        await expect(open(place)).rejects.toThrow(
          'start commit 038283cb of its repository once with this data',
        )
    })
  })
})
