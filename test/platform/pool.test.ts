import { afterEach, describe, expect, test } from 'bun:test'

import { isFault } from '#src/platform/fault.ts'
import { createPool, type Pool } from '#src/platform/pool/pool.ts'
import { createFairQueue } from '#src/platform/pool/queue.ts'

import { taskWorker } from '../support/pool-tasks.ts'

const paying = { owner: 'a', level: 0 }
const free = { owner: 'b', level: 1 }

const pools: Pool[] = []
function openPool(threadsMax = 1) {
  let started = 0
  const pool = createPool({
    threadsMax,
    start: (cancelled, receive) => {
      started++
      return taskWorker.start(cancelled, receive)
    },
    toError: (fault) => new Error(String(fault)),
  })
  pools.push(pool)
  const run = (name: string, given?: unknown, signal?: AbortSignal, by = paying) =>
    pool.run(by, { name, given, moment: 5 }, signal)
  const stream = (name: string, given?: unknown) => pool.stream(paying, { name, given, moment: 5 })
  return { pool, run, stream, started: () => started }
}
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.dispose()))
})

/** A cell that threads share. */
const openCell = () => new Int32Array(new SharedArrayBuffer(4))
const untilSet = async (cells: Int32Array) => {
  while (Atomics.load(cells, 0) === 0) await Bun.sleep(1)
}

describe('createFairQueue', () => {
  test('default: owners of a level take turns', () => {
    const queue = createFairQueue<string>()
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1'])
      queue.put({ owner: name.slice(0, 1), level: 0 }, name)
    const taken = Array.from({ length: 6 }, () => queue.take())
    expect(taken).toEqual(['a1', 'b1', 'c1', 'a2', 'a3', undefined])
  })

  test('behavior: a level is served three times before the next has a turn', () => {
    const queue = createFairQueue<string>()
    for (let each = 0; each < 9; each++) {
      queue.put({ owner: 'paying', level: 0 }, 'paying')
      queue.put({ owner: 'free', level: 1 }, 'free')
      queue.put({ owner: 'guest', level: 2 }, 'guest')
    }
    const taken = Array.from({ length: 12 }, () => queue.take())
    const countOf = (level: string) => taken.filter((each) => each === level).length
    expect([countOf('paying'), countOf('free'), countOf('guest')]).toEqual([9, 3, 0])
    expect(taken.slice(0, 4)).toEqual(['paying', 'paying', 'paying', 'free'])
    const rest = Array.from({ length: 15 }, () => queue.take())
    expect(rest.filter((each) => each === 'guest').length).toBe(9)
    expect(rest.slice(0, 4)).toEqual(['guest', 'free', 'free', 'free'])
    expect(queue.size).toBe(0)
  })

  test('behavior: what does not fit stays, and what is removed is not taken', () => {
    const queue = createFairQueue<string>()
    for (const name of ['x', 'y', 'z']) queue.put(paying, name)
    expect(queue.take((name) => name === 'z')).toBe('z')
    expect([queue.remove('x'), queue.remove('x')]).toEqual([true, false])
    expect([queue.take(), queue.take()]).toEqual(['y', undefined])
  })
})

