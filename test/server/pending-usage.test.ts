/**
 * Usage that the ledger does not take: it is counted once, also where the process ends before the
 * ledger takes it. What was counted is read with SQL.
 */
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { createUsageMeter, type PendingUsage } from '#src/access/usage-meter.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { openLedger } from '#src/ledger/open.ts'
import { codeOf } from '#src/platform/message.ts'

import { createKeyOne, DAY_MS, NOW_MS } from '../ledger/ledger-records.ts'
import { postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { parseExposition } from '../support/exposition.ts'
import { findFreePort } from '../support/free-port.ts'
import { addKey } from '../support/harness.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { openProxy } from '../support/proxy-thread.ts'
import { systemClock } from '../support/venue/venue.ts'

const MS_MAX = 120_000
const TRIES_MAX = 600
const TRY_MS = 50
const PATH = '/v1/btc/markets?limit=1'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-pending-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const tier: Tier = {
  tierId: 'drill',
  name: 'Drill',
  rank: 98,
  isForSale: false,
  requestsPerMinute: 1_000_000,
  coins: ['btc'],
  routes: ['markets'],
}

/** What keys used of `PATH`. */
type Counts = { requests: number; bytes: number }
const COUNT =
  "SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(bytes), 0) AS bytes FROM usage WHERE route = 'markets'"

async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (await holds()) return
    await Bun.sleep(TRY_MS)
  }
  throw new Error(`${what}: in vain.`)
}

/** A data folder with a key, and the servers that serve it one after the other. */
function createWorld(name: string, env: Record<string, string> = {}) {
  const data = join(folder, name)
  mkdirSync(data, { recursive: true })
  const ledger = openLedger(env.BOOKFEED_LEDGER ?? join(data, 'ledger.db'), {
    nowMs: systemClock(),
  })
  const key = addKey(ledger, tier)
  ledger.dispose()
  const answered: Counts = { requests: 0, bytes: 0 }
  const metricsPort = findFreePort()
  let server: KillableServer | undefined
  return {
    data,
    answered,
    pid: () => server?.pid ?? 0,
    errors: () => server?.errors() ?? '',
    async start(): Promise<void> {
      server = await startKillableServer({
        BOOKFEED_DATA: data,
        BOOKFEED_PORT: '0',
        BOOKFEED_LOG: 'off',
        BOOKFEED_SAMPLE: 'off',
        BOOKFEED_METRICS: String(metricsPort),
        ...env,
      })
    },
    async request(count: number): Promise<void> {
      for (let made = 0; made < count; made++) {
        const response = await fetch(`${server?.origin}${PATH}`, {
          headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' },
        })
        expect(response.status).toBe(200)
        answered.requests++
        answered.bytes += (await response.arrayBuffer()).byteLength
      }
    },
    /** What is in the file of usage that the ledger does not take. */
    async kept(): Promise<Counts> {
      const file = Bun.file(join(data, 'pending-usage.json'))
      const pending: PendingUsage = (await file.exists())
        ? await file.json()
        : { meter: '', number: 0, part: [], rest: [] }
      const counters = [...pending.part, ...pending.rest].filter(({ route }) => route === 'markets')
      return {
        requests: counters.reduce((sum, { requests }) => sum + requests, 0),
        bytes: counters.reduce((sum, { bytes }) => sum + bytes, 0),
      }
    },
    /** For how long the ledger takes nothing, as metrics have it. */
    async unwrittenSeconds(): Promise<number> {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
      return parseExposition(text).samples.get('bookfeed_usage_unwritten_seconds') ?? Number.NaN
    },
    kill: async () => server?.kill(),
    async stop(): Promise<void> {
      process.kill(server?.pid ?? 0, 'SIGTERM')
      expect(await server?.ended).toBe(0)
    },
    [Symbol.asyncDispose]: async () => server?.kill(),
  }
}

function countIn(path: string): Counts {
  using db = new Database(path, { readonly: true })
  return db.query<Counts, []>(COUNT).get() as Counts
}

