/** What metrics and `bookfeed doctor` say of a PostgreSQL in each of its states. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { createPostgresMetrics } from '#src/extensions/postgres/metrics.ts'
import { requiredIn } from '#src/extensions/postgres/state.ts'
import type { Finding } from '#src/server/extension.ts'

import { appendAll, someSnapshots } from '../../history/books.ts'
import { postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { parseExposition } from '../../support/exposition.ts'
import { runCommand } from '../../support/run-command.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'

const MS_MAX = 240_000
const TRIES_MAX = 2_000
const HISTORY = '{store="history"}'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-postgres-metrics-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const withUser = (url: string, user: string): string => {
  const changed = new URL(url)
  changed.username = user
  return changed.href
}

/** What metrics have of the history at an address. */
function openReading(place: string) {
  const source = createPostgresMetrics([{ store: 'history', place }])
  const read = async () => {
    const { samples } = parseExposition((await source.print()).join('\n'))
    return (name: string, labels = HISTORY) => samples.get(`bookfeed_postgres_${name}${labels}`)
  }
  return {
    read,
    /** The values of some metrics, once they are as expected. */
    async expectSoon(expected: Record<string, number | undefined>): Promise<void> {
      const seen = async () => {
        const find = await read()
        return Object.fromEntries(Object.keys(expected).map((name) => [name, find(name)]))
      }
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        if (Bun.deepEquals(await seen(), expected)) return
        await Bun.sleep(50)
      }
      expect(await seen()).toEqual(expected)
    },
    [Symbol.dispose]: source.dispose,
  }
}

const withBase = (url: string, base: string): string => {
  const changed = new URL(url)
  changed.pathname = base
  return changed.href
}

async function runDoctor(stores: Record<string, string>, name: string): Promise<Finding[]> {
  const data = join(folder, name)
  mkdirSync(data, { recursive: true })
  const env = { BOOKFEED_DATA: data, BOOKFEED_FREE_MB: '0', ...stores }
  const { printed } = await runCommand(env, 'doctor', '--json')
  return (JSON.parse(printed) as { findings: Finding[] }).findings
}

/** What doctor finds with both stores at an address. */
const examineStores = (place: string, name: string): Promise<Finding[]> =>
  runDoctor({ BOOKFEED_HISTORY: place, BOOKFEED_LEDGER: place }, name)

async function examine(place: string, name: string): Promise<Finding[]> {
  const findings = await runDoctor({ BOOKFEED_HISTORY: place }, name)
  return findings.filter(({ check }) => check === 'postgres')
}

test.each([
  ['', 0],
  ['standby', 1],
  ['*', 1],
  ['FIRST 1 (standby)', 1],
  ['2 (a, b, c)', 2],
  ['ANY 2 ("a 1", b)', 2],
  ['any 1 (a1, a2)', 1],
  ['s1, s2', 1],
])('default: commits wait for as many standbys as %p says', (names, count) => {
  expect(requiredIn(names)).toBe(count)
})

