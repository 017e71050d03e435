/**
 * Identifies callers and counts their requests. Each key has its own window; callers without a
 * valid key share the window of their address. Billing calls are not counted against the data
 * allowance, so a caller that has used it up can still buy a larger one.
 */
import { AppError } from '#src/domain/errors.ts'
import { type Caller, type RateState, uncheckedError } from '#src/domain/selling/caller.ts'
import { FREE_TIER_ID, type Terms } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import { amendCall, type Arrival, callOf, type PeerSource, type Sender } from '#src/http/call.ts'
import { isPreflight } from '#src/http/promises.ts'
import { type Identify, UNROUTED } from '#src/http/rights.ts'
import { count } from '#src/platform/count.ts'
import { after, type MaybePromise } from '#src/platform/maybe-promise.ts'
import type { RateWindow, RateWindows, TakenWindow } from '#src/platform/rate-windows.ts'

import type { Authenticator } from './authenticator.ts'
import { type Limits, RATE_WINDOW_MS, toSeconds } from './limits.ts'
import type { Links, LinkTerms } from './links.ts'
import { isSampleToken } from './sample.ts'
import type { UsageMeter } from './usage-meter.ts'

/** The prefix for IPv6: a /48 contains 65,536 networks of /64. */
const SIGNUP_BITS = 48
/** A minute allows a sixth of the signups of a day. */
const MINUTE_PART = 6
/** A challenge and its answer. */
const REQUESTS_PER_SIGNUP = 2
/**
 * The limit of an address if requests can be bought without a key: each takes two, one of which
 * obtains the price.
 */
const KEYLESS_PER_MINUTE = 240
/**
 * The limit of the links of a key: a program reads a file in several ranges, and a year has 365
 * files.
 */
const LINKS_PER_MINUTE = 3_000
const SECOND_MS = 1000

export type GateOptions = {
  authenticator: Authenticator
  links: Pick<Links, 'termsAt'>
  meter: UsageMeter
  limits: Pick<Limits, 'keys' | 'addresses' | 'guests' | 'signups'>
  /** The address of a caller; for IPv6 the network of `bits`, by default a /64. */
  addressOf: (request: Request, peers: PeerSource | undefined, bits?: number) => string
  signupsPerDay: number
  clock: Clock
  timer: Clock
  sampleTerms: () => Terms
  /** True if requests can be bought without a key. */
  isKeyless?: boolean
  /** Returns why a request is refused, before it is counted. */
  refuse?: Refuse | undefined
}

export type Refuse = (arrival: Arrival) => AppError | undefined

/** The rate window that counts a request. */
type CallerWindow = {
  windows: RateWindows
  key: string
  limit: number
  nowMs: number
  /** The network address of a caller without a valid key. */
  address?: string
  /** True for the sample. */
  isGuest?: boolean
}

