/** What a caller may use, and what it has used. */
import { type Clock, DAY_MS, toIso } from '#src/core/time.ts'
import type { UsageRow } from '#src/ledger/ledger.ts'
import type { Caller, RateState } from '#src/selling/caller.ts'

import type { UsageBody, UsageDay } from './model.ts'

/** Port: the current allowances of a caller, without taking from them. */
export type WindowsOf = (caller: Caller) => { data: RateState; billing: RateState }
/** Port: the counters of a caller's account, those that are not written yet included. */
export type UsageOf = (caller: Caller) => readonly UsageRow[]

type Deps = { clock: Clock; windowsOf: WindowsOf; usageOf: UsageOf }

/** Days that are shown, today included. */
const DAYS_MAX = 90

/** Makes the service. */
export const createUsageService = ({ clock, windowsOf, usageOf }: Deps) => ({
  usage(caller: Caller): UsageBody {
    const nowMs = clock()
    const { data, billing } = windowsOf(caller)
    const { terms, subscription } = caller.standing
    const { tierId, name, requestsPerMinute, coins, routes } = terms
    return {
      tier: { id: tierId, name, requestsPerMinute, coins: [...coins], routes: [...routes] },
      period:
        subscription === undefined
          ? null
          : {
              startsAt: toIso(subscription.startMs),
              endsAt: subscription.endMs === undefined ? null : toIso(subscription.endMs),
            },
      windows: { data: toWindow(data, nowMs), billing: toWindow(billing, nowMs) },
      days: toDays(usageOf(caller), toDay(nowMs - (DAYS_MAX - 1) * DAY_MS)),
    }
  },
})

export type UsageService = ReturnType<typeof createUsageService>

const toDay = (timeMs: number): string => toIso(timeMs).slice(0, 10)

/** Rounded up: who waits until then finds the window ended. */
const toWindow = ({ limit, remaining, leftMs }: RateState, nowMs: number) => ({
  limit,
  remaining,
  resetsAt: toIso(Math.ceil(nowMs + leftMs)),
})

function toDays(rows: readonly UsageRow[], fromDay: string): UsageDay[] {
  const shown = rows.filter(({ day }) => day >= fromDay)
  const days = Map.groupBy(shown, ({ day }) => day)
  return [...days]
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .map(([date, ofDay]) => ({ date, ...sum(ofDay), routes: toRoutes(ofDay) }))
}

const toRoutes = (rows: readonly UsageRow[]): UsageDay['routes'] =>
  [...Map.groupBy(rows, ({ route }) => route)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([route, ofRoute]) => ({ route, ...sum(ofRoute) }))

const sum = (rows: readonly UsageRow[]) => ({
  requests: rows.reduce((total, { requests }) => total + requests, 0),
  bytes: rows.reduce((total, { bytes }) => total + bytes, 0),
})
