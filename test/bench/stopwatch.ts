/** Tells our own time from that of others: what is done while any of them is asked is theirs. */
export type Stopwatch = {
  /** Runs what is somebody else's. */
  during<T>(body: () => Promise<T>): Promise<T>
  /** Milliseconds since the last `take` in which somebody else was at work, overlaps once. */
  take(): number
}

export function createStopwatch(): Stopwatch {
  let running = 0
  let startedAt = 0
  let sumMs = 0
  return {
    async during(body) {
      if (running++ === 0) startedAt = performance.now()
      try {
        return await body()
      } finally {
        if (--running === 0) sumMs += performance.now() - startedAt
      }
    },
    take() {
      const taken = sumMs
      sumMs = 0
      return taken
    },
  }
}
