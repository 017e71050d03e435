/** Limits in memory that all serving threads share, so that they are exact whichever thread answers. */
import type { LimitStore } from '#src/access/limits.ts'
import { createConcurrencyLimit } from '#src/platform/concurrency-limit.ts'

import { makeConcurrencyMemory, openSharedCounts } from './shared-counts.ts'
import { createSharedRateWindows, makeRateMemory } from './shared-rate-windows.ts'

/** By the name of what is counted in it. */
export type LimitMemory = Record<string, SharedArrayBuffer>

/**
 * Makes the memory of what it is asked for, unless it is there. `seed` is a secret: callers whose
 * places in memory are known could be shut out by others.
 */
export const createSharedStore = (
  memory: LimitMemory,
  { seed, threads, thread }: { seed: number; threads: number; thread: number },
): LimitStore => ({
  windows(name, windowMs, capacity) {
    memory[name] ??= makeRateMemory(capacity, seed)
    return createSharedRateWindows(windowMs, memory[name])
  },
  concurrency(name, bounds) {
    memory[name] ??= makeConcurrencyMemory(threads, seed)
    return createConcurrencyLimit(bounds, openSharedCounts(memory[name], thread))
  },
})