describe('createPool', () => {
  test('default: runs a task with what it is given, and moves its bytes', async () => {
    const { run, started } = openPool()
    expect(started()).toBe(0)
    expect(await run('echo', { of: 'us' })).toEqual({ given: { of: 'us' }, moment: 5 })
    const { body } = (await run('bytes', 3)) as { body: Uint8Array }
    expect([...body]).toEqual([7, 7, 7])
    expect(started()).toBe(1)
  })

  test('error: a task that fails does so alone', async () => {
    const { run, started } = openPool()
    expect(await run('fail').catch(String)).toBe('Error: As ordered.')
    expect(await run('unknown').catch(String)).toBe('Error: No task has the name unknown.')
    expect(await run('echo')).toEqual({ given: undefined, moment: 5 })
    expect(started()).toBe(1)
  })

  test.each(['exit', 'throw'])(
    'error: a thread that dies (%s) ends what it has, and another takes the rest',
    async (end) => {
      const { run, stream, started } = openPool()
      const pieces = stream('pieces', 3)
      await pieces.next()
      const dying = run(end).catch((error: unknown) => error)
      const next = pieces.next().catch((error: unknown) => error)
      const after = run('echo', 'after')
      expect(isFault(await dying, 'thread', 'thread_ended')).toBe(true)
      expect(isFault(await next, 'thread', 'thread_ended')).toBe(true)
      expect(await after).toEqual({ given: 'after', moment: 5 })
      expect(started()).toBe(2)
    },
  )

  test('behavior: makes a piece of a stream when it is asked for', async () => {
    const { run, stream } = openPool()
    const pieces = stream('pieces', 3)
    expect(await pieces.next()).toEqual({ done: false, value: new Uint8Array(4).fill(0) })
    expect(await run('counts')).toEqual({ made: 1, closed: 0 })
    expect(await pieces.next()).toEqual({ done: false, value: new Uint8Array(4).fill(1) })
    await pieces.return()
    expect(await run('counts')).toEqual({ made: 2, closed: 1 })
  })

  test('behavior: a stream ends, and one that fails says why', async () => {
    const { pool, stream } = openPool()
    const seen: unknown[] = []
    for await (const piece of stream('pieces', 2)) seen.push(piece)
    expect(seen.length).toBe(2)
    expect(pool.counts()).toEqual({ made: 2 })
    const broken = stream('broken')
    expect((await broken.next()).value).toBe('first')
    expect(await broken.next().catch(String)).toBe('Error: As ordered.')
  })

  test('behavior: a turn that waits for something elsewhere lets others begin', async () => {
    const { run } = openPool()
    const cells = openCell()
    const fetching = run('fetch', cells)
    expect(await run('echo', 'meanwhile')).toEqual({ given: 'meanwhile', moment: 5 })
    Atomics.store(cells, 0, 1)
    expect(await fetching).toBe('fetched')
  })

  test('behavior: a task that is cancelled ends, whether it waits or runs', async () => {
    const { run, pool } = openPool()
    const cells = openCell()
    const running = new AbortController()
    const endless = run('endless', cells, running.signal).catch(String)
    await untilSet(cells)
    const waiting = new AbortController()
    const queued = run('echo', 1, waiting.signal).catch(String)
    expect(pool.waiting()).toBe(1)
    waiting.abort('gone')
    expect(await queued).toBe('gone')
    expect(pool.waiting()).toBe(0)
    running.abort('left')
    expect(await endless).toBe('left')
    // It would never have a turn if the other went on.
    expect(await run('echo', 2)).toEqual({ given: 2, moment: 5 })
  })

  test('behavior: as many threads begin as are needed, up to a number', async () => {
    const { run, started } = openPool(2)
    const cells = openCell()
    const stop = new AbortController()
    const endless = [openCell(), cells].map((each) => run('endless', each, stop.signal))
    const all = Promise.allSettled(endless)
    await untilSet(cells)
    const third = run('echo', 3)
    expect(started()).toBe(2)
    stop.abort()
    await all
    expect(await third).toEqual({ given: 3, moment: 5 })
    expect(started()).toBe(2)
  })

  test('behavior: of what waits, paying accounts have three turns of four', async () => {
    const { run } = openPool()
    const cells = openCell()
    const stop = new AbortController()
    const endless = run('endless', cells, stop.signal).catch(() => {})
    await untilSet(cells)
    const order: string[] = []
    const note = (name: string, by: typeof paying) =>
      run('echo', name, undefined, by).then(() => order.push(name))
    const all = [
      ...Array.from({ length: 4 }, () => note('free', free)),
      ...Array.from({ length: 6 }, () => note('paying', paying)),
    ]
    stop.abort()
    await Promise.all([endless, ...all])
    expect(order.slice(0, 4)).toEqual(['paying', 'paying', 'paying', 'free'])
  })

  test('idle: a pool that is disposed of ends what waits and what runs', async () => {
    const { run, pool } = openPool()
    const cells = openCell()
    const endless = run('endless', cells).catch((error: unknown) => error)
    await untilSet(cells)
    const waiting = run('echo').catch((error: unknown) => error)
    await pool.dispose()
    expect(isFault(await endless, 'thread_ended')).toBe(true)
    expect(isFault(await waiting, 'thread_ended')).toBe(true)
    expect(isFault(await run('echo').catch((error: unknown) => error), 'thread_ended')).toBe(true)
  })
})
