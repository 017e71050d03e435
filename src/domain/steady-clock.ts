/** The time by which everything expires: it never runs backwards, here or over a restart. */
import { type Clock, DAY_MS } from './time.ts'

type Deps = {
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  /** Port: what keeps a time over a restart, on this machine. */
  floor: { get(): number | undefined; put(nowMs: number): void }
}

/** A clock that is set back by more was far ahead: nothing would be valid until then. */
const AHEAD_MS_MAX = DAY_MS

/** Begins no earlier than the last time that was kept; `keep` writes it down for the next start. */
export function createSteadyClock({ clock, timer, floor }: Deps) {
  let lastMs = floor.get() ?? 0
  let readMs = timer()

  function now(): number {
    const systemMs = clock()
    const timerMs = timer()
    // While the system's clock is behind, half as fast as real time: it catches up, never halts.
    const slowedMs = lastMs + (timerMs - readMs) / 2
    readMs = timerMs
    const isBack = systemMs < lastMs && lastMs - systemMs <= AHEAD_MS_MAX
    lastMs = isBack ? slowedMs : systemMs
    return Math.floor(lastMs)
  }

  return { now, keep: () => floor.put(now()) }
}
