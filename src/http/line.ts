/**
 * Short requests that wait because there are too many at once. Who would wait too long is refused
 * when he comes, which costs a tenth of an answer: a burst is answered, but where the line does not
 * end, it is kept short, so that an admitted request is answered soon (the controlled delay of CoDel,
 * on a queue of each account).
 */
import type { Clock } from '#src/domain/time.ts'
import { createScheduler } from '#src/platform/scheduler.ts'

/**
 * Answers in one round of the event loop; whatever else is due waits that long. Shorter than the
 * line may be, or refusals of those who came meanwhile would take all the time.
 */
const SLICE_MS = 2
/** A wait that is accepted while a burst is answered, and how long a burst may last. */
const BURST_MS = 250
/**
 * Turns that are always given in a burst: as many as a client requests that wants all markets of a
 * day at once. How long a turn takes is not known then: it was measured in a process that had just
 * started, or before the last pause.
 */
const BURST_TURNS = 400
/** A wait that is accepted from then on, until no request was refused for a while. */
const STANDING_MS = 8
const CALM_MS = 1000
/** And for an account of which nothing waits: it is not who makes the line long. */
const FIRST_MS = 20
/**
 * Turns that are always given. Where other programs take the processor, each seems to take long,
 * and if nearly all were refused, refusals would be all that is done.
 */
const TURNS_LEAST = 16
/** Of the newest turn in their mean. */
const WEIGHT = 1 / 16

export function createLine(timer: Clock) {
  const scheduler = createScheduler(() => {
    const endMs = timer() + SLICE_MS
    return () => timer() < endMs
  })
  let turnMs = 0
  /** By level: since when it or a level before it has had waiters, and when it was last refused. */
  const levels: { emptyMs: number; refusedMs: number }[] = []
  const startedMs = timer()

  function levelAt(level: number) {
    while (levels.length <= level)
      levels.push({ emptyMs: startedMs, refusedMs: Number.NEGATIVE_INFINITY })
    return levels[level] as (typeof levels)[number]
  }

  return {
    get waiting(): number {
      return scheduler.waiting
    },

    /** Those of a level and of higher numbers. */
    waitingFrom: scheduler.waitingFrom,

    /** Whether a request of an owner that came now would wait too long. */
    isTooLong(owner: string, level = 0): boolean {
      const turns = scheduler.turnsOf(owner, level)
      const nowMs = timer()
      const state = levelAt(level)
      const isStanding = nowMs - state.emptyMs > BURST_MS || nowMs - state.refusedMs < CALM_MS
      if (turns <= (isStanding ? TURNS_LEAST : BURST_TURNS)) return false
      const waitMs = turns * turnMs
      const standingMs = scheduler.waitingOf(owner, level) === 0 ? FIRST_MS : STANDING_MS
      if (waitMs <= (isStanding ? standingMs : BURST_MS)) return false
      state.refusedMs = nowMs
      return true
    },

    /** Resolves when it is the turn of a request of the owner. */
    async wait(owner: string, level = 0): Promise<void> {
      const cameMs = timer()
      levelAt(level)
      for (const [at, state] of levels.entries())
        if (at >= level && scheduler.waitingUpTo(at) === 0) state.emptyMs = cameMs
      const turns = scheduler.turnsOf(owner, level)
      await scheduler.take(owner, level)
      turnMs += WEIGHT * ((timer() - cameMs) / turns - turnMs)
    },
  }
}
