/**
 * Identifies callers and counts their requests. Each key has a window of its own; callers without a
 * valid one share that of their address. Calls of billing never take from the allowance for data: a
 * caller that has used that up can still buy a larger one.
 */
import { AppError } from '#src/domain/errors.ts'
import { isWellFormedKey, tokenOf } from '#src/domain/selling/api-key.ts'
import { type Caller, type RateState, uncheckedError } from '#src/domain/selling/caller.ts'
import { FREE_TIER_ID, type Terms } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import {
  isPreflight,
  RATE_WINDOW_MS,
  toSeconds,
  writeRateHeaders,
  writeRatePolicy,
} from '#src/http/common-headers.ts'
import type { Identify } from '#src/http/gate.ts'
import type { Arrival, PeerSource, Visit } from '#src/http/visit.ts'
import { count } from '#src/platform/count.ts'
import type { MaybePromise } from '#src/platform/maybe-promise.ts'
import type { RateWindow, RateWindows, TakenWindow } from '#src/platform/rate-windows.ts'

import type { Authenticator } from './authenticator.ts'
import type { Limits } from './limits.ts'
import { isSampleToken } from './sample.ts'
import type { UsageMeter } from './usage-meter.ts'

/** For IPv6: a /48 holds 65,536 networks of /64. */
const SIGNUP_BITS = 48
/** A minute may have a sixth of the signups of a day. */
const MINUTE_PART = 6
/** A challenge and its answer. */
const REQUESTS_PER_SIGNUP = 2
/** For an address, where requests may be paid for: each takes two, one to learn what to pay. */
const KEYLESS_PER_MINUTE = 240
const NO_ROUTE = 'other'
const SECOND_MS = 1000

export type GateOptions = {
  authenticator: Authenticator
  meter: UsageMeter
  limits: Pick<Limits, 'keys' | 'addresses' | 'guests' | 'signups'>
  /** For IPv6, the network of `bits`: a /64 by default. */
  addressOf: (request: Request, peers: PeerSource | undefined, bits?: number) => string
  signupsPerDay: number
  clock: Clock
  timer: Clock
  sampleTerms: () => Terms
  /** Whether requests may be paid for without a key. */
  isKeyless?: boolean
  /** Why a request is refused, before it is counted. */
  refuse?: Refuse | undefined
  /** To be called once before a key counts as unknown. */
  catchUp?: (() => Promise<void>) | undefined
}

export type Refuse = (arrival: Arrival) => AppError | undefined

/** The rate window that a request is taken from. */
type CallerWindow = {
  windows: RateWindows
  key: string
  limit: number
  nowMs: number
  /** Without a valid key: the network address. */
  address?: string
  /** True for the sample. */
  isGuest?: boolean
}

