/** Long reads for connections: in turns with the work of all callers, and at their own pace. */

import type { Clock } from '#src/domain/time.ts'

/** The longest piece of work without a turn of others. */
const SLICE_MS = 4

/**
 * Work in short steps, each of which yields how many milliseconds it rests, usually none, or a
 * promise for which it waits; what that rejects with is thrown into it.
 */
export type Paced = Generator<number | Promise<unknown>, void>

type Job = { owner: string; level: number; steps: Paced; onError: (error: unknown) => void }

/** Makes a runner; `tick` resumes work whose rest is over. */
export function createRunner({
  turn,
  timer,
}: {
  /** Resolves when it is the owner's turn. */
  turn: (owner: string, level: number) => Promise<void>
  /** Monotonic milliseconds. */
  timer: Clock
}) {
  const resting = new Map<Job, number>()

  function runSlice({ steps }: Job): IteratorResult<number | Promise<unknown>, void> {
    const endMs = timer() + SLICE_MS
    let step = steps.next()
    while (!step.done && step.value === 0 && timer() < endMs) step = steps.next()
    return step
  }

  async function run(job: Job): Promise<void> {
    let fault: { cause: unknown } | undefined
    for (;;) {
      await turn(job.owner, job.level)
      const step = fault === undefined ? runSlice(job) : job.steps.throw(fault.cause)
      fault = undefined
      if (step.done) return
      if (step.value instanceof Promise) {
        await step.value.catch((cause: unknown) => (fault = { cause }))
      } else if (step.value > 0) {
        resting.set(job, timer() + step.value)
        return
      }
    }
  }

  const begin = (job: Job): void => void run(job).catch(job.onError)

  return {
    /** `level` is that of the owner among callers. */
    run: ({ owner, level }: Pick<Job, 'owner' | 'level'>, steps: Paced, onError: Job['onError']) =>
      begin({ owner, level, steps, onError }),

    tick(): void {
      const nowMs = timer()
      for (const [job, dueMs] of resting) {
        if (nowMs < dueMs) continue
        resting.delete(job)
        begin(job)
      }
    },
  }
}

export type Runner = ReturnType<typeof createRunner>
