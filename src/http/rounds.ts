/**
 * Bounds how many requests one round of the event loop answers. Bun answers requests while it
 * accepts connections, so clients that connect for each request could keep a round going for
 * seconds, and nothing else would run meanwhile. After some milliseconds of a round, all further
 * requests wait for the next rounds, also those that are refused. Accounts take turns, and paying
 * ones come first.
 */
import type { Clock } from '#src/domain/time.ts'
import { type By, createFairQueue } from '#src/platform/pool/queue.ts'

import { busyError } from './capacity.ts'

/** Requests are answered for so long in a round, counted from when it is watched. */
const ROUND_MS = 3
/** Requests that are answered before a round is watched: to watch each costs an empty round. */
const UNWATCHED = 8
/** Requests that wait beyond which those of a level are refused: paying, free, guests. */
const WAITING_MAX = [1_000, 500, 250] as const
const RETRY_SECONDS = 1

export type Rounds = ReturnType<typeof createRounds>

export function createRounds(timer: Clock) {
  const queue = createFairQueue<() => void>()
  let answered = 0
  let endMs = Number.POSITIVE_INFINITY

  function watch(): void {
    endMs = timer() + ROUND_MS
    setImmediate(beginNext)
  }

  function beginNext(): void {
    answered = 0
    endMs = Number.POSITIVE_INFINITY
    if (queue.size === 0) return
    watch()
    admit()
  }

  /** Admits a request, and others while there is time; each runs before the next is admitted. */
  function admit(): void {
    queue.take()?.()
    if (queue.size > 0) queueMicrotask(() => timer() < endMs && admit())
  }

  /** Returns undefined if there is time for another request in this round. */
  function turn(by: By): Promise<void> | undefined {
    if (queue.size === 0) {
      if (++answered === UNWATCHED) watch()
      if (timer() < endMs) return undefined
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    queue.put(by, resolve)
    return promise
  }

  /** Rejects in the next round, so that the client does not connect again in this one. */
  const refusal = (): Promise<never> =>
    new Promise((_, reject) => {
      setImmediate(() => reject(busyError(RETRY_SECONDS)))
    })

  return {
    turn,

    /**
     * Returns undefined if a request may be answered at once; otherwise it waits. Rejects with
     * `unavailable` if too many wait, unless the request is urgent.
     */
    enter({ owner, level }: By, isUrgent = false): Promise<void> | undefined {
      if (isUrgent) return turn({ owner, level: 0 })
      return queue.size < (WAITING_MAX[level] ?? 0) ? turn({ owner, level }) : refusal()
    },

    /** Requests that wait. */
    waiting: (): number => queue.size,
  }
}
