/** Limits of the test server: much lower than those of the real server, from which it takes none. */

import { createSignupWindows, type Limits } from '#src/access/limits.ts'
import {
  type Bounds,
  createConcurrencyLimit,
  createCounts,
} from '#src/platform/concurrency-limit.ts'

const MB = 1_000_000

/**
 * `max` is for all test keys together, and `groupMax` for those of one network address, because
 * everybody can make keys. `firstMax` is for addresses that hold nothing yet.
 */
const bounds = {
  jobs: { rooms: [{ max: 12, firstMax: 16 }], groupMax: 8 },
  streams: { rooms: [{ max: 12, firstMax: 16 }], groupMax: 4 },
  connections: { rooms: [{ max: 48, firstMax: 64 }], groupMax: 8 },
  bytes: { rooms: [{ max: 32 * MB, firstMax: 40 * MB }], groupMax: 8 * MB },
} satisfies Record<string, Bounds>

/** Rate windows are those of addresses without a key; each thread has its own for all else. */
export function createTestLimits(limits: Limits): Limits {
  const places = (of: Bounds) => createConcurrencyLimit(of, createCounts())
  return {
    ...limits,
    keys: limits.addresses,
    jobs: places(bounds.jobs),
    streams: places(bounds.streams),
    connections: places(bounds.connections),
    bytes: places(bounds.bytes),
    signups: createSignupWindows(),
  }
}
