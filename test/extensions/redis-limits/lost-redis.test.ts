/**
 * How many requests servers admit of one caller while Redis is cut off, late, or gone, at random on
 * a virtual clock. `CUT_ROUNDS=500 bun test test/extensions/redis-limits/lost-redis.test.ts` is the
 * long run; `CUT_SEED` chooses other cases.
 */
import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test'

import { shareWindows } from '#src/extensions/redis-limits/shared-windows.ts'
import { createRandom, type Random } from '#src/platform/random.ts'
import { createRateWindows, type RateWindows } from '#src/platform/rate-windows.ts'

import { redisProgram, startRedis } from '../../support/engines/redis.ts'
import { openVirtualRedis, type VirtualRedis } from './virtual-redis.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const { CUT_ROUNDS = '40', CUT_SEED = 'cut' } = process.env
const ROUNDS = Number(CUT_ROUNDS)
const ROUND_MS_MAX = 60_000
const WINDOW_MS = 8_000
const STEP_MS = 5
const FAULT_MS_MAX = 6_000
const PAUSE_MS = 2 * WINDOW_MS
const AGAIN_MS = PAUSE_MS + FAULT_MS_MAX + WINDOW_MS + 1_000
const timer = () => performance.now()

/** `end`: the server dies for good, and `leave`: it stops in order, unless it is the last one. */
type Fault = {
  fromMs: number
  toMs: number
  kind: 'hang' | 'kill' | 'cut' | 'end' | 'leave'
  server: number
}

/** Every promise that can go on without the clock does. */
async function drain(redis: VirtualRedis): Promise<void> {
  for (let turns = 0; turns < 3; turns++) {
    await redis.settle()
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  }
}

/** Servers that share windows through one virtual Redis, and the requests that they admit. */
async function startServers(redis: VirtualRedis, count: number, windowMs = WINDOW_MS) {
  const admittedMs: number[] = []
  const sentMs: number[] = []
  const servers: { windows: RateWindows; dispose: () => Promise<void> }[] = []
  for (let at = 0; at < count; at++) {
    const starting = shareWindows({
      url: '',
      server: `server-${at}`,
      timer,
      open: () => redis.open(`server-${at}`),
    })
    let shared: Awaited<typeof starting> | undefined
    void starting.then((found) => (shared = found))
    for (let ms = 0; shared === undefined && ms < 5_000; ms += STEP_MS) {
      jest.advanceTimersByTime(STEP_MS)
      await drain(redis)
    }
    const { share, dispose } = await starting
    servers.push({ windows: share('key', windowMs, createRateWindows(windowMs, 100)), dispose })
  }
  const alive = new Set(servers)
  return {
    admittedMs,
    sentMs,
    /** To one that is alive; what one was asked before it died is not answered. */
    request(server: number, limit: number): void {
      const own = [...alive][server % alive.size]
      sentMs.push(timer())
      void Promise.resolve(own?.windows.take('caller', limit, timer())).then((window) => {
        if (window?.isTaken && own && alive.has(own)) admittedMs.push(timer())
      })
    },
    end(server: number, isInOrder: boolean): void {
      const own = servers[server]
      if (own === undefined || alive.size === 1 || !alive.delete(own)) return
      // Nothing of it arrives any more.
      if (!isInOrder) redis.cut(`server-${server}`)
      void own.dispose()
    },
    async advance(ms: number): Promise<void> {
      for (let waited = 0; waited < ms; waited += STEP_MS) {
        jest.advanceTimersByTime(STEP_MS)
        await drain(redis)
      }
    },
    async dispose(): Promise<void> {
      for (const server of servers) void server.dispose()
      jest.advanceTimersByTime(1_000)
      await drain(redis)
    },
  }
}

/** How many requests are admitted of so many that come at once to one of those that are alive. */
async function askFor(
  servers: Awaited<ReturnType<typeof startServers>>,
  server: number,
  count: number,
  limit: number,
): Promise<number> {
  const before = servers.admittedMs.length
  for (let sent = 0; sent < count; sent++) servers.request(server, limit)
  await servers.advance(1_600)
  return servers.admittedMs.length - before
}

