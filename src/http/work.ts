/**
 * How much a request may do at once. Long work is a generator that yields often: it runs for some
 * milliseconds, then whoever else waits has a turn, account by account. So do requests that are
 * answered at once, after three milliseconds of them in one round of the event loop, or those who
 * connect again for each request would keep the others out.
 */
import { AppError } from '#src/core/errors.ts'
import type { Clock } from '#src/core/time.ts'
import type { Places } from '#src/lib/places.ts'
import { createScheduler, type Steps } from '#src/lib/scheduler.ts'
import { streamsMaxOf } from '#src/selling/tier.ts'

import { callerOf, type Visit, visitOf } from './gate.ts'
import { createLine } from './line.ts'

/** Work at one go; everybody else waits that long. */
const SLICE_MS = 4
/**
 * A round of the event loop in which requests are answered at once, from when it is watched. Who
 * waits costs more: Bun sends a large answer in 30 pieces once its handler has returned (60 µs).
 */
const ROUND_MS_MAX = 3
/** Spent on requests until a round is watched: to watch each would cost an empty round. */
const SPENT_MS_UNWATCHED = 0.5
/** Long work of one account that is begun. */
export const ACCOUNT_JOBS_MAX = 16
/** Requests that wait for their turns. */
const WAITING_MAX = 1_000
/** How long a connection is kept that waits for its answer; Bun would cut it after ten seconds. */
const WAIT_SECONDS_MAX = 120
const RETRY_SECONDS = 5
/** A line that was too long is short within a fraction of that. */
const SHED_SECONDS = 1

export type Work = ReturnType<typeof createWork>

type WorkDeps = { timer: Clock; limits: { jobs: Places; streams: Places } }

export function createWork({ timer, limits: { jobs, streams } }: WorkDeps) {
  const scheduler = createScheduler()
  const line = createLine(timer)
  const { hasTime, spend } = createRound(timer)

  function runSlice<T>(steps: Steps<T>): IteratorResult<void, T> {
    let step = steps.next()
    if (step.done) return step
    const endMs = timer() + SLICE_MS
    while (!step.done && timer() < endMs) step = steps.next()
    return step
  }

  async function runInTurns<T>(request: Request, steps: Steps<T>): Promise<T> {
    const visit = visitOf(request)
    const owner = ownerOf(visit)
    const close = jobs.open(owner, ACCOUNT_JOBS_MAX)
    if (typeof close === 'string') throw busyError(close)
    visit.keepOpen?.(WAIT_SECONDS_MAX)
    try {
      for (;;) {
        await scheduler.take(owner)
        if (request.signal.aborted) throw busyError('The caller is gone.')
        const step = runSlice(steps)
        if (step.done) return step.value
      }
    } finally {
      close()
    }
  }

  return {
    /**
     * At once where it is short, else in turns from then on. The request has had its turn already
     * (`enter`): to queue behind long work would make a round of the event loop of each short one.
     * Throws `unavailable` where too much is being done already, and what the work throws.
     */
    run<T>(request: Request, steps: Steps<T>): T | Promise<T> {
      const step = runSlice(steps)
      return step.done ? step.value : runInTurns(request, steps)
    },

    /** For one piece of a stream. */
    turn: (accountId: string): Promise<void> => scheduler.take(accountId),

    /** Returns what gives the place back. Throws `too_many_streams` and `unavailable`. */
    openStream(request: Request): () => void {
      const { accountId, standing } = callerOf(request)
      const ownMax = streamsMaxOf(standing.terms)
      const close = streams.open(accountId, ownMax)
      if (close === 'account') {
        throw new AppError(
          'too_many_streams',
          `${ownMax} streams of this account are running, which is what the ${standing.terms.name} tier includes. Wait for one to end.`,
          { retryAfterSeconds: RETRY_SECONDS },
        )
      }
      if (close === 'all') throw busyError(close)
      return close
    },

    /**
     * Undefined when a request may be answered at once, as what is urgent always is; else it waits.
     * Throws `unavailable` where it would wait too long.
     */
    enter(visit: Visit, isUrgent = false): Promise<void> | undefined {
      if (isUrgent || (line.waiting === 0 && hasTime())) return undefined
      const owner = ownerOf(visit)
      if (line.waiting >= WAITING_MAX || line.isTooLong(owner)) throw busyError('all', SHED_SECONDS)
      visit.keepOpen?.(WAIT_SECONDS_MAX)
      return line.wait(owner)
    },

    spend,

    /** Those whose turn has not come. */
    waiting: (): number => scheduler.waiting + line.waiting,

    /** Does what is no request, where a request would be answered at once. */
    tryNow(act: () => void): boolean {
      if (!hasTime()) return false
      const startedMs = timer()
      act()
      spend(timer() - startedMs)
      return true
    },
  }
}

/** Callers without a key have few requests a minute, and none of them is long. */
const ownerOf = ({ caller, guest }: Visit): string => (caller ?? guest)?.accountId ?? ''

/** How much was done in a round of the event loop. */
function createRound(timer: Clock) {
  let spentMs = 0
  let watchedSinceMs: number | undefined
  return {
    /** All that happens in it counts: reading a request may take longer than its handler. */
    hasTime: (): boolean => watchedSinceMs === undefined || timer() - watchedSinceMs < ROUND_MS_MAX,

    spend(ms: number): void {
      spentMs += ms
      if (watchedSinceMs !== undefined || spentMs < SPENT_MS_UNWATCHED) return
      watchedSinceMs = timer()
      setImmediate(() => {
        spentMs = 0
        watchedSinceMs = undefined
      })
    },
  }
}

const busyError = (whose: string, retryAfterSeconds = RETRY_SECONDS): AppError =>
  new AppError(
    'unavailable',
    whose === 'account'
      ? `${ACCOUNT_JOBS_MAX} long requests of this account are being answered. Send the next when one has ended.`
      : 'The server has as much to do as it takes on. Try again in a moment.',
    { retryAfterSeconds },
  )
