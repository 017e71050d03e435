/** The pool of a history in a file. Each of its threads reads the file by itself. */
import { availableParallelism } from 'node:os'

import { createCursorCodec } from '#src/domain/cursor.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory, prepareHistory } from '#src/history/open.ts'
import { withDowntime } from '#src/history/reads/with-downtime.ts'
import { type AnyTask, type Moment, type TaskPorts, toError, toFault } from '#src/http/tasks.ts'
import { type Ask, createPool, type FromThread, type Pool } from '#src/platform/pool/pool.ts'
import { type Pass, runTasks } from '#src/platform/pool/thread.ts'
import { defineWorker, type Parent } from '#src/platform/worker.ts'

import type { Extension } from './extension.ts'

const THREADS_MAX = 8
/** Where both are ready on one core, the thread that answers has three quarters of it. */
const NICE = 5
/** The chunk cache of a thread, for chunks that a task or a walk over pages reads twice. */
const CHUNK_CACHE_BYTES = 8 * 1024 * 1024
/** A thread closes the file after so long without a task, so that no log remains after a stop. */
const IDLE_MS = 1000

type Start = Pick<MarketHistory, 'chunkCache'> & { path: string; cancelled: Int32Array }
type Extensions = readonly Pick<Extension, 'tasks'>[]

/** Makes the pool of a history; undefined for one in memory. */
export function openPool({
  path,
  chunkCache,
}: Pick<MarketHistory, 'path' | 'chunkCache'>): Pool | undefined {
  if (path === undefined) return undefined
  return createPool({
    threadsMax: threadsFor(availableParallelism()),
    // `main.ts` gives the thread its extensions.
    start: (cancelled, receive) =>
      poolWorker([]).start({ path, chunkCache, cancelled }, (message) => receive(message)),
    toError,
  })
}

/** One for each core but that of the thread that answers. */
export const threadsFor = (cores: number): number => Math.min(THREADS_MAX, Math.max(1, cores - 1))

async function runPoolThread(
  { path, chunkCache, cancelled }: Start,
  parent: Parent<FromThread, Ask>,
  extensions: Extensions,
): Promise<never> {
  const own: readonly AnyTask[] = (
    await Promise.all([
      import('./tasks.ts').then(({ tasks }) => tasks),
      ...extensions.map(({ tasks }) => tasks?.() ?? []),
    ])
  ).flat()
  await prepareHistory()
  const source = openSource({ path, chunkCache })
  return runTasks<TaskPorts>(parent, {
    cancelled,
    portsOf: (moment, pass) => source.portsOf(moment as Moment, pass),
    findTask: (name) => own.find((task) => task.name === name),
    toFault,
    counts: source.counts,
    onIdle: source.leaveSoon,
    onBusy: source.stay,
    leave: source.leave,
  })
}

/** Opens the file at the first task. */
function openSource({ path, chunkCache }: Pick<Start, 'path' | 'chunkCache'>) {
  let opened: Opened | undefined
  let before: Record<string, number> = {}
  let leaving: Timer | undefined

  const counts = () => {
    const sum = { ...before }
    for (const [name, count] of Object.entries(opened?.history.archiveCounts() ?? {}))
      sum[name] = (sum[name] ?? 0) + count
    return sum
  }

  function leave(): void {
    before = counts()
    opened?.history.dispose()
    opened = undefined
  }

  return {
    counts,
    leave,
    stay: () => clearTimeout(leaving),
    leaveSoon(): void {
      clearTimeout(leaving)
      leaving = setTimeout(() => {
        leave()
        // Statements keep the file open until they are collected; this turn still holds some.
        setTimeout(() => Bun.gc(true), 0)
      }, IDLE_MS)
    },
    portsOf(moment: Moment, pass: Pass): TaskPorts {
      opened ??= open({ path, chunkCache })
      opened.see(moment)
      const { ready } = opened.history
      return {
        history: { ...opened.served, ready: (ranges) => pass(ready(ranges)) },
        cursors: opened.cursors,
        clock: () => moment.nowMs,
      }
    },
  }
}

type Opened = ReturnType<typeof open>

function open({ path, chunkCache }: Pick<Start, 'path' | 'chunkCache'>) {
  const history = openHistory(path, {
    chunkCacheBytes: CHUNK_CACHE_BYTES,
    isReadOnly: true,
    isServing: true,
    chunkCache,
  })
  let now: Moment = { nowMs: 0, silences: [] }
  const served = withDowntime(history, { clock: () => now.nowMs, silences: () => now.silences })
  return {
    history,
    served,
    cursors: createCursorCodec(history.cursorKey),
    /** Sets the moment of the gaps; later tasks may only move it forward. */
    see(moment: Moment): void {
      now = moment
    },
  }
}

export const poolWorker = (extensions: Extensions) =>
  defineWorker(
    { name: 'pool', purpose: 'makes responses', nice: NICE },
    (start: Start, parent: Parent<FromThread, Ask>) => runPoolThread(start, parent, extensions),
  )
