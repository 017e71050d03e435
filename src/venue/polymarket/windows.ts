/** The windows that the venue has at a time, and its possible names for each. */

import { coinTable, type Timeframe, timeframeMs, timeframeTable } from '#src/domain/market.ts'

import type { MarketWindow } from '../catalogue.ts'
import { easternDate, easternHour } from './eastern-time.ts'
import { slugOf } from './slug.ts'

const HOUR_MS = 3_600_000

export function windowStarts(timeframe: Timeframe, nowMs: number, ahead: number): number[] {
  const { ms, easternHours } = timeframeTable[timeframe]
  if (easternHours === undefined) {
    const firstMs = Math.floor(nowMs / ms) * ms
    return Array.from({ length: ahead + 1 }, (_, index) => firstMs + index * ms)
  }
  const isStart = (momentMs: number) => easternHours.includes(easternHour(momentMs) ?? -1)
  const starts: number[] = []
  let momentMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS
  while (!isStart(momentMs)) momentMs -= HOUR_MS
  for (; starts.length <= ahead; momentMs += HOUR_MS) if (isStart(momentMs)) starts.push(momentMs)
  return starts
}

/**
 * Slugs under which the venue may list a window, the likeliest first. An hour is named after the
 * Eastern hour in which it opens, a day after the Eastern date on which it ends; both were printed
 * without the year until 2026.
 */
export function namesOf(window: Omit<MarketWindow, 'endMs'>): string[] {
  const { coin, timeframe, startMs } = window
  const form = timeframeTable[timeframe].slug
  if (form === undefined) return [slugOf(window)]
  const { slugNames } = coinTable[coin]
  const { month, day, year, hour } = easternDate(
    form === 'day' ? startMs + timeframeMs[timeframe] : startMs,
  )
  const half = hour < 12 ? 'am' : 'pm'
  return slugNames.flatMap((slugName) =>
    [`-${year}`, ''].map((of) =>
      form === 'day'
        ? `${slugName}-up-or-down-on-${month}-${day}${of}`
        : `${slugName}-up-or-down-${month}-${day}${of}-${hour % 12 || 12}${half}-et`,
    ),
  )
}
