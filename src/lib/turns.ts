/**
 * Turns for long work on one thread: one waiter goes on in each round of the event loop, the first one
 * first, so that however many there are, whatever else arrives waits for one step of one of them.
 */
export type Turns = {
  /** Resolves when it is the caller's turn to do one short step. */
  take(): Promise<void>
}

/** Makes turns that nobody waits for yet. */
export function createTurns(): Turns {
  const waiting: (() => void)[] = []

  function next(): void {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(next)
  }

  return {
    take() {
      const { promise, resolve } = Promise.withResolvers<void>()
      if (waiting.push(resolve) === 1) setImmediate(next)
      return promise
    },
  }
}
