/** After each pull a replica has the rows of the database, whatever happened to either before. */
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'
import { is } from 'drizzle-orm/entity'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'

import * as historySchema from '#db/history/schema.ts'
import * as ledgerSchema from '#db/ledger/schema.ts'
import type { StoreName } from '#src/database/stores.ts'
import { packedInBytes } from '#src/extensions/postgres/packing.ts'
import { openReplica, type Replica } from '#src/extensions/postgres/replica.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { NOW_MS } from '../../ledger/ledger-records.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'

const TEST_MS_MAX = 240_000
const PULLS = 60
const KILLS = 8
const writer = new URL('../../support/write-verbs-process.ts', import.meta.url).pathname
const puller = new URL('../../support/pull-process.ts', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-replica-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const schemas = { history: historySchema, ledger: ledgerSchema }
/** Tables that the verbs of the two processes do not write. */
const unwritten = {
  history: new Set(['segment', 'manifest', 'manifest_body', 'recorder']),
  ledger: new Set(['credit', 'paid_answer', 'unmatched_transfer', 'scanned_block']),
}

/** Tables of a store with their columns. */
const tablesOf = (store: StoreName) =>
  Object.values(schemas[store])
    .filter((table) => is(table, SQLiteTable))
    .map((table) => {
      const { name, columns } = getTableConfig(table)
      return { name, columns: columns.map((column) => column.name) }
    })

/** Rows as texts, in any order. */
function printRows(name: string, rows: readonly unknown[][]): string[] {
  const isMeta = name.endsWith('meta')
  return rows
    .map((row) => (isMeta ? [row[0], packedInBytes.unpack(row[1] as Uint8Array)] : row))
    .map((row) =>
      JSON.stringify(row, (_, value) => {
        if (value?.type === 'Buffer') return Buffer.from(value.data).toString('hex')
        if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
        return typeof value === 'bigint' ? Number(value) : value
      }),
    )
    .sort()
}

type Rows = Record<string, string[]>

async function databaseRows(sql: Pick<SQL, 'unsafe'>, store: StoreName, schema: string) {
  const found: Rows = {}
  for (const { name, columns } of tablesOf(store))
    found[name] = printRows(
      name,
      await sql.unsafe(`SELECT ${columns} FROM ${schema}.${name}`).values(),
    )
  return found
}

function replicaRows(store: StoreName, path: string): Rows {
  using db = new Database(path, { readonly: true })
  return Object.fromEntries(
    tablesOf(store).map(({ name, columns }) => [
      name,
      printRows(name, db.query(`SELECT ${columns} FROM ${name}`).values()),
    ]),
  )
}

/** Reads the replica as a server does: what is in it agrees with itself. */
function expectSound(store: StoreName, path: string): void {
  if (store === 'ledger') {
    using ledger = openLedger(path, { nowMs: NOW_MS, isReadOnly: true })
    expect([...ledger.verifyAudit()]).toEqual([])
    return
  }
  const history = openHistory(path, { isReadOnly: true })
  try {
    for (const market of history.listMarkets({ coin: 'btc', limit: 100 }) as {
      conditionId: string
    }[])
      history.findMarket(market.conditionId)
    history.revisions.sinceMs()
  } finally {
    history.dispose()
  }
}

for (const store of ['history', 'ledger'] as const)
  describe.skipIf(postgresPrograms === undefined)(`the replica of a ${store}`, () => {
    const { server, placeOf } = usePostgres()

    /** Two processes write; `body` may stop them, so that what it compares is of one moment. */
    async function whileWriting(
      schema: string,
      body: (given: {
        sql: SQL
        path: string
        open: () => Replica
        /** Pulls while nothing is written, and compares all rows. */
        expectSame: (replica: Replica) => Promise<void>
      }) => Promise<void>,
    ): Promise<void> {
      const place = placeOf(schema)
      const path = join(folder, `${schema}.db`)
      const writers = [1, 2].map((seed) =>
        Bun.spawn([process.execPath, writer, store, place, String(seed)], {
          stdout: 'pipe',
          stderr: 'inherit',
        }),
      )
      await using sql = new SQL(server().url, { max: 3, bigint: true })
      const open = (): Replica =>
        openReplica({ store, place, path, server: 'test', timer: () => performance.now() })
      try {
        // The schema is there then.
        for (const { stdout } of writers) await stdout.getReader().read()
        await body({
          sql,
          path,
          open,
          async expectSame(replica) {
            await sql.begin(async (held) => {
              await held.unsafe(
                `SELECT pg_advisory_xact_lock(hashtextextended('bookfeed ${schema}', 0))`,
              )
              await replica.pull()
              expect(replicaRows(store, path)).toEqual(await databaseRows(held, store, schema))
            })
          },
        })
      } finally {
        for (const child of writers) child.kill('SIGKILL')
      }
    }

    test(
      'behavior: has the rows of the database after each pull, while two processes write',
      () =>
        whileWriting('same', async ({ sql, open, path, expectSame }) => {
          const replica = open()
          const random = createRandom(`pulls of the ${store}`)
          await expectSame(replica)
          for (let pull = 0; pull < PULLS; pull++) {
            await Bun.sleep(random.integer(60))
            if (random.integer(3) === 0) await expectSame(replica)
            else {
              await replica.pull()
              expectSound(store, path)
            }
          }
          await expectSame(replica)
          const changed = await sql.unsafe('SELECT DISTINCT name FROM same.change').values()
          expect(new Set(changed.flat().map(String))).toEqual(
            new Set([
              ...tablesOf(store).map(({ name }) => name),
              'format',
              ...(store === 'history' ? ['sqlite_sequence'] : []),
            ]).difference(unwritten[store]),
          )
          replica.close()
        }),
      TEST_MS_MAX,
    )

    test(
      `behavior: goes on after kill -9 at any moment, ${KILLS} times`,
      () =>
        whileWriting('killed', async ({ open, path, expectSame }) => {
          const random = createRandom(`kills of the ${store}`)
          for (let kill = 0; kill < KILLS; kill++) {
            const child = Bun.spawn([process.execPath, puller, store, placeOf('killed'), path], {
              stdout: 'pipe',
              stderr: 'inherit',
            })
            await child.stdout.getReader().read()
            await Bun.sleep(random.integer(200))
            child.kill('SIGKILL')
            await child.exited
            expectSound(store, path)
            const replica = open()
            await expectSame(replica)
            replica.close()
          }
        }),
      TEST_MS_MAX,
    )

    test(
      'behavior: begins again where the log has lost what it read last, or is of another database',
      () =>
        whileWriting('pruned', async ({ sql, open, path, expectSame }) => {
          const losses = [
            'DELETE FROM pruned.change WHERE serial < (SELECT max(serial) FROM pruned.change)',
            'UPDATE pruned.change SET at_ms = at_ms + 1',
          ]
          for (const [index, loss] of [...losses, 'SELECT 1'].entries()) {
            const replica = open()
            await replica.pull()
            replica.close()
            // What only the log would tell.
            using file = new Database(path)
            file.run('DELETE FROM meta')
            // The last time the rows are of an older format.
            if (index === losses.length) file.run('UPDATE copied SET version = version - 1')
            file.close()
            await Bun.sleep(100)
            await sql.unsafe(loss)
            const again = open()
            await expectSame(again)
            again.close()
          }
        }),
      TEST_MS_MAX,
    )

    test.skipIf(store === 'ledger')(
      'behavior: a first copy that was interrupted goes on, and a large chunk is copied by itself',
      () =>
        whileWriting('halfway', async ({ sql, open, path, expectSame }) => {
          const columns = 'market_id, first_ms, first_id, last_ms, last_id, up_count, down_count'
          for (;;) {
            const [[count] = []] = await sql.unsafe('SELECT count(*) FROM halfway.chunk').values()
            if (Number(count) > 0) break
            await Bun.sleep(100)
          }
          // One chunk of 5 MB, and small ones for four transactions.
          await sql.begin(async (held) => {
            // No writer takes one of the ids meanwhile.
            await held.unsafe(
              `SELECT pg_advisory_xact_lock(hashtextextended('bookfeed halfway', 0))`,
            )
            await held.unsafe(`INSERT INTO halfway.chunk (id, ${columns}, tops, rows, hashes, notes)
            SELECT (SELECT max(id) FROM halfway.chunk) + n, ${columns}, tops, CAST(repeat('x', CASE n WHEN 1 THEN 5000000 ELSE 900 END) AS bytea),
              hashes, notes
            FROM (SELECT * FROM halfway.chunk ORDER BY id LIMIT 1) AS one, generate_series(1, 4000) AS n`)
          })
          const inFile = (text: string): unknown[] => {
            using file = new Database(path)
            return file.query(text).values().flat()
          }
          const countIn = () => Number(inFile('SELECT count(*) FROM chunk')[0])
          const first = open()
          const pulling = first.pull().catch((error) => error)
          while (countIn() === 0) await Bun.sleep(1)
          first.close()
          expect(await pulling).toBeInstanceOf(Error)
          expect(countIn()).toBeLessThan(4000)
          // The newest came first, and what is there is not copied again.
          const [id] = inFile('SELECT max(id) FROM chunk WHERE length(rows) = 900')
          const mark = "CAST(replace(CAST(rows AS TEXT), 'x', 'y') AS BLOB)"
          inFile(`UPDATE chunk SET rows = ${mark} WHERE id = ${id}`)
          const again = open()
          await again.pull()
          expect(inFile(`SELECT rows = ${mark} FROM chunk WHERE id = ${id}`)).toEqual([1])
          inFile(
            `UPDATE chunk SET rows = (SELECT rows FROM chunk WHERE id = ${id} - 1) WHERE id = ${id}`,
          )
          await expectSame(again)
          again.close()
        }),
      TEST_MS_MAX,
    )

    test(
      'behavior: pulls on after its connections were ended',
      () =>
        whileWriting('ended', async ({ sql, open, expectSame }) => {
          const replica = open()
          let failures = 0
          // Until a connection was ended within a pull.
          for (let round = 0; round < 20 || (failures === 0 && round < 2000); round++) {
            const pulling = Promise.all([replica.pull(), replica.beat()]).catch(() => failures++)
            await Bun.sleep(round % 5)
            await sql.unsafe(
              `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE (query LIKE '%heartbeat%' OR query LIKE '%change%') AND pid <> pg_backend_pid()`,
            )
            await pulling
          }
          for (let tries = 0; ; tries++) {
            try {
              await expectSame(replica)
              break
            } catch (error) {
              if (tries === 3) throw error
            }
          }
          expect(failures).toBeGreaterThan(0)
          replica.close()
        }),
      TEST_MS_MAX,
    )

    test(
      'behavior: servers look for room on the disk of the database one after the other',
      async () => {
        const place = placeOf('room')
        const made =
          store === 'history'
            ? await openHistoryIn(place)
            : await openLedgerIn(place, { nowMs: NOW_MS })
        made.dispose()
        const servers = ['one', 'two'].map((name) =>
          openReplica({
            store,
            place,
            path: join(folder, `room-${store}-${name}.db`),
            server: name,
            timer: () => performance.now(),
          }),
        )
        await using sql = new SQL(server().url, { max: 2 })
        let beats: Promise<void>[] = []
        await sql.begin(async (held) => {
          await held.unsafe("SELECT pg_advisory_xact_lock(hashtextextended('bookfeed room', 0))")
          beats = servers.map((each) => each.beat({ takesRoom: true }))
          const waiting = () =>
            sql.unsafe("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
          while ((await waiting()).length < servers.length) await Bun.sleep(5)
        })
        await Promise.all(beats)
        for (const each of servers) each.close()
      },
      TEST_MS_MAX,
    )

    test(
      'default: is as fresh as the heartbeat that it has read',
      () =>
        whileWriting('fresh', async ({ open }) => {
          const replica = open()
          await replica.pull()
          expect(replica.freshMs()).toBe(Number.NEGATIVE_INFINITY)
          const beforeMs = performance.now()
          await replica.beat()
          const afterMs = performance.now()
          expect(replica.freshMs()).toBe(Number.NEGATIVE_INFINITY)
          await replica.pull()
          expect(replica.freshMs()).toBeGreaterThanOrEqual(beforeMs)
          expect(replica.freshMs()).toBeLessThanOrEqual(afterMs)
          replica.close()
        }),
      TEST_MS_MAX,
    )
  })
