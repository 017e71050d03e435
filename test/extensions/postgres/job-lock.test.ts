/** Jobs of several servers on one PostgreSQL: one does each of them at a time. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { DAY_MS } from '#src/domain/time.ts'
import { createJobLock } from '#src/extensions/postgres/job-lock.ts'
import { startManifests } from '#src/extensions/trust/manifest-worker.ts'
import { createJobBoard } from '#src/operator/jobs.ts'
import { createReportedJob } from '#src/platform/job.ts'
import { jobLockFor } from '#src/server/open-data-folder.ts'

import { appendAll, conditionIdOf, someSnapshots, START_MS } from '../../history/books.ts'
import { createCliContext } from '../../support/cli-context.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { createFakeTimers } from '../../support/fake-timers.ts'
import { openHistoryIn } from '../../support/stores.ts'
import { until } from '../../support/until.ts'

const TEST_MS_MAX = 300_000
const NOW_MS = START_MS + 3 * DAY_MS
const ELSEWHERE = 'Another server does it now.'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-turns-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const TERMINATE = 0x58

/** Longer than a holder may be silent. */
const LONG_MS = 20_000
/** A process that tries to take a lock at each line, and prints whether it has. */
const takingAtEachLine = `
  const { createJobLock } = await import('#src/extensions/postgres/job-lock.ts')
  const place = process.argv.at(-1)
  const lock = createJobLock({ place: { store: 'history', path: '', address: place }, name: 'suspended', onFault() {} })
  const { writeSync } = await import('node:fs')
  for await (const _ of console) writeSync(1, (await lock.take()) + '\\n')
`

