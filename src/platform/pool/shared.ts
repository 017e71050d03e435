/** One pool for several threads: the thread that owns it runs what the others ask it to. */
import { Fault } from '../fault.ts'
import type { Call, Pool } from './pool.ts'
import type { By } from './queue.ts'
import { buffersIn } from './thread.ts'

/** A message to the owner. A stream continues with `next`; `end` cancels a task or closes a stream. */
export type PoolAsk =
  { id: number; kind: 'run' | 'stream'; by: By; call: Call } | { id: number; kind: 'next' | 'end' }

/** `value` is a result, or a piece of a stream, whose end is `isDone`. */
export type PoolReply = { value?: unknown; isDone: boolean; fault?: unknown }

/** The side of the owner, for one of the other threads. */
export function sharePool(
  pool: Pick<Pool, 'run' | 'stream'>,
  /** Makes what can be sent of an error. */
  toFault: (error: unknown) => unknown,
) {
  const tasks = new Map<number, AbortController>()
  const streams = new Map<number, AsyncGenerator<unknown, void, undefined>>()

  async function run(id: number, by: By, call: Call): Promise<PoolReply> {
    const cancel = new AbortController()
    tasks.set(id, cancel)
    try {
      return { value: await pool.run(by, call, cancel.signal), isDone: true }
    } finally {
      tasks.delete(id)
    }
  }

  async function next(id: number): Promise<PoolReply> {
    const { done = true, value } = (await streams.get(id)?.next()) ?? {}
    if (done) streams.delete(id)
    return { value, isDone: done }
  }

  function begin(ask: Exclude<PoolAsk, { kind: 'end' }>): Promise<PoolReply> {
    if (ask.kind === 'run') return run(ask.id, ask.by, ask.call)
    if (ask.kind === 'stream') streams.set(ask.id, pool.stream(ask.by, ask.call))
    return next(ask.id)
  }

  function end(id: number): void {
    tasks.get(id)?.abort(new Fault('The task was cancelled.', { kind: 'cancelled' }))
    void streams.get(id)?.return()
    streams.delete(id)
  }

  return {
    /** Buffers of the reply are put into `moved`. */
    async answer(ask: PoolAsk, moved: ArrayBuffer[]): Promise<PoolReply | undefined> {
      if (ask.kind === 'end') {
        end(ask.id)
        return undefined
      }
      try {
        const reply = await begin(ask)
        moved.push(...buffersIn(reply.value))
        return reply
      } catch (error) {
        streams.delete(ask.id)
        return { isDone: true, fault: toFault(error) }
      }
    },

    /** Cancels everything: the thread that asked has ended. */
    dispose(): void {
      for (const id of [...tasks.keys(), ...streams.keys()]) end(id)
    },
  }
}

type Channel = {
  ask: (ask: PoolAsk) => Promise<PoolReply>
  send: (ask: PoolAsk) => void
  /** Makes the error of what the owner sent. */
  toError: (fault: unknown) => Error
}

/** The pool as another thread sees it. */
export function connectPool({ ask, send, toError }: Channel) {
  let lastId = 0

  async function askOrThrow(asked: PoolAsk): Promise<PoolReply> {
    const reply = await ask(asked)
    if (reply.fault !== undefined) throw toError(reply.fault)
    return reply
  }

  return {
    async run(by: By, call: Call, signal?: AbortSignal): Promise<unknown> {
      signal?.throwIfAborted()
      const id = ++lastId
      const cancel = () => send({ id, kind: 'end' })
      signal?.addEventListener('abort', cancel, { once: true })
      try {
        return (await askOrThrow({ id, kind: 'run', by, call })).value
      } finally {
        signal?.removeEventListener('abort', cancel)
      }
    },

    async *stream(by: By, call: Call): AsyncGenerator<unknown, void, undefined> {
      const id = ++lastId
      let ask: PoolAsk = { id, kind: 'stream', by, call }
      try {
        for (;;) {
          const { value, isDone } = await askOrThrow(ask)
          if (isDone) return
          ask = { id, kind: 'next' }
          yield value
        }
      } finally {
        send({ id, kind: 'end' })
      }
    },

    /** The owner counts for all threads. */
    waiting: (): number => 0,
    counts: () => ({}),
  } satisfies Pick<Pool, 'run' | 'stream' | 'waiting' | 'counts'>
}
