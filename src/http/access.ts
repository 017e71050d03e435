/**
 * Who may call a route. Each route says so in its option `access`; the check runs before any
 * parameter is read, so nobody learns of a market whom it is not for.
 */
import { AppError, type ErrorCode } from '#src/core/errors.ts'
import { coins, isCoin } from '#src/core/market.ts'
import { assert } from '#src/lib/assert.ts'
import { blockedError, type Caller, unauthenticatedError } from '#src/selling/caller.ts'
import { type Tier, type TierRoute, tiersWith } from '#src/selling/tier.ts'

import { type TakeSignup, visitOf } from './gate.ts'
import { readCoin } from './market-path.ts'

/**
 * `none` outside of `/v1`, where nothing is counted; else `open` to everybody, also for a `signup`,
 * which the address is charged for; to every valid `key`; or to tiers that include a route of this
 * name.
 */
export type Access = 'none' | 'open' | 'signup' | 'key' | TierRoute

/** Codes with which a route may refuse before it is reached, or fail, for its documentation. */
export function accessCodes(access: Access): ErrorCode[] {
  if (access === 'none') return []
  const ofAll: ErrorCode[] = ['rate_limited', 'unavailable', 'invalid_parameter', 'internal']
  if (isOpen(access)) return ofAll
  const ofKey: ErrorCode[] = ['unauthenticated', 'sanctioned', ...ofAll]
  return access === 'key' ? ofKey : [...ofKey, 'tier_route', 'tier_coin', 'damaged']
}

/** True where no key is needed. */
export const isOpen = (access: Access): access is 'none' | 'open' | 'signup' =>
  access === 'none' || access === 'open' || access === 'signup'

export type AccessPorts = {
  /** The live catalogue. */
  listTiers: () => readonly Tier[]
  takeSignup: TakeSignup
}

type Asked = { access: Exclude<Access, 'none'>; coin: string | undefined }

/** Lets a request through to a route, or throws why not; the caller of one that is not open. */
export function admit(
  request: Request,
  { access, coin }: Asked,
  { takeSignup, listTiers }: AccessPorts,
): Caller | undefined {
  const visit = visitOf(request)
  assert(visit.isCounted, 'A route with access must be counted.')
  visit.route = labels[access] ?? access
  if (access === 'signup') takeSignup(request, visit)
  if (isOpen(access)) return undefined
  const caller = requireCaller(visit.caller)
  if (access !== 'key') assertEntitled({ access, caller, coin }, listTiers)
  return caller
}

/** The caller of a route that is not `open`. */
export const callerOf = (request: Request): Caller => requireCaller(visitOf(request).caller)

/** What usage is counted under, where it is not the name of the access. */
const labels: Partial<Record<Access, string>> = { key: 'account', signup: 'open' }

function requireCaller(caller: Caller | undefined): Caller {
  if (caller === undefined) throw unauthenticatedError()
  if (caller.isBlocked) throw blockedError()
  return caller
}

type Question = { access: TierRoute; caller: Caller; coin: string | undefined }

function assertEntitled(
  { access, caller, coin }: Question,
  listTiers: () => readonly Tier[],
): void {
  const { name, routes, coins: own } = caller.standing.terms
  const hasRoute = routes.includes(access)
  // Which coins there are is no secret; an unknown one is a 404 to everybody.
  if (hasRoute && (coin === undefined || own.includes(readCoin(coin)))) return
  const asked = coin?.toLowerCase()
  const known = asked !== undefined && isCoin(asked) ? asked : undefined
  const enough = tiersWith(listTiers(), { route: access, coin: known })
  if (!hasRoute) {
    throw tierError('tier_route', `The ${name} tier does not include ${access}.`, enough)
  }
  const list = own.length === coins.length ? 'every coin' : own.join(', ')
  throw tierError('tier_coin', `The ${name} tier includes ${list}, not ${asked}.`, enough)
}

function tierError(
  code: 'tier_coin' | 'tier_route',
  why: string,
  enough: readonly Tier[],
): AppError {
  const names = enough.map((tier) => tier.name).join(', ')
  const how = names === '' ? '' : ` These do: ${names}. GET /v1/billing/tiers shows what they cost.`
  const [lowest] = enough
  return new AppError(code, why + how, lowest ? { requiredTier: lowest.tierId } : {})
}
