import { Fault } from './fault.ts'

/** After a stall, timers run before the data that has arrived: one more turn reads that first. */
const LAST_TURN_MS = 20

/** Rejects with a `no_answer` fault after the time limit; the work itself is not cancelled. */
export async function within<T>(limitMs: number, answer: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const fail = () => reject(new Fault(`No answer in ${limitMs} ms`, { kind: 'no_answer' }))
  let timer = setTimeout(() => (timer = setTimeout(fail, LAST_TURN_MS)), limitMs)
  try {
    return await Promise.race([answer, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Resolves when the work has ended, or after the time limit. */
export async function atMost(limitMs: number, work: Promise<unknown>): Promise<void> {
  const deadline = Promise.withResolvers<void>()
  const timer = setTimeout(deadline.resolve, limitMs)
  try {
    await Promise.race([work, deadline.promise])
  } finally {
    clearTimeout(timer)
  }
}
