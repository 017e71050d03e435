/** Limits over several servers, on a real Redis. */
import { describe, expect, test } from 'bun:test'

import { redisMetrics } from '#src/extensions/redis-limits/metrics.ts'
import { shareWindows } from '#src/extensions/redis-limits/shared-windows.ts'
import { createRateWindows } from '#src/platform/rate-windows.ts'

import { startCuttingProxy } from '../../support/cutting-proxy.ts'
import { redisProgram, startRedis } from '../../support/engines/redis.ts'
import { parseExposition } from '../../support/exposition.ts'

const WINDOW_MS = 60_000
const timer = () => performance.now()

/** One of several servers, with its windows of keys. */
async function startServer(url: string, server: string, windowMs = WINDOW_MS) {
  const said: string[] = []
  const shared = await shareWindows({ url, server, timer, say: (line) => said.push(line) })
  const own = createRateWindows(windowMs, 100)
  const windows = shared.share('key', windowMs, own)
  return {
    said,
    windows,
    isUp: shared.isUp,
    take: (key: string, limit: number) => windows.take(key, limit, timer()),
    [Symbol.asyncDispose]: shared.dispose,
  }
}

type Server = Awaited<ReturnType<typeof startServer>>

/** How many of `count` requests pass that come at once, spread over servers. */
async function passing(servers: readonly Server[], [key, limit]: [string, number], count: number) {
  const all = Array.from({ length: count }, (_, at) =>
    servers[at % servers.length]?.take(key, limit),
  )
  return (await Promise.all(all)).filter((window) => window?.isTaken).length
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let waits = 0; !isTrue() && waits < 200; waits++) await Bun.sleep(20)
  expect(isTrue()).toBe(true)
}

