import { AppError } from '#src/domain/errors.ts'

import type { Standing } from './subscription.ts'
import { FREE_TIER_ID } from './tier.ts'

/** The owner of the valid key that a request was sent with. */
export type Caller = {
  keyId: string
  accountId: string
  /** Keys that replace one another share one rate window. */
  familyId: string
  /** True while the account's address is on a sanctions list. */
  isBlocked: boolean
  standing: Standing
  /** True for a caller that reads the sample without a key. */
  isGuest?: true
  /** Network address of a guest, whose keys share one rate window and one concurrency limit. */
  address?: string
}

/** Priority under load, highest first: a level is an index into this list. */
export const callerLevels = ['paid', 'free', 'guest'] as const

/** The level of a caller; a request without a caller has the level of a guest. */
export function levelOf(caller: Caller | undefined): number {
  if (caller === undefined || caller.isGuest) return callerLevels.indexOf('guest')
  const isFree = caller.standing.terms.tierId === FREE_TIER_ID
  return callerLevels.indexOf(isFree ? 'free' : 'paid')
}

/** True if the caller's tier includes the fields of the `prices` routes, wherever they appear. */
export const readsPrices = ({ standing }: Caller): boolean =>
  standing.terms.routes.includes('prices')

/** The rate window of a caller as the rate headers report it: `limit` requests per window. */
export type RateState = {
  limit: number
  /** Never below 0. */
  remaining: number
  /** Time to the end of the window; a whole window if none has begun. */
  leftMs: number
  /** Defaults to `minute`. */
  window?: 'minute' | 'day'
}

/**
 * The single response to a key that is missing, malformed, unknown, expired or revoked. The HTTP
 * layer adds how to get a key on this server.
 */
export const unauthenticatedError = (note?: string) =>
  new AppError(
    'unauthenticated',
    `This needs a valid API key: send \`Authorization: Bearer bf_live_…\`.${note === undefined ? '' : ` ${note}`}`,
  )

/** The response when a key cannot be looked up. */
export const uncheckedError = (cause: unknown): AppError =>
  new AppError('unavailable', 'API keys cannot be checked at the moment. Try again.', {
    cause,
    retryAfterSeconds: 5,
  })

export const blockedError = () =>
  new AppError('sanctioned', 'The address of this account is on a sanctions list.')
