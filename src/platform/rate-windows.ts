/**
 * Fixed rate windows, each of which begins with the first request of its key. The windows of one
 * thread are in a `Map`; windows that threads share have the same type.
 */

export type RateWindow = {
  readonly used: number
  /** Exclusive, on the clock of `nowMs`. */
  readonly endMs: number
}

export type TakenWindow = RateWindow & { readonly isTaken: boolean }

/** `nowMs` must come from a monotonic clock, on which all threads agree to within some ms. */
export type RateWindows = {
  /** The current window of a key; undefined if its next request begins one. */
  find(key: string, nowMs: number): RateWindow | undefined
  /** Takes one unit from a key's window, if any is left; returns the window. */
  take(key: string, limit: number, nowMs: number): TakenWindow
}

/** Holds at most `capacity` windows; all further keys share one. */
export function createRateWindows(windowMs: number, capacity: number): RateWindows {
  /** In the order in which they begin, which is also the order in which they end. */
  const windows = new Map<string, { used: number; endMs: number }>()
  let shared = { used: 0, endMs: Number.NEGATIVE_INFINITY }

  function begin(key: string, nowMs: number): { used: number; endMs: number } {
    windows.delete(key)
    for (const [other, { endMs }] of windows) {
      if (endMs > nowMs) break
      windows.delete(other)
    }
    const begun = { used: 0, endMs: nowMs + windowMs }
    if (windows.size < capacity) {
      windows.set(key, begun)
      return begun
    }
    if (shared.endMs <= nowMs) shared = begun
    return shared
  }

  const isOpen = (window: RateWindow | undefined, nowMs: number): boolean =>
    window !== undefined && window.endMs > nowMs

  return {
    find(key, nowMs) {
      const window = windows.get(key) ?? (windows.size < capacity ? undefined : shared)
      return window !== undefined && isOpen(window, nowMs) ? { ...window } : undefined
    },
    take(key, limit, nowMs) {
      const known = windows.get(key)
      const window = known !== undefined && isOpen(known, nowMs) ? known : begin(key, nowMs)
      const isTaken = window.used < limit
      if (isTaken) window.used++
      return { used: window.used, endMs: window.endMs, isTaken }
    },
  }
}
