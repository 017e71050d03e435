/** The files of test mode: made once in a data folder, on a thread, and then only read. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { Worker, workerData } from 'node:worker_threads'

import { Command } from 'commander'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import {
  makeTestDay,
  type TestDayPart,
  type TestHistories,
  type TestStore,
} from '#src/ingest/simulator/test-day.ts'
import type { Log } from '#src/lib/log.ts'
import { codeOf, sentenceOf } from '#src/lib/message.ts'

import { type CliContext, CliError } from './context.ts'
import { openDataFolder } from './open-data-folder.ts'
import { roomFault } from './room.ts'

/** Rises with what is made or how it is stored, so that older files are made again. */
const FORMAT = 2
const FOLDER = `test-data-${FORMAT}`
/** Of each file. */
const CACHE_BYTES = 4 * 1024 * 1024
/** On Linux of one thread, elsewhere of the whole process. */
const LOW_PRIORITY = 10

const help = `
Keys of test mode (bf_test_…, bookfeed keys create --test) read this day. A server makes it by itself
when such a key first asks; this makes it before. It is the same wherever it is made.

Exit code: 0 when it is there, 1 when it could not be made.`

export const testDataCommand = (context: CliContext): Command =>
  new Command('test-data')
    .description('make the simulated day that keys of test mode read')
    .addHelpText('after', help)
    .action(() => runTestData(context))

async function runTestData(context: CliContext): Promise<void> {
  // Makes the folder, or says why not.
  openDataFolder(context).dispose()
  const { dataPath } = context.config()
  if (hasTestData(dataPath)) {
    context.print('The data of test mode are there already.')
    return
  }
  const fault = roomFault(context, dataPath)
  if (fault !== undefined) throw fault
  const { createProgress } = await import('./progress.ts')
  const progress = createProgress(context, 'making', 'windows')
  let windows = 0
  try {
    for (const share of makeFiles(dataPath)) progress.update(++windows, share)
  } catch (cause) {
    throw new CliError(`The data of test mode cannot be made: ${sentenceOf(cause)}`, { cause })
  } finally {
    progress.end()
  }
  context.print(`The data of test mode are made, in ${progress.seconds().toFixed(1)} s.`)
}

const folderOf = (dataPath: string): string => join(dataPath, FOLDER)
/** Where files of its days would be. */
export const testFilesPathOf = (dataPath: string): string => join(folderOf(dataPath), 'files')
export const hasTestData = (dataPath: string): boolean => existsSync(folderOf(dataPath))

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

/** They are whole when their folder has its name. */
function* makeFiles(dataPath: string, part?: TestDayPart): Generator<number, void> {
  const making = `${folderOf(dataPath)}.${process.pid}.making`
  removeLeft(dataPath)
  mkdirSync(making, { recursive: true, mode: 0o700 })
  try {
    const create = (store: TestStore) => openHistory(storePathOf(making, store))
    const histories = { day: create('day'), gap: create('gap'), stale: create('stale') }
    try {
      yield* makeTestDay(histories, part)
    } finally {
      for (const history of Object.values(histories)) history.dispose()
    }
    renameSync(making, folderOf(dataPath))
  } catch (error) {
    // Another process may have made the same.
    if (!/^(EEXIST|ENOTEMPTY)$/.test(codeOf(error))) throw error
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
}

/** What was made, each store opened when it is first used; undefined where nothing was. */
export function openTestData(dataPath: string): (TestHistories & Disposable) | undefined {
  if (!hasTestData(dataPath)) return undefined
  const options = { isReadOnly: true, chunkCacheBytes: CACHE_BYTES, lagMs: LAG_MS }
  const opened = new Map<TestStore, MarketHistory>()
  function open(store: TestStore): MarketHistory {
    const known = opened.get(store) ?? openHistory(storePathOf(folderOf(dataPath), store), options)
    opened.set(store, known)
    return known
  }
  return {
    get day() {
      return open('day')
    },
    get gap() {
      return open('gap')
    },
    get stale() {
      return open('stale')
    },
    dispose() {
      for (const history of opened.values()) history.dispose()
    },
  }
}

type Disposable = { dispose(): void }

/** Nobody writes to them. */
const LAG_MS = 60_000
/** After a failure it is tried again by whoever asks then. */
const RETRY_MS = 60_000

type Making = { makesTestData: string; part?: TestDayPart | undefined }

/**
 * Returns what opens the files, and has them made by a thread where there are none; less than the
 * whole day for tests.
 */
export function createTestData(context: CliContext, log: Log, part?: TestDayPart) {
  const { dataPath } = context.config()
  let opened: ReturnType<typeof openTestData>
  let [isMaking, failedMs] = [false, Number.NEGATIVE_INFINITY]

  function make(): void {
    const nowMs = context.clock()
    if (isMaking || nowMs - failedMs < RETRY_MS) return
    const fail = (error: unknown) => {
      isMaking = false
      failedMs = context.clock()
      log(`bookfeed: the data of test mode cannot be made: ${sentenceOf(error)}`, 'error')
    }
    const fault = roomFault(context, dataPath)
    if (fault !== undefined) {
      fail(fault)
      return
    }
    isMaking = true
    const worker = new Worker(context.program, {
      workerData: { makesTestData: dataPath, part } satisfies Making,
    })
    worker.unref()
    worker.on('error', fail)
    worker.on('exit', () => {
      isMaking = false
    })
  }

  return {
    open(): TestHistories | undefined {
      opened ??= openTestData(dataPath)
      if (opened === undefined) make()
      return opened
    },
    dispose(): void {
      opened?.dispose()
    },
  }
}

const start = workerData as Partial<Making> | null
if (start?.makesTestData !== undefined) {
  if (process.platform === 'linux') setPriority(LOW_PRIORITY)
  for (const _ of makeFiles(start.makesTestData, start.part));
}
