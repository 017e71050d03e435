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

type Fault = { fromMs: number; toMs: number; kind: 'hang' | 'kill' | 'cut'; server: number }

/** Every promise that can go on without the clock does. */
async function drain(redis: VirtualRedis): Promise<void> {
  for (let turns = 0; turns < 3; turns++) {
    await redis.settle()
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  }
}

/** Servers that share windows through one virtual Redis, and the requests that they admit. */
async function startServers(redis: VirtualRedis, count: number) {
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
    servers.push({ windows: share('key', WINDOW_MS, createRateWindows(WINDOW_MS, 100)), dispose })
  }
  return {
    admittedMs,
    sentMs,
    request(server: number, limit: number): void {
      sentMs.push(timer())
      const asked = Promise.resolve(servers[server]?.windows.take('caller', limit, timer()))
      void asked.then((window) => {
        if (window?.isTaken) admittedMs.push(timer())
      })
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

function drawFaults(random: Random, kinds: readonly Fault['kind'][], servers: number): Fault[] {
  return Array.from({ length: 1 + random.integer(3) }, () => {
    // In both halves, and never in the last part of the pause.
    const fromMs = random.integer(2 * WINDOW_MS) + random.pick([0, AGAIN_MS])
    const toMs = fromMs + 20 + random.integer(random.pick([300, 1_500, FAULT_MS_MAX]))
    return { fromMs, toMs, kind: random.pick(kinds), server: random.integer(servers) }
  })
}

async function apply(redis: VirtualRedis, fault: Fault, isBeginning: boolean): Promise<void> {
  const server = `server-${fault.server}`
  if (fault.kind === 'cut') isBeginning ? redis.cut(server) : redis.heal(server)
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
      await apply(redis, fault, isDue)
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
