/**
 * The rights that a route requires of its caller, its option `access`. They are checked before any
 * parameter is read, so no caller learns of a market that its tier does not include. The gate that
 * identifies and counts callers is `access/gate.ts`.
 */
import { AppError, type ErrorCode } from '#src/domain/errors.ts'
import { coins, isCoin, type Market, type Source } from '#src/domain/market.ts'
import { blockedError, type Caller, unauthenticatedError } from '#src/domain/selling/caller.ts'
import { type Terms, type Tier, type TierRoute, tiersWith } from '#src/domain/selling/tier.ts'
import { assert } from '#src/platform/assert.ts'
import type { MaybePromise } from '#src/platform/maybe-promise.ts'

import {
  type Access,
  type Admission,
  type Arrival,
  callOf,
  type PeerSource,
  type Sender,
} from './call.ts'
import { readCoin } from './data-query.ts'

/** Returns the caller whose valid key came with a request. */
export type Identify = (from: Pick<Arrival, 'request' | 'peers'>) => Caller | undefined

/** None of it may throw or reject. */
export type Gate = {
  admit(arrival: Arrival): MaybePromise<Sender>
  /** Reports its window to the caller, in the headers of any response. */
  writeHeaders(sender: Sender, response: Pick<Response, 'status' | 'headers'>): void
  /** Counts a response, or the first piece of a body that is being sent, under the name `usage`. */
  count(sender: Sender, usage: string, bytes: number | undefined): void
  /** Counts another piece of a body. */
  countMore(sender: Sender, usage: string, bytes: number): void
}

/**
 * Takes one from the signups of the address that a request came from, with a key or without.
 * Throws `rate_limited`, and then the headers report that window.
 */
export type ChargeSignup = (request: Request) => void

/**
 * Takes one from the window of a caller that is found after the request arrived. Throws
 * `rate_limited`; the headers report that window either way.
 */
export type ChargeWindow = (request: Request, window: { key: string; limit: number }) => void

/** Codes with which a route may refuse before it is reached, or fail. */
export function accessCodes(access: Access): ErrorCode[] {
  if (access === 'none') return []
  if (access === 'operator')
    return ['operator_only', 'rate_limited', 'invalid_parameter', 'internal']
  const ofAll: ErrorCode[] = ['rate_limited', 'unavailable', 'invalid_parameter', 'internal']
  if (isOpen(access)) return ofAll
  const ofKey: ErrorCode[] = ['unauthenticated', 'sanctioned', ...ofAll]
  return access === 'key' ? ofKey : [...ofKey, 'tier_route', 'tier_coin', 'damaged']
}

export const isOpen = (access: Access): access is 'none' | 'open' | 'signup' =>
  access === 'none' || access === 'open' || access === 'signup'

/** Port: what may be read without a key. */
export type Sample = {
  /** The finished market that shows most. */
  market(): Market | undefined
  /** Markets of which every one may be read whole, also while they are open. */
  sources: readonly Source[]
  terms(): Terms
  /** Throws `unauthenticated`. */
  assertIncluded(asked: Admission & { method: string }): void
}

/** Port. Throws `operator_only` and `rate_limited`. */
export type AssertOperator = (request: Request, from: { peers?: PeerSource | undefined }) => void

export type AccessPorts = {
  assertOperator: AssertOperator
  listTiers: () => readonly Tier[]
  sample: Pick<Sample, 'assertIncluded'>
}

/** A failure for lack of a payment: the response is sold by itself, or from a pack of requests. */
export class UnpaidError extends AppError {
  readonly access: TierRoute
  readonly coin: string | undefined

  constructor(error: AppError, { access, coin }: Pick<Question, 'access' | 'coin'>) {
    super(error.code, error.message, error.extras)
    this.access = access
    this.coin = coin
  }
}

