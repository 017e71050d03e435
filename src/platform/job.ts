/** What runs beside the requests until it is disposed of. */
export type Job = { dispose(): void }

/** Calls once after a time; what it returns cancels that. `setTimeout`, or a test's own. */
export type StartTimer = (callback: () => void, delayMs: number) => () => void

/** Work to be done over and over, after as many milliseconds as it returns; it never rejects. */
export function createJob(startTimer: StartTimer, work: () => Promise<number>) {
  let isDisposed = false
  let isRunning = false
  let running: Promise<void> | undefined
  let hastenedMs = Number.POSITIVE_INFINITY
  let cancelTimer = () => {}

  async function run(): Promise<void> {
    isRunning = true
    hastenedMs = Number.POSITIVE_INFINITY
    const delayMs = await work()
    isRunning = false
    if (!isDisposed) wait(Math.min(delayMs, hastenedMs))
  }

  function start(): void {
    running = run()
  }

  function wait(delayMs: number): void {
    if (delayMs === 0) start()
    else cancelTimer = startTimer(start, delayMs)
  }

  return {
    /** Work is done no later than in `delayMs`, counted from its end if it is running. */
    hasten(delayMs: number): void {
      if (isDisposed || delayMs >= hastenedMs) return
      hastenedMs = delayMs
      if (isRunning) return
      cancelTimer()
      wait(delayMs)
    },

    /** Resolves when the work that is running has ended. */
    async dispose(): Promise<void> {
      isDisposed = true
      cancelTimer()
      await running
    },
  }
}

/** What the operator says of a run that he starts. */
export type RunOptions = {
  /** See `bookfeed sanctions refresh --accept-loss`. */
  acceptsLoss: boolean
}

/** What a job reports to the operator. */
export type JobReport = {
  /** The operator may start it. */
  canStart(start: (options: RunOptions) => void): void
  /** It runs then at the latest. */
  due(nextMs: number): void
  began(): void
  progress(done: number, total: number): void
  /** `nextMs`: when it runs again; undefined if nothing but the operator starts it. */
  ended(outcome: string, nextMs?: number): void
  failed(reason: string, nextMs?: number): void
}

/** How a run ended, and after how long the next one begins. */
export type RunEnd = { outcome: string; isFailed?: boolean; waitMs: number }

/** The lock of a job that several processes share: one of them does it at a time. */
export type JobLock = {
  /**
   * True if this process holds the lock, until `give` or its own end; taking it again is allowed.
   * Never rejects. `options`: those of the operator, if the operator started this run.
   */
  take(options?: RunOptions): Promise<boolean>
  give(): Promise<void>
}

/** How soon another process takes over when the holder of the lock has died. */
export const LOCK_RETRY_MS = 15_000

/** Does work under its lock; undefined if another process holds it. Without a lock, at once. */
export async function withJobLock<T>(
  lock: JobLock | undefined,
  work: () => Promise<T>,
  options?: RunOptions,
): Promise<T | undefined> {
  if (lock === undefined) return work()
  if (!(await lock.take(options))) return undefined
  try {
    return await work()
  } finally {
    await lock.give()
  }
}

type ReportedJob = {
  startTimer: StartTimer
  /** Unix milliseconds. */
  clock: () => number
  report?: JobReport | undefined
  lock?: JobLock | undefined
}

/** The end of a run that another process does. */
const ELSEWHERE = { outcome: 'Another server does it now.', waitMs: LOCK_RETRY_MS }

/**
 * A job that the operator sees and may start. It is the same job that the clock starts, so two runs
 * never overlap. `work` never rejects; its options are undefined unless the
 * operator has started it.
 */
export function createReportedJob(
  { startTimer, clock, report, lock }: ReportedJob,
  work: (options?: RunOptions) => Promise<RunEnd>,
) {
  let asked: RunOptions | undefined
  const job = createJob(startTimer, async () => {
    report?.began()
    const options = asked
    asked = undefined
    const end: RunEnd = (await withJobLock(lock, () => work(options), options)) ?? ELSEWHERE
    const { outcome, isFailed = false, waitMs } = end
    if (isFailed) report?.failed(outcome, clock() + waitMs)
    else report?.ended(outcome, clock() + waitMs)
    return waitMs
  })
  function hasten(delayMs: number): void {
    report?.due(clock() + delayMs)
    job.hasten(delayMs)
  }
  report?.canStart((options) => {
    asked = options
    hasten(0)
  })
  return { hasten, dispose: job.dispose }
}
