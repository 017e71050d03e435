/** A thread that responds in capitals, and ends in the requested way. */

import { defineWorker, type Parent } from '#src/platform/worker.ts'

const never = new Promise<string>(() => {})
const ends = {
  throw: () =>
    queueMicrotask(() => {
      throw new Error('As ordered.')
    }),
  reject: () => void Promise.reject(new Error('As ordered.')),
  exit: () => process.exit(1),
}
export const waysToEnd = Object.keys(ends) as (keyof typeof ends)[]

export const mortalWorker = defineWorker(
  { name: 'mortal', purpose: 'is mortal', file: import.meta.filename },
  (_: undefined, parent: Parent<never, string>) =>
    parent.receive(async (message) => {
      if (message === 'fail') throw new Error('As ordered.')
      const end = ends[message as keyof typeof ends] as (() => void) | undefined
      end?.()
      return end === undefined ? message.toUpperCase() : never
    }),
)
