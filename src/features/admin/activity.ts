/** Activity of all servers over a day, a week or a month, with the sales of that time. */
import { formatMillionths } from '#src/domain/decimal.ts'
import { type ErrorCode, errorCodes } from '#src/domain/errors.ts'
import { DAY_MS, toIso } from '#src/domain/time.ts'
import { boundsMs } from '#src/http/meters.ts'
import { type Activity, ACTIVITY_STEP_MS, type Ledger } from '#src/ledger/ledger.ts'
import { millionthsOf } from '#src/operator/payments.ts'

import type { ActivitySeries } from './schema.ts'

/** Length of each range and of its steps: a few hundred steps each. */
export const ranges = {
  day: { lengthMs: DAY_MS, stepMs: ACTIVITY_STEP_MS },
  week: { lengthMs: 7 * DAY_MS, stepMs: 6 * ACTIVITY_STEP_MS },
  month: { lengthMs: 30 * DAY_MS, stepMs: 24 * ACTIVITY_STEP_MS },
} as const
export type Range = keyof typeof ranges

/** States of payments that brought no money or bought nothing. */
const failed: readonly string[] = ['rejected', 'void', 'review']

type Sources = {
  ledger: Pick<Ledger, 'listActivity' | 'countSignups' | 'payments'>
  /** Steps that this server has counted but not written to the ledger yet. */
  unwritten: readonly Activity[]
  /** When the recorder that crashed or hangs last reported; undefined while none is silent. */
  silentMs: number | undefined
  nowMs: number
}

/** Lists the steps of all servers since a moment, with this server's unwritten counts. */
export function listActivity(
  { ledger, unwritten }: Pick<Sources, 'ledger' | 'unwritten'>,
  sinceMs: number,
): Activity[] {
  const steps = new Map<string, Activity>()
  for (const step of [...ledger.listActivity(sinceMs), ...unwritten])
    if (step.stepMs >= sinceMs) steps.set(`${step.stepMs} ${step.server}`, step)
  return [...steps.values()]
}

export function toActivitySeries(sources: Sources, range: Range): ActivitySeries {
  const { ledger, silentMs, nowMs } = sources
  const { lengthMs, stepMs } = ranges[range]
  const sinceMs = nowMs - (nowMs % stepMs) - lengthMs + stepMs
  const activity = listActivity(sources, sinceMs)
  const byStep = Map.groupBy(activity, (each) => each.stepMs - (each.stepMs % stepMs))
  const payments = ledger.payments.sumPayments({ sinceMs, stepMs })
  const paymentsByStep = Map.groupBy(payments, (each) => each.stepMs)
  const signups = new Map(
    ledger.countSignups({ sinceMs, stepMs }).map((each) => [each.stepMs, each.count]),
  )
  const starts = Array.from({ length: lengthMs / stepMs }, (_, index) => sinceMs + index * stepMs)
  return {
    from: toIso(sinceMs),
    to: toIso(sinceMs + lengthMs),
    stepSeconds: stepMs / 1000,
    servers: new Set(
      activity.filter((each) => each.stepMs >= nowMs - DAY_MS).map((each) => each.server),
    ).size,
    steps: starts.map((startMs) => {
      const own = paymentsByStep.get(startMs) ?? []
      const made = own.filter(({ state }) => state === 'provisioned')
      return {
        at: toIso(startMs),
        ...sumActivity(byStep.get(startMs) ?? [], silentMs ?? nowMs),
        payments: made.reduce((sum, { count }) => sum + count, 0),
        failedPayments: own
          .filter(({ state }) => failed.includes(state))
          .reduce((sum, { count }) => sum + count, 0),
        revenue: formatMillionths(made.reduce((sum, each) => sum + millionthsOf(each), 0)),
        signups: signups.get(startMs) ?? 0,
      }
    }),
    problems: countProblems(activity),
  }
}

/**
 * Sums steps; null where no server ran. `untilMs` is the last report of a silent recorder, else
 * now.
 */
function sumActivity(activity: readonly Activity[], untilMs: number) {
  if (activity.length === 0)
    return { requests: null, errors: null, p99Ms: null, statesPerSecond: null, lagMs: null }
  const total = (name: 'requests' | 'errors'): number =>
    activity.reduce((sum, each) => sum + each[name], 0)
  // Servers on one data folder report the same recorder: count it once.
  const recorders = new Map<string, number>()
  for (const { stepMs, recorder } of activity) {
    if (recorder === undefined) continue
    const key = `${stepMs} ${recorder.startedMs}`
    recorders.set(key, Math.max(recorders.get(key) ?? 0, recorder.rows))
  }
  const rows = [...recorders.values()].reduce((sum, count) => sum + count, 0)
  const lags = activity.flatMap(({ recorder }) => recorder?.lagMs ?? [])
  return {
    requests: total('requests'),
    errors: total('errors'),
    p99Ms: quantileOf(activity, 0.99),
    statesPerSecond:
      recorders.size === 0
        ? null
        : Math.round((rows / recordedSeconds(activity, untilMs)) * 10) / 10,
    lagMs: lags.length === 0 ? null : Math.max(...lags),
  }
}

/** Seconds in which a recorder ran: each step counts from the start of its earliest recorder. */
function recordedSeconds(activity: readonly Activity[], untilMs: number): number {
  const starts = new Map<number, number>()
  for (const { stepMs, recorder } of activity) {
    if (recorder === undefined) continue
    const startMs = Math.max(stepMs, recorder.startedMs)
    starts.set(stepMs, Math.min(starts.get(stepMs) ?? Infinity, startMs))
  }
  const lengthsMs = [...starts].map(([stepMs, startMs]) =>
    Math.max(0, Math.min(stepMs + ACTIVITY_STEP_MS, untilMs) - startMs),
  )
  return Math.max(1, lengthsMs.reduce((sum, ms) => sum + ms, 0) / 1000)
}

/** Reported for durations above the last bucket. */
const ABOVE_MS = Math.max(...boundsMs) + 1

/**
 * Upper bound of the bucket that holds the quantile; no request within it took longer. Null without
 * requests.
 */
function quantileOf(activity: readonly Activity[], quantile: number): number | null {
  const total = activity.reduce((sum, { requests }) => sum + requests, 0)
  if (total === 0) return null
  let below = 0
  for (const [index, bound] of boundsMs.entries()) {
    below += activity.reduce((sum, { durations }) => sum + (durations[index] ?? 0), 0)
    if (below >= quantile * total) return bound
  }
  return ABOVE_MS
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(errorCodes, code)

/** Counts refusals and failures by code, the most frequent first. */
export function countProblems(activity: readonly Activity[]): ActivitySeries['problems'] {
  const counts = new Map<string, number>()
  for (const { problems } of activity)
    for (const [code, count] of Object.entries(problems))
      counts.set(code, (counts.get(code) ?? 0) + count)
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => {
      // A server of another version may report codes that this one does not know.
      const { status, title } = isCode(code) ? errorCodes[code] : { status: 0, title: code }
      return { code, status, title, count }
    })
}
