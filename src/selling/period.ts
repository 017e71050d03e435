/**
 * What a paid period does to those that are there. The rule in one sentence: it starts at once if
 * its tier is higher than what runs, and what runs is moved after it, whole; otherwise it starts
 * when the last period of the same or a higher tier ends. So periods never overlap, and no paid day
 * is lost.
 */
import { DAY_MS } from '#src/core/time.ts'

import type { Subscription } from './subscription.ts'
import type { Terms } from './tier.ts'

/** A paid period in time; grants have none of this and are left alone. */
export type Period = Pick<Subscription, 'id' | 'tierId' | 'startMs'> & {
  terms: Terms
  endMs: number
}

export type Booking = {
  /** Where the new period lies. */
  startMs: number
  endMs: number
  /** Periods that change, as they are afterwards. A running one is cut: see `rest`. */
  moved: Period[]
  /** What is left of a running period that was cut, after the new one; it needs an id. */
  rest?: Omit<Period, 'id'> | undefined
}

/** Books `days` of `terms` bought at `nowMs` beside the paid periods of an account. */
export function bookPeriod(
  periods: readonly Period[],
  bought: { terms: Terms; days: number; nowMs: number },
): Booking {
  const { terms, nowMs } = bought
  const lengthMs = bought.days * DAY_MS
  const isAhead = (period: Period) => period.endMs > nowMs && period.terms.rank >= terms.rank
  const startMs = Math.max(nowMs, ...periods.filter(isAhead).map(({ endMs }) => endMs))
  const endMs = startMs + lengthMs
  const moved: Period[] = []
  let rest: Booking['rest']
  for (const period of periods) {
    if (period.endMs <= startMs) continue
    if (period.startMs >= startMs) {
      moved.push({ ...period, startMs: period.startMs + lengthMs, endMs: period.endMs + lengthMs })
      continue
    }
    const { id: _, ...cut } = period
    moved.push({ ...period, endMs: startMs })
    rest = { ...cut, startMs: endMs, endMs: period.endMs + lengthMs }
  }
  return { startMs, endMs, moved, rest }
}
