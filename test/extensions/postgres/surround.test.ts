/** A verb on PostgreSQL is one transaction there and in the local copy, whoever writes besides. */
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { isStorageError } from '#src/database/database.ts'
import type { SharedStore } from '#src/database/stores.ts'
import { formats } from '#src/extensions/postgres/formats.ts'
import { prepareTables } from '#src/extensions/postgres/server-tables.ts'
import { openSurround } from '#src/extensions/postgres/surround.ts'
import { createRandom } from '#src/platform/random.ts'

import { aKey, by, createKeyOne, NOW_MS } from '../../ledger/ledger-records.ts'
import { startCuttingProxy } from '../../support/cutting-proxy.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { openLedgerIn } from '../../support/stores.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-surround-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const TEST_MS_MAX = 300_000

describe.skipIf(postgresPrograms === undefined)('the surround of a verb', () => {
  const { server, placeOf } = usePostgres()

  async function open(schema: string, store: 'history' | 'ledger' = 'history', path?: string) {
    await prepareTables(placeOf(schema), formats[store])
    return openSurround({
      place: placeOf(schema),
      store,
      path: path ?? join(folder, `${++files}.db`),
    })
  }
  const rowsIn = async (schema: string, sql: string): Promise<unknown[][]> => {
    await using db = new SQL(server().url, {
      max: 1,
      bigint: true,
      connection: { search_path: schema },
    })
    return [...(await db.unsafe(sql).values())].map((row: unknown[]) =>
      row.map((cell) => (typeof cell === 'bigint' ? Number(cell) : cell)),
    )
  }
  const put = ({ writing }: SharedStore, id: string, accepted: number) =>
    writing
      .query<unknown, [string, number]>(
        `INSERT INTO batch (id, accepted, duplicates) VALUES ($1, $2, 0)
         ON CONFLICT (id) DO UPDATE SET accepted = excluded.accepted`,
      )
      .run(id, accepted)

  test('behavior: rows of every type arrive there as they are here', async () => {
    const store = await open('types')
    await store.transact(() => {
      put(store, 'a "b" \\ {c}, NULL', 1)
      store.writing.run(`INSERT INTO meta (key, value) VALUES ('number', 7), ('bytes', x'00ff10')`)
      store.writing
        .run(`INSERT INTO chunk (market_id, first_ms, first_id, last_ms, last_id, up_count,
        down_count, tops, rows, hashes, notes) VALUES (1, 2, 3, 4, 5, 6, 7, x'01', x'', x'0203', x'00')`)
    })
    expect(await rowsIn('types', 'SELECT id, accepted FROM batch')).toEqual([
      ['a "b" \\ {c}, NULL', 1],
    ])
    const chunks = 'SELECT id, market_id, tops, rows, hashes, notes FROM chunk'
    const there = await rowsIn('types', chunks)
    expect(there).toEqual(
      store.reading
        .prepare<unknown, []>(chunks)
        .values()
        .map((row) => row.map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell) : cell))),
    )
    const other = await open('types')
    for (const sql of [chunks, 'SELECT * FROM meta ORDER BY key', 'SELECT * FROM sqlite_sequence'])
      expect(other.reading.prepare<unknown, []>(sql).values()).toEqual(
        store.reading.prepare<unknown, []>(sql).values(),
      )
    store.close()
    other.close()
  })

  test('behavior: a body that throws changes nothing', async () => {
    const store = await open('throws')
    const failing = store.transact(() => {
      put(store, 'a', 1)
      throw new Error('no')
    })
    expect(failing).rejects.toThrow('no')
    await failing.catch(() => {})
    expect(store.reading.prepare('SELECT * FROM batch').all()).toEqual([])
    expect(await rowsIn('throws', 'SELECT * FROM batch')).toEqual([])
    await store.transact(() => put(store, 'a', 2))
    expect(await rowsIn('throws', 'SELECT accepted FROM batch')).toEqual([[2]])
    store.close()
  })

  test('behavior: each body sees what others have committed, in one process or several', async () => {
    const one = await open('several')
    const shared = join(folder, 'shared.db')
    const two = await open('several', 'history', shared)
    const three = await open('several', 'history', shared)
    const count = (store: SharedStore) =>
      store.transact(() => {
        const row = store.writing
          .query<{ accepted: number }, []>("SELECT accepted FROM batch WHERE id = 'n'")
          .get()
        put(store, 'n', (row?.accepted ?? 0) + 1)
      })
    const each = [one, two, three]
    await Promise.all(Array.from({ length: 60 }, (_, at) => count(each[at % 3] ?? one)))
    expect(await rowsIn('several', 'SELECT accepted FROM batch')).toEqual([[60]])
    await Promise.all(each.map((store) => store.transact(() => {})))
    for (const store of each) {
      expect(store.reading.prepare('SELECT accepted FROM batch').all()).toEqual([{ accepted: 60 }])
      store.close()
    }
  })

  test('behavior: unique values change places, and a row takes those of one that went', async () => {
    const store = await open('unique', 'ledger')
    const tier = (id: string, rank: number) =>
      `INSERT INTO tier (id, rank, name, coins, routes, requests_per_minute, is_for_sale)
       VALUES ('${id}', ${rank}, 'n', '', '', 1, 0)`
    await store.transact(() => store.writing.run(`${tier('a', 1)}; ${tier('b', 2)}`))
    await store.transact(() =>
      store.writing.run(
        `UPDATE tier SET rank = 9 WHERE id = 'a'; UPDATE tier SET rank = 1 WHERE id = 'b';
         UPDATE tier SET rank = 2 WHERE id = 'a'`,
      ),
    )
    expect(await rowsIn('unique', 'SELECT id, rank FROM tier ORDER BY rank')).toEqual([
      ['b', 1],
      ['a', 2],
    ])
    await store.transact(() =>
      store.writing.run(`DELETE FROM tier WHERE id = 'a'; ${tier('c', 2)}`),
    )
    expect(await rowsIn('unique', 'SELECT id, rank FROM tier ORDER BY rank')).toEqual([
      ['b', 1],
      ['c', 2],
    ])
    store.close()
  })

  test('error: rows of the audit chain are refused here and there', async () => {
    const store = await open('audit', 'ledger')
    await store.transact(() =>
      store.writing.run(
        `INSERT INTO audit (seq, time_ms, actor, action, subject, state, hash) VALUES (1, 2, 'a', 'b', 'c', 'd', x'00')`,
      ),
    )
    for (const sql of ['UPDATE audit SET state = 1', 'DELETE FROM audit'])
      await store
        .transact(() => store.writing.run(sql))
        .then(
          () => expect.unreachable(),
          (error) => expect(String(error)).toContain('audit rows are never'),
        )
    store.close()
  })

  test('behavior: totals are kept by the same triggers, and are sent', async () => {
    const store = await open('totals')
    await store.transact(() =>
      store.writing.run(
        `INSERT INTO market (id, condition_id, coin, timeframe, source, up_count) VALUES (1, 'c', 'btc', '5m', 's', 3)`,
      ),
    )
    await store.transact(() => store.writing.run('UPDATE market SET up_count = 5'))
    const sql = 'SELECT coin, markets, snapshots, checksum FROM coin_total'
    expect(await rowsIn('totals', sql)).toEqual([['btc', 1, 5, 1000003 + 5 * 7919 + 31 + 17]])
    store.close()
  })

  test('behavior: an id is not given again, also by another copy', async () => {
    const one = await open('ids')
    const two = await open('ids')
    const add = (store: SharedStore) =>
      store.transact(() => {
        store.writing.run(
          `INSERT INTO segment (name, bytes, sha256, made_ms, is_sealed, checksum) VALUES ('n', 1, 's', 1, 0, 1)`,
        )
        return store.writing.prepare<{ id: number }, []>('SELECT max(id) AS id FROM segment').get()
          ?.id
      })
    expect(await add(one)).toBe(1)
    await one.transact(() => one.writing.run('DELETE FROM segment'))
    expect(await add(two)).toBe(2)
    await two.transact(() => two.writing.run('DELETE FROM segment'))
    const late = await open('ids')
    expect(await add(late)).toBe(3)
    for (const store of [one, two, late]) store.close()
  })

  test('behavior: a body has the time of the database', async () => {
    const store = await open('time')
    const [[beforeMs] = []] = await rowsIn(
      'time',
      'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)',
    )
    const ms = await store.transact(store.clock)
    expect(ms).toBeGreaterThanOrEqual(Number(beforeMs) - 1)
    store.close()
  })

  test('error: while another process keeps writing to the file a verb says so, and no other copy waits', async () => {
    await prepareTables(placeOf('busy'), formats.history)
    const path = join(folder, 'busy.db')
    const place = placeOf('busy')
    const store = await openSurround({ place, store: 'history', path, isBrief: true })
    const other = await open('busy')
    using writer = new Database(path)
    writer.run('BEGIN IMMEDIATE')
    const failing = store.transact(() => put(store, 'a', 1))
    await other.transact(() => put(other, 'b', 1))
    await failing.then(
      () => expect.unreachable(),
      (error) => {
        expect(isStorageError(error)).toBe(true)
        expect(String(error)).toContain(
          'Another process is copying the database into the same data folder',
        )
      },
    )
    const waiting = store.transact(() => put(store, 'a', 2))
    await other.transact(() => put(other, 'c', 1))
    writer.run('ROLLBACK')
    await waiting
    const rows = await rowsIn('busy', 'SELECT id, accepted FROM batch ORDER BY id')
    expect(rows).toEqual([
      ['a', 2],
      ['b', 1],
      ['c', 1],
    ])
    expect(store.reading.prepare('SELECT id, accepted FROM batch ORDER BY id').values()).toEqual(
      rows as never,
    )
    store.close()
    other.close()
  })

  test('behavior: a store that ends first does what was called', async () => {
    const ledger = await openLedgerIn(placeOf('ending'), { nowMs: NOW_MS })
    await createKeyOne(ledger)
    const creating = [2, 3, 4, 5].map((number) => ledger.createKey(aKey(number), by()))
    await ledger[Symbol.asyncDispose]()
    expect(await Promise.all(creating)).toHaveLength(4)
    expect(await rowsIn('ending', 'SELECT count(*) FROM api_key')).toEqual([[5]])
  })

  test('error: another version has changed the tables', async () => {
    const store = await open('version')
    await rowsIn('version', 'UPDATE format SET version = version + 1')
    await store
      .transact(() => put(store, 'a', 1))
      .then(
        () => expect.unreachable(),
        (error) => expect(String(error)).toContain('Another version of bookfeed'),
      )
    store.close()
  })
})

