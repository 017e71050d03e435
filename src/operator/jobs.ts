/** The background jobs of the server: their last run, its result, and the next run. */
import type { Clock } from '#src/domain/time.ts'
import type { JobReport, RunOptions } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import { wrongState } from './values.ts'

export type JobState = {
  name: string
  /** The description of the job. */
  about: string
  isRunning: boolean
  progress?: { done: number; total: number } | undefined
  startedMs?: number | undefined
  endedMs?: number | undefined
  outcome?: string | undefined
  isFailed: boolean
  nextMs?: number | undefined
}

type Entry = {
  state: JobState
  start: ((options: RunOptions) => void) | undefined
  /** True while the start is being audited. */
  isStarting: boolean
}

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
    /** Adds a job. Only the operator starts a job with `run`, which returns its result. */
    add(
      name: string,
      about: string,
      run?: (report: JobReport, options: RunOptions) => Promise<string>,
    ): JobReport {
      const state = { name, about, isRunning: false, isFailed: false }
      const entry: Entry = { state, start: undefined, isStarting: false }
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
      /** True if the operator may start the job. */
      canRun: boolean
    })[] =>
      [...jobs.values()].map(({ state, start }) => ({ ...state, canRun: start !== undefined })),

    /**
     * Starts a job, which continues in the background. `note` is awaited first; if it rejects, the
     * job is not started. Throws a `wrong_value` or `wrong_state` fault if the job does not exist
     * or is running.
     */
    async run(name: string, options: RunOptions, note: () => Promise<void>): Promise<void> {
      const entry = jobs.get(name)
      if (entry?.start === undefined) {
        throw wrongState('name', `There is no job ${name} to be started.`)
      }
      if (entry.state.isRunning || entry.isStarting) {
        throw wrongState('name', `${name} is running already.`)
      }
      entry.isStarting = true
      try {
        await note()
        entry.start(options)
      } finally {
        entry.isStarting = false
      }
    },
  }
}
