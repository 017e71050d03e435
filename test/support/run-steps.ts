import type { Steps } from '#src/platform/scheduler.ts'

/** Does work in steps to its end, without turns. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
