import { AppError } from '#src/domain/errors.ts'

import type { Standing } from './subscription.ts'
import { FREE_TIER_ID } from './tier.ts'

/** The owner of the valid key that a request came with. */
export type Caller = {
  keyId: string
  accountId: string
  /** Keys that replaced one another share one rate window. */
  familyId: string
  /** True while the account's address is on a sanctions list. */
  isBlocked: boolean
  standing: Standing
  /** True of a caller that reads the sample without a key. */
  isGuest?: true
  /** The network address, where its keys share one rate window and what they hold at a time. */
  address?: string
}

/** Which callers are served first under load: a level is an index in this list. */
export const callerLevels = ['paid', 'free', 'guest'] as const

/** The level of a caller; without a caller that of a guest. */
export function levelOf(caller: Caller | undefined): number {
  if (caller === undefined || caller.isGuest) return callerLevels.indexOf('guest')
  const isFree = caller.standing.terms.tierId === FREE_TIER_ID
  return callerLevels.indexOf(isFree ? 'free' : 'paid')
}

/** Whether the tier of a caller includes what the routes of `prices` say, wherever it is shown. */
export const readsPrices = ({ standing }: Caller): boolean =>
  standing.terms.routes.includes('prices')

/** The rate window of a caller, as the headers report it: `limit` requests each. */
export type RateState = {
  limit: number
  /** Never below 0. */
  remaining: number
  /** To the end of the window; a whole window where none has begun. */
  leftMs: number
  /** A minute if it is not said. */
  window?: 'minute' | 'day'
}

/**
 * The one answer to a key that is missing, malformed, unknown, expired or revoked. The front door
 * adds the ways to get one that the server has.
 */
export const unauthenticatedError = (note?: string) =>
  new AppError(
    'unauthenticated',
    `This needs a valid API key: send \`Authorization: Bearer bf_live_…\`.${note === undefined ? '' : ` ${note}`}`,
  )

/** For a caller whose key cannot be looked up. */
export const uncheckedError = (cause: unknown): AppError =>
  new AppError('unavailable', 'Keys cannot be checked just now. Try again in a moment.', {
    cause,
    retryAfterSeconds: 5,
  })

export const blockedError = () =>
  new AppError('sanctioned', 'The address of this account is on a sanctions list.')
