/** Prepaid requests of an account, and how many are left. */
import type { Coin } from '#src/domain/market.ts'

import type { Terms, TierRoute } from './tier.ts'

export type Credit = {
  /** The payment that bought the credit. */
  id: string
  accountId: string
  /** The terms of the requests, copied from the catalogue at the time of purchase. */
  terms: Terms
  requests: number
  /** Number of requests that were answered. */
  used: number
  createdMs: number
}

/** A payment for a single request, and how often its response was sent. */
export type PaidAnswer = {
  /** Id of the payment. */
  id: string
  /** SHA-256 of method, path and query, hex. The first response binds the payment to this URL. */
  address: string
  /** Number of responses that were begun; 0 while the payment is only reserved for the URL. */
  answers: number
  /** Time at which a whole body was first written to a connection. */
  deliveredMs?: number | undefined
}

/** For this long after the first delivery, the same payment may repeat the same request. */
export const REPEAT_MS = 10 * 60_000
/** For this long after a payment whose response was not delivered, a second one is not settled. */
export const UNDELIVERED_MS = 3_600_000
/** Maximum number of responses per payment, so that a URL cannot be polled with one payment. */
export const ANSWERS_MAX = 20

/**
 * True if the payment of a single request may answer a URL. `known` describes its earlier
 * responses; `isUsed` is true if its credit is spent.
 */
export function mayAnswer(
  known: PaidAnswer | undefined,
  { address, isUsed, nowMs }: { address: string; isUsed: boolean; nowMs: number },
): boolean {
  if (known === undefined || known.answers === 0) return !isUsed
  const { deliveredMs = nowMs } = known
  return known.address === address && known.answers < ANSWERS_MAX && nowMs - deliveredMs < REPEAT_MS
}

/** True if the credit covers a request of this route; without a coin, of any coin. */
export const covers = (
  { terms }: Pick<Credit, 'terms'>,
  { route, coin }: { route: TierRoute; coin?: Coin | undefined },
): boolean => terms.routes.includes(route) && (coin === undefined || terms.coins.includes(coin))
