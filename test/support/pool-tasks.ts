/** Tasks of a pool thread that answer, wait, fail and end the thread. */

import { messageOf } from '#src/platform/message.ts'
import type { Ask, FromThread } from '#src/platform/pool/pool.ts'
import { type AnyTask, type Pass, runTasks } from '#src/platform/pool/thread.ts'
import { defineWorker, type Parent } from '#src/platform/worker.ts'

type Ports = { pass: Pass; moment: unknown }

const PIECE_BYTES = 4

let made = 0
let closed = 0

const tasks: readonly AnyTask<Ports>[] = [
  { name: 'echo', run: ({ moment }, given: unknown) => ({ given, moment }) },
  { name: 'bytes', run: (_, length: number) => ({ body: new Uint8Array(length).fill(7) }) },
  {
    name: 'fail',
    run: () => {
      throw new Error('As ordered.')
    },
  },
  // Yields pieces until canceled, each after a call of `ready`.
  {
    name: 'endless',
    run: async ({ pass }, cells: Int32Array) => {
      for (;;) {
        Atomics.add(cells, 0, 1)
        await pass(undefined)
      }
    },
  },
  // Waits for an external event, until a cell reports it.
  {
    name: 'fetch',
    run: async ({ pass }, cells: Int32Array) => {
      const coming = async () => {
        while (Atomics.load(cells, 0) === 0) await Bun.sleep(1)
      }
      await pass(coming())
      return 'fetched'
    },
  },
  { name: 'exit', run: () => process.exit(1) },
  {
    name: 'throw',
    run: () => {
      queueMicrotask(() => {
        throw new Error('As ordered.')
      })
      return new Promise(() => {})
    },
  },
  {
    name: 'pieces',
    async *stream(_, count: number) {
      try {
        for (let piece = 0; piece < count; piece++) {
          made++
          yield new Uint8Array(PIECE_BYTES).fill(piece)
        }
      } finally {
        closed++
      }
    },
  },
  {
    name: 'broken',
    async *stream() {
      yield 'first'
      throw new Error('As ordered.')
    },
  },
  { name: 'counts', run: () => ({ made, closed }) },
]

export const taskWorker = defineWorker(
  { name: 'pool-tasks', purpose: 'runs tasks', file: import.meta.filename },
  (cancelled: Int32Array, parent: Parent<FromThread, Ask>) =>
    runTasks<Ports>(parent, {
      cancelled,
      portsOf: (moment, pass) => ({ pass, moment }),
      findTask: (name) => tasks.find((task) => task.name === name),
      toFault: messageOf,
      counts: () => ({ made }),
    }),
)