export function createGate({
  authenticator,
  links,
  meter,
  limits,
  addressOf,
  signupsPerDay,
  clock,
  timer,
  sampleTerms,
  isKeyless,
  refuse,
}: GateOptions) {
  const identify: Identify = ({ request, peers }) =>
    authenticator.authenticate(request.headers.get('authorization'), () =>
      addressOf(request, peers),
    )

  function freeLimit(): number {
    const free = authenticator.listTiers().find(({ tierId }) => tierId === FREE_TIER_ID)
    return free?.requestsPerMinute ?? 0
  }

  /** The window of a request: that of the key's tier, otherwise that of the address. */
  function findWindow(
    arrival: Arrival,
    caller: Caller | undefined,
    link?: LinkTerms,
  ): CallerWindow {
    const { request, peers, allowance } = arrival
    const kind = allowance === 'billing' ? 'billing' : 'data'
    const nowMs = timer()
    if (caller !== undefined && link !== undefined) {
      const key = `links ${caller.familyId}`
      return { windows: limits.keys.data, key, limit: LINKS_PER_MINUTE, nowMs }
    }
    if (caller !== undefined) {
      const limit = caller.standing.terms.requestsPerMinute
      return { windows: limits.keys[kind], key: caller.familyId, limit, nowMs }
    }
    const address = addressOf(request, peers)
    const authorization = request.headers.get('authorization')
    const isOfSample = isSampleToken(authorization) || (link && link.keyId === undefined)
    if (kind === 'data' && isOfSample) {
      const limit = sampleTerms().requestsPerMinute
      return { windows: limits.guests, key: address, limit, nowMs, address, isGuest: true }
    }
    if (isKeyless && authorization === null) {
      const key = `keyless ${kind} ${address}`
      return { windows: limits.guests, key, limit: KEYLESS_PER_MINUTE, nowMs, address }
    }
    return { windows: limits.addresses[kind], key: address, limit: freeLimit(), nowMs, address }
  }

  function admit(arrival: Arrival, caller: Caller | undefined, link?: LinkTerms): Sender {
    const { request, allowance } = arrival
    const window = findWindow(arrival, caller, link)
    const { address, nowMs: enteredMs } = window
    const guest = window.isGuest ? toGuest(window.key, sampleTerms()) : undefined
    const common = { caller, guest, address, enteredMs }
    const refusal = refuse?.(arrival)
    if (refusal !== undefined) {
      return { ...common, isCounted: false, refusal, rate: rateOfRefusal(refusal, find(window)) }
    }
    if (allowance === 'none' || isPreflight(request)) {
      return { ...common, isCounted: false, refusal: undefined, rate: find(window) }
    }
    return toSender(common, window, window.windows.take(window.key, window.limit, window.nowMs))
  }

  function charge(request: Request, window: CallerWindow): void {
    const { rate, isTaken } = take(window)
    amendCall(request, { rate, enteredMs: window.nowMs })
    if (!isTaken) throw allowanceError(rate)
  }

  return {
    identify,

    admit(arrival: Arrival): MaybePromise<Sender> {
      const refuseAll = (cause: unknown): Sender => toClosed(arrival, timer(), cause)
      const { request, peers } = arrival
      try {
        const link = links.termsAt(request.url)
        const found =
          link?.keyId === undefined
            ? authenticator.find(request.headers.get('authorization'), () =>
                addressOf(request, peers),
              )
            : authenticator.findKeyHolder(link.keyId)
        const sender = after(found, (caller) => admit(arrival, caller, link))
        return sender instanceof Promise ? sender.catch(refuseAll) : sender
      } catch (cause) {
        return refuseAll(cause)
      }
    },

    writeHeaders(
      { rate, enteredMs }: Sender,
      { status, headers }: Pick<Response, 'status' | 'headers'>,
    ): void {
      const leftMs = Math.max(0, rate.leftMs - (timer() - enteredMs))
      writeRateHeaders(headers, rate, { leftMs, nowMs: clock() })
      if (status >= 400) writeRatePolicy(headers, rate)
    },

    count({ caller, isCounted }: Sender, usage: string, bytes = 0): void {
      if (caller !== undefined && isCounted) meter.add(caller, usage, bytes)
    },

    countMore({ caller, isCounted }: Sender, usage: string, bytes: number): void {
      if (caller !== undefined && isCounted) meter.addBytes(caller, usage, bytes)
    },

    /** The windows of a caller; counts nothing. */
    windowsOf(caller: Caller): { data: RateState; billing: RateState } {
      const limit = caller.standing.terms.requestsPerMinute
      const window = { key: caller.familyId, limit, nowMs: timer() }
      return {
        data: find({ ...window, windows: limits.keys.data }),
        billing: find({ ...window, windows: limits.keys.billing }),
      }
    },

    /**
     * Counts a request that has not been counted in the data window of its caller. Throws
     * `rate_limited`.
     */
    charge(request: Request): void {
      const { caller, peers } = callOf(request)
      charge(request, findWindow({ request, peers, allowance: 'data' }, caller))
      if (caller !== undefined) meter.add(caller, UNROUTED, 0)
    },

    /**
     * Counts a signup (see `ChargeSignup`). A limit per day alone would permit a burst, one per
     * minute alone a stream.
     */
    chargeSignup(request: Request): void {
      const { minutes, days } = limits.signups
      const nowMs = timer()
      const key = addressOf(request, callOf(request).peers, SIGNUP_BITS)
      const perMinute = Math.ceil(signupsPerDay / MINUTE_PART) * REQUESTS_PER_SIGNUP
      const perDay = signupsPerDay * REQUESTS_PER_SIGNUP
      const ofMinute = take({ windows: minutes, key, limit: perMinute, nowMs })
      const day = { windows: days, key, limit: perDay, nowMs }
      const ofDay = ofMinute.isTaken ? take(day) : { rate: find(day), isTaken: false }
      if (ofDay.isTaken) return
      const rate: RateState =
        ofDay.rate.remaining === 0 ? { ...ofDay.rate, window: 'day' } : ofMinute.rate
      amendCall(request, { rate, enteredMs: nowMs })
      throw signupsError(rate)
    },

    /** Counts a request in another window (see `ChargeWindow`). */
    chargeWindow: (request: Request, { key, limit }: { key: string; limit: number }): void =>
      charge(request, { windows: limits.keys.data, key, limit, nowMs: timer() }),
  }
}

/** The state of the window that a refusal reports. */
function rateOfRefusal({ code, extras }: AppError, rate: RateState): RateState {
  const { retryAfterSeconds } = extras
  if (code !== 'rate_limited' || retryAfterSeconds === undefined) return rate
  return { ...rate, remaining: 0, leftMs: retryAfterSeconds * SECOND_MS }
}

/** Creates a guest, who has no account, so that nothing is metered. */
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

function toSender(
  common: Omit<Sender, 'rate' | 'isCounted' | 'refusal'>,
  window: CallerWindow,
  taken: TakenWindow,
): Sender {
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

/**
 * Refuses every request under `/v1` without counting it, because no caller is known without the
 * ledger.
 */
function toClosed({ allowance }: Arrival, enteredMs: number, cause: unknown): Sender {
  const rate = { limit: 0, remaining: 0, leftMs: RATE_WINDOW_MS }
  const isSaid = cause instanceof AppError && cause.code === 'unavailable'
  const refusal = isSaid ? cause : uncheckedError(cause)
  const sender = { caller: undefined, rate, isCounted: false, enteredMs }
  return { ...sender, refusal: allowance === 'none' ? undefined : refusal }
}

const WINDOW_SECONDS = { minute: 60, day: 86_400 }

/**
 * Reports a window of which `leftMs` are left at `nowMs` on the wall clock: three headers of the
 * specification, and one of the IETF's draft (draft-ietf-httpapi-ratelimit-headers), which says the
 * same.
 */
function writeRateHeaders(
  headers: Headers,
  { limit, remaining, window = 'minute' }: RateState,
  { leftMs, nowMs }: { leftMs: number; nowMs: number },
): void {
  headers.set('X-RateLimit-Limit', String(limit))
  headers.set('X-RateLimit-Remaining', String(remaining))
  headers.set('X-RateLimit-Reset', String(Math.ceil((nowMs + leftMs) / SECOND_MS)))
  headers.set('RateLimit', `"${window}";r=${remaining};t=${toSeconds(leftMs)}`)
}

/** The draft's other header, on refusals only: every page would carry it otherwise. */
function writeRatePolicy(headers: Headers, { limit, window = 'minute' }: RateState): void {
  headers.set('RateLimit-Policy', `"${window}";q=${limit};w=${WINDOW_SECONDS[window]}`)
}
