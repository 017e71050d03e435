import type { App } from '#src/app.ts'
import { messageOf } from '#src/lib/message.ts'

/** Well below the ten seconds of usage that a killed process may lose. */
const FLUSH_MS = 2000
/** In a row, before the operator is warned. */
const FAILURES_LOGGED = 5

/** Moves what was used into the ledger again and again, in parts that no request has to wait for. */
export function startUsageFlush({ flushUsage }: App, log: (line: string) => void) {
  let failures = 0

  function flush(): boolean {
    try {
      const hasMore = flushUsage()
      failures = 0
      return hasMore
    } catch (error) {
      // The counters stay in memory until the ledger takes them; another process may be writing just now.
      if (++failures === FAILURES_LOGGED)
        log(`bookfeed: usage cannot be written: ${messageOf(error)}.`)
      return false
    }
  }
  function flushAll(): void {
    if (flush()) setImmediate(flushAll)
  }
  const timer = setInterval(flushAll, FLUSH_MS)
  return {
    /** Ends with everything written. */
    async dispose(): Promise<void> {
      clearInterval(timer)
      while (flush());
    },
  }
}
