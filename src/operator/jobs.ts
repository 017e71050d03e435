/** What the server does in the background: when it last ran, how that ended, when it is next. */
import type { Clock } from '#src/domain/time.ts'
import type { JobReport, RunOptions } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import { wrongState } from './values.ts'

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
}

type Entry = { state: JobState; start: ((options: RunOptions) => void) | undefined }

export type JobBoard = ReturnType<typeof createJobBoard>

export function createJobBoard(clock: Clock) {
  const jobs = new Map<string, Entry>()

  function createReport(entry: Entry): JobReport {
    const { state } = entry
    const end = (isFailed: boolean) => (outcome: string, nextMs?: number) => {
      Object.assign(state, { isRunning: false, isFailed, outcome, nextMs, progress: undefined })
      state.endedMs = clock()
    }
    return {
      canStart(start) {
        entry.start = start
      },
      due(nextMs) {
        state.nextMs = Math.min(state.nextMs ?? nextMs, nextMs)
      },
      began: () =>
        void Object.assign(state, { isRunning: true, startedMs: clock(), nextMs: undefined }),
      progress: (done, total) => void Object.assign(state, { progress: { done, total } }),
      ended: end(false),
      failed: end(true),
    }
  }

  return {
    /** A job; one with `run`, which returns how it ended, is started by the operator alone. */
    add(
      name: string,
      about: string,
      run?: (report: JobReport, options: RunOptions) => Promise<string>,
    ): JobReport {
      const state = { name, about, isRunning: false, isFailed: false }
      const entry: Entry = { state, start: undefined }
      const report = createReport(entry)
      if (run !== undefined) {
        report.canStart((options) => {
          report.began()
          run(report, options).then(report.ended, (error) => report.failed(messageOf(error)))
        })
      }
      jobs.set(name, entry)
      return report
    },

    list: (): (JobState & {
      /** The operator may start it. */
      canRun: boolean
    })[] =>
      [...jobs.values()].map(({ state, start }) => ({ ...state, canRun: start !== undefined })),

    /**
     * Starts a job, which goes on by itself. `note` is called before: if it throws, nothing is
     * started. Throws a `wrong_value` or `wrong_state` fault if there is no such job, or if it is
     * running.
     */
    run(name: string, options: RunOptions, note: () => void): void {
      const { state, start } = jobs.get(name) ?? {}
      if (start === undefined) {
        throw wrongState('name', `There is no job ${name} to be started.`)
      }
      if (state?.isRunning) throw wrongState('name', `${name} is running already.`)
      note()
      start(options)
    },
  }
}
