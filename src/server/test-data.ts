/** The files of test data: a thread makes them once in a data folder, then they are only read. */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { Log } from '#src/platform/log.ts'
import { codeOf, sentenceOf } from '#src/platform/message.ts'
import { defineWorker, type Parent } from '#src/platform/worker.ts'
import {
  makeTestDay,
  type TestDayPart,
  type TestStore,
  testStores,
} from '#src/simulator/test-day.ts'

import type { CliContext } from './extension.ts'
import { roomFault } from './room.ts'

/** Rises with what is made or how it is stored, so that older files are made again. */
const FORMAT = 3
const FOLDER = `test-data-${FORMAT}`
/** Of each file. */
const CACHE_BYTES = 4 * 1024 * 1024

export const testFolderOf = (dataPath: string): string => join(dataPath, FOLDER)
export const hasTestData = (dataPath: string): boolean =>
  testStores.every((store) => hasStore(dataPath, store))
export const hasStore = (dataPath: string, store: TestStore): boolean =>
  existsSync(storePathOf(testFolderOf(dataPath), store))

const folderName = /^test-data-\d+(?:\.(\d+)\.making)?$/

/** Of another format, or of a process that ended while it made them; this one has not begun. */
function removeLeft(dataPath: string): void {
  for (const name of readdirSync(dataPath)) {
    const found = folderName.exec(name)
    const pid = Number(found?.[1] ?? process.pid)
    if (found === null || name === FOLDER || (pid !== process.pid && isAlive(pid))) continue
    rmSync(join(dataPath, name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // It is another user's.
    return codeOf(error) === 'EPERM'
  }
}

const storePathOf = (folder: string, store: TestStore): string => join(folder, `${store}.db`)

/** Makes these files, one after the other; a file is whole when it has its name. */
export function* makeFiles(
  dataPath: string,
  stores: readonly TestStore[],
  part?: TestDayPart,
): Generator<number, void> {
  const making = `${testFolderOf(dataPath)}.${process.pid}.making`
  removeLeft(dataPath)
  mkdirSync(making, { recursive: true, mode: 0o700 })
  try {
    for (const [done, store] of stores.entries()) {
      const path = storePathOf(making, store)
      const history = openHistory(path)
      try {
        for (const share of makeTestDay({ [store]: history }, part)) {
          yield (done + share) / stores.length
        }
      } finally {
        history.dispose()
      }
      mkdirSync(testFolderOf(dataPath), { recursive: true, mode: 0o700 })
      // Another process may have made the same.
      if (!hasStore(dataPath, store)) renameSync(path, storePathOf(testFolderOf(dataPath), store))
    }
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
}

/** Opens each store that was made when it is first asked for; undefined where it was not. */
export function openTestData(dataPath: string) {
  const options = { isReadOnly: true, chunkCacheBytes: CACHE_BYTES, lagMs: LAG_MS }
  const opened = new Map<TestStore, MarketHistory>()
  return {
    open(store: TestStore): MarketHistory | undefined {
      const known = opened.get(store)
      if (known !== undefined || !hasStore(dataPath, store)) return known
      const history = openHistory(storePathOf(testFolderOf(dataPath), store), options)
      opened.set(store, history)
      return history
    },
    dispose(): void {
      for (const history of opened.values()) history.dispose()
    },
  }
}

/** No process writes to these files. */
const LAG_MS = 60_000
/** After a failure the next caller makes the thread try again. */
const RETRY_MS = 60_000
/** How long a request waits for data that are being made, well within any client's patience. */
const HOLD_MS = 10_000
/** Requests that wait so at a time; one more is refused at once. */
const HELD_MAX = 64
const SECOND_MS = 1000

type Start = { dataPath: string; store: TestStore; part?: TestDayPart | undefined }

type MakerDeps = {
  timer: Clock
  log: Log
  /** What is made; less than everything for tests. */
  part?: TestDayPart
}

/** The test data of a server: a thread makes one file at a time, on request. */
export function createTestData(context: CliContext, { timer, log, part }: MakerDeps) {
  const { dataPath } = context.config()
  const data = openTestData(dataPath)
  /** The first one is being made. */
  const queue: TestStore[] = []
  const waiting = new Set<() => void>()
  let startedMs = 0
  let share = 0
  let failedMs = Number.NEGATIVE_INFINITY

  function wakeAll(): void {
    for (const wake of waiting) wake()
  }

  function fail(error: unknown): void {
    queue.length = 0
    failedMs = timer()
    log(`bookfeed: cannot make the test data: ${sentenceOf(error)}`, 'error')
    wakeAll()
  }

  function makeNext(): void {
    const [store] = queue
    if (store === undefined) return
    const fault = roomFault(context, dataPath)
    if (fault !== undefined) {
      fail(fault)
      return
    }
    startedMs = timer()
    share = 0
    const thread = testDataWorker.start({ dataPath, store, part }, (done) => {
      share = done
    })
    void thread.result.then(finish, fail)
  }

  function finish(): void {
    queue.shift()
    wakeAll()
    makeNext()
  }

  function request(store: TestStore): void {
    if (hasStore(dataPath, store) || queue.includes(store)) return
    if (timer() - failedMs < RETRY_MS) return
    queue.push(store)
    if (queue.length === 1) makeNext()
  }

  return {
    open: data.open,

    /** Has a store made unless it is there. */
    request,

    /** Has a store made, and waits for it a while; it may not be there even then. */
    async hold(store: TestStore): Promise<void> {
      request(store)
      const untilMs = timer() + HOLD_MS
      while (queue.includes(store) && timer() < untilMs && waiting.size < HELD_MAX) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timeout = setTimeout(resolve, untilMs - timer())
        waiting.add(resolve)
        await promise
        waiting.delete(resolve)
        clearTimeout(timeout)
      }
    },

    /** Seconds until a store will be there, by how fast it is being made. */
    secondsLeft(store: TestStore): number {
      const position = queue.indexOf(store)
      if (position < 0) return Math.max(1, Math.ceil((failedMs + RETRY_MS - timer()) / SECOND_MS))
      const elapsedMs = timer() - startedMs
      // Without progress so far: as long again as it has taken.
      const wholeMs = elapsedMs / (share > 0 ? share : 0.5)
      const leftMs = wholeMs * (position + 1) - elapsedMs
      return Math.max(1, Math.ceil(leftMs / SECOND_MS))
    },

    dispose: data.dispose,
  }
}

const testDataWorker = defineWorker(
  {
    name: 'test-data',
    purpose: 'makes the test data',
    file: import.meta.filename,
    isLowPriority: true,
  },
  ({ dataPath, store, part }: Start, parent: Parent<number>): void => {
    for (const done of makeFiles(dataPath, [store], part)) parent.send(done)
  },
)
