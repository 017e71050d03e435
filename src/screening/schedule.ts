/** Keeps the sanctions list up to date and the accounts screened while the server runs. */
import { isStale, type SanctionsList } from '#src/ledger/ledger.ts'
import { messageOf } from '#src/lib/message.ts'

import { ListFault } from './list-format.ts'
import { refreshList } from './list-refresh.ts'
import { toPublicName } from './list-source.ts'
import { rescreen, type RescreeningOptions } from './rescreening.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const REFRESH_MS = 6 * HOUR_MS
const RESCREEN_MS = 24 * HOUR_MS
const RETRY_MS = 10 * MINUTE_MS

/** Calls once after a time; what it returns cancels that. `setTimeout`, or a test's own. */
export type StartTimer = (callback: () => void, delayMs: number) => () => void

export type ScreeningSchedule = RescreeningOptions & {
  /** An http(s) URL or the path of a file; undefined if there is only an oracle. */
  location: string | undefined
  staleAfterMs: number
  startTimer: StartTimer
}

/** Begins at once. Reports what happens in lines without newline, and never throws. */
export function startScreening(schedule: ScreeningSchedule): {
  /** Stops everything, a download included; resolves when nothing uses the ledger any more. */
  dispose(): Promise<void>
} {
  const stop = new AbortController()
  const { signal } = stop
  const accounts = createJob(schedule.startTimer, async () =>
    (await rescreen(schedule, signal)) ? RESCREEN_MS : RETRY_MS,
  )
  const { location } = schedule
  if (location === undefined) {
    accounts.run()
    return { dispose: () => stopAll(stop, [accounts]) }
  }
  let isFirst = true
  const list = createJob(schedule.startTimer, async () => {
    const outcome = await refresh({ ...schedule, location }, signal)
    // At the start too: the server may have been down while others were named.
    if ((isFirst || outcome === 'changed') && !signal.aborted) accounts.run()
    isFirst = false
    return outcome === 'failed' ? RETRY_MS : REFRESH_MS
  })
  list.run()
  return { dispose: () => stopAll(stop, [list, accounts]) }
}

async function stopAll(stop: AbortController, jobs: readonly Job[]): Promise<void> {
  stop.abort()
  await Promise.all(jobs.map((job) => job.dispose()))
}

type Job = {
  /** Runs the work now; if it runs already, once more afterwards. */
  run(): void
  dispose(): Promise<void>
}

/** Repeats work that returns the milliseconds until its next run, and never rejects. */
function createJob(startTimer: StartTimer, work: () => Promise<number>): Job {
  let cancelTimer = () => {}
  let running: Promise<void> | undefined
  let isWanted = false
  let isDisposed = false

  async function runAll(): Promise<void> {
    let delayMs = 0
    while (isWanted && !isDisposed) {
      isWanted = false
      delayMs = await work()
    }
    running = undefined
    if (!isDisposed) cancelTimer = startTimer(run, delayMs)
  }

  function run(): void {
    cancelTimer()
    isWanted = true
    running ??= runAll()
  }

  return {
    run,
    async dispose() {
      isDisposed = true
      cancelTimer()
      await running
    },
  }
}

async function refresh(
  schedule: ScreeningSchedule & { location: string },
  signal: AbortSignal,
): Promise<'changed' | 'confirmed' | 'failed'> {
  const { ledger, location, clock, log } = schedule
  try {
    const { list, isChanged } = await refreshList({ ledger, location, clock, signal })
    log(`${describe(list, schedule)} ${isChanged ? 'is in force' : 'is confirmed'}.`)
    return isChanged ? 'changed' : 'confirmed'
  } catch (error) {
    if (!signal.aborted) log(toFailure(error, schedule))
    return 'failed'
  }
}

function toFailure(error: unknown, schedule: ScreeningSchedule & { location: string }): string {
  const text = messageOf(error).replaceAll('\n', ' ')
  const reason = error instanceof ListFault ? error.message : `could not be refreshed: ${text}`
  return `The sanctions list at ${toPublicName(schedule.location)} ${reason}. ${findInForce(schedule)} The next try is in ${RETRY_MS / MINUTE_MS} minutes.`
}

function findInForce(schedule: ScreeningSchedule): string {
  try {
    const list = schedule.ledger.sanctionsList()
    return list ? `${describe(list, schedule)} stays in force.` : 'No list is in force.'
  } catch {
    return 'The ledger cannot be read.'
  }
}

function describe(list: SanctionsList, { clock, staleAfterMs }: ScreeningSchedule): string {
  const { publishedOn, entryCount, confirmedMs } = list
  const since = new Date(confirmedMs).toISOString()
  const stale = isStale(list, { nowMs: clock(), staleAfterMs }) ? ', which is too long ago,' : ''
  return `The sanctions list of ${publishedOn} with ${entryCount} addresses, confirmed at ${since}${stale}`
}
