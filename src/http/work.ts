/**
 * How much a request may do at once. Long work is a generator that yields often: it runs for some
 * milliseconds, then the other requests that wait have a turn, account by account. So do requests that are
 * answered at once, after three milliseconds of them in one round of the event loop, or those who
 * connect again for each request would keep the others out.
 */
import { AppError } from '#src/domain/errors.ts'
import { levelOf } from '#src/domain/selling/caller.ts'
import { streamsMaxOf } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import type { ConcurrencyLimit } from '#src/platform/concurrency-limit.ts'
import { count } from '#src/platform/count.ts'
import { createScheduler, type Steps } from '#src/platform/scheduler.ts'

import { callerOf } from './gate.ts'
import { createLine } from './line.ts'
import { type Visit, visitOf } from './visit.ts'

/** Work of a request that comes: what takes no longer is answered at once. */
const FIRST_SLICE_MS = 4
/** The same where no place among long work is free, so that a refusal after it costs little. */
const CROWDED_SLICE_MS = 0.25
/** Work at one go from then on; everybody else waits that long. */
const SLICE_MS = 2
/**
 * A round of the event loop in which requests are answered at once, from when it is watched. Who
 * waits costs more: Bun sends a large answer in 30 pieces once its handler has returned (60 µs).
 */
const ROUND_MS_MAX = 3
/** Spent on requests until a round is watched: to watch each would cost an empty round. */
const SPENT_MS_UNWATCHED = 0.5
/** Steps of work that is begun and not done: so many at least, and at most. */
const BEGUN_STEPS_MIN = 8
const BEGUN_STEPS_MAX = 64
/** Long work of one account that is begun, by level: paying, free, guests. */
const JOBS_MAX = [16, 4, 4] as const
export const [ACCOUNT_JOBS_MAX] = JOBS_MAX
/** Requests that wait for their turns, of all, of those that pay nothing, and of guests. */
const WAITING_MAX = [1_000, 500, 250] as const
/** How long a connection is kept that waits for its answer; Bun would cut it after ten seconds. */
const WAIT_SECONDS_MAX = 120
const RETRY_SECONDS = 5
/** A line that was too long is short within a fraction of that. */
const SHED_SECONDS = 1

export type Work = ReturnType<typeof createWork>

type WorkDeps = { timer: Clock; limits: { jobs: ConcurrencyLimit; streams: ConcurrencyLimit } }

