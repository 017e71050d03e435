/** Usage that the ledger does not take at first is counted once. The counts are read with SQL. */
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createUsageMeter } from '#src/access/usage-meter.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { openLedger } from '#src/ledger/open.ts'

import { createKeyOne, DAY_MS, NOW_MS } from '../ledger/ledger-records.ts'
import { parseExposition } from '../support/exposition.ts'
import { findFreePort } from '../support/free-port.ts'
import { addKey } from '../support/harness.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { systemClock } from '../support/venue/venue.ts'

const MS_MAX = 300_000
const TRIES_MAX = 2_000
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

describe('usage that a file does not take', () => {
  test(
    'error: while another process has the lock, usage is in memory, and counted once afterwards',
    async () => {
      await using world = createWorld('locked')
      const path = join(world.data, 'ledger.db')
      await world.start()
      await world.request(5)
      await until('The ledger has it', () => Bun.deepEquals(countIn(path), world.answered))

      const other = new Database(path)
      other.run('BEGIN IMMEDIATE')
      const before = countIn(path)
      await world.request(7)
      await until('A flush failed', async () => (await world.unwrittenSeconds()) > 0)
      expect(countIn(path)).toEqual(before)
      other.run('ROLLBACK')
      other.close()
      await until('The ledger has it', () => Bun.deepEquals(countIn(path), world.answered))
      expect(await world.unwrittenSeconds()).toBe(0)
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
      expect(countIn(path)).toEqual(before)
      limitFiles('unlimited')
      await until('The ledger has it', () => Bun.deepEquals(countIn(path), world.answered))
      await until('It is said', () => world.errors().includes('usage is written again'))
      await world.stop()
      expect(countIn(path)).toEqual(world.answered)
    },
    MS_MAX,
  )
})

describe('createUsageMeter', () => {
  test('error: an answer that is lost after the ledger forgot old flushes is counted once', async () => {
    let nowMs = NOW_MS
    let isLost = false
    const ledger = openLedger(':memory:', { nowMs })
    const { id: keyId, accountId, familyId } = await createKeyOne(ledger)
    const standing = standingAt([], ledger.listTiers(), nowMs)
    const caller: Caller = { keyId, accountId, familyId, isBlocked: false, standing }
    const meter = createUsageMeter({
      ledger: {
        ...ledger,
        async addUsage(entries, flush) {
          await ledger.addUsage(entries, flush)
          if (isLost) throw new Error('The answer is lost.')
        },
      },
      clock: () => nowMs,
      randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    })
    meter.add(caller, 'markets', 10)
    await meter.flush()
    nowMs += 100 * DAY_MS
    meter.add(caller, 'markets', 10)
    isLost = true
    await expect(meter.flush()).rejects.toThrow('The answer is lost.')
    isLost = false
    nowMs += DAY_MS
    await meter.flush()
    const day = '2027-03-01'
    expect(ledger.usageOf(accountId, '')).toEqual([
      { day, route: 'markets', requests: 1, bytes: 10 },
    ])
    ledger.dispose()
  })
})
