/**
 * Who may call a route. Each route under `/v1` says so in its option `access`; the check runs before
 * the handler reads any parameter, so nobody learns of a market whom it is not for.
 */
import { Elysia } from 'elysia'

import { AppError, type ErrorCode } from '#src/core/errors.ts'
import { coins, isCoin } from '#src/core/market.ts'
import { assert } from '#src/lib/assert.ts'
import type { Caller } from '#src/selling/caller.ts'
import { type Tier, type TierRoute, tiersWith } from '#src/selling/tier.ts'

import { type TakeSignup, visitOf } from './gate.ts'
import { readCoin } from './market-path.ts'
import { synchronous } from './synchronous.ts'

/**
 * `open` to everybody, also for a `signup`, which the address is charged for; to every valid `key`;
 * or to tiers that include a route of this name.
 */
export type Access = 'open' | 'signup' | 'key' | TierRoute

/** Codes with which a route may refuse before it is reached, for its documentation. */
export function accessCodes(access: Access): ErrorCode[] {
  const ofAll: ErrorCode[] = ['rate_limited', 'unavailable']
  if (isOpen(access)) return ofAll
  const ofKey: ErrorCode[] = ['unauthenticated', 'sanctioned', ...ofAll]
  return access === 'key' ? ofKey : [...ofKey, 'tier_route', 'tier_coin', 'damaged']
}

const isOpen = (access: Access) => access === 'open' || access === 'signup'

type AccessDeps = {
  /** The live catalogue. */
  listTiers: () => readonly Tier[]
  takeSignup: TakeSignup
}

/** Creates the plugin that gives routes the option `access`. */
export const accessPlugin = ({ listTiers, takeSignup }: AccessDeps) =>
  new Elysia({ name: 'access' }).macro({
    access: (access: Access) => ({
      detail: { security: isOpen(access) ? [] : [{ apiKey: [] }] },
      beforeHandle: synchronous(({ request, params }: Context) => {
        const visit = visitOf(request)
        assert(visit.isCounted, 'A route with access must be counted.')
        visit.route = labels[access] ?? access
        if (access === 'signup') takeSignup(request, visit)
        if (isOpen(access)) return
        const caller = requireCaller(visit.caller)
        if (access !== 'key') assertEntitled({ access, caller, coin: params.coin }, listTiers)
      }),
    }),
  })
export type AccessPlugin = ReturnType<typeof accessPlugin>

/** The caller of a route that is not `open`. */
export const callerOf = (request: Request): Caller => requireCaller(visitOf(request).caller)

/** What usage is counted under, where it is not the name of the access. */
const labels: Partial<Record<Access, string>> = { key: 'account', signup: 'open' }

type Context = { request: Request; params: { coin?: string } }

function requireCaller(caller: Caller | undefined): Caller {
  if (caller === undefined) throw refuseUnauthenticated()
  if (caller.isBlocked) throw refuseBlocked()
  return caller
}

/** The one answer to a key that is missing, malformed, unknown, expired or revoked. */
export const refuseUnauthenticated = () =>
  new AppError(
    'unauthenticated',
    'This needs a valid API key: send `Authorization: Bearer bf_live_…`. POST /v1/keys/challenge begins a signup.',
  )

/** The answer to every key of an account that is blocked. */
export const refuseBlocked = () =>
  new AppError('sanctioned', 'The address of this account is on a sanctions list.')

type Question = { access: TierRoute; caller: Caller; coin: string | undefined }

function assertEntitled(
  { access, caller, coin }: Question,
  listTiers: () => readonly Tier[],
): void {
  const { name, routes, coins: own } = caller.standing.terms
  const asked = coin?.toLowerCase()
  const known = asked !== undefined && isCoin(asked) ? asked : undefined
  if (!routes.includes(access)) {
    const enough = tiersWith(listTiers(), { route: access, coin: known })
    throw refuse('tier_route', `The ${name} tier does not include ${access}.`, enough)
  }
  // Which coins there are is no secret; an unknown one is a 404 to everybody.
  if (coin === undefined || own.includes(readCoin(coin))) return
  const enough = tiersWith(listTiers(), { route: access, coin: known })
  const list = own.length === coins.length ? 'every coin' : own.join(', ')
  throw refuse('tier_coin', `The ${name} tier includes ${list}, not ${asked}.`, enough)
}

function refuse(code: 'tier_coin' | 'tier_route', why: string, enough: readonly Tier[]): AppError {
  const names = enough.map((tier) => tier.name).join(', ')
  const how = names === '' ? '' : ` These do: ${names}. GET /v1/billing/tiers shows what they cost.`
  const [lowest] = enough
  return new AppError(code, why + how, lowest ? { requiredTier: lowest.tierId } : {})
}
