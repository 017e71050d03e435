/**
 * How current is what a server serves, where it reads copies of stores whose database may not
 * answer.
 */
import { AppError } from './errors.ts'
import { type Clock, toIso } from './time.ts'

/** Beyond this age a copy is stale. One that follows its database is less than a second old. */
export const STALE_MS = 2000
/** For so long a key is honoured without the ledger: a key that was revoked is refused after it. */
export const UNCONFIRMED_MS_MAX = 10_000
const RETRY_AFTER_SECONDS = 5
/** Two clocks measure an age; what they differ by moves no moment. */
const JITTER_MS = 20

/**
 * The moment up to which all of a store is known, while its copy is stale; undefined while it is
 * current, which a file always is.
 */
export type StaleSince = (store: 'history' | 'ledger') => number | undefined

export const alwaysCurrent: StaleSince = () => undefined

/** Now, as an answer sees it: while the copy that is read is stale, the moment up to which all is known. */
export type ServedMoment = { nowMs: number; isStale: boolean }

/** Time stands still while the history is stale, because the silence of its copy is no gap. */
export const createServedMoment =
  (staleSince: StaleSince, clock: Clock): (() => ServedMoment) =>
  () => {
    const sinceMs = staleSince('history')
    return { nowMs: sinceMs ?? clock(), isStale: sinceMs !== undefined }
  }

/** The same moment as long as nothing more is known. `ageMsOf` is 0 for a store that is a file. */
export function createStaleSince(
  ageMsOf: (store: 'history' | 'ledger') => number,
  clock: Clock,
): StaleSince {
  const known: Partial<Record<'history' | 'ledger', number>> = {}
  return (store) => {
    const ageMs = ageMsOf(store)
    if (ageMs <= STALE_MS) return undefined
    const sinceMs = Math.floor(clock() - ageMs)
    const before = known[store]
    if (before !== undefined && Math.abs(sinceMs - before) <= JITTER_MS) return before
    known[store] = sinceMs
    return sinceMs
  }
}

/** Since when keys may have been revoked without this server knowing; undefined while it knows. */
export function unconfirmedSince(staleSince: StaleSince, nowMs: number): number | undefined {
  const sinceMs = staleSince('ledger')
  return sinceMs !== undefined && nowMs - sinceMs > UNCONFIRMED_MS_MAX ? sinceMs : undefined
}

/** Throws `unavailable` where keys may have been revoked without this server knowing. */
export function assertConfirmed(staleSince: StaleSince, nowMs: number): void {
  const sinceMs = unconfirmedSince(staleSince, nowMs)
  if (sinceMs === undefined) return
  throw new AppError(
    'unavailable',
    `Keys cannot be checked: the server has not heard from its ledger since ${toIso(sinceMs)}. Try again in a moment.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  )
}
