/**
 * Who asks, and may they still ask. Keys have windows of their own, callers without a valid one
 * share that of their address, and calls of billing never take from the allowance for data: whoever
 * has used that up can still buy a larger one.
 */
import { AppError } from '#src/domain/errors.ts'
import { testKeyOf } from '#src/domain/selling/api-key.ts'
import type { Caller, RateState } from '#src/domain/selling/caller.ts'
import { FREE_TIER_ID, type Terms } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import {
  isPreflight,
  RATE_WINDOW_MS,
  toSeconds,
  writeRateHeaders,
  writeRatePolicy,
} from '#src/http/common-headers.ts'
import type { Arrival, ChargeWindow, Gate, PeerSource, TakeSignup, Visit } from '#src/http/gate.ts'
import { after, type Eventually } from '#src/platform/eventually.ts'
import type { RateWindow, RateWindows, TakenWindow } from '#src/platform/rate-windows.ts'

import type { Authenticator } from './authenticator.ts'
import type { Limits } from './limits.ts'
import { isSampleToken, SAMPLE_REQUESTS_PER_MINUTE } from './sample.ts'
import type { UsageMeter } from './usage-meter.ts'

/** Of IPv6: whoever has a /48 has 65,536 networks of /64. */
const SIGNUP_BITS = 48
/** Of a day's signups, what a minute may have. */
const MINUTE_PART = 6
/** A challenge and its answer. */
const REQUESTS_PER_SIGNUP = 2
const NO_ROUTE = 'other'
const SECOND_MS = 1000

type GateDeps = {
  authenticator: Authenticator
  meter: UsageMeter
  limits: Pick<Limits, 'keys' | 'addresses' | 'guests' | 'signups'>
  /** Of IPv6 the network of `bits`, a /64 by itself. */
  addressOf: (request: Request, peers: PeerSource | undefined, bits?: number) => string
  signupsPerDay: number
  clock: Clock
  timer: Clock
  sampleTerms: () => Terms
  /** Whether requests may be paid for without a key. */
  isKeyless?: boolean
  /** True where keys of test mode are answered, by somebody else. */
  hasTestMode?: boolean
  /** Of test mode: why a request is refused, as it asks for. */
  testRefusal?: ((request: Request) => AppError | undefined) | undefined
}

/** Who asks. In test mode with the window of the address, because anybody may make keys. */
function createIdentity({ authenticator, addressOf, testRefusal, hasTestMode }: GateDeps) {
  return {
    identify({ request, peers }: Arrival): Caller | undefined {
      const caller = authenticator.authenticate(request.headers.get('authorization'))
      if (caller === undefined || testRefusal === undefined) return caller
      const address = addressOf(request, peers)
      return { ...caller, familyId: `test ${address}`, address }
    },

    /** Of a key of test mode nothing is counted here. */
    isElsewhere: ({ headers }: Request): boolean =>
      hasTestMode === true && testKeyOf(headers.get('authorization')) !== undefined,
  }
}

/** The window of a request: keys by what they may, everybody else by address. */
function createPlaceOf({
  authenticator,
  limits,
  addressOf,
  timer,
  sampleTerms,
  isKeyless,
}: GateDeps) {
  const { keys: ofKeys, addresses: ofAddresses, guests: ofGuests } = limits
  function freeLimit(): number {
    const free = authenticator.listTiers().find(({ tierId }) => tierId === FREE_TIER_ID)
    return free?.requestsPerMinute ?? 0
  }
  return (arrival: Arrival, caller: Caller | undefined): Place => {
    const { request, peers, allowance } = arrival
    const kind = allowance === 'billing' ? 'billing' : 'data'
    const nowMs = timer()
    if (caller === undefined) {
      const key = addressOf(request, peers)
      if (kind === 'data' && isGuest(request)) {
        const limit = sampleTerms().requestsPerMinute
        return { windows: ofGuests, key, limit, nowMs, address: key, isGuest: true }
      }
      if (isKeyless && !request.headers.has('authorization')) {
        const name = `keyless ${kind} ${key}`
        return { windows: ofGuests, key: name, limit: KEYLESS_PER_MINUTE, nowMs, address: key }
      }
      return { windows: ofAddresses[kind], key, limit: freeLimit(), nowMs, address: key }
    }
    const limit = caller.standing.terms.requestsPerMinute
    return { windows: ofKeys[kind], key: caller.familyId, limit, nowMs }
  }
}

