/**
 * A pool of threads that run named tasks. Each thread runs one turn at a time: a whole task, or the
 * next piece of a stream. A fair queue orders the turns. A thread starts when a turn finds none free,
 * up to `threadsMax`. If a thread dies, its tasks and streams fail, and the next turn starts another.
 */
import { Fault } from '../fault.ts'
import type { Thread } from '../worker.ts'
import { type By, createFairQueue } from './queue.ts'

/** A message to a thread. A stream begins like a task and continues with `next`; `leave` closes files. */
export type Ask =
  | { id: number; kind: 'begin'; name: string; given: unknown; moment: unknown }
  | { id: number; kind: 'next' | 'close' | 'leave' }

/** `value` is a result, or a piece of a stream, whose end is `isDone`. */
export type Reply = {
  value?: unknown
  isDone: boolean
  fault?: unknown
  counts: Counts
}

/** Numbers that a thread has counted since it began. */
export type Counts = Readonly<Record<string, number>>

/** Sent by a thread whose turn awaits I/O: another turn may run meanwhile. */
export type FromThread = { waits: number }

export type PoolThread = Thread<never, Ask>

export type Pool = ReturnType<typeof createPool>

/** A call: the name of the task, its arguments, and the moment that it reads. */
export type Call = { name: string; given: unknown; moment: unknown }

type PoolOptions = {
  threadsMax: number
  /**
   * Starts a thread. The id of a turn that is cancelled while it runs is put into `cancelled`.
   */
  start: (cancelled: Int32Array, receive: (message: FromThread) => void) => PoolThread
  /** Makes the error of what a thread sent. */
  toError: (fault: unknown) => Error
}

type Slot = {
  thread: PoolThread
  cancelled: Int32Array
  /** The id of the turn that runs; undefined if the thread is free. */
  running: number | undefined
  counts: Counts
}

type Turn = {
  ask: Ask
  /** The thread that holds the stream; undefined for a turn that any thread may run. */
  slot: Slot | undefined
  begin: (slot: Slot) => void
  fail: (error: unknown) => void
}

const ended = () => new Fault('The threads of the pool have ended.', { kind: 'thread_ended' })

const WORD_BYTES = 4
/** The time that a thread has to close its files when the pool is disposed of. */
const LEAVE_MS_MAX = 500

export function createPool({ threadsMax, start, toError }: PoolOptions) {
  const queue = createFairQueue<Turn>()
  const slots = new Set<Slot>()
  /** Counts of threads that have ended. */
  let countedBefore: Counts = {}
  let lastId = 0
  let isOver = false

  function open(): Slot {
    const cancelled = new Int32Array(new SharedArrayBuffer(WORD_BYTES))
    const slot: Slot = {
      cancelled,
      running: undefined,
      counts: {},
      thread: start(cancelled, ({ waits }) => rest(slot, waits)),
    }
    slots.add(slot)
    void slot.thread.ended.then(() => {
      slots.delete(slot)
      countedBefore = sumOf([countedBefore, slot.counts])
      failAll((turn) => turn.slot === slot)
      dispatch()
    })
    return slot
  }

  function failAll(fits?: (turn: Turn) => boolean): void {
    for (let turn = queue.take(fits); turn !== undefined; turn = queue.take(fits))
      turn.fail(ended())
  }

  /** Marks a thread as free after a turn. */
  function rest(slot: Slot, id: number): void {
    if (slot.running !== id) return
    slot.running = undefined
    dispatch()
  }

  const begin = (slot: Slot, turn: Turn): void => {
    slot.running = turn.ask.id
    turn.begin(slot)
  }

  function dispatch(): void {
    for (const slot of slots) {
      if (slot.running !== undefined || slot.thread.hasEnded()) continue
      const turn = queue.take((each) => each.slot === undefined || each.slot === slot)
      if (turn !== undefined) begin(slot, turn)
    }
    while (!isOver && slots.size < threadsMax) {
      const turn = queue.take((each) => each.slot === undefined)
      if (turn === undefined) return
      begin(open(), turn)
    }
  }

  /** Runs a turn. If `signal` aborts, rejects with its reason. */
  function take(by: By, ask: Ask, own: Slot | undefined, signal?: AbortSignal) {
    const { promise, resolve, reject } = Promise.withResolvers<{ slot: Slot; reply: Reply }>()
    let begun: Slot | undefined
    const turn: Turn = {
      ask,
      slot: own,
      begin(slot) {
        begun = slot
        slot.thread.ask<Reply>(ask).then((reply) => {
          slot.counts = reply.counts
          rest(slot, ask.id)
          if (reply.fault === undefined) resolve({ slot, reply })
          else reject(toError(reply.fault))
        }, reject)
      },
      fail: reject,
    }
    function cancel(): void {
      if (begun === undefined) queue.remove(turn)
      else if (begun.running === ask.id) Atomics.store(begun.cancelled, 0, ask.id)
      reject(signal?.reason)
    }
    if (isOver || own?.thread.hasEnded()) reject(ended())
    else if (signal?.aborted) cancel()
    else {
      signal?.addEventListener('abort', cancel, { once: true })
      queue.put(by, turn)
      dispatch()
    }
    return promise.finally(() => signal?.removeEventListener('abort', cancel))
  }

  return {
    /** Runs a task. */
    async run(by: By, call: Call, signal?: AbortSignal): Promise<unknown> {
      const { reply } = await take(by, { id: ++lastId, kind: 'begin', ...call }, undefined, signal)
      return reply.value
    },

    /** The pieces of a stream. Each is made when it is asked for; the stream ends with `return`. */
    async *stream(by: By, call: Call): AsyncGenerator<unknown, void, undefined> {
      const id = ++lastId
      let own: Slot | undefined
      let ask: Ask = { id, kind: 'begin', ...call }
      try {
        for (;;) {
          const { slot, reply } = await take(by, ask, own)
          own = slot
          if (reply.isDone) return
          ask = { id, kind: 'next' }
          yield reply.value
        }
      } finally {
        own?.thread.send({ id, kind: 'close' })
      }
    },

    /** Turns that wait for a thread. */
    waiting: (): number => queue.size,

    /** Sums of the counts of all threads, ended ones included. */
    counts: (): Counts => sumOf([countedBefore, ...[...slots].map(({ counts }) => counts)]),

    /** Ends the threads with their tasks and streams. */
    async dispose(): Promise<void> {
      isOver = true
      failAll()
      const leave = async ({ thread }: Slot): Promise<void> => {
        const left = thread.ask({ id: ++lastId, kind: 'leave' }).catch(() => undefined)
        await Promise.race([left, Bun.sleep(LEAVE_MS_MAX)])
        await thread.terminate()
      }
      await Promise.all([...slots].map(leave))
    },
  }
}

const sumOf = (all: readonly Counts[]): Counts => {
  const sum: Record<string, number> = {}
  for (const counts of all)
    for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count
  return sum
}