export function createWork({ timer, limits: { jobs, streams } }: WorkDeps) {
  const scheduler = createScheduler()
  const line = createLine(timer)
  const { hasTime, spend } = createRound(timer)

  /** Runs steps until the time is over, the work is done, or it waits for a promise. */
  function runSlice<T>(
    steps: Steps<T>,
    sliceMs: number,
  ): IteratorResult<Promise<unknown> | undefined, T> {
    let step = steps.next()
    if (step.done || step.value !== undefined) return step
    const endMs = timer() + sliceMs
    while (!step.done && step.value === undefined && timer() < endMs) step = steps.next()
    return step
  }

  /** Takes a place among long work, and returns what gives it back. Throws `unavailable`. */
  function openJob(holder: Holder): () => void {
    const close = jobs.open(jobOf(holder))
    if (typeof close === 'string') throw busyError(close, RETRY_SECONDS, jobOf(holder).ownMax)
    return close
  }

  /** Goes on after a first slice. Work that only waits for data takes no place among long work. */
  async function runInTurns<T>(
    request: Request,
    steps: Steps<T>,
    first: Promise<unknown> | undefined,
    place: (() => void) | undefined,
  ): Promise<T> {
    const visit = visitOf(request)
    const holder = holderOf(visit)
    let awaited = first
    let close = place
    visit.keepOpen?.(WAIT_SECONDS_MAX)
    try {
      for (;;) {
        let fault: { cause: unknown } | undefined
        // Other requests go on meanwhile.
        if (awaited !== undefined) await awaited.catch((cause: unknown) => (fault = { cause }))
        else close ??= openJob(holder)
        await scheduler.take(holder.owner, holder.level)
        if (request.signal.aborted) throw busyError('The caller is gone.')
        const step = fault === undefined ? runSlice(steps, SLICE_MS) : steps.throw(fault.cause)
        if (step.done) return step.value
        awaited = step.value
      }
    } finally {
      close?.()
    }
  }

  return {
    /**
     * At once where it is short, else in turns from then on. The request has had its turn already
     * (`enter`): to queue behind long work would make a round of the event loop of each short one.
     * A request that is known to be long (`isLong`) takes its place before anything is done. Throws
     * `unavailable` where too much is being done already, and what the work throws.
     */
    run<T>(request: Request, steps: Steps<T>): T | Promise<T> {
      const visit = visitOf(request)
      const holder = holderOf(visit)
      const place = visit.isLong === true ? openJob(holder) : undefined
      const hasRoom = place !== undefined || jobs.wouldRefuse(jobOf(holder)) === undefined
      let isGoingOn = false
      try {
        const step = runSlice(steps, hasRoom ? FIRST_SLICE_MS : CROWDED_SLICE_MS)
        if (step.done) return step.value
        isGoingOn = true
        return runInTurns(request, steps, step.value, place)
      } finally {
        if (!isGoingOn) place?.()
      }
    },

    /** Runs the first steps alone, which find what a request fails with, and ends the work. */
    async begin(steps: Steps<unknown>): Promise<void> {
      let endMs = timer() + SLICE_MS
      for (let count = 0; count < BEGUN_STEPS_MAX; count++) {
        const step = steps.next()
        if (step.done) return
        if (step.value !== undefined) {
          await step.value
          endMs = timer() + SLICE_MS
        }
        if (count >= BEGUN_STEPS_MIN && timer() >= endMs) break
      }
      steps.return(undefined)
    },

    /** For one piece of a stream; `level` is that of its caller. */
    turn: (accountId: string, level: number): Promise<void> => scheduler.take(accountId, level),

    /**
     * Takes a place, among exports and live events unless it is one among others, and returns what
     * gives it back. Throws `too_many_streams` and `unavailable`.
     */
    openStream(request: Request, among = streams): () => void {
      const caller = callerOf(request)
      const { accountId, standing, address } = caller
      const { guest } = visitOf(request)
      const ownMax = streamsMaxOf(standing.terms)
      const close = among.open({
        owner: accountId,
        ownMax,
        level: levelOf(caller),
        group: address,
      })
      if (typeof close !== 'string') return close
      if (close === 'all') throw busyError(close)
      const whose = guest === undefined ? 'account' : 'network address'
      const noun = among === streams ? 'stream' : 'live connection'
      const running =
        close === 'account'
          ? `${count(ownMax, noun)} of this ${whose} ${ownMax === 1 ? 'is' : 'are'} running, which is what the ${standing.terms.name} tier includes.`
          : `The keys of this network address have as many ${noun}s as they may have in total.`
      throw new AppError('too_many_streams', `${running} Wait for one to end.`, {
        retryAfterSeconds: RETRY_SECONDS,
      })
    },

    /**
     * Undefined when a request may be answered at once, as what is urgent always is; else it waits.
     * Throws `unavailable` where it would wait too long.
     */
    enter(visit: Visit, isUrgent = false): Promise<void> | undefined {
      if (isUrgent || (line.waiting === 0 && hasTime())) return undefined
      const { owner, level } = holderOf(visit)
      const isFull = WAITING_MAX.some((max, at) => at <= level && line.waitingFrom(at) >= max)
      if (isFull || line.isTooLong(owner, level)) throw busyError('all', SHED_SECONDS)
      visit.keepOpen?.(WAIT_SECONDS_MAX)
      return line.wait(owner, level)
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

type Holder = ReturnType<typeof holderOf>

/** A place among long work. */
const jobOf = ({ owner, level, group }: Holder) => ({
  owner,
  ownMax: JOBS_MAX[level] ?? 1,
  level,
  group,
})

/** Who what a request takes is counted under: without a key its address. */
export function holderOf({ caller, guest, address }: Visit) {
  const holder = caller ?? guest
  return {
    owner: holder?.accountId ?? `address ${address}`,
    level: levelOf(holder),
    group: holder?.address,
  }
}

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

const busyError = (whose: string, retryAfterSeconds = RETRY_SECONDS, ownMax = 0): AppError =>
  new AppError(
    'unavailable',
    whose === 'account'
      ? `${count(ownMax, 'long request')} of this account ${ownMax === 1 ? 'is' : 'are'} being answered. Send the next one when ${ownMax === 1 ? 'it' : 'one'} has ended.`
      : 'The server is at its capacity. Try again in a moment.',
    { retryAfterSeconds },
  )
