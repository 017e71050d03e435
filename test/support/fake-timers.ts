/** A clock and timers that stand still until a test moves them. */
export function createFakeTimers(nowMs: number) {
  const pending = new Map<object, { dueMs: number; callback: () => void }>()
  let now = nowMs

  return {
    clock: () => now,
    /** Calls back once when the time has come; what it returns cancels that. */
    startTimer(callback: () => void, delayMs: number): () => void {
      const handle = {}
      pending.set(handle, { dueMs: now + delayMs, callback })
      return () => void pending.delete(handle)
    },
    /** Milliseconds until each timer, soonest first. */
    delays: (): number[] =>
      [...pending.values()].map(({ dueMs }) => dueMs - now).sort((a, b) => a - b),
    /** Moves the clock, and calls what is due. */
    advance(ms: number): void {
      now += ms
      for (const [handle, { dueMs, callback }] of [...pending]) {
        if (dueMs > now || !pending.delete(handle)) continue
        callback()
      }
    },
  }
}
