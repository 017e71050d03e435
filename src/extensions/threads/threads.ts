/** The threads that answer requests for data, seen from the first: started, replaced, stopped. */

import { availableParallelism } from 'node:os'

import { type Config, settingsOf } from '#src/config/config.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'
import type { Thread } from '#src/platform/worker.ts'
import { commandError } from '#src/server/command-end.ts'
import type {
  CliContext,
  ListeningServer,
  ServingThreads,
  ThreadsOptions,
} from '#src/server/extension.ts'
import { listen } from '#src/server/listen.ts'
import { atMost, DRAIN_MS_MAX, every } from '#src/server/server-jobs.ts'

import {
  type Answered,
  type Asked,
  type FromThread,
  serveWorker,
  type ToThread,
} from './serve-thread.ts'
import { makeChoiceMemory, openSharedChoice } from './shared-choice.ts'
import { createSharedStore, type LimitMemory } from './shared-store.ts'
import { variables } from './variables.ts'

/** Before a thread that ended is replaced: one that cannot start must not take the processor. */
const REPLACE_MS = 500
/** A thread that did not go round for so long is ended, and replaced. */
const STUCK_MS = 10_000
/** The same of one that does not listen yet: a busy machine takes seconds to start it. */
const START_MS_MAX = 30_000
/** After they were asked to stop, and had their time to drain. */
const END_MS_MAX = DRAIN_MS_MAX + 2000

/** How many threads are to answer besides the first; none where that one answers. */
function threadsOf(config: Config): number {
  const { workers } = settingsOf(config, variables)
  return workers === 'auto' ? availableParallelism() : Math.max(1, workers)
}

export function openThreads(context: CliContext): ServingThreads {
  const count = threadsOf(context.config())
  const memory: LimitMemory = {}
  const seed = Buffer.from(context.randomBytes(4)).readInt32LE()
  const choice = makeChoiceMemory(seed)
  return {
    count,
    store: createSharedStore(memory, { seed, threads: count + 1, thread: 0 }),
    sampleChoice: openSharedChoice(choice),
    start: (options) => startThreads(options, count, { limits: memory, choice }),
  }
}

async function startThreads(
  { context, app, meterMemory: meters, limits, exports, replicas, timer }: ThreadsOptions,
  threads: number,
  memory: { limits: LimitMemory; choice: SharedArrayBuffer },
): Promise<ListeningServer> {
  const config = context.config()
  // No thread notices that a port is another program's, because all of them share it. A port that the
  // system chooses is held until they listen, or another program could get it meanwhile.
  const isChosen = config.port === 0
  const holder = listen(app, config, isChosen)
  const { url, port = 0 } = holder
  if (!isChosen) await holder.stop(true)
  const beats = new Int32Array(new SharedArrayBuffer(4 * (threads + 1)))
  const worker = serveWorker(context)
  const running = new Map<number, Thread<void, ToThread>>()
  /** What of them listens, and so increments its counter. */
  const listening = new Set<Thread<void, ToThread>>()
  const ends = new Set<Promise<void>>()
  let isStopping = false

  /** `first` is settled when the thread, or what replaces it, listens or cannot start. */
  function start(thread: number, first: PromiseWithResolvers<void>): void {
    const { freshness } = replicas ?? {}
    const { isTty } = context
    const own = { thread, threads, port, ...memory, meters, beats, freshness, isTty }
    /** By request: what to call once this thread has handed the answer over, whole or not. */
    const deliveries = new Map<number, (isWhole: boolean) => void>()
    function endDelivery({ id, isWhole }: { id: number; isWhole: boolean }): void {
      const onSent = deliveries.get(id)
      deliveries.delete(id)
      onSent?.(isWhole)
    }
    function receive(message: FromThread) {
      if ('listening' in message) {
        clearTimeout(late)
        listening.add(started)
        first.resolve()
      } else if ('log' in message) context.writeLog(message.log)
      else if ('used' in message) app.putUsage(message.used)
      else if ('exported' in message) exports[message.of].put(message.exported, thread)
      else if ('sent' in message) endDelivery(message.sent)
      else if ('catchUp' in message) return replicas?.catchUp('ledger')
      else return answerAsked(message.ask)
      return undefined
    }
    async function answerAsked(ask: Asked): Promise<Answered> {
      const answered = await answer(app, ask, (then) => void deliveries.set(ask.id, then))
      // What the caller has changed shows to its next request, which another thread answers.
      if (ask.method !== 'GET' && ask.method !== 'HEAD')
        await replicas?.catchUp('ledger').catch(() => {})
      return answered
    }
    const started = worker.start({ ...own, startedMs: timer() }, receive)
    running.set(thread, started)
    ends.add(started.ended)
    const late = setTimeout(() => void started.terminate(), START_MS_MAX)
    started.result.catch((error) => {
      // It was terminated, because it hung or did not stop in time.
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
    /** To be called after commits: they look at once. */
    wake: () => {
      for (const started of running.values()) started.send('wake')
    },
    /** Resolves when none of them uses the files any more. */
    async stop(): Promise<void> {
      isStopping = true
      watch.dispose()
      for (const started of running.values()) started.send('stop')
      await atMost(
        Promise.all(ends).then(() => undefined),
        END_MS_MAX,
      )
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
