/**
 * What bounds callers: rate windows, and places of what takes long. It is counted in memory that
 * all serving threads share, so that limits are the same whichever thread answers.
 */
import { RATE_WINDOW_MS } from '#src/http/common-headers.ts'
import { createPlaces, makePlaceMemory } from '#src/lib/places.ts'
import { createRateWindows, makeRateMemory } from '#src/lib/rate-windows.ts'

/** Keys, and addresses: beyond this many within a minute, further ones share one window. */
const WINDOWS_MAX = 80_000
/** Long work that is begun, of all accounts: what is made of an answer is in memory. */
const JOBS_MAX = 64
/** Beyond these an account without any gets one, so that no few can shut out the others. */
const FIRST_JOBS_MAX = 128

export type LimitMemory = ReturnType<typeof makeLimitMemory>
export type Limits = ReturnType<typeof createLimits>

/** `seed` is a secret: callers whose places in memory are known could be shut out by others. */
export function makeLimitMemory(seed: number, threads = 1) {
  const windows = () => makeRateMemory(WINDOWS_MAX, seed)
  const places = () => makePlaceMemory(threads, seed)
  return {
    keys: { data: windows(), billing: windows() },
    addresses: { data: windows(), billing: windows() },
    guests: windows(),
    jobs: places(),
    streams: places(),
    connections: places(),
  }
}

/** Of all of test mode: much less than of real keys, which it takes nothing from. */
const TEST_PLACES = { jobs: 16, streams: 16, connections: 64 }

/** Places of a thread's own. */
export function createPlaceLimits(seed: number) {
  const places = (max: number) => createPlaces({ max }, makePlaceMemory(1, seed))
  const { jobs, streams, connections } = TEST_PLACES
  return { jobs: places(jobs), streams: places(streams), connections: places(connections) }
}

/** `thread` counts from 0. `streamsMax` is of all accounts. */
export function createLimits(memory: LimitMemory, streamsMax: number, thread = 0) {
  const windows = ({ data, billing }: LimitMemory['keys']) => ({
    data: createRateWindows(RATE_WINDOW_MS, data),
    billing: createRateWindows(RATE_WINDOW_MS, billing),
  })
  const jobBounds = { max: JOBS_MAX, firstMax: FIRST_JOBS_MAX }
  const places = {
    jobs: createPlaces(jobBounds, memory.jobs, thread),
    streams: createPlaces({ max: streamsMax }, memory.streams, thread),
    connections: createPlaces({ max: Number.POSITIVE_INFINITY }, memory.connections, thread),
  }
  return {
    keys: windows(memory.keys),
    addresses: windows(memory.addresses),
    guests: createRateWindows(RATE_WINDOW_MS, memory.guests),
    ...places,
    /** Gives back the places of a thread that has ended. */
    clear(ended: number): void {
      for (const each of Object.values(places)) each.clear(ended)
    },
  }
}
