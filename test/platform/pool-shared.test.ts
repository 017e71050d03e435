/** A pool as threads see it that do not own it. */
import { afterEach, describe, expect, test } from 'bun:test'

import { createPool, type Pool } from '#src/platform/pool/pool.ts'
import { connectPool, type PoolAsk, sharePool } from '#src/platform/pool/shared.ts'

import { taskWorker } from '../support/pool-tasks.ts'

const by = { owner: 'a', level: 0 }

let pool: Pool | undefined
afterEach(async () => {
  await pool?.dispose()
})

/** A pool of one thread, and what another thread has of it. Messages are copied or moved. */
function openShared() {
  const owned = createPool({
    threadsMax: 1,
    start: (cancelled, receive) => taskWorker.start(cancelled, receive),
    toError: (fault) => new Error(String(fault)),
  })
  pool = owned
  const owner = sharePool(owned, String)
  async function ask(message: PoolAsk) {
    const moved: ArrayBuffer[] = []
    const reply = await owner.answer(message, moved)
    return structuredClone(reply ?? { isDone: true }, { transfer: moved })
  }
  const { run, stream } = connectPool({
    ask,
    send: (message) => void ask(message),
    toError: (fault) => new Error(String(fault)),
  })
  return {
    owner,
    owned,
    run: (name: string, given?: unknown, signal?: AbortSignal) =>
      run(by, { name, given, moment: 5 }, signal),
    stream: (name: string, given?: unknown) => stream(by, { name, given, moment: 5 }),
  }
}

/** A cell that threads share. */
const openCell = () => new Int32Array(new SharedArrayBuffer(4))
const untilSet = async (cells: Int32Array) => {
  while (Atomics.load(cells, 0) === 0) await Bun.sleep(1)
}

describe('sharePool', () => {
  test('default: runs tasks with their arguments, and moves bytes and errors', async () => {
    const { run } = openShared()
    expect(await run('echo', { of: 'us' })).toEqual({ given: { of: 'us' }, moment: 5 })
    const { body } = (await run('bytes', 3)) as { body: Uint8Array }
    expect([...body]).toEqual([7, 7, 7])
    expect(await run('fail').catch(String)).toBe('Error: Error: As ordered.')
  })

  test('behavior: makes a piece of a stream when it is asked for, and closes it when it is left', async () => {
    const { run, stream } = openShared()
    const pieces = stream('pieces', 3)
    expect(await pieces.next()).toEqual({ done: false, value: new Uint8Array(4).fill(0) })
    expect(await run('counts')).toEqual({ made: 1, closed: 0 })
    expect(await pieces.next()).toEqual({ done: false, value: new Uint8Array(4).fill(1) })
    await pieces.return()
    expect(await run('counts')).toEqual({ made: 2, closed: 1 })
    const seen: unknown[] = []
    for await (const piece of stream('pieces', 2)) seen.push(piece)
    expect(seen).toHaveLength(2)
  })

  test('behavior: a task that is cancelled ends, whether it waits or runs', async () => {
    const { run, owned } = openShared()
    const cells = openCell()
    const running = new AbortController()
    const endless = run('endless', cells, running.signal).catch(String)
    await untilSet(cells)
    const waiting = new AbortController()
    const queued = run('echo', 1, waiting.signal).catch(String)
    expect(owned.waiting()).toBe(1)
    waiting.abort()
    expect(await queued).toContain('cancelled')
    expect(owned.waiting()).toBe(0)
    running.abort()
    expect(await endless).toContain('cancelled')
    expect(await run('echo', 2)).toEqual({ given: 2, moment: 5 })
  })

  test('error: what a thread asked for ends with it', async () => {
    const { owner, owned, run, stream } = openShared()
    const pieces = stream('pieces', 3)
    await pieces.next()
    const cells = openCell()
    const endless = run('endless', cells).catch(String)
    await untilSet(cells)
    owner.dispose()
    expect(await endless).toContain('cancelled')
    const counts = await owned.run(by, { name: 'counts', given: undefined, moment: 5 })
    expect(counts).toEqual({ made: 1, closed: 1 })
  })
})