describe.skipIf(redisProgram === null)('shareWindows', () => {
  test('default: three servers let exactly 600 of 5,000 requests pass, 1,000 of which come at once', async () => {
    await using redis = await startRedis()
    await using a = await startServer(redis.url, 'a')
    await using b = await startServer(redis.url, 'b')
    await using c = await startServer(redis.url, 'c')
    await Bun.sleep(300)
    let passed = 0
    for (let burst = 0; burst < 5; burst++) {
      passed += await passing([a, b, c], ['key', 600], 1_000)
    }
    expect(passed).toBe(600)
    // Any other key is untouched, and so is the same one under a larger limit.
    expect((await b.take('other', 600)).used).toBe(1)
    expect(await c.take('key', 601)).toMatchObject({ used: 601, isTaken: true })
    expect(await a.windows.find('key', timer())).toMatchObject({ used: 601 })
    expect(await a.windows.find('nobody', timer())).toBeUndefined()
  })

  test('behavior: a window begins with its first request, and waiting for its end is enough', async () => {
    await using redis = await startRedis()
    await using a = await startServer(redis.url, 'a', 1_000)
    await using b = await startServer(redis.url, 'b', 1_000)
    for (let window = 0; window < 3; window++) {
      const begunMs = timer()
      expect((await a.take('key', 1)).isTaken).toBe(true)
      const refused = await b.take('key', 1)
      expect(refused.isTaken).toBe(false)
      expect(refused.endMs - begunMs).toBeGreaterThanOrEqual(1_000)
      expect(refused.endMs - timer()).toBeLessThanOrEqual(1_001)
      // A timer may be early.
      while (timer() < refused.endMs) await Bun.sleep(1)
    }
  })

  test('behavior: without Redis each admits its part, from what was used on, and it comes back by itself', async () => {
    await using redis = await startRedis()
    await using a = await startServer(redis.url, 'a')
    await using b = await startServer(redis.url, 'b')
    await using c = await startServer(redis.url, 'c')
    const servers = [a, b, c]
    // Each knows of the two others by its next beat.
    await Bun.sleep(600)
    expect(await passing(servers, ['used', 100], 30)).toBe(30)
    await redis.kill()
    await until(() => servers.every(({ isUp }) => !isUp()))
    // 33 each of what is new; 33 less the ten that each has taken of what was used.
    expect(await passing(servers, ['new', 100], 1_000)).toBe(99)
    expect(await passing(servers, ['used', 100], 1_000)).toBe(69)
    const refused = await a.take('new', 100)
    expect([refused.isTaken, refused.used]).toEqual([false, 100])
    expect(a.said.join()).toContain('1/3 of each limit')

    // Nobody has more of the minute that runs, and as its counts are lost, others get shares.
    await redis.restart()
    await until(() => servers.every(({ said }) => said.length === 2))
    expect(await passing(servers, ['new', 100], 1_000)).toBe(0)
    expect(await passing(servers, ['later', 100], 1_000)).toBe(99)
  })

  test('behavior: after a minute a Redis that has lost its counts is used again', async () => {
    await using redis = await startRedis()
    await using a = await startServer(redis.url, 'a', 1_000)
    await using b = await startServer(redis.url, 'b', 1_000)
    await Bun.sleep(300)
    await redis.kill()
    await redis.restart()
    await until(() => [a, b].every(({ said }) => said.length === 2))
    expect(a.said.join()).toContain('It has lost its counts')
    expect(await passing([a], ['key', 10], 100)).toBe(5)
    await Bun.sleep(1_100)
    expect(await passing([a], ['key', 10], 100)).toBe(10)
    expect(await passing([b], ['key', 10], 100)).toBe(0)
  })

  test('behavior: what one server admitted beyond its share is not admitted again while Redis hangs, nor after it', async () => {
    await using redis = await startRedis()
    await using a = await startServer(redis.url, 'a')
    await using b = await startServer(redis.url, 'b')
    await using c = await startServer(redis.url, 'c')
    const servers = [a, b, c]
    await Bun.sleep(300)
    expect(await passing([a], ['key', 600], 500)).toBe(500)
    expect(await passing([a], ['little', 600], 100)).toBe(100)
    redis.hang()
    await until(() => servers.every(({ isUp }) => !isUp()))
    // Refused until the minute is over; who used less than a share goes on within shares.
    expect(await passing(servers, ['key', 600], 1_000)).toBe(0)
    expect(await passing(servers, ['little', 600], 3_000)).toBe(500)
    const window = await b.windows.find('key', timer())
    expect(window?.used).toBeGreaterThan(600)
    expect(Number(window?.endMs) - timer()).toBeLessThan(WINDOW_MS)
    redis.wake()
    await until(() => servers.every(({ isUp }) => isUp()))
    expect(await passing(servers, ['key', 600], 1_000)).toBeLessThanOrEqual(100)
    expect(await passing(servers, ['little', 600], 1_000)).toBe(0)
  })

  test('behavior: a server that alone is cut off from Redis adds its share at most', async () => {
    await using redis = await startRedis()
    const proxy = await startCuttingProxy(Number(new URL(redis.url).port))
    await using a = await startServer(redis.url, 'a')
    await using b = await startServer(proxy.origin.replace('http', 'redis'), 'b')
    await Bun.sleep(300)
    proxy.refuse(true)
    await until(() => !b.isUp())
    const [others, alone] = await Promise.all([
      passing([a], ['key', 600], 1_000),
      passing([b], ['key', 600], 1_000),
    ])
    expect([others, alone]).toEqual([600, 300])
    proxy.refuse(false)
    await until(b.isUp)
    expect(await passing([a, b], ['key', 600], 100)).toBe(0)
    proxy.stop()
  })

  test('error: one that keeps connections and answers nothing delays a request once, and no longer than 0.2 s', async () => {
    await using redis = await startRedis()
    await using a = await startServer(redis.url, 'a')
    const measured = async () => {
      const { samples } = parseExposition((await redisMetrics.print()).join('\n'))
      const [isUp, answers = 0, failures = 0] = [
        'up',
        'request_duration_seconds_count',
        'request_failures_total',
      ].map((name) => samples.get(`bookfeed_redis_${name}`))
      return { isUp, answers, failures }
    }
    const well = await measured()
    expect(well.isUp).toBe(1)
    expect(well.answers).toBeGreaterThan(0)
    redis.hang()
    expect((await a.take('key', 10)).isTaken).toBe(true)
    // Each would wait for the 0.2 s of the first, one after another.
    const againMs = timer()
    for (let take = 0; take < 100; take++) await a.take('other', 10)
    expect(timer() - againMs).toBeLessThan(100 * 200)
    expect(await passing([a], ['key', 10], 100)).toBe(9)
    const hung = await measured()
    expect(hung.isUp).toBe(0)
    expect(hung.failures).toBeGreaterThan(well.failures)
    redis.wake()
    await until(a.isUp)
    expect((await measured()).isUp).toBe(1)
  })

  test('error: one that was silent for seconds, and one that is killed meanwhile, are used again', async () => {
    await using redis = await startRedis()
    await using a = await startServer(redis.url, 'a')
    for (const end of ['wake', 'kill']) {
      redis.hang()
      await until(() => !a.isUp())
      // Longer than a connection is waited for, several times.
      await Bun.sleep(3_500)
      expect(a.isUp()).toBe(false)
      expect((await a.take(end, 10)).isTaken).toBe(true)
      if (end === 'wake') redis.wake()
      else {
        await redis.kill()
        await redis.restart()
      }
      await until(() => a.said.at(-1)?.includes('answers again') === true)
    }
  }, 60_000)

  test('error: one that may not be written for a while', async () => {
    await using redis = await startRedis()
    await using a = await startServer(redis.url, 'a')
    const operator = new Bun.RedisClient(redis.url)
    const commands = [
      ['REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE'],
      ['CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0'],
    ] as const
    const say = (command: string) => {
      const [word = '', ...rest] = command.split(' ')
      return operator.send(word, rest)
    }
    for (const [cause, end] of commands) {
      await say(cause)
      await until(() => !a.isUp())
      expect((await a.take(cause, 10)).isTaken).toBe(true)
      await say(end)
      await until(a.isUp)
    }
    operator.close()
  })

  test('error: one that is not there when a server starts', async () => {
    const redis = await startRedis()
    await redis.kill()
    await using a = await startServer(redis.url, 'a')
    expect(a.isUp()).toBe(false)
    expect(await passing([a], ['key', 10], 100)).toBe(10)
    await redis.restart()
    await until(a.isUp)
    await redis.kill()
  })

  test('behavior: a server that stops leaves its part to the others', async () => {
    await using redis = await startRedis()
    await using a = await startServer(redis.url, 'a')
    {
      await using _b = await startServer(redis.url, 'b')
      await Bun.sleep(600)
    }
    await Bun.sleep(600)
    await redis.kill()
    await until(() => !a.isUp())
    expect(await passing([a], ['key', 100], 1_000)).toBe(100)
  })
})

test.each(['src/extensions/redis-limits/shared-windows.ts', 'ARCHITECTURE.md', 'docs/scale.md'])(
  'default: %s says what is chosen without Redis, in the same sentence',
  async (file) => {
    const text = await Bun.file(new URL(`../../../${file}`, import.meta.url)).text()
    expect(text.replace(/\s+(?:\* )?/g, ' ')).toContain(
      'While a server cannot reach Redis, exactness goes before availability: it admits its share of each limit, and refuses until its minute is over a caller whose requests it cannot count.',
    )
  },
)
