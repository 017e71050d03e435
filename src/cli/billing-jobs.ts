/** What billing does by itself, for as long as the server runs. */
import type { Billing } from '#src/billing/billing.ts'
import { messageOf } from '#src/lib/message.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS

/** What fails is published within a minute, and what works again too. */
const REFRESH_MS = MINUTE_MS
/**
 * After a payment was submitted: soon, then later by half each time; never later than the second.
 */
const RECONCILE_MS = { min: 2 * SECOND_MS, max: MINUTE_MS }
const GROWTH = 1.5
const WATCH_MS = MINUTE_MS

type StartTimer = (callback: () => void, delayMs: number) => () => void
type Jobs = Pick<Billing, 'refresh' | 'reconcile' | 'watch' | 'onSubmitted'>

/** Begins at once. `checked` resolves when all was checked for the first time. */
export function startBillingJobs(
  billing: Jobs,
  { startTimer, log }: { startTimer: StartTimer; log: (line: string) => void },
): {
  checked: Promise<void>
  /** Stops; resolves when nothing uses the ledger any more. */
  dispose(): Promise<void>
} {
  const { promise: checked, resolve } = Promise.withResolvers<void>()
  const tools = { startTimer, log }
  let delayMs = RECONCILE_MS.min
  const reconciling = repeat(async () => {
    const isIdle = (await billing.reconcile()) === 0
    const nextMs = isIdle ? RECONCILE_MS.max : delayMs
    delayMs = isIdle ? RECONCILE_MS.min : Math.min(delayMs * GROWTH, RECONCILE_MS.max)
    return nextMs
  }, tools)
  billing.onSubmitted(() => {
    delayMs = RECONCILE_MS.min
    reconciling.hasten(delayMs)
  })
  const refreshing = repeat(async () => {
    await billing.refresh()
    resolve()
    return REFRESH_MS
  }, tools)
  const watching = repeat(async () => {
    await billing.watch()
    return WATCH_MS
  }, tools)
  const jobs = [reconciling, refreshing, watching]
  return {
    checked,
    async dispose() {
      await Promise.all(jobs.map((job) => job.dispose()))
    },
  }
}

/**
 * Does work again and again, after as many milliseconds as it says each time, or as `hasten` says.
 */
function repeat(
  work: () => Promise<number>,
  { startTimer, log }: { startTimer: StartTimer; log: (line: string) => void },
) {
  let isDisposed = false
  let hastenedMs = Number.POSITIVE_INFINITY
  let cancelTimer: (() => void) | undefined

  async function run(): Promise<void> {
    cancelTimer = undefined
    hastenedMs = Number.POSITIVE_INFINITY
    // The verbs promise not to reject; should one do so, that must not be the end of all looks at
    // payments.
    const delayMs = await work().catch((error: unknown) => {
      log(`Billing failed: ${messageOf(error)}.`)
      return MINUTE_MS
    })
    if (!isDisposed) wait(Math.min(delayMs, hastenedMs))
  }

  function wait(delayMs: number): void {
    cancelTimer = startTimer(() => {
      running = run()
    }, delayMs)
  }

  let running = run()
  return {
    /**
     * The next time comes no later than in `delayMs`, counted from the end
     * of the work if that is running.
     */
    hasten(delayMs: number): void {
      if (isDisposed || delayMs >= hastenedMs) return
      hastenedMs = delayMs
      if (cancelTimer === undefined) return
      cancelTimer()
      wait(delayMs)
    },

    async dispose(): Promise<void> {
      isDisposed = true
      cancelTimer?.()
      await running
    },
  }
}
