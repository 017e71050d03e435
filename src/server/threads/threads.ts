/** Threads that answer requests for data: the first thread starts, replaces and stops them. */

import { availableParallelism } from 'node:os'

import type { Limits } from '#src/access/limits.ts'
import type { Copies } from '#src/database/copies.ts'
import type { Replicas } from '#src/database/stores.ts'
import type { Clock } from '#src/domain/time.ts'
import type { ExportRecords } from '#src/features/exports/records.ts'
import { toFault } from '#src/http/tasks.ts'
import { isFault } from '#src/platform/fault.ts'
import { every } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'
import type { Pool } from '#src/platform/pool/pool.ts'
import { sharePool } from '#src/platform/pool/shared.ts'
import { atMost } from '#src/platform/timeout.ts'
import type { Thread } from '#src/platform/worker.ts'

import { commandError } from '../command-end.ts'
import type { Usage } from '../dispatch.ts'
import type { CliContext } from '../extension.ts'
import { type Answers, DRAIN_MS_MAX, listen, type ListeningServer } from '../listen.ts'
import {
  type Answered,
  type Asked,
  type FromThread,
  serveWorker,
  type ToThread,
} from './serve-thread.ts'
import {
  createSharedStore,
  type LimitMemory,
  makeChoiceMemory,
  openSharedChoice,
} from './shared-memory.ts'

/** The delay before a thread is replaced, so that one that cannot start does not load the machine. */
const REPLACE_MS = 500
/** A thread whose event loop has not run for so long is terminated and replaced. */
const STUCK_MS = 10_000
/** The same for a thread that does not listen yet; a busy machine takes seconds to start one. */
const START_MS_MAX = 30_000
/** Threads that have not ended by then are terminated. */
const END_MS_MAX = DRAIN_MS_MAX + 2000

export type ThreadsOptions = {
  /** The context with the clock of the server. */
  context: CliContext
  /** The app of the first thread, which answers what other threads cannot. */
  app: Answers & { putUsage(taken: Usage): void }
  /** The pool of the first thread, which runs the long work of all. */
  pool: Pick<Pool, 'run' | 'stream'> | undefined
  meterMemory: SharedArrayBuffer
  limits: Pick<Limits, 'clear'>
  /** Records of exports of all threads: those of callers, and those of test keys. */
  exports: Record<'real' | 'test', ExportRecords>
  /** Keeps copies of databases up to date; undefined without any. */
  replicas: Replicas | undefined
  copies: Copies
  timer: Clock
}

/** Makes the memory that all threads share. */
export function openThreads(context: CliContext) {
  const { workers } = context.config()
  const count = workers === 'auto' ? availableParallelism() : workers
  const memory: LimitMemory = {}
  const seed = Buffer.from(context.randomBytes(4)).readInt32LE()
  const choice = makeChoiceMemory(seed)
  return {
    count,
    /** Counts limits over all threads. */
    store: createSharedStore(memory, { seed, threads: count + 1, thread: 0 }),
    /** The market of the sample, common to all threads. */
    sampleChoice: openSharedChoice(choice),
    /** Starts the threads; resolves when all of them listen. Throws a `command` fault. */
    start: (options: ThreadsOptions): Promise<ListeningServer> =>
      startThreads(options, count, { limits: memory, choice }),
  }
}

