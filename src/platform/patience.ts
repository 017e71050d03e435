/** How long an answer of another machine is waited for. */

import { Fault, isFault } from './fault.ts'

/** A thread that stood still finds its timers before what has arrived meanwhile. */
const LAST_TURN_MS = 20

/** Rejects with a `no_answer` fault where there is none in time; the work goes on. */
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

/** While nothing answers, one caller at a time tries, `pauseMs` after the last; others need not. */
export function createTrials(pauseMs: number) {
  let failedAtMs: number | undefined
  let answeredAtMs = Number.NEGATIVE_INFINITY
  let isTrying = false
  const trials = {
    /** False: it is not to be asked now. After true, `end` is to be called. */
    begin(): boolean {
      if (failedAtMs === undefined) return true
      if (isTrying || performance.now() - failedAtMs < pauseMs) return false
      isTrying = true
      return true
    },

    /** No answer to what was asked at `begunMs` is no failure where others had one since. */
    end(hasAnswered: boolean, begunMs = performance.now()): void {
      isTrying = false
      if (hasAnswered) {
        answeredAtMs = performance.now()
        failedAtMs = undefined
      } else if (answeredAtMs < begunMs) failedAtMs = performance.now()
    },

    /** Rejects as `ask`, and with a `no_answer` fault where it is not to be asked now. */
    async during<T>(ask: () => Promise<T>): Promise<T> {
      if (!trials.begin()) throw new Fault('', { kind: 'no_answer' })
      const begunMs = performance.now()
      let hasAnswered = true
      try {
        return await ask()
      } catch (error) {
        hasAnswered = !isFault(error, 'no_answer', 'no_connection')
        throw error
      } finally {
        trials.end(hasAnswered, begunMs)
      }
    },
  }
  return trials
}
