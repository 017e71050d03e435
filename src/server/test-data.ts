/** The files of test data. A thread makes them once in a data folder; later they are only read. */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { historyMigrations } from '#db/migrations.ts'
import { formatOf } from '#src/database/migrations.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { Log } from '#src/platform/log.ts'
import { codeOf, sentenceOf } from '#src/platform/message.ts'
import { BACKGROUND, defineWorker, type Parent } from '#src/platform/worker.ts'
import {
  makeTestDay,
  type TestDayPart,
  type TestStore,
  testStores,
} from '#src/simulator/test-day.ts'

import type { CliContext } from './extension.ts'
import { roomFault } from './room.ts'

/** Incremented with each change of the data. */
const EDITION = 4
/** Another edition, or another format of the history, replaces the files. */
const FOLDER = `test-data-${EDITION}-${formatOf(historyMigrations)}`
/** The chunk cache of each file. */
const CACHE_BYTES = 4 * 1024 * 1024

export const testFolderOf = (dataPath: string): string => join(dataPath, FOLDER)
export const hasTestData = (dataPath: string): boolean =>
  testStores.every((store) => hasStore(dataPath, store))
export const hasStore = (dataPath: string, store: TestStore): boolean =>
  existsSync(storePathOf(testFolderOf(dataPath), store))

const folderName = /^test-data-[\d-]+(?:\.(\d+)\.making)?$/

/** Removes files of another edition or format, and those of a process that ended before they were complete. */
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
    // The process belongs to another user.
    return codeOf(error) === 'EPERM'
  }
}

const storePathOf = (folder: string, store: TestStore): string => join(folder, `${store}.db`)

/** Makes the files one after the other. A file gets its name when it is complete. */
export async function* makeFiles(
  dataPath: string,
  stores: readonly TestStore[],
  part?: TestDayPart,
): AsyncGenerator<number, void> {
  const making = `${testFolderOf(dataPath)}.${process.pid}.making`
  removeLeft(dataPath)
  mkdirSync(making, { recursive: true, mode: 0o700 })
  try {
    for (const [done, store] of stores.entries()) {
      const path = storePathOf(making, store)
      const history = openHistory(path)
      try {
        for await (const share of makeTestDay({ [store]: history }, part)) {
          yield (done + share) / stores.length
        }
      } finally {
        history.dispose()
      }
      mkdirSync(testFolderOf(dataPath), { recursive: true, mode: 0o700 })
      // Another process may have made the same file.
      if (!hasStore(dataPath, store)) renameSync(path, storePathOf(testFolderOf(dataPath), store))
    }
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
}

/** Opens each store at its first use; undefined if its file does not exist. */
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
/** After a failure, the first caller after this time starts another try. */
const RETRY_MS = 60_000
/** How long a request waits for data that are being made; clients wait longer. */
const HOLD_MS = 10_000
/** The maximum number of waiting requests; further requests are refused. */
const HELD_MAX = 64
const SECOND_MS = 1000

type Start = { dataPath: string; store: TestStore; part?: TestDayPart | undefined }

type MakerDeps = {
  timer: Clock
  log: Log
  /** The part of the data to make; everything by default. */
  part?: TestDayPart
}

/** The test data of a server: a thread makes one file at a time, on request. */
export function createTestData(context: CliContext, { timer, log, part }: MakerDeps) {
  const { dataPath } = context.config()
  const data = openTestData(dataPath)
  /** Stores to make; the first is in progress. */
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

    /** Starts to make a store unless it exists. */
    request,

    /** Starts to make a store and waits for it for a limited time. */
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

    /** The estimated seconds until a store is complete. */
    secondsLeft(store: TestStore): number {
      const position = queue.indexOf(store)
      if (position < 0) return Math.max(1, Math.ceil((failedMs + RETRY_MS - timer()) / SECOND_MS))
      const elapsedMs = timer() - startedMs
      // Without progress so far, assume half.
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
    nice: BACKGROUND,
  },
  async ({ dataPath, store, part }: Start, parent: Parent<number>): Promise<void> => {
    for await (const done of makeFiles(dataPath, [store], part)) parent.send(done)
  },
)
