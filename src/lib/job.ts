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

/** What a job says of itself, for whoever looks after the server. */
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

type ShownJob = {
  startTimer: StartTimer
  /** Unix milliseconds. */
  clock: () => number
  report?: JobReport | undefined
}

/**
 * A job that the operator sees and may start. He starts the same one that the clock starts, so two
 * runs never overlap. `work` never rejects; its options are undefined unless he has started it.
 */
export function createShownJob(
  { startTimer, clock, report }: ShownJob,
  work: (options?: RunOptions) => Promise<RunEnd>,
) {
  let asked: RunOptions | undefined
  const job = createJob(startTimer, async () => {
    report?.began()
    const options = asked
    asked = undefined
    const { outcome, isFailed = false, waitMs } = await work(options)
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