describe.skipIf(postgresPrograms === undefined)('a PostgreSQL', () => {
  test(
    'default: with a standby all is well, and without one commits wait, and the primary answers',
    async () => {
      await using postgres = await startPostgres()
      const history = await openHistoryIn(postgres.url)
      await appendAll(history, someSnapshots(10))
      using reading = openReading(postgres.url)
      const well = {
        up: 1,
        writable: 1,
        has_room: 1,
        standbys: 1,
        standbys_required: 1,
        standbys_synchronous: 1,
      }
      await reading.expectSoon(well)
      const find = await reading.read()
      expect(find('connections')).toBeGreaterThanOrEqual(2)
      expect(find('connections_max')).toBe(97)
      expect(find('size_bytes')).toBeGreaterThan(1e6)
      expect(find('standby_lag_bytes', '{store="history",standby="standby"}')).toBeDefined()
      for (const operation of ['read', 'commit']) {
        const labels = `{store="history",operation="${operation}"}`
        expect(find('request_duration_seconds_count', labels)).toBeGreaterThan(0)
        const seconds = find('request_duration_seconds_sum', labels) ?? 0
        expect(seconds).toBeGreaterThan(0)
        expect(seconds).toBeLessThan(60)
      }
      expect(await examine(postgres.url, 'well')).toMatchObject([
        {
          state: 'ok',
          text: expect.stringMatching(/answers in [\d.]+ ms\. It has [\d,]+ MB, and/),
        },
        { state: 'ok', text: 'The standby standby confirms commits.' },
      ])

      await postgres.standby.kill()
      await reading.expectSoon({ ...well, standbys: 0, standbys_synchronous: 0 })
      expect((await examine(postgres.url, 'waiting')).at(-1)).toMatchObject({
        state: 'wrong',
        text: expect.stringContaining('No commit can finish: each waits for 1 standby'),
        todo: expect.stringContaining('Start the standby.'),
      })
      await postgres.standby.start()
      await reading.expectSoon(well)

      // One that is connected and confirms nothing falls behind.
      await postgres.standby.hang()
      await using operator = new SQL(postgres.url, { max: 1 })
      await operator.unsafe('SET synchronous_commit = local; CREATE TABLE ballast (id int)')
      await operator.unsafe('INSERT INTO ballast SELECT generate_series(1, 10000)')
      const lag = { bytes: 0, seconds: 0 }
      for (let tries = 0; tries < TRIES_MAX && lag.seconds < 1; tries++) {
        const values = await reading.read()
        const of = (unit: string) =>
          values(`standby_lag_${unit}`, '{store="history",standby="standby"}') ?? 0
        lag.bytes = of('bytes')
        lag.seconds = of('seconds')
        await Bun.sleep(50)
      }
      expect(lag.bytes).toBeGreaterThan(100_000)
      expect(lag.seconds).toBeGreaterThanOrEqual(1)
      // Nor does it confirm anything: it does not reply.
      await reading.expectSoon({ standbys: 1, standbys_synchronous: 0 })
      await postgres.standby.wake()
      await reading.expectSoon(well)
      history.dispose()
    },
    MS_MAX,
  )

  test(
    'behavior: the database is up for a recorder that stands still because a commit waits',
    async () => {
      await using postgres = await startPostgres()
      ;(await openHistoryIn(postgres.url)).dispose()
      await postgres.standby.kill()
      // A recorder waits for its commits so, in each turn of its loop.
      const waiting = setInterval(() => Bun.sleepSync(2500), 1)
      try {
        await Bun.sleep(1)
        using reading = openReading(postgres.url)
        const find = await reading.read()
        expect([find('up'), find('standbys_required'), find('standbys_synchronous')]).toEqual([
          1, 1, 0,
        ])
      } finally {
        clearInterval(waiting)
      }
      await postgres.standby.start()
    },
    MS_MAX,
  )

  test(
    'error: a primary that hangs or is dead is down within a scrape, and a standby is not writable',
    async () => {
      await using postgres = await startPostgres()
      ;(await openHistoryIn(postgres.url)).dispose()
      const standbyUrl = postgres.standby.url
      using reading = openReading(postgres.url)
      await reading.expectSoon({ up: 1 })
      await postgres.hang()
      await reading.expectSoon({ up: 0, writable: undefined, has_room: undefined })
      await postgres.wake()
      await reading.expectSoon({ up: 1, writable: 1 })

      await postgres.killPrimary()
      await reading.expectSoon({ up: 0, writable: undefined })
      expect(
        (await reading.read())('request_failures_total', '{store="history",operation="read"}'),
      ).toBeGreaterThan(0)
      expect(await examine(postgres.url, 'dead')).toMatchObject([
        {
          state: 'wrong',
          text: expect.stringContaining('cannot be reached'),
          todo: expect.stringMatching(
            /^Check from another machine first\. .* do not promote a standby.* promote the standby: docs\/scale\.md#failover\.$/,
          ),
        },
      ])

      using atStandby = openReading(standbyUrl)
      await atStandby.expectSoon({
        up: 1,
        writable: 0,
        has_room: undefined,
        standbys_required: undefined,
      })
      expect(await examine(standbyUrl, 'standby')).toMatchObject([
        {
          state: 'wrong',
          text: expect.stringContaining('is a standby that was not promoted'),
          todo: expect.stringContaining('promote this one'),
        },
      ])
      await postgres.promote()
      await atStandby.expectSoon({ up: 1, writable: 1, standbys: 0, standbys_required: 0 })
      expect((await examine(standbyUrl, 'alone')).at(-1)).toMatchObject({
        state: 'warning',
        text: expect.stringContaining('No standby is connected'),
      })
    },
    MS_MAX,
  )

  test(
    'behavior: a user without pg_monitor sees how many standbys there are, and doctor says what it lacks',
    async () => {
      await using postgres = await startPostgres()
      await using operator = new SQL(postgres.url, { max: 1 })
      const { password } = new URL(postgres.url)
      await operator.unsafe(`CREATE ROLE plain LOGIN PASSWORD '${password}'`)
      await operator.unsafe('GRANT CREATE ON DATABASE bookfeed TO plain')
      const place = withUser(postgres.url, 'plain')
      ;(await openHistoryIn(place)).dispose()
      using reading = openReading(place)
      await reading.expectSoon({
        up: 1,
        has_room: 1,
        standbys: 1,
        standbys_required: 1,
        standbys_synchronous: undefined,
      })
      expect((await examine(place, 'plain')).at(-1)).toMatchObject({
        state: 'skipped',
        todo: expect.stringContaining('GRANT pg_monitor TO'),
      })
      await operator.unsafe('GRANT pg_monitor TO plain')
      await reading.expectSoon({ standbys: 1, standbys_synchronous: 1 })
      // Its own limit on temporary files says nothing about the disk.
      await operator.unsafe("ALTER ROLE plain SET temp_file_limit = '8MB'")
      using limited = openReading(place)
      await limited.expectSoon({ up: 1, has_room: undefined })
    },
    MS_MAX,
  )

  test(
    'error: doctor says of each refusal what corrects it, and not to start or promote what answers',
    async () => {
      await using postgres = await startPostgres()
      await using operator = new SQL(postgres.url, { max: 1 })
      ;(await openHistoryIn(postgres.url)).dispose()
      ;(await openLedgerIn(postgres.url, { nowMs: 0 })).dispose()
      const { host, password } = new URL(postgres.url)
      const asUser = (user: string, base = 'bookfeed', schema = '') =>
        `postgres://${user}@${host}/${base}${schema}`
      await operator.unsafe(`CREATE ROLE guest LOGIN PASSWORD '${password}'`)
      await operator.unsafe(`CREATE ROLE few LOGIN PASSWORD '${password}' CONNECTION LIMIT 0`)
      await operator.unsafe('CREATE SCHEMA closed')
      const guest = `guest:${password}`
      const refusals: [place: string, says: RegExp, todo: RegExp][] = [
        [asUser('bookfeed:wrong'), /refuses the password/, /^Correct the password in BOOKFEED_/],
        [withBase(postgres.url, 'nothing'), /no such database/, /^Create the database/],
        [asUser(`few:${password}`), /no free connection/, /^Raise max_connections/],
        [
          asUser(guest, 'bookfeed', '?schema=closed'),
          /must own (it|the schema)/,
          /^Name the owner/,
        ],
        ['postgres://bookfeed:x@127.0.0.1:1/bookfeed', /cannot be reached/, /^Check from another/],
      ]
      for (const [number, [place, says, todo]] of refusals.entries()) {
        const findings = await examineStores(place, `refusal-${number}`)
        for (const check of ['history', 'ledger']) {
          const found = findings.find((each) => each.check === check)
          expect(found).toMatchObject({ state: 'wrong', text: expect.stringMatching(says) })
          expect(found?.todo).toMatch(todo)
        }
        // Such a schema does not keep the state of the database from being seen.
        const seen = findings.filter((each) => each.check === 'postgres' && each.state === 'wrong')
        for (const each of seen) expect(each.todo).toMatch(todo)
        if (!place.includes('closed')) expect(seen).toHaveLength(1)
      }
      await operator.unsafe('UPDATE bookfeed.format SET version = version + 1')
      await operator.unsafe('UPDATE bookfeed_ledger.format SET version = version - 1')
      const findings = await examineStores(postgres.url, 'formats')
      const textOf = (check: string) => findings.find((each) => each.check === check)
      expect(textOf('history')?.text).toContain('newer bookfeed')
      expect(textOf('history')?.todo).toBeUndefined()
      expect(textOf('ledger')?.text).toContain('bookfeed migrate --backed-up')
      expect(textOf('ledger')?.todo).toBeUndefined()
    },
    MS_MAX,
  )

  test(
    'behavior: doctor says what the copy in a data folder lacks',
    async () => {
      await using postgres = await startPostgres()
      const { postgresEngine } = await import('#src/extensions/postgres/engine.ts')
      const history = await openHistoryIn(postgres.url)
      await appendAll(history, someSnapshots(10))
      const data = join(folder, 'copy')
      mkdirSync(data)
      const replicas = await postgresEngine.startReplicas(
        [{ store: 'history', address: postgres.url, path: join(data, 'replica-history.db') }],
        {
          server: 'test',
          timer: () => performance.now(),
          known: new SharedArrayBuffer(16),
          say: () => {},
        },
      )
      await replicas.close()
      const last = async () => (await examine(postgres.url, 'copy')).at(-1)
      expect(await last()).toMatchObject({
        state: 'ok',
        text: 'The copy of the history in this folder is complete.',
      })
      await appendAll(history, someSnapshots(20))
      // It was committed a minute ago.
      await using operator = new SQL(postgres.url, { max: 1 })
      await operator.unsafe(
        'UPDATE bookfeed.change SET at_ms = at_ms - 60000 WHERE serial = (SELECT max(serial) FROM bookfeed.change)',
      )
      expect(await last()).toMatchObject({
        state: 'warning',
        text: expect.stringContaining('lacks commits since 20'),
      })
      history.dispose()
    },
    MS_MAX,
  )
})