const KILLS = 8
const COUNT_MS = 300
const counter = new URL('../../support/count-process.ts', import.meta.url).pathname

describe.skipIf(postgresPrograms === undefined)('a process that ends amid a verb', () => {
  const { placeOf } = usePostgres()

  test(
    'behavior: nothing acknowledged is lost, and copies that two processes share stay as the database is',
    async () => {
      const format = formats.history
      await prepareTables(placeOf('killed'), format)
      const shared = join(folder, 'killed.db')
      const paths = [shared, shared, join(folder, 'other.db')]
      const acknowledged = paths.map(() => 0)
      const random = createRandom('kills')
      for (let kill = 0; kill < KILLS; kill++) {
        const children = paths.map((path, at) =>
          Bun.spawn([process.execPath, counter, placeOf('killed'), path, String(at)], {
            stdout: 'pipe',
            stderr: 'inherit',
          }),
        )
        const outputs = children.map(({ stdout }) => stdout.tee())
        // All of them count by then.
        await Promise.all(outputs.map(([first]) => first.getReader().read()))
        await Bun.sleep(random.integer(COUNT_MS))
        for (const child of children) child.kill('SIGKILL')
        for (const [at, [, output]] of outputs.entries()) {
          const lines = (await new Response(output).text()).trim().split('\n')
          acknowledged[at] = Math.max(acknowledged[at] ?? 0, Number(lines.at(-1)))
        }
      }
      const sql = 'SELECT id, accepted FROM batch ORDER BY id'
      for (const path of new Set(paths)) {
        const store = await openSurround({ place: placeOf('killed'), store: 'history', path })
        const found = new Map(
          store.reading.prepare<unknown, []>(sql).values() as [string, number][],
        )
        const counts = paths.map((_, at) => found.get(String(at)) ?? 0)
        for (const [at, count] of counts.entries())
          // The last may have been committed and not acknowledged, once for each kill.
          expect([
            count >= (acknowledged[at] ?? 0),
            count <= (acknowledged[at] ?? 0) + KILLS,
          ]).toEqual([true, true])
        expect(found.get('all')).toBe(counts.reduce((sum, count) => sum + count, 0))
        store.close()
      }
      expect(Math.min(...acknowledged)).toBeGreaterThan(0)
    },
    TEST_MS_MAX,
  )

  test(
    'error: a commit whose answer is lost counts once, and is read here afterwards',
    async () => {
      await prepareTables(placeOf('lost'), formats.history)
      const url = new URL(placeOf('lost'))
      const proxy = await startCuttingProxy(Number(url.port))
      url.port = new URL(proxy.origin).port
      const store = await openSurround({
        place: url.href,
        store: 'history',
        path: join(folder, 'lost.db'),
      })
      const read = (db: SharedStore['reading']) =>
        db.query<{ accepted: number }, []>("SELECT accepted FROM batch WHERE id = 'n'").get()
          ?.accepted ?? 0
      const count = (): Promise<number> =>
        store.transact(() => {
          const next = read(store.writing) + 1
          store.writing.run(
            `INSERT INTO batch (id, accepted, duplicates) VALUES ('n', ${next}, 0)
             ON CONFLICT (id) DO UPDATE SET accepted = excluded.accepted`,
          )
          return next
        })
      let failures = 0
      let last = 0
      for (let round = 0; round < 60; round++) {
        const counting = count()
        // At any moment of it.
        const cutting = round % 2 === 1 ? setTimeout(proxy.cut, round % 15) : undefined
        try {
          const next = await counting
          expect(next).toBeGreaterThan(last)
          expect(read(store.reading)).toBe(next)
          last = next
        } catch (error) {
          expect(isStorageError(error)).toBe(true)
          failures++
        } finally {
          clearTimeout(cutting)
        }
      }
      expect(failures).toBeGreaterThan(0)
      const end = await count()
      expect(end).toBeGreaterThan(60 - failures)
      expect(end).toBeLessThanOrEqual(61)
      store.close()
      proxy.stop()
    },
    TEST_MS_MAX,
  )
})