export function createGate({
  authenticator,
  meter,
  limits,
  addressOf,
  signupsPerDay,
  clock,
  timer,
  sampleTerms,
  isKeyless,
  refuse,
  catchUp,
}: GateOptions) {
  const identify: Identify = ({ request, peers }) =>
    authenticator.authenticate(request.headers.get('authorization'), () =>
      addressOf(request, peers),
    )

  function freeLimit(): number {
    const free = authenticator.listTiers().find(({ tierId }) => tierId === FREE_TIER_ID)
    return free?.requestsPerMinute ?? 0
  }

  /** A key has the window of its tier; every other request that of its address. */
  function findWindow(arrival: Arrival, caller: Caller | undefined): CallerWindow {
    const { request, peers, allowance } = arrival
    const kind = allowance === 'billing' ? 'billing' : 'data'
    const nowMs = timer()
    if (caller !== undefined) {
      const limit = caller.standing.terms.requestsPerMinute
      return { windows: limits.keys[kind], key: caller.familyId, limit, nowMs }
    }
    const address = addressOf(request, peers)
    const authorization = request.headers.get('authorization')
    if (kind === 'data' && isSampleToken(authorization)) {
      const limit = sampleTerms().requestsPerMinute
      return { windows: limits.guests, key: address, limit, nowMs, address, isGuest: true }
    }
    if (isKeyless && authorization === null) {
      const key = `keyless ${kind} ${address}`
      return { windows: limits.guests, key, limit: KEYLESS_PER_MINUTE, nowMs, address }
    }
    return { windows: limits.addresses[kind], key: address, limit: freeLimit(), nowMs, address }
  }

  function admit(arrival: Arrival, caller: Caller | undefined): Visit {
    const { request, peers, allowance } = arrival
    const window = findWindow(arrival, caller)
    const { address, nowMs: enteredMs } = window
    const guest = window.isGuest ? toGuest(window.key, sampleTerms()) : undefined
    const common = { caller, guest, address, enteredMs, route: NO_ROUTE, peers }
    const refusal = refuse?.(arrival)
    if (refusal !== undefined) {
      return { ...common, isCounted: false, refusal, rate: rateOfRefusal(refusal, find(window)) }
    }
    if (allowance === 'none' || isPreflight(request)) {
      return { ...common, isCounted: false, refusal: undefined, rate: find(window) }
    }
    return toVisit(common, window, window.windows.take(window.key, window.limit, window.nowMs))
  }

  /** A key may have been made a moment ago by another server. */
  async function admitLater(arrival: Arrival, newest: () => Promise<void>): Promise<Visit> {
    try {
      await newest()
      return admit(arrival, identify(arrival))
    } catch (cause) {
      return toClosed(arrival, timer(), cause)
    }
  }

  function charge(visit: Visit, window: CallerWindow): void {
    const { rate, isTaken } = take(window)
    visit.rate = rate
    visit.enteredMs = window.nowMs
    if (!isTaken) throw allowanceError(rate)
  }

  return {
    identify,

    admit(arrival: Arrival): MaybePromise<Visit> {
      try {
        const caller = identify(arrival)
        if (caller === undefined && catchUp !== undefined && hasKey(arrival))
          return admitLater(arrival, catchUp)
        return admit(arrival, caller)
      } catch (cause) {
        return toClosed(arrival, timer(), cause)
      }
    },

    writeHeaders(
      { rate, enteredMs }: Visit,
      { status, headers }: Pick<Response, 'status' | 'headers'>,
    ) {
      const leftMs = Math.max(0, rate.leftMs - (timer() - enteredMs))
      writeRateHeaders(headers, rate, { leftMs, nowMs: clock() })
      if (status >= 400) writeRatePolicy(headers, rate)
    },

    countBytes(visit: Visit, bytes: number): void {
      const { caller, isCounted, route, isCountedAsSent } = visit
      if (caller === undefined || !isCounted) return
      if (isCountedAsSent) meter.addBytes(caller, route, bytes)
      else meter.add(caller, route, bytes)
      visit.isCountedAsSent = true
    },

    finish({ caller, isCounted, route, isCountedAsSent }: Visit, bytes = 0): void {
      if (caller === undefined || !isCounted || isCountedAsSent) return
      meter.add(caller, route, bytes)
    },

    /** The windows of a caller, without taking anything. */
    windowsOf(caller: Caller): { data: RateState; billing: RateState } {
      const limit = caller.standing.terms.requestsPerMinute
      const window = { key: caller.familyId, limit, nowMs: timer() }
      return {
        data: find({ ...window, windows: limits.keys.data }),
        billing: find({ ...window, windows: limits.keys.billing }),
      }
    },

    /** Counts a request that was not counted yet in the data window of a caller. Throws `rate_limited`. */
    charge(request: Request, visit: Visit): void {
      const { caller, peers } = visit
      charge(visit, findWindow({ request, peers, allowance: 'data' }, caller))
      if (caller !== undefined) meter.add(caller, NO_ROUTE, 0)
    },

    /** See `ChargeSignup`. A day alone would let a burst through, a minute alone a stream. */
    chargeSignup(request: Request, visit: Visit): void {
      const { minutes, days } = limits.signups
      const nowMs = timer()
      const key = addressOf(request, visit.peers, SIGNUP_BITS)
      const perMinute = Math.ceil(signupsPerDay / MINUTE_PART) * REQUESTS_PER_SIGNUP
      const perDay = signupsPerDay * REQUESTS_PER_SIGNUP
      const ofMinute = take({ windows: minutes, key, limit: perMinute, nowMs })
      const day = { windows: days, key, limit: perDay, nowMs }
      const ofDay = ofMinute.isTaken ? take(day) : { rate: find(day), isTaken: false }
      if (ofDay.isTaken) return
      visit.rate = ofDay.rate.remaining === 0 ? { ...ofDay.rate, window: 'day' } : ofMinute.rate
      visit.enteredMs = nowMs
      throw signupsError(visit.rate)
    },

    /** See `ChargeWindow`. */
    chargeWindow: (visit: Visit, { key, limit }: { key: string; limit: number }): void =>
      charge(visit, { windows: limits.keys.data, key, limit, nowMs: timer() }),
  }
}

