/** Waits of a client between attempts, which end at once. */
import { spyOn } from 'bun:test'

/** Seconds, rounded down: clients wait a little longer than they must. */
export function passWaits() {
  const seconds: number[] = []
  const { setTimeout: start } = globalThis
  const spy = spyOn(globalThis, 'setTimeout').mockImplementation(((
    callback: () => void,
    ms: number,
  ) => {
    // Of a minute on it is the limit of an attempt.
    if (ms < 200 || ms >= 60_000) return start(callback, ms)
    seconds.push(Math.floor(ms / 1000))
    return start(callback, 0)
  }) as typeof setTimeout)
  return { seconds, [Symbol.dispose]: () => spy.mockRestore() }
}
