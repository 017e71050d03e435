/**
 * The only way to run a thread. A worker is defined in the file that holds its code, and is started
 * with data of a known type. Both sides can send messages, and requests that are answered with a
 * value or an error. The worker's return value is the thread's result, and ends it.
 */

import { constants, getPriority, setPriority } from 'node:os'
import { join } from 'node:path'
import {
  MessageChannel,
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  Worker,
  workerData,
} from 'node:worker_threads'

import { Fault } from './fault.ts'
import { messageOf } from './message.ts'

type WorkerOptions = {
  /** The thread's name in the system; `main.ts` has a table of these names. */
  name: string
  /** Completes the sentence "The thread that … has ended." */
  purpose: string
  /**
   * The file that the thread loads, if that may be the file that calls `defineWorker`. By default,
   * and always in an executable, the thread loads `main.ts`, which adds the extensions.
   */
  file?: string
  /** By how much the thread is nicer than the process, so that it yields the processor; 0 by default. */
  nice?: number
  /** True if the thread keeps the process alive. */
  keepsProcess?: boolean
}

/** Buffers that are put into `moved` are transferred with the reply, not copied. */
type Receive<Message> = (message: Message, moved: ArrayBuffer[]) => unknown

/** The thread that started this one, as this one sees it. */
export type Parent<FromThread = never, ToThread = never> = {
  send(message: FromThread): void
  ask<Reply>(message: FromThread, moved?: ArrayBuffer[]): Promise<Reply>
  /**
   * Answers messages from now on, beginning with those that were queued. The promise never
   * resolves: a thread that only answers returns it, and so lives until it is terminated.
   */
  receive(receive: Receive<ToThread>): Promise<never>
}

/** A running thread, as its starter sees it. */
export type Thread<Result, ToThread> = {
  /** Rejects with a `Fault` if the thread fails or ends without a result. */
  result: Promise<Result>
  /** Resolves when the thread has ended for any reason. */
  ended: Promise<void>
  hasEnded(): boolean
  send(message: ToThread): void
  /** Rejects with a `Fault` if the answer is an error, or if the thread ends before it answers. */
  ask<Reply>(message: ToThread): Promise<Reply>
  terminate(): Promise<void>
}

/** A thread whose answers are awaited synchronously. */
export type BlockingThread<ToThread> = {
  /** Blocks for at most `msMax`; undefined if there was no answer. */
  ask<Reply>(message: ToThread, msMax: number): Reply | undefined
  send(message: ToThread): void
  close(): void
}

/** A message between threads: a message, a request, or an answer. */
type Wire =
  | { message: unknown }
  | { message: unknown; id: number }
  | { id: number; reply: unknown }
  | { id: number; error: string }

/** The thread's result is the answer to its start. */
const START_ID = 0

/** Wakes a blocked thread through shared memory, because it receives no events. */
type BlockingLine = { port: MessagePort; state: Int32Array }
/** Indexes of the state: the number of messages sent, and whether the thread has ended. */
const SENT = 0
const ENDED = 1

type ThreadData<Start> = { worker: string; start: Start; blocking?: BlockingLine }

/** For work that nobody waits for. */
export const BACKGROUND = 10

/** The name of the worker that this thread runs; undefined in the main thread. */
export const workerName = (): string | undefined =>
  (workerData as Partial<ThreadData<unknown>> | null)?.worker

/**
 * Defines a worker. In a thread that was started for this worker, the call also runs it once the
 * module is loaded.
 */
export function defineWorker<Start, Result, FromThread = never, ToThread = never>(
  options: WorkerOptions,
  run: (start: Start, parent: Parent<FromThread, ToThread>) => Result | Promise<Result>,
) {
  if (workerName() === options.name)
    queueMicrotask(() => void runWorker(options, run, workerData as ThreadData<Start>))
  return {
    start: (start: Start, receive?: Receive<FromThread>): Thread<Result, ToThread> =>
      startThread(options, start, receive),
    /** Starts the thread for a caller that blocks, and restarts it whenever it has ended. */
    startBlocking: (start: Start): BlockingThread<ToThread> => startBlocking(options, start),
  }
}

const mainFile = Bun.isStandaloneExecutable
  ? import.meta.filename
  : join(import.meta.dir, '../main.ts')

function createWorker<Start>(options: WorkerOptions, start: Start, blocking?: BlockingLine) {
  const { name, file = mainFile, keepsProcess = false } = options
  const data: ThreadData<Start> = { worker: name, start, ...(blocking && { blocking }) }
  const transferList = blocking === undefined ? [] : [blocking.port]
  const worker = new Worker(file, { name, workerData: data, transferList })
  if (!keepsProcess) worker.unref()
  return worker
}

function startThread<Start, Result, FromThread, ToThread>(
  options: WorkerOptions,
  start: Start,
  receive: Receive<FromThread> = () => undefined,
): Thread<Result, ToThread> {
  const worker = createWorker(options, start)
  const post = (wire: Wire, moved: ArrayBuffer[]) => worker.postMessage(wire, moved)
  const line = createLine(worker, post, receive as Receive<unknown>)
  const result = line.answerTo<Result>(START_ID)
  // Prevents an unhandled rejection if the caller does not await the result.
  result.catch(() => undefined)
  const ended = Promise.withResolvers<void>()
  worker.on('error', (error) => line.fail(new Fault(messageOf(error), { kind: 'thread' })))
  worker.on('exit', () => {
    line.fail(new Fault(`The thread that ${options.purpose} has ended.`, { kind: 'thread_ended' }))
    ended.resolve()
  })
  return {
    result,
    ended: ended.promise,
    hasEnded: line.hasFailed,
    send: line.send,
    ask: line.ask,
    terminate: async () => void (await worker.terminate()),
  }
}

