/** Background work that runs until it is disposed of. */
export type Job = { dispose(): void }

/** Repeats a step until the job is disposed of, then calls `end` once. */
export function every(
  ms: number,
  step: () => void,
  end: () => void | Promise<void> = () => undefined,
): Job {
  const timer = setInterval(step, ms)
  return {
    dispose() {
      clearInterval(timer)
      return end()
    },
  }
}

/** Calls back once after a delay; the result cancels it. */
export type StartTimer = (callback: () => void, delayMs: number) => () => void

/** The timer of the process. Tests pass their own. */
export const startTimer: StartTimer = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs)
  return () => clearTimeout(timer)
}

/** Repeats work; `work` returns the milliseconds until the next run, and never rejects. */
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
    /** Runs the work no later than in `delayMs`, counted from its end if it is running. */
    hasten(delayMs: number): void {
      if (isDisposed || delayMs >= hastenedMs) return
      hastenedMs = delayMs
      if (isRunning) return
      cancelTimer()
      wait(delayMs)
    },

    /** Stops the job; resolves when a run in progress has ended. */
    async dispose(): Promise<void> {
      isDisposed = true
      cancelTimer()
      await running
    },
  }
}

/** Options of a run that the operator starts. */
export type RunOptions = {
  /** See `bookfeed sanctions refresh --accept-loss`. */
  acceptsLoss: boolean
}

/** The status of a job, as the operator sees it. */
export type JobReport = {
  /** Lets the operator start the job. */
  canStart(start: (options: RunOptions) => void): void
  /** The latest time of the next run. */
  due(nextMs: number): void
  began(): void
  progress(done: number, total: number): void
  /** `nextMs`: time of the next run; undefined if only the operator starts it. */
  ended(outcome: string, nextMs?: number): void
  failed(reason: string, nextMs?: number): void
}

/** The outcome of a run, and the delay until the next one. */
export type RunEnd = { outcome: string; isFailed?: boolean; waitMs: number }

/** A lock for a job that several processes share, so that one of them runs it at a time. */
export type JobLock = {
  /**
   * True if this process holds the lock, until `give` or its own end. May be called again by the
   * holder. Never rejects. `options` are those of an operator's run.
   */
  take(options?: RunOptions): Promise<boolean>
  give(): Promise<void>
}

/** Time after which another process takes over if the holder of the lock has died. */
export const LOCK_RETRY_MS = 15_000

/** Runs work under the lock; undefined if another process holds it. Without a lock, runs it. */
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

/** The outcome of a run that another process performs. */
const ELSEWHERE = { outcome: 'Another server does it now.', waitMs: LOCK_RETRY_MS }

/**
 * A job with a status that the operator sees, and that the operator may start. Scheduled runs and
 * the operator's are runs of the same job, so two never overlap. `work` never rejects; its options
 * are undefined unless the operator started the run.
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
