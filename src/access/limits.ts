/**
 * What bounds callers: rate windows, and places of what takes long. It is counted in memory that
 * all serving threads share, so that limits are the same whichever thread answers; windows may be
 * those of several servers.
 */
import { DAY_MS } from '#src/domain/time.ts'
import { RATE_WINDOW_MS } from '#src/http/common-headers.ts'
import {
  createConcurrencyLimit,
  makeConcurrencyMemory,
  type Room,
} from '#src/platform/concurrency-limit.ts'
import { createRateWindows, makeRateMemory, type RateWindows } from '#src/platform/rate-windows.ts'

import type { ShareWindows } from './shared-windows.ts'

/** Keys, and addresses: beyond this many within a minute, further ones share one window. */
const WINDOWS_MAX = 80_000
/** Addresses that sign up: beyond this many within a day, further ones share one window. */
const SIGNUP_ADDRESSES_MAX = 100_000

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

export type LimitMemory = ReturnType<typeof makeLimitMemory>
export type Limits = ReturnType<typeof createLimits>

/** `seed` is a secret: callers whose places in memory are known could be shut out by others. */
export function makeLimitMemory(seed: number, threads = 1) {
  const windows = () => makeRateMemory(WINDOWS_MAX, seed)
  const concurrency = () => makeConcurrencyMemory(threads, seed)
  return {
    keys: { data: windows(), billing: windows() },
    addresses: { data: windows(), billing: windows() },
    guests: windows(),
    signups: makeSignupMemory(seed),
    jobs: concurrency(),
    streams: concurrency(),
    connections: concurrency(),
    bytes: concurrency(),
  }
}

export function makeSignupMemory(seed: number) {
  const windows = () => makeRateMemory(SIGNUP_ADDRESSES_MAX, seed)
  return { minutes: windows(), days: windows() }
}

/**
 * `streamsMax` is for all accounts together; threads count from 0. `share` makes the windows those
 * of several servers.
 */
export function createLimits(
  memory: LimitMemory,
  streamsMax: number,
  {
    thread = 0,
    share = (_name, _windowMs, own) => own,
  }: { thread?: number; share?: ShareWindows | undefined } = {},
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
  const createLimit = (rooms: Rooms, own: SharedArrayBuffer) =>
    createConcurrencyLimit({ rooms }, own, thread)
  const concurrency = {
    jobs: createLimit(JOB_ROOMS, memory.jobs),
    streams: createLimit(streamRooms(streamsMax), memory.streams),
    connections: createLimit(CONNECTION_ROOMS, memory.connections),
    bytes: createLimit(BYTE_ROOMS, memory.bytes),
  }
  return {
    keys: pair('key', memory.keys),
    addresses: pair('address', memory.addresses),
    guests: windowsOf('guest', memory.guests),
    signups: {
      minutes: windowsOf('signup', memory.signups.minutes),
      days: windowsOf('signup-day', memory.signups.days, DAY_MS),
    },
    ...concurrency,
    /** Gives back what a thread held that has ended. */
    clear(ended: number): void {
      for (const limit of Object.values(concurrency)) limit.clear(ended)
    },
  }
}
