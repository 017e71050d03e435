/**
 * What this server does, in steps of five minutes: counted in memory, and written to the ledger
 * every minute, so that the page of the operator shows the time before a restart and other servers.
 */
import type { Clock } from '#src/domain/time.ts'
import { readTotals, type Totals } from '#src/http/meters.ts'
import {
  type Activity,
  ACTIVITY_KEPT_MS,
  ACTIVITY_STEP_MS,
  type Ledger,
} from '#src/ledger/ledger.ts'

import type { Job } from '../platform/job.ts'
import type { RecorderStatus } from './recorder-status.ts'
import { every } from './server-jobs.ts'

/** The recorder's lag is looked at so often. */
const LOOK_MS = 10_000
const WRITE_MS = 60_000
/** Steps that are kept in memory while the ledger takes no writes. */
const UNWRITTEN_MAX = 288
/** What the operator and monitors ask says nothing of the customers. */
const UNCOUNTED = /^\w+ \/(admin|healthz|readyz)/

type Options = {
  clock: Clock
  /** Names this process. */
  server: string
  meterMemory: SharedArrayBuffer
  readRecorder: () => Pick<RecorderStatus, 'startedMs' | 'sink'> | undefined
}

export type ActivityLog = ReturnType<typeof createActivityLog>

export function createActivityLog({ clock, server, meterMemory, readRecorder }: Options) {
  /** Steps that the ledger may not have, the last one as it is so far. */
  const unwritten = new Map<number, Activity>()
  let isCounted: (place: number) => boolean = () => true
  let totals: Totals | undefined
  let recorded: { startedMs: number; rows: number } | undefined
  let writtenMs = Number.NEGATIVE_INFINITY

  /** Adds what was done since the last look to the step of now. */
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
    // What a recorder stored before this process began is in the row of another process.
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
    /** What the ledger may not have yet; as it is now. */
    listUnwritten(): readonly Activity[] {
      look()
      return [...unwritten.values()]
    },

    /** `names` are those of the places that requests are counted at. */
    start(ledger: Pick<Ledger, 'putActivity'>, names: readonly string[]): Job {
      const counted = names.map((name) => !UNCOUNTED.test(name))
      isCounted = (place) => counted[place] ?? false

      function write(): void {
        look()
        try {
          ledger.putActivity([...unwritten.values()], clock() - ACTIVITY_KEPT_MS)
        } catch {
          // Another process writes, or the disk is full: the next try takes these steps too.
          return
        }
        const currentMs = Math.max(...unwritten.keys())
        for (const stepMs of unwritten.keys()) if (stepMs !== currentMs) unwritten.delete(stepMs)
      }

      function step(): void {
        look()
        if (Math.abs(clock() - writtenMs) < WRITE_MS) return
        writtenMs = clock()
        write()
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