/** One end of the connection between two threads. */
function createLine(
  port: Worker | MessagePort,
  post: (wire: Wire, moved: ArrayBuffer[]) => void,
  receive: Receive<unknown>,
) {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let lastId = START_ID
  let failure: Fault | undefined

  function answerTo<Reply>(id: number): Promise<Reply> {
    const answer = Promise.withResolvers<Reply>()
    waiting.set(id, answer as PromiseWithResolvers<unknown>)
    return answer.promise
  }

  async function reply(id: number, message: unknown): Promise<void> {
    const moved: ArrayBuffer[] = []
    try {
      post({ id, reply: await receive(message, moved) }, moved)
    } catch (error) {
      post({ id, error: messageOf(error) }, [])
    }
  }

  port.on('message', (wire: Wire) => {
    if ('message' in wire) {
      if ('id' in wire) void reply(wire.id, wire.message)
      else receive(wire.message, [])
      return
    }
    const answer = waiting.get(wire.id)
    waiting.delete(wire.id)
    if ('error' in wire) answer?.reject(new Fault(wire.error, { kind: 'thread' }))
    else answer?.resolve(wire.reply)
  })

  return {
    answerTo,

    send: (message: unknown): void => post({ message }, []),

    async ask<Reply>(message: unknown, moved: ArrayBuffer[] = []): Promise<Reply> {
      if (failure !== undefined) throw failure
      const id = ++lastId
      const answer = answerTo<Reply>(id)
      post({ message, id }, moved)
      return answer
    },

    /** Rejects all pending requests, and all later ones. */
    fail(fault: Fault): void {
      failure ??= fault
      for (const { reject } of waiting.values()) reject(failure)
      waiting.clear()
    },

    hasFailed: (): boolean => failure !== undefined,
  }
}

async function runWorker<Start, Result, FromThread, ToThread>(
  { nice = 0 }: WorkerOptions,
  run: (start: Start, parent: Parent<FromThread, ToThread>) => Result | Promise<Result>,
  { start, blocking }: ThreadData<Start>,
): Promise<void> {
  // Elsewhere it would apply to the whole process.
  if (nice > 0 && process.platform === 'linux')
    setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + nice))
  const port = blocking?.port ?? parentPort
  if (port === null) return
  const wake = blocking && wakeOnSent(blocking.state)
  const post = (wire: Wire, moved: ArrayBuffer[]): void => {
    port.postMessage(wire, moved)
    wake?.()
  }
  const receiver = Promise.withResolvers<Receive<ToThread>>()
  const line = createLine(port, post, async (message, moved) => {
    const receive = await receiver.promise
    return receive(message as ToThread, moved)
  })
  try {
    const result = await run(start, {
      send: line.send,
      ask: line.ask,
      receive(receive) {
        receiver.resolve(receive)
        return new Promise(() => {})
      },
    })
    post({ id: START_ID, reply: result }, [])
  } catch (error) {
    post({ id: START_ID, error: messageOf(error) }, [])
  }
  process.exit()
}

/** Wakes the blocked thread for each message, and when this thread ends. */
function wakeOnSent(state: Int32Array): () => void {
  const wake = (): void => {
    Atomics.add(state, SENT, 1)
    Atomics.notify(state, SENT)
  }
  process.on('exit', () => {
    Atomics.store(state, ENDED, 1)
    wake()
  })
  return wake
}

function startBlocking<Start, ToThread>(
  options: WorkerOptions,
  start: Start,
): BlockingThread<ToThread> {
  let thread = openBlockingLine(options, start)
  let lastId = START_ID

  function restartIfEnded(): void {
    if (Atomics.load(thread.state, ENDED) === 0) return
    thread.close()
    thread = openBlockingLine(options, start)
  }

  return {
    ask<Reply>(message: ToThread, msMax: number): Reply | undefined {
      restartIfEnded()
      const id = ++lastId
      const { state, port } = thread
      port.postMessage({ message, id } satisfies Wire)
      const endMs = performance.now() + msMax
      for (;;) {
        const seen = Atomics.load(state, SENT)
        const hasEnded = Atomics.load(state, ENDED) === 1
        const wire: Wire | undefined = receiveMessageOnPort(port)?.message
        // A late answer belongs to an earlier request.
        if (wire !== undefined && 'id' in wire && wire.id === id) return answerIn<Reply>(wire)
        if (wire !== undefined) continue
        const leftMs = endMs - performance.now()
        if (hasEnded || leftMs <= 0) return undefined
        if (Atomics.wait(state, SENT, seen, leftMs) === 'timed-out') return undefined
      }
    },

    send(message: ToThread): void {
      restartIfEnded()
      thread.port.postMessage({ message } satisfies Wire)
    },

    close: () => thread.close(),
  }
}

function answerIn<Reply>(wire: Wire): Reply {
  if ('error' in wire) throw new Fault(wire.error, { kind: 'thread' })
  return ('reply' in wire ? wire.reply : undefined) as Reply
}

function openBlockingLine<Start>(options: WorkerOptions, start: Start) {
  const state = new Int32Array(new SharedArrayBuffer(8))
  const { port1: port, port2 } = new MessageChannel()
  const worker = createWorker(options, start, { port: port2, state })
  port.unref()
  // The caller only learns that there is no answer, not why the thread ended.
  worker.on('error', () => {})
  worker.on('exit', () => Atomics.store(state, ENDED, 1))
  const close = (): void => {
    port.close()
    void worker.terminate()
  }
  return { state, port, close }
}
