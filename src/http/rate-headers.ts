/**
 * What every response reports of the caller's window: the three headers of the specification, and
 * the two of the IETF's draft (draft-ietf-httpapi-ratelimit-headers), which say the same.
 */
import type { RateState } from '#src/selling/caller.ts'

export const RATE_WINDOW_MS = 60_000
const MS_PER_SECOND = 1000
const WINDOW_SECONDS = { minute: 60, day: 86_400 }

/** Writes the headers. `nowMs` is the wall clock. */
export function writeRateHeaders(headers: Headers, rate: RateState, nowMs: number): void {
  const { limit, remaining, leftMs, window = 'minute' } = rate
  headers.set('X-RateLimit-Limit', String(limit))
  headers.set('X-RateLimit-Remaining', String(remaining))
  headers.set('X-RateLimit-Reset', String(Math.ceil((nowMs + leftMs) / MS_PER_SECOND)))
  headers.set('RateLimit', `"${window}";r=${remaining};t=${toSeconds(leftMs)}`)
  headers.set('RateLimit-Policy', `"${window}";q=${limit};w=${WINDOW_SECONDS[window]}`)
}

/** Whole seconds after which the window is over: waiting exactly so long is enough. */
export const toSeconds = (leftMs: number): number => Math.max(1, Math.ceil(leftMs / MS_PER_SECOND))
