/**
 * Fixed windows that count up to a limit; each begins with its key's first request in it. Two maps
 * alternate, a window's length each, so expiry needs neither timers nor searching.
 */

type RateWindow = {
  used: number
  /** Exclusive, on the clock of `nowMs`. */
  readonly endMs: number
}

export type RateWindows = ReturnType<typeof createRateWindows>

/**
 * `capacity` windows are held at most, and further keys share one; Infinity where keys cannot be
 * made up. `nowMs` of calls must come from a monotonic clock.
 */
export function createRateWindows({ windowMs, capacity }: { windowMs: number; capacity: number }) {
  let current = new Map<string, RateWindow>()
  let previous = new Map<string, RateWindow>()
  let rotatesMs = Number.NEGATIVE_INFINITY
  let shared: RateWindow = { used: 0, endMs: Number.NEGATIVE_INFINITY }

  function rotate(nowMs: number): void {
    previous = nowMs < rotatesMs + windowMs ? current : new Map()
    current = new Map()
    rotatesMs = nowMs + windowMs
  }

  const isFull = () => current.size + previous.size >= capacity

  /** The window that a key is in; undefined if its next request begins one. */
  function find(key: string, nowMs: number): RateWindow | undefined {
    if (nowMs >= rotatesMs) rotate(nowMs)
    const window = current.get(key) ?? previous.get(key) ?? (isFull() ? shared : undefined)
    return window !== undefined && nowMs < window.endMs ? window : undefined
  }

  function begin(key: string, nowMs: number): RateWindow {
    const window = { used: 0, endMs: nowMs + windowMs }
    // Whoever has a place keeps it, also when all are taken.
    const hasPlace = current.has(key) || previous.delete(key)
    if (hasPlace || !isFull()) current.set(key, window)
    else shared = window
    return window
  }

  return {
    find,

    /** Takes one from a key's window, if any is left; returns the window then. */
    take(key: string, limit: number, nowMs: number): RateWindow | undefined {
      const window = find(key, nowMs) ?? begin(key, nowMs)
      if (window.used >= limit) return undefined
      window.used++
      return window
    },

    size: () => current.size + previous.size,
  }
}
