/**
 * What bounds callers: rate windows, and what takes long at the same time. It is counted in this
 * thread, or in memory that several threads share.
 */
import { DAY_MS } from '#src/domain/time.ts'
import { RATE_WINDOW_MS } from '#src/http/common-headers.ts'
import {
  type Bounds,
  type ConcurrencyLimit,
  createConcurrencyLimit,
  createCounts,
  type Room,
} from '#src/platform/concurrency-limit.ts'
import { createRateWindows, type RateWindows } from '#src/platform/rate-windows.ts'

/** Keys, addresses and addresses that sign up: beyond this many of each, others share one window. */
const WINDOWS_MAX = 80_000

/**
 * Rooms by level: all callers, those that pay nothing (free keys and guests), guests. So at least
 * half of each is for paying accounts alone. `firstMax` is for callers that have none yet.
 */
type Rooms = [Room, Room, Room]

/** Long work that is begun: what is made of an answer is in memory. */
const JOB_ROOMS: Rooms = [
  { max: 64, firstMax: 128 },
  { max: 32, firstMax: 48 },
  { max: 16, firstMax: 24 },
]
/** WebSocket connections. Those whose key has not come yet are guests. */
const CONNECTION_ROOMS: Rooms = [{ max: 10_000 }, { max: 5_000 }, { max: 1_000 }]
/** Bytes of answers that their clients have not taken. */
const MB = 1_000_000
const BYTE_ROOMS: Rooms = [
  { max: 256 * MB, firstMax: 320 * MB },
  { max: 128 * MB, firstMax: 160 * MB },
  { max: 64 * MB, firstMax: 80 * MB },
]

/** Exports and live events, of `max` in all. */
const streamRooms = (max: number): Rooms => [
  { max },
  { max: Math.floor(max / 2) },
  { max: Math.floor(max / 4) },
]

export type Limits = ReturnType<typeof createLimits>

/** Where limits are counted, by the name of what is counted. */
export type LimitStore = {
  windows(name: string, windowMs: number, capacity: number): RateWindows
  concurrency(name: string, bounds: Bounds): ConcurrencyLimit
}

const inThisThread: LimitStore = {
  windows: (_name, windowMs, capacity) => createRateWindows(windowMs, capacity),
  concurrency: (_name, bounds) => createConcurrencyLimit(bounds, createCounts()),
}

/** Addresses that sign up have windows of their own. */
export const createSignupWindows = (store: LimitStore = inThisThread) => ({
  minutes: store.windows('signup', RATE_WINDOW_MS, WINDOWS_MAX),
  days: store.windows('signup-day', DAY_MS, WINDOWS_MAX),
})

/** `streamsMax` is for all accounts together. */
export function createLimits(streamsMax: number, store: LimitStore = inThisThread) {
  const windowsOf = (name: string): RateWindows => store.windows(name, RATE_WINDOW_MS, WINDOWS_MAX)
  const pair = (name: string) => ({
    data: windowsOf(`${name}:data`),
    billing: windowsOf(`${name}:billing`),
  })
  const concurrency = {
    jobs: store.concurrency('jobs', { rooms: JOB_ROOMS }),
    streams: store.concurrency('streams', { rooms: streamRooms(streamsMax) }),
    connections: store.concurrency('connections', { rooms: CONNECTION_ROOMS }),
    bytes: store.concurrency('bytes', { rooms: BYTE_ROOMS }),
  }
  return {
    keys: pair('key'),
    addresses: pair('address'),
    guests: windowsOf('guest'),
    signups: createSignupWindows(store),
    ...concurrency,
    /** Gives back what a thread held that has ended. */
    clear(ended: number): void {
      for (const limit of Object.values(concurrency)) limit.clear(ended)
    },
  }
}
