/** When the venue restarts its matching engine: each Tuesday at 07:00 Eastern, for some 90 s. */

import type { Span } from '#src/domain/coverage.ts'

import { easternHour } from './eastern-time.ts'

const TUESDAY = 2
const HOUR = 7
const HOUR_MS = 3_600_000
/** How long before the hour the last message may have come, and how long the restart takes. */
const QUIET_MS = 60_000
const RESTART_MS = 180_000

/** Whether nothing is known in a time because of the restart: it begins with it, and reaches into it. */
export function isRestart({ fromMs, toMs }: Span): boolean {
  const startMs = Math.floor((fromMs + QUIET_MS) / HOUR_MS) * HOUR_MS
  const isNear = fromMs < startMs + RESTART_MS && toMs > startMs
  // It is the same day in UTC.
  return isNear && new Date(startMs).getUTCDay() === TUESDAY && easternHour(startMs) === HOUR
}