export function createGate(deps: GateDeps) {
  const { meter, limits, clock, timer, sampleTerms } = deps
  const { identify, isElsewhere } = createIdentity(deps)
  const { keys: ofKeys } = limits

  const placeOf = createPlaceOf(deps)

  function admit(arrival: Arrival, caller: Caller | undefined): Eventually<Visit> {
    const { request, peers, allowance } = arrival
    const place = placeOf(arrival, caller)
    const guest = place.isGuest === true ? toGuest(place.key, sampleTerms()) : undefined
    const { address, nowMs: enteredMs } = place
    const common = { caller, guest, address, enteredMs, route: NO_ROUTE, peers }
    if (allowance === 'none' || isPreflight(request)) {
      const free = { ...common, isCounted: false, refusal: undefined }
      return after(find(place), (rate) => ({ ...free, rate }))
    }
    const asked = deps.testRefusal?.(request)
    if (asked !== undefined)
      return after(find(place), (rate) => ({ ...common, ...refused(asked, rate) }))
    const window = place.windows.take(place.key, place.limit, place.nowMs)
    // Without a closure where it is there: this is on the way of every request.
    return window instanceof Promise
      ? window.then((taken) => toVisit(common, place, taken))
      : toVisit(common, place, window)
  }

  const gate: Gate = {
    enter(arrival) {
      try {
        const caller = identify(arrival)
        if (caller !== undefined || !isElsewhere(arrival.request)) return admit(arrival, caller)
        const place = placeOf(arrival, undefined)
        return after(find(place), (rate) => toTest(rate, place))
      } catch (cause) {
        return toClosed(arrival, timer(), cause)
      }
    },

    mark({ rate, enteredMs }, { status, headers }) {
      const leftMs = Math.max(0, rate.leftMs - (timer() - enteredMs))
      writeRateHeaders(headers, rate, { leftMs, nowMs: clock() })
      if (status >= 400) writeRatePolicy(headers, rate)
    },

    send(visit, bytes) {
      const { caller, isCounted, route, isCountedAsSent } = visit
      if (caller === undefined || !isCounted) return
      if (isCountedAsSent) meter.addBytes(caller, route, bytes)
      else meter.add(caller, route, bytes)
      visit.isCountedAsSent = true
    },

    leave({ caller, isCounted, route, isCountedAsSent }, bytes = 0) {
      if (caller === undefined || !isCounted || isCountedAsSent) return
      meter.add(caller, route, bytes)
    },
  }
  return {
    ...gate,

    /** The windows of a caller, without taking anything. */
    async windowsOf(caller: Caller) {
      const limit = caller.standing.terms.requestsPerMinute
      const place = { key: caller.familyId, limit, nowMs: timer() }
      const [data, billing] = await Promise.all([
        find({ ...place, windows: ofKeys.data }),
        find({ ...place, windows: ofKeys.billing }),
      ])
      return { data, billing }
    },

    /** Takes one from the data window of a caller for what was not counted. Throws `rate_limited`. */
    async charge(request: Request, visit: Visit): Promise<void> {
      const { caller, peers, isTest, address } = visit
      const ofRequest = placeOf({ request, peers, allowance: 'data' }, caller)
      // As the app of test mode, which shares its windows, counts requests of such keys.
      const place = isTest
        ? { ...ofRequest, key: `test ${address}`, limit: SAMPLE_REQUESTS_PER_MINUTE }
        : ofRequest
      const { rate, isTaken } = await take(place)
      visit.rate = rate
      visit.enteredMs = place.nowMs
      if (!isTaken) throw allowanceError(rate)
      if (caller !== undefined) meter.add(caller, NO_ROUTE, 0)
    },

    takeSignup: createSignupGate(deps),
    chargeWindow: createCharge(ofKeys.data, timer),
  }
}

const createCharge =
  (windows: RateWindows, timer: Clock): ChargeWindow =>
  async (visit, { key, limit }) => {
    const place = { windows, key, limit, nowMs: timer() }
    const { rate, isTaken } = await take(place)
    visit.rate = rate
    visit.enteredMs = place.nowMs
    if (!isTaken) throw allowanceError(rate)
  }

/** Of an address, where requests may be paid for: each takes two, one to learn what to pay. */
const KEYLESS_PER_MINUTE = 240

