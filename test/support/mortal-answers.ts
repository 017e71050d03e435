/** A thread that answers in capitals, and ends in the way that it is asked to. */
import { workerData } from 'node:worker_threads'

import { answerFor, type Line, openBlocking } from '#src/platform/blocking.ts'

export const openMortal = () => openBlocking<string>(import.meta.filename, { isMortal: true })

type Start = { isMortal: true; line: Line }

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

if ((workerData as Start | null)?.isMortal)
  answerFor((workerData as Start).line, async (message) => {
    const end = ends[message as keyof typeof ends] as (() => void) | undefined
    end?.()
    return end === undefined ? String(message).toUpperCase() : never
  })
