/** The side of a pool thread: runs tasks and holds the streams that were begun. */
import { Fault } from '../fault.ts'
import type { Parent } from '../worker.ts'
import type { Ask, Counts, FromThread, Reply } from './pool.ts'

/**
 * A named function. One that returns a promise or a value is a task; one that returns an async
 * generator is a stream of pieces.
 */
export type Task<Ports, Given, Made> = {
  name: string
  run: (ports: Ports, given: Given) => Made | Promise<Made>
}
export type StreamTask<Ports, Given, Piece> = {
  name: string
  stream: (ports: Ports, given: Given) => AsyncGenerator<Piece, void, undefined>
}
export type AnyTask<Ports> = Task<Ports, never, unknown> | StreamTask<Ports, never, unknown>

/**
 * Returns the promise that a turn waits for, and lets the thread have another turn meanwhile. Throws
 * if the turn was cancelled.
 */
export type Pass = <T>(coming: Promise<T> | undefined) => Promise<T> | undefined

type ThreadOptions<Ports> = {
  cancelled: Int32Array
  /** Makes what a task reads; `moment` came with the call. */
  portsOf: (moment: unknown, pass: Pass) => Ports | Promise<Ports>
  findTask: (name: string) => AnyTask<Ports> | undefined
  /** Turns an error into a value that can be sent to another thread. */
  toFault: (error: unknown) => unknown
  counts: () => Counts
  /** Called when nothing runs and no stream is open, and when something runs again. */
  onIdle?: () => void
  onBusy?: () => void
  /** Closes open files. */
  leave?: () => void
}

/** Answers until the thread is terminated. */
export function runTasks<Ports>(
  parent: Parent<FromThread, Ask>,
  { cancelled, portsOf, findTask, toFault, counts, onIdle, onBusy, leave }: ThreadOptions<Ports>,
): Promise<never> {
  const streams = new Map<number, AsyncGenerator<unknown, void, undefined>>()
  let running = 0

  const passFor =
    (id: number): Pass =>
    (coming) => {
      if (Atomics.load(cancelled, 0) === id)
        throw new Fault('The turn was cancelled.', { kind: 'cancelled' })
      if (coming !== undefined) parent.send({ waits: id })
      return coming
    }

  async function begin({ id, name, given, moment }: Extract<Ask, { kind: 'begin' }>) {
    const task = findTask(name)
    if (task === undefined) throw new Error(`No task has the name ${name}.`)
    const ports = await portsOf(moment, passFor(id))
    if ('run' in task) return { value: await task.run(ports, given as never), isDone: true }
    streams.set(id, task.stream(ports, given as never))
    return next(id)
  }

  async function next(id: number) {
    const stream = streams.get(id)
    if (stream === undefined) throw new Error('A stream goes on that was never begun.')
    const { done = false, value } = await stream.next()
    if (done) streams.delete(id)
    return { value, isDone: done }
  }

  async function close(id: number): Promise<void> {
    await streams.get(id)?.return(undefined)
    streams.delete(id)
  }

  async function answer(ask: Ask, moved: ArrayBuffer[]): Promise<Reply | undefined> {
    if (ask.kind === 'leave') {
      leave?.()
      return undefined
    }
    if (ask.kind === 'close') {
      await close(ask.id)
      return undefined
    }
    try {
      const { value, isDone } = await (ask.kind === 'begin' ? begin(ask) : next(ask.id))
      moved.push(...buffersIn(value))
      return { value, isDone, counts: counts() }
    } catch (error) {
      streams.delete(ask.id)
      return { isDone: true, fault: toFault(error), counts: counts() }
    }
  }

  return parent.receive(async (ask, moved) => {
    if (running++ === 0) onBusy?.()
    try {
      return await answer(ask, moved)
    } finally {
      if (--running === 0 && streams.size === 0) onIdle?.()
    }
  })
}

/** The buffers of byte arrays that a result is, or has as members: they are moved, not copied. */
export function buffersIn(value: unknown): ArrayBuffer[] {
  const members = value instanceof Uint8Array ? [value] : Object.values(Object(value))
  const buffers = members.flatMap((each) =>
    each instanceof Uint8Array && each.buffer instanceof ArrayBuffer ? [each.buffer] : [],
  )
  return [...new Set(buffers)]
}