/** Lets a request through to a route, or throws why not; returns the caller, if it needs one. */
export function admit(
  request: Request,
  asked: Admission,
  { assertOperator, listTiers, sample }: AccessPorts,
): Caller | undefined {
  const { access, coin, isSold = false } = asked
  const call = callOf(request)
  if (access === 'operator') {
    assertOperator(request, call)
    return undefined
  }
  assert(call.isCounted, 'A route with access must be counted.')
  if (isOpen(access)) return undefined
  if (call.guest !== undefined) {
    sample.assertIncluded({ ...asked, method: request.method })
    return call.guest
  }
  if (call.rehearsedFor !== undefined) return call.rehearsedFor
  if (access === 'key') return requireCaller(call.caller)
  if (call.caller === undefined && isSold)
    throw new UnpaidError(unauthenticatedError(), { access, coin })
  const caller = requireCaller(call.caller)
  assertEntitled({ access, caller, coin, isSold }, listTiers)
  return caller
}

/** The caller of a route that is not `open`. */
export function callerOf(request: Request): Caller {
  const { caller, guest } = callOf(request)
  return requireCaller(caller ?? guest)
}

/** The name that the usage of requests is counted under before they reach a route. */
export const UNROUTED = 'other'

/** The name that the usage of a route is counted under. */
export const usageOf = (access: Access): string =>
  usageNames[access as keyof typeof usageNames] ?? access
const usageNames = { none: UNROUTED, operator: UNROUTED, key: 'account', signup: 'open' } as const

function requireCaller(caller: Caller | undefined): Caller {
  if (caller === undefined) throw unauthenticatedError()
  if (caller.isBlocked) throw blockedError()
  return caller
}

type Question = {
  access: TierRoute
  caller: Caller
  coin: string | undefined
  /** True of an answer that a request of a pack pays for. */
  isSold?: boolean
}

/** Most callers write a coin in lower case. */
const isOneOf = (own: readonly string[], coin: string): boolean =>
  own.includes(coin) || own.includes(readCoin(coin))

/**
 * Throws `tier_route` and `tier_coin`; and `payment_required` for what a pack includes, until the
 * request is taken from one.
 */
export function assertEntitled(
  { access, caller, coin, isSold = false }: Question,
  listTiers: () => readonly Tier[],
) {
  const { terms, isMetered = false } = caller.standing
  const { name, routes, coins: own } = terms
  const hasRoute = routes.includes(access) && (isSold || !isMetered)
  // The list of coins is public: an unknown coin is a 404 for all callers.
  if (hasRoute && (coin === undefined || isOneOf(own, coin))) {
    if (!isMetered) return
    const error = new AppError('payment_required', `No request of ${name} is left.`)
    throw new UnpaidError(error, { access, coin })
  }
  const asked = coin?.toLowerCase()
  const known = asked !== undefined && isCoin(asked) ? asked : undefined
  const list = own.length === coins.length ? 'every coin' : own.join(', ')
  const missing = routes.includes(access) ? 'streams, exports and files' : access
  const why = hasRoute ? `includes ${list}, not ${asked}.` : `does not include ${missing}.`
  const enough = tiersWith(listTiers(), { route: access, coin: known })
  const names = enough.map((tier) => tier.name).join(', ')
  const how = names === '' ? '' : ` These do: ${names}. GET /v1/billing/tiers shows what they cost.`
  const requiredTier = enough[0]?.tierId
  throw new AppError(
    hasRoute ? 'tier_coin' : 'tier_route',
    `${isMetered ? `Your pack (${name})` : `The ${name} tier`} ${why}${how}`,
    requiredTier === undefined ? {} : { requiredTier },
  )
}

/**
 * The caller that a stream answers, as of now, or why it may not follow any more; undefined while
 * the ledger does not answer, when nothing is known to have changed.
 */
export function identifyFollower(
  { access, coin }: Pick<Question, 'access' | 'coin'>,
  from: Pick<Arrival, 'request' | 'peers'>,
  identify: Identify,
  listTiers: () => readonly Tier[],
): Caller | AppError | undefined {
  try {
    const caller = identify(from)
    if (caller === undefined) return unauthenticatedError()
    if (caller.isBlocked) return blockedError()
    assertEntitled({ access, caller, coin }, listTiers)
    return caller
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return error.code === 'storage_unavailable' ? undefined : error
  }
}
