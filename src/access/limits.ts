/**
 * The limits of callers: rate windows and concurrent long work. They are counted in this thread, or
 * in memory shared by several threads.
 */
import { DAY_MS } from '#src/domain/time.ts'
import {
  type Bounds,
  type ConcurrencyLimit,
  createConcurrencyLimit,
  createCounts,
  type Room,
} from '#src/platform/concurrency-limit.ts'
import { createRateWindows, type RateWindows } from '#src/platform/rate-windows.ts'

export const RATE_WINDOW_MS = 60_000
const MS_PER_SECOND = 1000

/** Whole seconds after which a window is over: waiting exactly so long is enough. */
export const toSeconds = (leftMs: number): number => Math.max(1, Math.ceil(leftMs / MS_PER_SECOND))

/**
 * The maximum number of keys, addresses and signing-up addresses with their own windows; beyond it,
 * others share one.
 */
const WINDOWS_MAX = 80_000

/**
 * Limits by level: all callers, callers that pay nothing (free keys and guests), guests. At least
 * half of each is thereby reserved for paying accounts. `firstMax` applies to callers that hold
 * none yet.
 */
type Rooms = [Room, Room, Room]

/** Long work in progress, whose results are held in memory. */
const JOB_ROOMS: Rooms = [
  { max: 64, firstMax: 128 },
  { max: 32, firstMax: 48 },
  { max: 16, firstMax: 24 },
]
/** WebSocket connections. A connection is a guest's until its key arrives. */
const CONNECTION_ROOMS: Rooms = [{ max: 10_000 }, { max: 5_000 }, { max: 1_000 }]
/** Bytes of responses that their clients have not read. */
const MB = 1_000_000
const BYTE_ROOMS: Rooms = [
  { max: 256 * MB, firstMax: 320 * MB },
  { max: 128 * MB, firstMax: 160 * MB },
  { max: 64 * MB, firstMax: 80 * MB },
]

/** Exports and live streams, at most `max` in total. */
const streamRooms = (max: number): Rooms => [
  { max },
  { max: Math.floor(max / 2) },
  { max: Math.floor(max / 4) },
]

export type Limits = ReturnType<typeof createLimits>

/** Counters of limits, by the name of what they count. */
export type LimitStore = {
  windows(name: string, windowMs: number, capacity: number): RateWindows
  concurrency(name: string, bounds: Bounds): ConcurrencyLimit
}

const inThisThread: LimitStore = {
  windows: (_name, windowMs, capacity) => createRateWindows(windowMs, capacity),
  concurrency: (_name, bounds) => createConcurrencyLimit(bounds, createCounts()),
}

/** Separate windows for addresses that sign up. */
export const createSignupWindows = (store: LimitStore = inThisThread) => ({
  minutes: store.windows('signup', RATE_WINDOW_MS, WINDOWS_MAX),
  days: store.windows('signup-day', DAY_MS, WINDOWS_MAX),
})

/** Creates the limits; `streamsMax` applies to all accounts together. */
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
    /** Releases everything held by a thread that has ended. */
    clear(ended: number): void {
      for (const limit of Object.values(concurrency)) limit.clear(ended)
    },
  }
}