const DISK_MB = 64
const mount = (path: string, mb: number): boolean =>
  Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${mb}m`, 'none', path]).exitCode === 0

/** Whether this user may make disks. */
const mayMount = ((): boolean => {
  if (process.getuid?.() !== 0 || Bun.which('mount') === null) return false
  const path = join(folder, 'tried')
  mkdirSync(path)
  const isMade = mount(path, 1)
  if (isMade) Bun.spawnSync(['umount', path])
  return isMade
})()

/** Takes all room of a disk. */
function fill(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (const bytes of [2 ** 16, 1])
      try {
        for (;;) writeSync(file, Buffer.alloc(bytes))
      } catch (error) {
        if (codeOf(error) !== 'ENOSPC') throw error
      }
  } finally {
    closeSync(file)
  }
}

describe('usage that a file does not take', () => {
  test(
    'error: while another process has the lock, it is kept, over kill -9 and SIGTERM, and counted once',
    async () => {
      await using world = createWorld('locked')
      const path = join(world.data, 'ledger.db')
      await world.start()
      await world.request(5)
      await until('The ledger has it', () => Bun.deepEquals(countIn(path), world.answered))

      const lock = async (endServer: () => Promise<unknown>): Promise<void> => {
        const other = new Database(path)
        other.run('BEGIN IMMEDIATE')
        const before = countIn(path)
        await world.request(7)
        await until('The file has it', async () => {
          const { requests, bytes } = await world.kept()
          return Bun.deepEquals(
            { requests: before.requests + requests, bytes: before.bytes + bytes },
            world.answered,
          )
        })
        expect(await world.unwrittenSeconds()).toBeGreaterThan(0)
        await endServer()
        expect(countIn(path)).toEqual(before)
        other.run('ROLLBACK')
        other.close()
      }
      await lock(world.kill)
      await world.start()
      await world.request(3)
      await until('The ledger has it', () => Bun.deepEquals(countIn(path), world.answered))
      expect(await world.unwrittenSeconds()).toBe(0)

      await lock(world.stop)
      await world.start()
      await until('The ledger has it', () => Bun.deepEquals(countIn(path), world.answered))
      await until(
        'The file is gone',
        () => !readdirSync(world.data).some((name) => name.startsWith('pending-usage')),
      )
      // What is counted is not counted again by the next process.
      await world.stop()
      await world.start()
      await world.request(1)
      await world.stop()
      expect(countIn(path)).toEqual(world.answered)
    },
    MS_MAX,
  )

  test.skipIf(Bun.which('prlimit') === null)(
    'error: while the disk takes nothing, it is in memory, and counted once when it does',
    async () => {
      await using world = createWorld('full')
      const path = join(world.data, 'ledger.db')
      await world.start()
      await world.request(5)
      await until('The ledger has it', () => Bun.deepEquals(countIn(path), world.answered))
      const limitFiles = (size: string) =>
        Bun.spawnSync(['prlimit', `--pid=${world.pid()}`, `--fsize=${size}:unlimited`])
      limitFiles('1')
      const before = countIn(path)
      await world.request(7)
      await until('It is said', () => world.errors().includes('usage cannot be written'))
      expect([countIn(path), await world.kept()]).toEqual([before, { requests: 0, bytes: 0 }])
      limitFiles('unlimited')
      await until('The ledger has it', () => Bun.deepEquals(countIn(path), world.answered))
      await until('It is said', () => world.errors().includes('usage is written again'))
      await world.stop()
      expect(countIn(path)).toEqual(world.answered)
    },
    MS_MAX,
  )

  test.skipIf(!mayMount)(
    'error: a disk that is full when it is to be kept has room for it, over kill -9',
    async () => {
      const data = join(folder, 'no-room')
      mkdirSync(data)
      expect(mount(data, DISK_MB)).toBe(true)
      try {
        await using world = createWorld('no-room', { BOOKFEED_FREE_MB: '0' })
        const path = join(data, 'ledger.db')
        await world.start()
        await world.request(5)
        await until('The ledger has it', () => Bun.deepEquals(countIn(path), world.answered))
        fill(join(data, 'filler'))
        const other = new Database(path)
        other.run('BEGIN IMMEDIATE')
        const before = countIn(path)
        for (const requests of [7, 5]) {
          await world.request(requests)
          await until('The file has it', async () => {
            const { requests: kept } = await world.kept().catch(() => ({ requests: 0 }))
            return before.requests + kept === world.answered.requests
          })
        }
        await world.kill()
        other.run('ROLLBACK')
        other.close()
        rmSync(join(data, 'filler'))
        await world.start()
        await until('The ledger has it', () => Bun.deepEquals(countIn(path), world.answered))
        await world.stop()
        expect(readdirSync(data)).toContain('usage.reserve')
      } finally {
        Bun.spawnSync(['umount', '-l', data])
      }
    },
    MS_MAX,
  )

  test(
    'error: a file that cannot be read is said, and the server serves',
    async () => {
      await using world = createWorld('damaged')
      writeFileSync(join(world.data, 'pending-usage.json'), '{"meter":"2026')
      await world.start()
      await world.request(2)
      await world.stop()
      expect(world.errors()).toContain('pending-usage.json cannot be read')
      expect(countIn(join(world.data, 'ledger.db'))).toEqual(world.answered)
    },
    MS_MAX,
  )
})

describe.skipIf(postgresPrograms === undefined)('usage that a PostgreSQL does not take', () => {
  test(
    'error: it hangs, the server is killed, and the standby takes over: it is counted once',
    async () => {
      await using postgres = await startPostgres()
      const proxy = openProxy(Number(new URL(postgres.url).port))
      const behind = new URL(postgres.url)
      behind.port = `${proxy.port}`
      await using world = createWorld('postgres', { BOOKFEED_LEDGER: behind.href })
      const read = async (): Promise<Counts> => {
        await using sql = new SQL(postgres.url, { max: 1 })
        const [row] = await sql.unsafe(COUNT.replace('usage', 'bookfeed_ledger.usage'))
        return { requests: Number(row.requests), bytes: Number(row.bytes) }
      }
      await world.start()
      await world.request(5)
      await until('The ledger has it', async () => Bun.deepEquals(await read(), world.answered))

      await postgres.hang()
      await world.request(7)
      await until('The file has it', async () => (await world.kept()).requests === 7)
      // It answers again, and what may have been sent twice is counted once.
      await postgres.wake()
      await until('The ledger has it', async () => Bun.deepEquals(await read(), world.answered))

      await postgres.hang()
      await world.request(9)
      await until('The file has it', async () => (await world.kept()).requests === 9)
      await world.kill()
      await postgres.killPrimary()
      await postgres.promote()
      proxy.leadTo(Number(new URL(postgres.url).port))
      expect(await read()).not.toEqual(world.answered)
      await world.start()
      await until('The ledger has it', async () => Bun.deepEquals(await read(), world.answered))
      await world.request(2)
      await world.stop()
      expect(await read()).toEqual(world.answered)
      proxy.stop()
    },
    MS_MAX,
  )
})

describe('createUsageMeter', () => {
  test('error: an answer that is lost after the ledger forgot old flushes is counted once', () => {
    let nowMs = NOW_MS
    let isLost = false
    const ledger = openLedger(':memory:', { nowMs })
    const { id: keyId, accountId, familyId } = createKeyOne(ledger)
    const standing = standingAt([], ledger.listTiers(), nowMs)
    const caller: Caller = { keyId, accountId, familyId, isBlocked: false, standing }
    const meter = createUsageMeter({
      ledger: {
        ...ledger,
        addUsage(entries, flush) {
          ledger.addUsage(entries, flush)
          if (isLost) throw new Error('The answer is lost.')
        },
      },
      clock: () => nowMs,
      randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    })
    meter.add(caller, 'markets', 10)
    meter.flush()
    nowMs += 100 * DAY_MS
    meter.add(caller, 'markets', 10)
    isLost = true
    expect(() => meter.flush()).toThrow('The answer is lost.')
    isLost = false
    nowMs += DAY_MS
    meter.flush()
    const day = '2027-03-01'
    expect(ledger.usageOf(accountId, '')).toEqual([
      { day, route: 'markets', requests: 1, bytes: 10 },
    ])
    ledger.dispose()
  })
})
