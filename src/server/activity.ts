/**
 * The activity of this server in steps of five minutes. It is counted in memory and written to the
 * ledger every minute, so that the operator's page also shows the time before a restart and other
 * servers.
 */
import type { Clock } from '#src/domain/time.ts'
import { readTotals, type Totals } from '#src/http/meters.ts'
import {
  type Activity,
  ACTIVITY_KEPT_MS,
  ACTIVITY_STEP_MS,
  type Ledger,
} from '#src/ledger/ledger.ts'
import { every, type Job } from '#src/platform/job.ts'

import type { RecorderStatus } from './recorder-status.ts'

/** How often counters and the recorder's lag are read. */
const LOOK_MS = 10_000
const WRITE_MS = 60_000
/** The maximum number of steps in memory while the ledger cannot be written. */
const UNWRITTEN_MAX = 288
/** Requests of the operator and of monitors are not counted: they are not customers. */
const UNCOUNTED = /^\w+ \/(admin|healthz|readyz)/

type Options = {
  clock: Clock
  /** The name of this process. */
  server: string
  meterMemory: SharedArrayBuffer
  readRecorder: () => Pick<RecorderStatus, 'startedMs' | 'sink'> | undefined
}

export type ActivityLog = ReturnType<typeof createActivityLog>

export function createActivityLog({ clock, server, meterMemory, readRecorder }: Options) {
  /** Steps that the ledger may not have; the last one is still in progress. */
  const unwritten = new Map<number, Activity>()
  let isCounted: (place: number) => boolean = () => true
  let totals: Totals | undefined
  let recorded: { startedMs: number; rows: number } | undefined
  let writtenMs = Number.NEGATIVE_INFINITY

  /** Adds the growth of the counters since the last look to the current step. */
  function look(): void {
    const nowMs = clock()
    const stepMs = nowMs - (nowMs % ACTIVITY_STEP_MS)
    const now = readTotals(meterMemory, isCounted)
    const step = unwritten.get(stepMs) ?? emptyStep(stepMs, server)
    const counted = totals === undefined ? step : addGrowth(step, totals, now)
    unwritten.set(stepMs, { ...counted, recorder: addRecorder(step.recorder) })
    totals = now
    const [oldestMs] = unwritten.keys()
    if (unwritten.size > UNWRITTEN_MAX && oldestMs !== undefined) unwritten.delete(oldestMs)
  }

  function addRecorder(before: Activity['recorder']): Activity['recorder'] {
    const status = readRecorder()
    if (status === undefined) return before
    const { startedMs, sink } = status
    // Rows that the recorder stored before this process began belong to another process's step.
    const firstRows = totals === undefined ? sink.rows : 0
    const rows = sink.rows - (recorded?.startedMs === startedMs ? recorded.rows : firstRows)
    recorded = { startedMs, rows: sink.rows }
    const lags = [before?.lagMs, sink.lagMs].filter((lag) => lag !== undefined)
    return {
      startedMs,
      rows: (before?.rows ?? 0) + rows,
      lagMs: lags.length === 0 ? undefined : Math.max(...lags),
    }
  }

  return {
    /** Returns the steps that the ledger may not have, up to now. */
    listUnwritten(): readonly Activity[] {
      look()
      return [...unwritten.values()]
    },

    /** `names` are the routes that requests are counted under, by their index in the meters. */
    start(ledger: Pick<Ledger, 'putActivity'>, names: readonly string[]): Job {
      const counted = names.map((name) => !UNCOUNTED.test(name))
      isCounted = (place) => counted[place] ?? false

      async function write(): Promise<void> {
        look()
        const steps = [...unwritten.values()]
        try {
          await ledger.putActivity(steps, clock() - ACTIVITY_KEPT_MS)
        } catch {
          // Another process writes, or the disk is full: the next try writes these steps too.
          return
        }
        // The last step is still in progress.
        for (const { stepMs } of steps.slice(0, -1)) unwritten.delete(stepMs)
      }

      function step(): void {
        look()
        if (Math.abs(clock() - writtenMs) < WRITE_MS) return
        writtenMs = clock()
        void write()
      }
      step()
      return every(LOOK_MS, step, write)
    },
  }
}

const emptyStep = (stepMs: number, server: string): Activity => ({
  stepMs,
  server,
  requests: 0,
  errors: 0,
  durations: [],
  problems: {},
  recorder: undefined,
})

function addGrowth(step: Activity, before: Totals, now: Totals): Activity {
  const problems = { ...step.problems }
  for (const [code, count] of Object.entries(now.problems)) {
    const growth = count - (before.problems[code] ?? 0)
    if (growth > 0) problems[code] = (problems[code] ?? 0) + growth
  }
  return {
    ...step,
    requests: step.requests + now.requests - before.requests,
    errors: step.errors + now.errors - before.errors,
    durations: now.durations.map(
      (count, bound) => (step.durations[bound] ?? 0) + count - (before.durations[bound] ?? 0),
    ),
    problems,
  }
}