/** A proxy that does not pass on that a client ends its connection, until it is disposed. */
async function startSilentEnd(port: string) {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(Number(port), '127.0.0.1')
    sockets.push(client, upstream)
    client.on('data', (bytes) => bytes[0] === TERMINATE || upstream.write(bytes))
    client.on('error', () => {})
    upstream.on('error', () => {})
    upstream.on('data', (bytes) => client.write(bytes))
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

describe.skipIf(postgresPrograms === undefined)('turns at jobs on a PostgreSQL', () => {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await startPostgres()
  }, TEST_MS_MAX)
  afterAll(() => postgres?.[Symbol.asyncDispose]())

  /** What went wrong is thrown by `untilTaken`. */
  const turn = (name: string, schema = 'turns') => {
    const faults: Error[] = []
    const place = `${postgres.url}?schema=${schema}`
    const onFault = (error: Error) => void faults.push(error)
    const made = createJobLock({
      place: { store: 'history', path: '', address: place },
      name,
      onFault,
    })
    if (made === undefined) throw new Error('There is a turn at what is shared.')
    return { ...made, faults }
  }
  /** The server takes note of a connection that ended a moment later. */
  const untilTaken = async ({ take }: Pick<ReturnType<typeof turn>, 'take'>): Promise<void> => {
    while (!(await take())) await Bun.sleep(10)
  }

  test(
    'default: one has it, however often it asks; others have it after that one',
    async () => {
      const first = turn('work')
      const second = turn('work')
      expect([await first.take(), await first.take(), await second.take()]).toEqual([
        true,
        true,
        false,
      ])
      // Another job, and another history in the same database.
      for (const other of [turn('play'), turn('work', 'others')]) {
        expect(await other.take()).toBe(true)
        await other.give()
      }
      await first.give()
      expect([await second.take(), await first.take()]).toEqual([true, false])
      await second.give()
      expect(first.faults.concat(second.faults)).toEqual([])
    },
    TEST_MS_MAX,
  )

  test(
    'behavior: a process that is suspended loses it to another soon, and one that works keeps it',
    async () => {
      const place = `${postgres.url}?schema=turns`
      const child = Bun.spawn([process.execPath, '-e', takingAtEachLine, place], {
        stdin: 'pipe',
        stderr: 'inherit',
      })
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
      const takes = async (): Promise<string | undefined> => {
        child.stdin.write('\n')
        child.stdin.flush()
        return (await reader.read()).value
      }
      try {
        expect(await takes()).toBe('true\n')
        const other = turn('suspended')
        const startedMs = performance.now()
        while (performance.now() - startedMs < LONG_MS) {
          expect(await other.take()).toBe(false)
          await Bun.sleep(1000)
        }
        child.kill('SIGSTOP')
        await untilTaken(other)
        child.kill('SIGCONT')
        expect(await takes()).toBe('false\n')
        expect(other.faults).toEqual([])
        await other.give()
      } finally {
        child.kill('SIGKILL')
      }
    },
    TEST_MS_MAX,
  )

  test(
    'behavior: a turn that was given back is free at once, whenever the end of its connection arrives',
    async () => {
      await using proxy = await startSilentEnd(new URL(postgres.url).port)
      const place = new URL(postgres.url)
      place.port = String(proxy.port)
      place.searchParams.set('schema', 'turns')
      const faults: Error[] = []
      const holder = createJobLock({
        place: { store: 'history', path: '', address: place.href },
        name: 'given',
        onFault: (error) => void faults.push(error),
      })
      const next = turn('given')
      expect([await holder?.take(), await holder?.take()]).toEqual([true, true])
      expect(await next.take()).toBe(false)
      await holder?.give()
      expect(await next.take()).toBe(true)
      await next.give()
      expect(faults.concat(next.faults)).toEqual([])
    },
    TEST_MS_MAX,
  )

  test(
    'behavior: a process that loses its connection has lost its turn, and knows when it asks',
    async () => {
      const first = turn('lost')
      const second = turn('lost')
      expect(await first.take()).toBe(true)
      await using sql = new SQL(postgres.url, { max: 1 })
      await sql`SELECT pg_terminate_backend(pid) FROM pg_locks
        WHERE locktype = 'advisory' AND pid <> pg_backend_pid()`
      await untilTaken(second)
      expect(await first.take()).toBe(false)
      await second.give()
      await first.give()
    },
    TEST_MS_MAX,
  )

  test('error: a database that cannot be asked gives nobody a turn, and that is said', async () => {
    const faults: Error[] = []
    const place = 'postgres://bookfeed@127.0.0.1:1/nowhere'
    const onFault = (error: Error) => void faults.push(error)
    const nowhere = createJobLock({
      place: { store: 'history', path: '', address: place },
      name: 'work',
      onFault,
    })
    expect([await nowhere?.take(), await nowhere?.take()]).toEqual([false, false])
    expect(faults).toHaveLength(1)
  })

  test(
    'behavior: a job that is done elsewhere is left, and looked at again soon',
    async () => {
      const timers = createFakeTimers(NOW_MS)
      const board = createJobBoard(timers.clock)
      const other = turn('shown')
      const own = turn('shown')
      expect(await other.take()).toBe(true)
      let runs = 0
      const job = createReportedJob(
        { ...timers, report: board.add('shown', ''), lock: own },
        async () => ({ outcome: `Run ${++runs}.`, waitMs: DAY_MS }),
      )
      job.hasten(0)
      await until(() => timers.delays().length === 1)
      expect([runs, board.list()[0]?.outcome]).toEqual([0, ELSEWHERE])
      await other.give()
      timers.advance(timers.delays()[0] ?? 0)
      await until(() => timers.delays().length === 1)
      expect([runs, board.list()[0]?.outcome]).toEqual([1, 'Run 1.'])
      await job.dispose()
      // It was given back.
      expect(await other.take()).toBe(true)
      await other.give()
    },
    TEST_MS_MAX,
  )

  test(
    'behavior: two servers that begin together sign every day once',
    async () => {
      const place = `${postgres.url}?schema=signed`
      const history = await openHistoryIn(place)
      for (const day of [0, 1]) {
        const windowStartMs = START_MS + day * DAY_MS
        const names = { conditionId: conditionIdOf(day + 1), coin: 'btc', timeframe: '5m' } as const
        const window = { windowStartMs, windowEndMs: windowStartMs + 300_000 }
        await history.putMarket({ ...names, source: 'simulated', ...window, winner: 'up' })
        const { conditionId } = names
        await appendAll(
          history,
          someSnapshots(30).map((row) => ({
            ...row,
            conditionId,
            timestampMs: row.timestampMs + day * DAY_MS,
          })),
        )
        await history.close(conditionId)
      }
      const start = (name: string) => {
        const data = join(folder, name)
        mkdirSync(data)
        const env = { BOOKFEED_DATA: data, BOOKFEED_HISTORY: place }
        const { context, errors } = createCliContext(env)
        const board = createJobBoard(() => NOW_MS)
        const clocked = { ...context, clock: () => NOW_MS }
        const job = startManifests(clocked, board.add('manifests', ''), { firstMs: 1 })
        return { ...job, errors, outcome: () => board.list()[0]?.outcome }
      }
      const { context } = createCliContext({ BOOKFEED_HISTORY: place })
      const holder = jobLockFor(context, 'history', 'manifests')
      expect(await holder?.take()).toBe(true)
      const late = start('late')
      await until(() => late.outcome() !== undefined)
      expect([late.outcome(), history.manifests.newest()]).toEqual([ELSEWHERE, undefined])
      await late.dispose()
      await holder?.give()

      const servers = ['first', 'second'].map(start)
      const signed = () =>
        history.manifests.list(0, 100).map(({ day, revision }) => [day, revision])
      await until(() => servers.every(({ outcome }) => outcome() !== undefined))
      await Promise.all(servers.map(({ dispose }) => dispose()))
      expect(servers.flatMap(({ errors }) => errors)).toEqual([])
      // The copy gets what the servers have signed.
      await history.probeWrite()
      expect(signed()).toEqual([
        ['2026-04-14', 1],
        ['2026-04-15', 1],
      ])
      // What was made from an older state is not signed.
      const again = { day: '2026-04-14', madeMs: NOW_MS, series: [], files: [] }
      expect(await history.manifests.add(again)).toBeUndefined()
      expect(history.manifests.list(0, 100)).toHaveLength(2)
      history.dispose()
    },
    TEST_MS_MAX,
  )
})
