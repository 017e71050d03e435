import { expect, test } from 'bun:test'
import { Worker } from 'node:worker_threads'

import { createConcurrencyLimit } from '#src/platform/concurrency-limit.ts'
import {
  createSharedRateWindows,
  makeChoiceMemory,
  makeConcurrencyMemory,
  makeRateMemory,
  openSharedChoice,
  openSharedCounts,
} from '#src/server/threads/shared-memory.ts'

const THREADS = 3
const TRIES = 20_000

/** Runs a script in threads at the same time; resolves with what each of them posts. */
const inThreads = (script: string, memory: SharedArrayBuffer): Promise<number[]> =>
  Promise.all(
    Array.from({ length: THREADS }, (_, thread) => {
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      const root = new URL('../../../src/', import.meta.url).pathname
      const workerData = { memory, thread, tries: TRIES, root }
      const worker = new Worker(script, { eval: true, workerData })
      worker.on('message', resolve).on('error', reject)
      return promise.finally(() => worker.terminate())
    }),
  )

test('behavior: threads that take from the same windows take exactly the limit', async () => {
  const memory = makeRateMemory(100, 7)
  const script = `
    const { parentPort, workerData: { memory, tries, root } } = require('node:worker_threads')
    const { createSharedRateWindows } = require(root + 'server/threads/shared-memory.ts')
    const windows = createSharedRateWindows(60_000, memory)
    let passed = 0
    for (let i = 0; i < tries; i++) if (windows.take('key ' + i % 10, 1234, 1).isTaken) passed++
    parentPort.postMessage(passed)`
  const passed = await inThreads(script, memory)
  expect(passed.reduce((sum, count) => sum + count, 0)).toBe(10 * 1234)
  expect(createSharedRateWindows(60_000, memory).find('key 3', 2)?.used).toBe(1234)
})

test('behavior: places of a thread that has ended are given back, those of others are not', async () => {
  const memory = makeConcurrencyMemory(THREADS, 7)
  const script = `
    const { parentPort, workerData: { memory, thread, root } } = require('node:worker_threads')
    const { createConcurrencyLimit } = require(root + 'platform/concurrency-limit.ts')
    const { openSharedCounts } = require(root + 'server/threads/shared-memory.ts')
    const places = createConcurrencyLimit({ rooms: [{ max: 100 }] }, openSharedCounts(memory, thread))
    let taken = 0
    while (typeof places.open({ owner: 'acc_1', ownMax: 20 }) !== 'string') taken++
    parentPort.postMessage(taken)`
  const taken = await inThreads(script, memory)
  expect(taken.reduce((sum, count) => sum + count, 0)).toBe(20)
  const places = createConcurrencyLimit({ rooms: [{ max: 21 }] }, openSharedCounts(memory, 1))
  expect(places.open({ owner: 'acc_1', ownMax: 20 })).toBe('account')
  const mine = places.open({ owner: 'acc_2', ownMax: 20 })
  expect(places.open({ owner: 'acc_3', ownMax: 20 })).toBe('all')
  for (const thread of [0, 2]) places.clear(thread)
  const left = 20 - (taken[0] ?? 0) - (taken[2] ?? 0)
  let more = 0
  while (typeof places.open({ owner: 'acc_1', ownMax: 20 }) !== 'string') more++
  expect(more).toBe(20 - left)
  if (typeof mine === 'function') for (const _ of [1, 2]) mine()
  expect(places.open({ owner: 'acc_3', ownMax: 20 })).toBeFunction()
  expect(places.open({ owner: 'acc_4', ownMax: 20 })).toBe('all')
})

test('behavior: a thread that died with the lock stops nobody for longer than its wait', () => {
  const memory = makeRateMemory(10, 7)
  new Int32Array(memory)[0] = 1
  expect(createSharedRateWindows(60_000, memory).take('key', 1, 1)?.used).toBe(1)
  expect(new Int32Array(memory)[0]).toBe(0)
})

test('behavior: threads that choose at once have one choice, which only its reader replaces', async () => {
  const memory = makeChoiceMemory(7)
  const script = `
    const { parentPort, workerData: { memory, thread, root } } = require('node:worker_threads')
    const { openSharedChoice } = require(root + 'server/threads/shared-memory.ts')
    const id = '0x' + String(thread + 1).padStart(64, 'a0')
    parentPort.postMessage(Number(openSharedChoice(memory).replace(undefined, id).at(-1)))`
  const chosen = await inThreads(script, memory)
  expect(new Set(chosen).size).toBe(1)
  const { read, replace } = openSharedChoice(memory)
  const first = read()
  expect(first).toBe(`0x${String(chosen[0]).padStart(64, 'a0')}`)
  const other = `0x${'0'.repeat(63)}f`
  expect(replace(undefined, other)).toBe(String(first))
  expect(replace(first, other)).toBe(other)
  expect(read()).toBe(other)
})
