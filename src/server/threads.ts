/** The threads that answer requests for data, seen from the first: started, replaced, stopped. */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'

import type { LimitMemory, Limits } from '#src/access/limits.ts'
import type { Config } from '#src/config/config.ts'
import { messageOf } from '#src/platform/message.ts'
import type { App } from '#src/server/app.ts'

import { type CliContext, CliError } from './context.ts'
import { listen } from './listen.ts'
import type { Answered, Asked, FromThread, ThreadStart, ToThread } from './serve-thread.ts'
import { atMost, DRAIN_MS_MAX, every } from './server-jobs.ts'
import type { TestServer } from './test-mode.ts'

/** Before a thread that ended is replaced: one that cannot start must not take the processor. */
const REPLACE_MS = 500
/** A thread that did not go round for so long is ended, and replaced. */
const STUCK_MS = 10_000
/** After they were asked to stop, and had their time to drain. */
const END_MS_MAX = DRAIN_MS_MAX + 2000

/** How many threads are to answer besides the first; none where that one answers. */
export const threadsOf = ({ workers }: Pick<Config, 'workers'>): number =>
  workers === 'auto' ? availableParallelism() : workers

type Deps = {
  context: CliContext
  app: App
  test: Pick<TestServer, 'putUsage'> | undefined
  memory: LimitMemory
  meterMemory: SharedArrayBuffer
  limits: Limits
  /** As `ThreadStart` has it. */
  server: string
  timer: () => number
}

/** Starts them; resolves when all of them listen. Throws `CliError`. */
export async function startThreads(deps: Deps) {
  const { context, app, test, memory, meterMemory, limits, server, timer } = deps
  const config = context.config()
  const threads = threadsOf(config)
  const meters = config.metrics === '' ? undefined : meterMemory
  // None of them notices that the port is another program's, because all of them share it.
  const probe = listen(app, config)
  const { url, port = 0 } = probe
  await probe.stop(true)
  const beats = new Int32Array(new SharedArrayBuffer(4 * (threads + 1)))
  const running = new Map<number, Worker>()
  const ends = new Set<Promise<void>>()
  let isStopping = false

  function putUsage({ used, testUsed }: Extract<FromThread, { used: unknown }>): void {
    app.putUsage(used)
    test?.putUsage(testUsed)
  }

  function start(thread: number): Promise<void> {
    const listening = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const own = { thread, threads, port, limits: memory, server, meters, beats }
    const worker = new Worker(context.program, {
      workerData: { ...own, startedMs: timer() } satisfies ThreadStart,
    })
    running.set(thread, worker)
    /** By request: what to call once this thread has handed the answer over, whole or not. */
    const deliveries = new Map<number, (isWhole: boolean) => void>()
    function endDelivery({ id, isWhole }: { id: number; isWhole: boolean }): void {
      const onSent = deliveries.get(id)
      deliveries.delete(id)
      onSent?.(isWhole)
    }
    ends.add(ended.promise)
    worker.on('error', (error) => {
      context.printError(`bookfeed: thread ${thread} ends: ${messageOf(error)}`, 'error')
      listening.reject(new CliError(`Thread ${thread} cannot start: ${messageOf(error)}`))
    })
    worker.on('exit', () => {
      ended.resolve()
      ends.delete(ended.promise)
      running.delete(thread)
      limits.clear(thread)
      if (!isStopping) setTimeout(() => void (isStopping || replace(thread)), REPLACE_MS)
    })
    worker.on('message', (message: FromThread) => {
      if ('listening' in message) listening.resolve()
      else if ('stopped' in message) void worker.terminate()
      else if ('log' in message) context.writeLog(message.log)
      else if ('used' in message) putUsage(message)
      else if ('sent' in message) endDelivery(message.sent)
      else {
        const onTracked = (then: (isWhole: boolean) => void) =>
          void deliveries.set(message.ask.id, then)
        void answer(app, message.ask, onTracked).then((reply) => post(worker, { answer: reply }))
      }
    })
    return listening.promise
  }

  /** What it fails with was printed, and its end starts the next. */
  const replace = (thread: number): void => void start(thread).catch(() => undefined)

  const watch = every(STUCK_MS, () => {
    for (const [thread, worker] of running)
      if (Atomics.exchange(beats, thread, 0) === 0) void worker.terminate()
  })
  await Promise.all(Array.from({ length: threads }, (_, index) => start(index + 1)))
  return {
    url,
    /** To be called after commits: they look at once. */
    wake: () => {
      for (const worker of running.values()) post(worker, { wake: true })
    },
    /** Resolves when none of them uses the files any more. */
    async stop(): Promise<void> {
      isStopping = true
      watch.dispose()
      for (const worker of running.values()) post(worker, { stop: true })
      await atMost(
        Promise.all(ends).then(() => undefined),
        END_MS_MAX,
      )
      await Promise.all([...running.values()].map((worker) => worker.terminate()))
    },
  }
}

const post = (worker: Worker, message: ToThread): void => worker.postMessage(message)

async function answer(
  app: App,
  asked: Asked,
  onTracked: (then: (isWhole: boolean) => void) => void,
): Promise<Answered> {
  const { id, method, url, headers, body, address } = asked
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
  return { id, status, headers: [...response.headers], body: answerBody, isTracked }
}