async function startThreads(
  {
    context,
    app,
    pool,
    meterMemory: meters,
    limits,
    exports,
    replicas,
    copies,
    timer,
  }: ThreadsOptions,
  threads: number,
  memory: { limits: LimitMemory; choice: SharedArrayBuffer },
): Promise<ListeningServer> {
  const config = context.config()
  // The threads share the port, so none would notice that another program has it. A port that the
  // system chooses is held until all threads listen, so that no other program takes it.
  const isChosen = config.port === 0
  const holder = listen(app, config, isChosen)
  const { url, port = 0 } = holder
  if (!isChosen) await holder.stop(true)
  const beats = new Int32Array(new SharedArrayBuffer(4 * (threads + 1)))
  const worker = serveWorker(context)
  const running = new Map<number, Thread<void, ToThread>>()
  /** The threads that listen, and so increment their counter. */
  const listening = new Set<Thread<void, ToThread>>()
  const ends = new Set<Promise<void>>()
  let isStopping = false

  /** `first` is settled when the thread or its replacement listens, or cannot start. */
  function start(thread: number, first: PromiseWithResolvers<void>): void {
    const { isTty } = context
    const own = { thread, threads, port, ...memory, meters, beats, copies: copies.memory, isTty }
    /** By request, the callback for when this thread has sent the response, complete or not. */
    const deliveries = new Map<number, (isWhole: boolean) => void>()
    function endDelivery({ id, isWhole }: { id: number; isWhole: boolean }): void {
      const onSent = deliveries.get(id)
      deliveries.delete(id)
      onSent?.(isWhole)
    }
    const shared = pool && sharePool(pool, toFault)
    function receive(message: FromThread, moved: ArrayBuffer[]) {
      if ('listening' in message) {
        clearTimeout(late)
        listening.add(started)
        first.resolve()
      } else if ('log' in message) context.writeLog(message.log)
      else if ('used' in message) app.putUsage(message.used)
      else if ('exported' in message) exports[message.of].put(message.exported, thread)
      else if ('sent' in message) endDelivery(message.sent)
      else if ('pool' in message) return shared?.answer(message.pool, moved)
      else if ('pull' in message) return replicas?.pull(message.pull)
      else return answerAsked(message.ask)
      return undefined
    }
    async function answerAsked(ask: Asked): Promise<Answered> {
      const answered = await answer(app, ask, (then) => void deliveries.set(ask.id, then))
      // The next request of the caller may be answered by another thread and must see the change.
      if (ask.method !== 'GET' && ask.method !== 'HEAD')
        await replicas?.pull('ledger').catch(() => {})
      return answered
    }
    const started = worker.start({ ...own, startedMs: timer() }, receive)
    running.set(thread, started)
    ends.add(started.ended)
    const late = setTimeout(() => void started.terminate(), START_MS_MAX)
    started.result.catch((error) => {
      // The thread was terminated, because it hung or did not stop in time.
      if (isFault(error, 'thread_ended')) return
      context.printError(`bookfeed: thread ${thread} ends: ${messageOf(error)}`, 'error')
      first.reject(commandError(`Thread ${thread} cannot start: ${messageOf(error)}`))
    })
    void started.ended.then(() => {
      clearTimeout(late)
      ends.delete(started.ended)
      running.delete(thread)
      listening.delete(started)
      limits.clear(thread)
      shared?.dispose()
      for (const records of Object.values(exports)) records.endThread(thread)
      if (!isStopping) setTimeout(() => void (isStopping || start(thread, first)), REPLACE_MS)
    })
  }

  const watch = every(STUCK_MS, () => {
    for (const [thread, started] of running)
      if (listening.has(started) && Atomics.exchange(beats, thread, 0) === 0)
        void started.terminate()
  })
  try {
    const starts = Array.from({ length: threads }, () => Promise.withResolvers<void>())
    for (const [index, first] of starts.entries()) start(index + 1, first)
    await Promise.all(starts.map(({ promise }) => promise))
  } finally {
    if (isChosen) await holder.stop(true)
  }
  return {
    url,
    /** Call it after a commit: threads read the new rows at once. */
    wake: () => {
      for (const started of running.values()) started.send('wake')
    },
    /** Resolves when no thread uses the files. */
    async stop(): Promise<void> {
      isStopping = true
      watch.dispose()
      for (const started of running.values()) started.send('stop')
      await atMost(END_MS_MAX, Promise.all(ends))
      await Promise.all([...running.values()].map((started) => started.terminate()))
    },
  }
}

async function answer(
  app: Pick<ThreadsOptions['app'], 'fetch'>,
  asked: Asked,
  onTracked: (then: (isWhole: boolean) => void) => void,
): Promise<Answered> {
  const { method, url, headers, body, address } = asked
  const request = new Request(url, { method, headers, ...(body.byteLength > 0 && { body }) })
  let isTracked = false
  const peers = {
    requestIP: () => (address === undefined ? null : { address }),
    deliver(then: (isWhole: boolean) => void) {
      isTracked = true
      onTracked(then)
    },
  }
  const response = await app.fetch(request, peers)
  const { status } = response
  const answerBody = await response.arrayBuffer()
  return { status, headers: [...response.headers], body: answerBody, isTracked }
}