function drawFaults(random: Random, kinds: readonly Fault['kind'][], servers: number): Fault[] {
  return Array.from({ length: 1 + random.integer(3) }, () => {
    // In both halves, and never in the last part of the pause.
    const fromMs = random.integer(2 * WINDOW_MS) + random.pick([0, AGAIN_MS])
    const toMs = fromMs + 20 + random.integer(random.pick([300, 1_500, FAULT_MS_MAX]))
    return { fromMs, toMs, kind: random.pick(kinds), server: random.integer(servers) }
  })
}

async function apply(
  redis: VirtualRedis,
  servers: Awaited<ReturnType<typeof startServers>>,
  fault: Fault,
  isBeginning: boolean,
): Promise<void> {
  const server = `server-${fault.server}`
  if (fault.kind === 'end' || fault.kind === 'leave') {
    if (isBeginning) servers.end(fault.server, fault.kind === 'leave')
  } else if (fault.kind === 'cut') isBeginning ? redis.cut(server) : redis.heal(server)
  else if (fault.kind === 'hang') isBeginning ? redis.hang() : redis.wake()
  else if (isBeginning) redis.kill()
  else await redis.restart()
}

/** How many of these moments are within the length of a window from one on. */
const countFrom = (moments: readonly number[], fromMs: number): number =>
  moments.filter((ms) => fromMs <= ms && ms < fromMs + WINDOW_MS).length

type Case = { seed: string; kinds: readonly Fault['kind'][] }

/**
 * Requests of one caller, a pause of more than a window after the last fault, and requests again,
 * while faults come and go. Returns how many were admitted in the minutes that begin with the first
 * request and with the first one after the pause, and in all.
 */
async function play(url: string, { seed, kinds }: Case) {
  const random = createRandom(seed)
  const isLate = random.uniform() < 0.4
  const delayMs = () =>
    isLate && random.uniform() < 0.02 ? random.integer(400) : random.integer(8)
  const redis = await openVirtualRedis(url, { delayMs })
  const count = 1 + random.integer(4)
  const limit = random.pick([1, 2, 3, 7, 20, 61, 200])
  const servers = await startServers(redis, count)
  await servers.advance(400)
  const faults = drawFaults(random, kinds, count)
  const preferred = random.integer(count)
  const isSticky = random.uniform() < 0.6
  const rate = random.pick([0.2, 1, 4]) * (limit / WINDOW_MS) * STEP_MS
  const beginMs = timer()
  const isOn = new Set<Fault>()
  for (let ms = 0; ms < AGAIN_MS + 2 * WINDOW_MS; ms += STEP_MS) {
    for (const fault of faults) {
      const isDue = fault.fromMs <= ms && ms < fault.toMs
      if (isDue === isOn.has(fault)) continue
      if (isDue) isOn.add(fault)
      else isOn.delete(fault)
      await apply(redis, servers, fault, isDue)
    }
    const isPause = ms >= PAUSE_MS && ms < AGAIN_MS
    const burst = random.uniform() < 0.01 ? random.integer(limit + 1) : 0
    const wanted = isPause ? 0 : burst + Number(random.uniform() < rate)
    for (let sent = 0; sent < wanted; sent++) {
      servers.request(isSticky && random.uniform() < 0.9 ? preferred : random.integer(count), limit)
    }
    await servers.advance(STEP_MS)
  }
  await servers.dispose()
  redis.close()
  const { admittedMs, sentMs } = servers
  const secondMs = sentMs.find((ms) => ms >= beginMs + AGAIN_MS) ?? 0
  return {
    limit,
    share: Math.floor(limit / count),
    cut: new Set(faults.flatMap(({ kind, server }) => (kind === 'cut' ? server : []))).size,
    fresh: [countFrom(admittedMs, sentMs[0] ?? 0), countFrom(admittedMs, secondMs)],
    all: admittedMs.length,
  }
}

