/** The venue's weekly restart of its matching engine: Tuesdays at 07:00 Eastern, for some 90 s. */

import type { Span } from '#src/domain/coverage.ts'

import { easternHour } from './eastern-time.ts'

const TUESDAY = 2
const HOUR = 7
const HOUR_MS = 3_600_000
/** The last message may be this long before the hour, and the restart takes this long. */
const QUIET_MS = 60_000
const RESTART_MS = 180_000

/** True if a gap is due to the restart: it begins just before it and reaches into it. */
export function isRestart({ fromMs, toMs }: Span): boolean {
  const startMs = Math.floor((fromMs + QUIET_MS) / HOUR_MS) * HOUR_MS
  const isNear = fromMs < startMs + RESTART_MS && toMs > startMs
  // Eastern time is on the same day in UTC.
  return isNear && new Date(startMs).getUTCDay() === TUESDAY && easternHour(startMs) === HOUR
}
