/**
 * How new the copies of stores are that a server reads, for all of its threads. A store in a file
 * has no copy, and is never behind.
 */
import type { Clock } from '#src/domain/time.ts'

import { type StoreName, storeNames } from './stores.ts'

/** A copy that follows its database is less than a second old. */
export const BEHIND_MS = 2000
/** Two clocks measure an age; a smaller difference moves no moment. */
const JITTER_MS = 20

export type Copies = ReturnType<typeof openCopies>

type CopiesOptions = {
  clock: Clock
  /** Monotonic milliseconds, the same in all threads. */
  timer: Clock
  /** That of the first thread, in any other. */
  memory?: SharedArrayBuffer
}

export function openCopies({
  clock,
  timer,
  memory = new SharedArrayBuffer(storeNames.length * BigInt64Array.BYTES_PER_ELEMENT),
}: CopiesOptions) {
  const known = new BigInt64Array(memory)
  const since: Partial<Record<StoreName, number>> = {}

  /** Milliseconds since everything that was committed was in the copy; 0 without a copy. */
  function ageMs(store: StoreName): number {
    const knownMs = Number(Atomics.load(known, storeNames.indexOf(store)))
    return knownMs === 0 ? 0 : timer() - knownMs
  }

  return {
    memory,
    ageMs,

    /**
     * The moment up to which everything is in a copy that is behind, in Unix milliseconds: the same
     * until the copy has more. Undefined while it follows its database.
     */
    behindSince(store: StoreName): number | undefined {
      const behindMs = ageMs(store)
      if (behindMs <= BEHIND_MS) return undefined
      const sinceMs = Math.floor(clock() - behindMs)
      const before = since[store]
      if (before !== undefined && Math.abs(sinceMs - before) <= JITTER_MS) return before
      since[store] = sinceMs
      return sinceMs
    },
  }
}

/** Notes that a copy has everything that was committed before `knownMs` of the timer. */
export function noteKnown(memory: SharedArrayBuffer, store: StoreName, knownMs: number): void {
  const known = BigInt(Math.max(1, Math.floor(knownMs)))
  Atomics.store(new BigInt64Array(memory), storeNames.indexOf(store), known)
}
