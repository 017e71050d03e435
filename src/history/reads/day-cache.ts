/** Caches what is computed from the markets of a day, which takes milliseconds. */
import { DAY_MS } from '#src/domain/time.ts'
import { createCache } from '#src/platform/cache.ts'

import type { MarketHistory } from '../history.ts'

/** How long a past day is reused: as long as closed history may be cached. */
const OVER_KEPT_MS = 60_000
const PENDING_KEPT_MS = 1_000
/** Ten years of days; one takes about a kilobyte. */
const DAYS_KEPT_MAX = 3_660

type AnyHistory = Pick<MarketHistory, 'cursorKey'>
/** `startMs` is the midnight at which the day begins. */
type AnyDay = { startMs: number }
type ReadDay<History, Day, Made> = (history: History, day: Day, nowMs: number) => Made

/** Computes days with `make`, and reuses recent ones of the same history. */
export function cacheDays<History extends AnyHistory, Day extends AnyDay, Made>(
  make: ReadDay<History, Day, Made>,
): ReadDay<History, Day, Made> {
  type Entry = { madeMs: number; made: Made }
  const caches = new WeakMap<Uint8Array, ReturnType<typeof createCache<string, Entry>>>()
  // Decided by the time of computing: otherwise a day would turn final a minute late.
  const keptFor = ({ startMs }: Day, { madeMs }: Entry): number =>
    startMs + DAY_MS <= madeMs ? OVER_KEPT_MS : PENDING_KEPT_MS
  return (history, day, nowMs) => {
    const cache = caches.get(history.cursorKey) ?? createCache<string, Entry>(DAYS_KEPT_MAX)
    caches.set(history.cursorKey, cache)
    const key = JSON.stringify(day)
    const known = cache.get(key)
    if (known !== undefined && nowMs - known.madeMs < keptFor(day, known)) return known.made
    const made = make(history, day, nowMs)
    cache.set(key, { madeMs: nowMs, made }, { size: 1 })
    return made
  }
}