const hasKey = ({ request }: Arrival): boolean =>
  isWellFormedKey(tokenOf(request.headers.get('authorization')) ?? '')

/** The state of the window that a refusal reports. */
function rateOfRefusal({ code, extras }: AppError, rate: RateState): RateState {
  const { retryAfterSeconds } = extras
  if (code !== 'rate_limited' || retryAfterSeconds === undefined) return rate
  return { ...rate, remaining: 0, leftMs: retryAfterSeconds * SECOND_MS }
}

/** A guest has no account, so nothing is metered. */
function toGuest(address: string, terms: Terms): Caller {
  const id = `sample ${address}`
  const standing = { terms, subscription: undefined, untilMs: Infinity }
  return { keyId: id, accountId: id, familyId: id, isBlocked: false, standing, isGuest: true }
}

const toRateState = (
  { limit, nowMs }: CallerWindow,
  window: RateWindow | undefined,
): RateState => ({
  limit,
  remaining: Math.max(0, limit - (window?.used ?? 0)),
  leftMs: window === undefined ? RATE_WINDOW_MS : window.endMs - nowMs,
})

function toVisit(
  common: Omit<Visit, 'rate' | 'isCounted' | 'refusal'>,
  window: CallerWindow,
  taken: TakenWindow,
): Visit {
  const rate = toRateState(window, taken)
  const { isTaken } = taken
  const refusal = isTaken ? undefined : allowanceError(rate)
  return { ...common, rate, isCounted: isTaken, refusal }
}

/** Reads the state of a window without counting a request. */
const find = (window: CallerWindow): RateState =>
  toRateState(window, window.windows.find(window.key, window.nowMs))

function take(window: CallerWindow): { rate: RateState; isTaken: boolean } {
  const taken = window.windows.take(window.key, window.limit, window.nowMs)
  return { rate: toRateState(window, taken), isTaken: taken.isTaken }
}

function allowanceError({ limit, leftMs }: RateState): AppError {
  const retryAfterSeconds = toSeconds(leftMs)
  return new AppError(
    'rate_limited',
    `The allowance of ${count(limit, 'request')} a minute is used up. Wait ${retryAfterSeconds} s; GET /v1/billing/tiers shows larger ones.`,
    { retryAfterSeconds },
  )
}

function signupsError({ limit, leftMs, window = 'minute' }: RateState): AppError {
  const retryAfterSeconds = toSeconds(leftMs)
  return new AppError(
    'rate_limited',
    `This address may sign up ${count(limit / REQUESTS_PER_SIGNUP, 'time')} a ${window}, with or without a key. Wait ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  )
}

/** Without the ledger no caller is known: every request under `/v1` is refused and not counted. */
function toClosed({ allowance }: Arrival, enteredMs: number, cause: unknown): Visit {
  const rate = { limit: 0, remaining: 0, leftMs: RATE_WINDOW_MS }
  const isSaid = cause instanceof AppError && cause.code === 'unavailable'
  const refusal = isSaid ? cause : uncheckedError(cause)
  const visit = { caller: undefined, rate, isCounted: false, enteredMs, route: NO_ROUTE }
  return { ...visit, refusal: allowance === 'none' ? undefined : refusal }
}
