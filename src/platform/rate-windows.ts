/**
 * Fixed windows that count up to a limit; each begins with its key's first request in it. Those of
 * one thread are in a `Map`; windows that threads share are of the same type.
 */

export type RateWindow = {
  readonly used: number
  /** Exclusive, on the clock of `nowMs`. */
  readonly endMs: number
}

export type TakenWindow = RateWindow & { readonly isTaken: boolean }

/** `nowMs` of calls must come from a monotonic clock, of several threads the same to some ms. */
export type RateWindows = {
  /** The window that a key is in; undefined if its next request begins one. */
  find(key: string, nowMs: number): RateWindow | undefined
  /** Takes one from a key's window, if any is left; the window then. */
  take(key: string, limit: number, nowMs: number): TakenWindow
}

/** `capacity` windows are held at a time, and further keys share one. */
export function createRateWindows(windowMs: number, capacity: number): RateWindows {
  /** In the order in which they began, in which they end too. */
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
