/**
 * What is before every route: the caller, its allowance, and what it used. The front
 * door calls the gate around each request. What a route needs is its option `access`, checked
 * before any parameter is read, so no caller learns of a market that its tier does not include.
 */
import { AppError, type ErrorCode } from '#src/domain/errors.ts'
import { coins, isCoin, type Market, type Source } from '#src/domain/market.ts'
import { blockedError, type Caller, unauthenticatedError } from '#src/domain/selling/caller.ts'
import { type Terms, type Tier, type TierRoute, tiersWith } from '#src/domain/selling/tier.ts'
import { assert } from '#src/platform/assert.ts'
import type { MaybePromise } from '#src/platform/maybe-promise.ts'

import { readCoin } from './data-query.ts'
import { type Access, type Admission, type Arrival, type Visit, visitOf } from './visit.ts'

/** Returns the caller whose valid key came with a request. */
export type Identify = (from: Pick<Arrival, 'request' | 'peers'>) => Caller | undefined

/** None of it may throw or reject. */
export type Gate = {
  admit(arrival: Arrival): MaybePromise<Visit>
  /** Reports its window to the caller, in the headers of any response. */
  writeHeaders(visit: Visit, response: Pick<Response, 'status' | 'headers'>): void
  /** Counts a piece of a body that is being sent; the request with the first. */
  countBytes(visit: Visit, bytes: number): void
  /** Counts what was answered, once all of it was, unless it was counted piece by piece. */
  finish(visit: Visit, bytes: number | undefined): void
}

/**
 * Takes one from the signups of the address that a request came from, with a key or without.
 * Throws `rate_limited`, and then the headers report that window.
 */
export type ChargeSignup = (request: Request, visit: Visit) => void

/**
 * Takes one from the window of a caller that is found after the visit began. Throws
 * `rate_limited`; the headers report that window either way.
 */
export type ChargeWindow = (visit: Visit, window: { key: string; limit: number }) => void

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
export type AssertOperator = (request: Request, visit: Visit) => void

export type AccessPorts = {
  assertOperator: AssertOperator
  listTiers: () => readonly Tier[]
  sample: Pick<Sample, 'assertIncluded'>
}

/** Lets a request through to a route, or throws why not; returns the caller, if it needs one. */
export function admit(
  request: Request,
  asked: Admission,
  { assertOperator, listTiers, sample }: AccessPorts,
): Caller | undefined {
  const { access, coin } = asked
  const visit = visitOf(request)
  if (access === 'operator') {
    assertOperator(request, visit)
    return undefined
  }
  assert(visit.isCounted, 'A route with access must be counted.')
  visit.route = labels[access] ?? access
  if (isOpen(access)) return undefined
  if (visit.guest !== undefined) {
    sample.assertIncluded({ ...asked, method: request.method })
    return visit.guest
  }
  if (visit.rehearsedFor !== undefined) return visit.rehearsedFor
  const isSold = asked.isSold === true
  if (visit.caller === undefined) visit.asked = { access, coin, isSold }
  const caller = requireCaller(visit.caller)
  if (access === 'key') return caller
  if (caller.standing.isMetered && isSold) visit.asked = { access, coin, isSold }
  assertEntitled({ access, caller, coin, isSold }, listTiers)
  return caller
}

/** The caller of a route that is not `open`. */
export function callerOf(request: Request): Caller {
  const { caller, guest } = visitOf(request)
  return requireCaller(caller ?? guest)
}

/** What usage is counted under, where it is not the name of the access. */
const labels: Partial<Record<Access, string>> = { key: 'account', signup: 'open' }

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

/** Nearly everybody writes a coin in lower case. */
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
  // Which coins there are is no secret; an unknown one is a 404 to everybody.
  if (hasRoute && (coin === undefined || isOneOf(own, coin))) {
    if (!isMetered) return
    throw new AppError('payment_required', `No request of ${name} is left.`)
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
