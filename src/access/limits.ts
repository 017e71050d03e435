/**
 * What bounds callers: rate windows, and places of what takes long. It is counted in memory that
 * all serving threads share, so that limits are the same whichever thread answers; windows may be
 * those of several servers.
 */
import { DAY_MS } from '#src/core/time.ts'
import { RATE_WINDOW_MS } from '#src/http/common-headers.ts'
import { createPlaces, makePlaceMemory } from '#src/lib/places.ts'
import { createRateWindows, makeRateMemory, type RateWindows } from '#src/lib/rate-windows.ts'

import type { ShareWindows } from './shared-windows.ts'

/** Keys, and addresses: beyond this many within a minute, further ones share one window. */
const WINDOWS_MAX = 80_000
/** Addresses that sign up: beyond this many within a day, further ones share one window. */
const SIGNUP_ADDRESSES_MAX = 100_000
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
    signups: makeSignupMemory(seed),
    jobs: places(),
    streams: places(),
    connections: places(),
  }
}

function makeSignupMemory(seed: number) {
  const windows = () => makeRateMemory(SIGNUP_ADDRESSES_MAX, seed)
  return { minutes: windows(), days: windows() }
}

/** Of all of test mode: much less than of real keys, which it takes nothing from. */
const TEST_PLACES = { jobs: 16, streams: 16, connections: 64 }

/** Windows of addresses, as for whoever has no key; places and signups are a thread's own. */
export function createTestLimits(limits: Limits, seed: number): Limits {
  const places = (max: number) => createPlaces({ max }, makePlaceMemory(1, seed))
  const { jobs, streams, connections } = TEST_PLACES
  const { minutes, days } = makeSignupMemory(seed)
  return {
    ...{ ...limits, keys: limits.addresses },
    ...{ jobs: places(jobs), streams: places(streams), connections: places(connections) },
    signups: {
      minutes: createRateWindows(RATE_WINDOW_MS, minutes),
      days: createRateWindows(DAY_MS, days),
    },
  }
}

type Sharing = {
  /** Counts from 0. */
  thread?: number
  /** Where several servers have the same windows. */
  share?: ShareWindows | undefined
}

/** `streamsMax` is of all accounts. */
export function createLimits(
  memory: LimitMemory,
  streamsMax: number,
  { thread = 0, share = (_name, _windowMs, own) => own }: Sharing = {},
) {
  const windowsOf = (
    name: string,
    own: SharedArrayBuffer,
    windowMs = RATE_WINDOW_MS,
  ): RateWindows => share(name, windowMs, createRateWindows(windowMs, own))
  const pair = (name: string, { data, billing }: LimitMemory['keys']) => ({
    data: windowsOf(`${name}:data`, data),
    billing: windowsOf(`${name}:billing`, billing),
  })
  const jobBounds = { max: JOBS_MAX, firstMax: FIRST_JOBS_MAX }
  const places = {
    jobs: createPlaces(jobBounds, memory.jobs, thread),
    streams: createPlaces({ max: streamsMax }, memory.streams, thread),
    connections: createPlaces({ max: Number.POSITIVE_INFINITY }, memory.connections, thread),
  }
  return {
    keys: pair('key', memory.keys),
    addresses: pair('address', memory.addresses),
    guests: windowsOf('guest', memory.guests),
    signups: {
      minutes: windowsOf('signup', memory.signups.minutes),
      days: windowsOf('signup-day', memory.signups.days, DAY_MS),
    },
    ...places,
    /** Gives back the places of a thread that has ended. */
    clear(ended: number): void {
      for (const each of Object.values(places)) each.clear(ended)
    },
  }
}
