/** The clock for every expiry: it never runs backwards, not even over a restart. */
import { type Clock, DAY_MS } from './time.ts'

type Deps = {
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  /** Port: stores a time on this machine over a restart. */
  floor: { get(): number | undefined; put(nowMs: number): void }
}

/** A clock that is set back by more than this was far ahead: nothing would be valid until then. */
const AHEAD_MS_MAX = DAY_MS

/** Begins no earlier than the last stored time; `keep` stores the time for the next start. */
export function createSteadyClock({ clock, timer, floor }: Deps) {
  let lastMs = floor.get() ?? 0
  let readMs = timer()

  function now(): number {
    const systemMs = clock()
    const timerMs = timer()
    // While the system clock is behind, this one runs at half speed: the system clock catches up,
    // and time never stops.
    const slowedMs = lastMs + (timerMs - readMs) / 2
    readMs = timerMs
    const isBack = systemMs < lastMs && lastMs - systemMs <= AHEAD_MS_MAX
    lastMs = isBack ? slowedMs : systemMs
    return Math.floor(lastMs)
  }

  return { now, keep: () => floor.put(now()) }
}
