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

/** Of a job that several processes have, one of which does it at a time. */
export type Turn = {
  /**
   * True if it is this process's, until `give` or its end; it may be asked again meanwhile. Never
   * rejects. `options`: what the operator said, who asks for this run.
   */
  take(options?: RunOptions): Promise<boolean>
  give(): Promise<void>
}

/** Another process may have died at it: this is how soon the next one takes over. */
export const TURN_MS = 15_000

/** Does work in its turn; undefined where that is another process's. Without a turn, at once. */
export async function inTurn<T>(
  turn: Turn | undefined,
  work: () => Promise<T>,
  options?: RunOptions,
): Promise<T | undefined> {
  if (turn === undefined) return work()
  if (!(await turn.take(options))) return undefined
  try {
    return await work()
  } finally {
    await turn.give()
  }
}

type ShownJob = {
  startTimer: StartTimer
  /** Unix milliseconds. */
  clock: () => number
  report?: JobReport | undefined
  turn?: Turn | undefined
}

/** Of a run that was another process's. */
const ELSEWHERE = { outcome: 'Another server does it now.', waitMs: TURN_MS }

/**
 * A job that the operator sees and may start. He starts the same one that the clock starts, so two
 * runs never overlap, in its turn. `work` never rejects; its options are undefined unless he has
 * started it.
 */
export function createShownJob(
  { startTimer, clock, report, turn }: ShownJob,
  work: (options?: RunOptions) => Promise<RunEnd>,
) {
  let asked: RunOptions | undefined
  const job = createJob(startTimer, async () => {
    report?.began()
    const options = asked
    asked = undefined
    const end: RunEnd = (await inTurn(turn, () => work(options), options)) ?? ELSEWHERE
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