describe.skipIf(redisProgram === null)('limits while Redis is lost', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  const rounds = Array.from({ length: ROUNDS }, (_, round) => `${CUT_SEED}-${round}`)

  test(
    'behavior: when all servers lose Redis, they never admit more than the limit together',
    async () => {
      jest.useRealTimers()
      await using redis = await startRedis()
      jest.useFakeTimers()
      for (const seed of rounds) {
        const { limit, fresh, all } = await play(redis.url, { seed, kinds: ['hang', 'kill'] })
        expect(all, seed).toBeGreaterThan(0)
        expect(Math.max(...fresh), seed).toBeLessThanOrEqual(limit)
      }
    },
    ROUNDS * ROUND_MS_MAX,
  )

  test(
    'behavior: the same while servers end, by themselves or in order',
    async () => {
      jest.useRealTimers()
      await using redis = await startRedis()
      jest.useFakeTimers()
      for (const seed of rounds) {
        const kinds = ['hang', 'kill', 'end', 'end', 'leave'] as const
        const { limit, fresh, all } = await play(redis.url, { seed, kinds })
        expect(all, seed).toBeGreaterThan(0)
        expect(Math.max(...fresh), seed).toBeLessThanOrEqual(limit)
      }
    },
    ROUNDS * ROUND_MS_MAX,
  )

  test(
    'behavior: what a server admitted alone, and could not report before it died, no other admits',
    async () => {
      jest.useRealTimers()
      await using redis = await startRedis()
      jest.useFakeTimers()
      const virtual = await openVirtualRedis(redis.url, { delayMs: () => 2 })
      const servers = await startServers(virtual, 3, 60_000)
      await servers.advance(400)
      const ask = (server: number, count: number) => askFor(servers, server, count, 60)
      expect(await ask(0, 5)).toBe(5)
      virtual.hang()
      await servers.advance(1_000)
      expect(await ask(0, 60)).toBe(15)
      servers.end(0, false)
      virtual.wake()
      await servers.advance(3_000)
      expect([await ask(0, 60), await ask(1, 60)]).toEqual([40, 0])
      await servers.dispose()
      virtual.close()
    },
    ROUND_MS_MAX,
  )

  test(
    'behavior: a request that Redis may have taken counts while its answer is on its way',
    async () => {
      jest.useRealTimers()
      await using redis = await startRedis()
      jest.useFakeTimers()
      /** Of the next ways there and back. */
      const delaysMs: number[] = []
      const virtual = await openVirtualRedis(redis.url, { delayMs: () => delaysMs.shift() ?? 2 })
      const servers = await startServers(virtual, 1, 60_000)
      await servers.advance(400)
      expect(await askFor(servers, 0, 8, 10)).toBe(8)
      // Between two beats.
      await servers.advance(20)
      // The answer to the first is too late, so the server is alone; that to the second is not.
      for (const answerMs of [400, 195]) {
        delaysMs.push(2, answerMs)
        servers.request(0, 10)
        await servers.advance(60)
      }
      await servers.advance(110)
      servers.request(0, 10)
      await servers.advance(1_600)
      expect(servers.admittedMs.length).toBe(10)
      await servers.dispose()
      virtual.close()
    },
    ROUND_MS_MAX,
  )

  test.each([
    ['dies', false],
    ['stops in order', true],
  ])(
    'behavior: when a server %s, the others go on within the shares that they had',
    async (_, isInOrder) => {
      jest.useRealTimers()
      await using redis = await startRedis()
      jest.useFakeTimers()
      // Whether somebody asks between the end of the server and that of Redis, or not.
      for (const asked of [1, 0]) {
        const virtual = await openVirtualRedis(redis.url, { delayMs: () => 2 })
        const servers = await startServers(virtual, 3, 60_000)
        await servers.advance(400)
        const ask = (server: number, count: number) => askFor(servers, server, count, 60)
        expect([await ask(0, 9), await ask(1, 5)]).toEqual([9, 5])
        servers.end(0, isInOrder)
        // Longer than a server may be silent.
        await servers.advance(12_000)
        expect(await ask(0, asked)).toBe(asked)
        virtual.kill()
        await servers.advance(1_000)
        // The shares of those that are left: 20, less what each has admitted.
        expect([await ask(0, 60), await ask(1, 60)]).toEqual([15 - asked, 20])
        await servers.dispose()
        virtual.close()
      }
    },
    ROUNDS * ROUND_MS_MAX,
  )

  test(
    'behavior: a server that is cut off alone adds no more than its share',
    async () => {
      jest.useRealTimers()
      await using redis = await startRedis()
      jest.useFakeTimers()
      for (const seed of rounds) {
        const kinds = ['cut', 'cut', 'hang', 'kill'] as const
        const { limit, share, cut, fresh } = await play(redis.url, { seed, kinds })
        expect(Math.max(...fresh), seed).toBeLessThanOrEqual(limit + cut * share)
      }
    },
    ROUNDS * ROUND_MS_MAX,
  )
})
