/** Requests that an account has paid for, and what is left of them. */
import type { Coin } from '#src/core/market.ts'

import type { Terms, TierRoute } from './tier.ts'

export type Credit = {
  /** The payment that bought it. */
  id: string
  accountId: string
  /** What the requests may be for, as the catalogue had it. */
  terms: Terms
  requests: number
  /** Those that were answered. */
  used: number
  createdMs: number
}

/** True if a request of a route may be paid with it; without a coin, of any. */
export const covers = (
  { terms }: Pick<Credit, 'terms'>,
  { route, coin }: { route: TierRoute; coin?: Coin | undefined },
): boolean => terms.routes.includes(route) && (coin === undefined || terms.coins.includes(coin))