/** A minute and a day: the day alone would let a burst through, the minute alone a stream. */
function createSignupGate({ addressOf, signupsPerDay, limits, timer }: GateDeps): TakeSignup {
  const { minutes, days } = limits.signups
  const perDay = signupsPerDay * REQUESTS_PER_SIGNUP
  const perMinute = Math.ceil(signupsPerDay / MINUTE_PART) * REQUESTS_PER_SIGNUP

  return async (request, visit) => {
    const nowMs = timer()
    const key = addressOf(request, visit.peers, SIGNUP_BITS)
    const minute = { windows: minutes, key, limit: perMinute, nowMs }
    const day = { windows: days, key, limit: perDay, nowMs }
    const ofMinute = await take(minute)
    const ofDay = ofMinute.isTaken ? await take(day) : { rate: await find(day), isTaken: false }
    if (ofDay.isTaken) return
    visit.rate = ofDay.rate.remaining === 0 ? { ...ofDay.rate, window: 'day' } : ofMinute.rate
    visit.enteredMs = nowMs
    throw signupsError(visit.rate)
  }
}

const toTest = (rate: RateState, { address, nowMs: enteredMs }: Place): Visit => ({
  ...{ caller: undefined, isCounted: false, refusal: undefined, route: NO_ROUTE, isTest: true },
  ...{ rate, enteredMs, address },
})

/** As it asks for. */
const refused = (refusal: AppError, rate: RateState) => {
  const { retryAfterSeconds } = refusal.extras
  const used = retryAfterSeconds && { ...rate, remaining: 0, leftMs: retryAfterSeconds * SECOND_MS }
  return { refusal, rate: used || rate, isCounted: false }
}

const isGuest = ({ headers }: Request): boolean => isSampleToken(headers.get('authorization'))

/** Nothing of a guest is metered: there is no account. */
function toGuest(address: string, terms: Terms): Caller {
  const id = `sample ${address}`
  const standing = { terms, subscription: undefined, untilMs: Infinity }
  return { keyId: id, accountId: id, familyId: id, isBlocked: false, standing, isGuest: true }
}

type Place = {
  windows: RateWindows
  key: string
  limit: number
  nowMs: number
  /** Of a caller without a valid key. */
  address?: string
  /** Of one who reads the sample. */
  isGuest?: boolean
}

const stateOf = ({ limit, nowMs }: Place, window: RateWindow | undefined): RateState => ({
  limit,
  remaining: Math.max(0, limit - (window?.used ?? 0)),
  leftMs: window === undefined ? RATE_WINDOW_MS : window.endMs - nowMs,
})

type Common = Omit<Visit, 'rate' | 'isCounted' | 'refusal'>

function toVisit(common: Common, place: Place, window: TakenWindow): Visit {
  const rate = stateOf(place, window)
  const { isTaken } = window
  const refusal = isTaken ? undefined : allowanceError(rate)
  return { ...common, rate, isCounted: isTaken, refusal }
}

/** Without taking anything. */
const find = (place: Place): Eventually<RateState> =>
  after(place.windows.find(place.key, place.nowMs), (window) => stateOf(place, window))

async function take(place: Place): Promise<{ rate: RateState; isTaken: boolean }> {
  const window = await place.windows.take(place.key, place.limit, place.nowMs)
  return { rate: stateOf(place, window), isTaken: window.isTaken }
}

function rateError({ leftMs }: RateState, print: (wait: string) => string): AppError {
  const retryAfterSeconds = toSeconds(leftMs)
  return new AppError('rate_limited', print(`Wait ${retryAfterSeconds} s`), { retryAfterSeconds })
}

const allowanceError = (rate: RateState): AppError =>
  rateError(
    rate,
    (wait) =>
      `The allowance of ${rate.limit} requests a minute is used up. ${wait}; GET /v1/billing/tiers shows larger ones.`,
  )

const signupsError = (rate: RateState): AppError =>
  rateError(
    rate,
    (wait) =>
      `This address may sign up ${rate.limit / REQUESTS_PER_SIGNUP} times a ${rate.window ?? 'minute'}, with or without a key. ${wait}.`,
  )

/** Without the ledger nobody is known: nothing of `/v1` passes, and nothing is counted. */
function toClosed({ allowance }: Arrival, enteredMs: number, cause: unknown): Visit {
  const rate = { limit: 0, remaining: 0, leftMs: RATE_WINDOW_MS }
  const message = 'Keys cannot be checked just now. Try again in a moment.'
  const refusal = new AppError('unavailable', message, { cause, retryAfterSeconds: 5 })
  const visit = { caller: undefined, rate, isCounted: false, enteredMs, route: NO_ROUTE }
  return { ...visit, refusal: allowance === 'none' ? undefined : refusal }
}
