/**
 * A Redis whose time is that of fake timers, behind a network that a test cuts and delays. The
 * scripts run in a real Redis: what they ask of its clock is replaced within the script.
 */
import { RedisClient } from 'bun'

import type { RedisConnection } from '#src/extensions/redis-limits/link.ts'

/** Runs before each script; the last value is the virtual time. */
const PRELUDE = `local real, virtual = redis, tonumber(table.remove(ARGV))
local function expire(key)
  local ends = real.call('HGET', 'virtual:ends', key)
  if not ends or tonumber(ends) > virtual then return ends end
  real.call('DEL', key)
  real.call('HDEL', 'virtual:ends', key)
end
local redis = { call = function(name, key, ...)
  if name == 'TIME' then
    return {tostring(math.floor(virtual / 1000)), tostring(virtual % 1000 * 1000)}
  end
  local ends = expire(key)
  if name == 'PEXPIRE' then return real.call('HSET', 'virtual:ends', key, virtual + ...) end
  if name ~= 'PTTL' then return real.call(name, key, ...) end
  if real.call('EXISTS', key) == 0 then return -2 end
  return ends and ends - virtual or -1
end }
`

type Network = {
  /** Milliseconds of one way. */
  delayMs(): number
}

type Work = () => void

export type VirtualRedis = Awaited<ReturnType<typeof openVirtualRedis>>

export async function openVirtualRedis(url: string, network: Network) {
  const client = new RedisClient(url)
  await client.send('FLUSHALL', [])
  let state: 'up' | 'hung' | 'dead' = 'up'
  let kills = 0
  let running = Promise.resolve()
  /** What has arrived at a Redis that hangs, or waits at a cut; by server. */
  const waiting: Work[] = []
  const scripts = new Map<string, string>()
  const held = new Map<string, Work[]>()

  /** Brings work over the network. */
  function carry(server: string, work: Work): void {
    const arrive = (): void => {
      const queue = held.get(server)
      if (queue === undefined) work()
      else queue.push(work)
    }
    setTimeout(arrive, network.delayMs())
  }

  function execute(work: () => Promise<void>): void {
    if (state === 'hung') waiting.push(() => execute(work))
    else running = running.then(work)
  }

  /** A connection of one server. What it has sent is executed even if it is closed since. */
  function open(server: string): RedisConnection {
    const openedAt = kills
    const isBroken = (): boolean => state === 'dead' || openedAt !== kills
    let isClosed = false
    let lastSent = Promise.resolve()

    const transmit = (words: string[], done: (reply: unknown, error?: unknown) => void): void => {
      const [digest = '', ...rest] = words
      const script = scripts.get(digest) ?? ''
      // One after the other, as on a TCP connection.
      const before = lastSent
      const { promise, resolve } = Promise.withResolvers<void>()
      lastSent = promise
      carry(server, () => {
        resolve()
        void before.then(() => {
          if (isBroken()) return carry(server, () => done(undefined, new Error('closed')))
          return execute(async () => {
            if (isBroken()) return
            const virtual = String(Math.floor(performance.now()) + 1_800_000_000_000)
            const reply = await client
              .send('EVAL', [PRELUDE + script, ...rest, virtual])
              .catch((error: unknown) => error)
            carry(server, () => (reply instanceof Error ? done(undefined, reply) : done(reply)))
          })
        })
      })
    }

    return {
      connect: () =>
        new Promise((resolve, reject) => {
          carry(server, () => {
            const answer = (): void =>
              state === 'dead' ? reject(new Error('refused')) : carry(server, resolve)
            if (state === 'hung') waiting.push(answer)
            else answer()
          })
        }),
      send: (command, words) =>
        new Promise((resolve, reject) => {
          const [, script = ''] = words
          if (command === 'SCRIPT') {
            scripts.set(new Bun.CryptoHasher('sha1').update(script).digest('hex'), script)
            return resolve(undefined)
          }
          if (isClosed || isBroken()) return reject(new Error('closed'))
          return transmit(words, (reply, error) => {
            if (isClosed) return
            if (error === undefined) resolve(reply)
            else reject(error)
          })
        }),
      close(): void {
        isClosed = true
      },
    }
  }

  return {
    open,
    /** Resolves when it has executed all that has arrived. */
    async settle(): Promise<void> {
      let before: Promise<void> | undefined
      while (before !== running) {
        before = running
        await running
      }
    },
    hang(): void {
      state = 'hung'
    },
    wake(): void {
      state = 'up'
      for (const work of waiting.splice(0)) work()
    },
    kill(): void {
      state = 'dead'
      kills++
    },
    /** What it held is gone. */
    async restart(): Promise<void> {
      await client.send('FLUSHALL', [])
      waiting.length = 0
      state = 'up'
    },
    cut: (server: string) => void held.set(server, []),
    heal(server: string): void {
      const queue = held.get(server) ?? []
      held.delete(server)
      for (const work of queue) work()
    },
    close: () => client.close(),
  }
}
