import type { App } from '#src/app.ts'

/** Well below the ten seconds of usage that a killed process may lose. */
const FLUSH_MS = 2000

/** Moves what was used into the ledger again and again, in parts that no request has to wait for. */
export function startUsageFlush({ flushUsage }: App, log: (line: string) => void) {
  function flush(): boolean {
    try {
      return flushUsage()
    } catch (error) {
      // The counters stay in memory until the ledger takes them.
      log(`Usage could not be written: ${error instanceof Error ? error.message : String(error)}.`)
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
