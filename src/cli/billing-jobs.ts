import type { Billing } from '#src/billing/billing.ts'
/** What billing does by itself, for as long as the server runs. */
import { messageOf } from '#src/lib/message.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS

/** What fails is published within a minute, and what works again too. */
const REFRESH_MS = MINUTE_MS
/** While payments are open it begins with the first and doubles up to the second. */
const RECONCILE_MS = { min: 3 * SECOND_MS, max: MINUTE_MS }
const WATCH_MS = MINUTE_MS

type StartTimer = (callback: () => void, delayMs: number) => () => void
type Jobs = Pick<Billing, 'refresh' | 'reconcile' | 'watch'>

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
  const nextReconcile = createReconcileDelay()
  const works = [
    async () => {
      await billing.refresh()
      resolve()
      return REFRESH_MS
    },
    async () => nextReconcile(await billing.reconcile()),
    async () => {
      await billing.watch()
      return WATCH_MS
    },
  ]
  const jobs = works.map((work) => repeat(work, { startTimer, log }))
  return {
    checked,
    async dispose() {
      await Promise.all(jobs.map((job) => job.dispose()))
    },
  }
}

/** From the number of open payments to the time until the next look; a new payment is looked at soon. */
export function createReconcileDelay(): (openCount: number) => number {
  let delayMs = RECONCILE_MS.min
  let before = 0
  return (openCount) => {
    const isNew = openCount > before
    before = openCount
    if (openCount === 0) return RECONCILE_MS.max
    delayMs = isNew ? RECONCILE_MS.min : Math.min(delayMs * 2, RECONCILE_MS.max)
    return delayMs
  }
}

/** Does work again and again, after as many milliseconds as it says each time. */
function repeat(
  work: () => Promise<number>,
  { startTimer, log }: { startTimer: StartTimer; log: (line: string) => void },
) {
  let isDisposed = false
  let cancelTimer = () => {}

  async function run(): Promise<void> {
    // The verbs promise not to reject; should one do so, that must not be the end of all looks at payments.
    const delayMs = await work().catch((error: unknown) => {
      log(`Billing failed: ${messageOf(error)}.`)
      return MINUTE_MS
    })
    if (isDisposed) return
    cancelTimer = startTimer(() => {
      running = run()
    }, delayMs)
  }

  let running = run()
  return {
    async dispose(): Promise<void> {
      isDisposed = true
      cancelTimer()
      await running
    },
  }
}
