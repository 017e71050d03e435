/** A clock and timers that only a test moves. */
export function createFakeTimers(nowMs: number) {
  const pending = new Map<object, { dueMs: number; callback: () => void }>()
  let now = nowMs

  return {
    clock: () => now,
    /** Calls back once when the time has come; returns a function that cancels the call. */
    startTimer(callback: () => void, delayMs: number): () => void {
      const handle = {}
      pending.set(handle, { dueMs: now + delayMs, callback })
      return () => void pending.delete(handle)
    },
    /** Milliseconds until each timer, soonest first. */
    delays: (): number[] =>
      [...pending.values()].map(({ dueMs }) => dueMs - now).sort((a, b) => a - b),
    /** Moves the clock and calls the due timers. */
    advance(ms: number): void {
      now += ms
      for (const [handle, { dueMs, callback }] of [...pending]) {
        if (dueMs > now || !pending.delete(handle)) continue
        callback()
      }
    },
  }
}
