/** Pauses of streams, which end at the first `tick` after their time. */
import type { Clock } from '#src/domain/time.ts'

export function createRests(timer: Clock) {
  /** The end of each pause, by the function that resolves it. */
  const resting = new Map<() => void, number>()
  return {
    /** Resolves at the first tick after this number of milliseconds. */
    rest(ms: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      resting.set(resolve, timer() + ms)
      return promise
    },

    tick(): void {
      const nowMs = timer()
      for (const [resolve, dueMs] of resting) {
        if (nowMs < dueMs) continue
        resting.delete(resolve)
        resolve()
      }
    },
  }
}
