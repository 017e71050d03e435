/** What the server does in the background: when it last ran, how that ended, when it is next. */
import type { Clock } from '#src/core/time.ts'
import type { JobReport } from '#src/lib/job.ts'
import { messageOf } from '#src/lib/message.ts'

import { OperatorFault } from './values.ts'

export type JobState = {
  name: string
  /** What it does. */
  about: string
  isRunning: boolean
  progress?: { done: number; total: number } | undefined
  startedMs?: number | undefined
  endedMs?: number | undefined
  outcome?: string | undefined
  isFailed: boolean
  nextMs?: number | undefined
  /** The operator may start it. */
  canRun: boolean
}

export type RunOptions = {
  /** See `bookfeed sanctions refresh --accept-loss`. */
  acceptsLoss: boolean
}
/** Returns how it ended. */
type Run = (report: JobReport, options: RunOptions) => Promise<string>

export type JobBoard = ReturnType<typeof createJobBoard>

export function createJobBoard(clock: Clock) {
  const jobs = new Map<string, { state: JobState; report: JobReport; run: Run | undefined }>()

  function reportOf(state: JobState): JobReport {
    const end = (isFailed: boolean) => (outcome: string, nextMs?: number) => {
      Object.assign(state, { isRunning: false, isFailed, outcome, nextMs, progress: undefined })
      state.endedMs = clock()
    }
    return {
      began: () => void Object.assign(state, { isRunning: true, startedMs: clock() }),
      progress: (done, total) => void Object.assign(state, { progress: { done, total } }),
      ended: end(false),
      failed: end(true),
    }
  }

  return {
    /** A job; with `run` the operator may start it. */
    add(name: string, about: string, run?: Run): JobReport {
      const canRun = run !== undefined
      const state: JobState = { name, about, isRunning: false, isFailed: false, canRun }
      const report = reportOf(state)
      jobs.set(name, { state, report, run })
      return report
    },

    list: (): JobState[] => [...jobs.values()].map(({ state }) => ({ ...state })),

    /** Starts a job, which goes on by itself. Throws `OperatorFault`. */
    run(name: string, options: RunOptions): void {
      const { state, report, run } = jobs.get(name) ?? {}
      if (state === undefined || report === undefined || run === undefined) {
        throw new OperatorFault('state', 'name', `There is no job ${name} to be started.`)
      }
      if (state.isRunning) throw new OperatorFault('state', 'name', `${name} is running already.`)
      const { nextMs } = state
      report.began()
      run(report, options).then(
        (outcome) => report.ended(outcome, nextMs),
        (error: unknown) => report.failed(messageOf(error), nextMs),
      )
    },
  }
}
