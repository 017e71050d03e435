/** Requests that an account has paid for, and what is left of them. */
import type { Coin } from '#src/domain/market.ts'

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

/** What a payment for a single request has read. */
export type PaidAnswer = {
  /** The payment. */
  id: string
  /** SHA-256 of method, path and query, hex. From its first answer on, the payment reads no other. */
  address: string
  /** Answers that were begun; 0 while the payment is only meant for the address. */
  answers: number
  /** When a whole body was handed to a connection for the first time. */
  deliveredMs?: number | undefined
}

/** For so long after the first delivery the same payment reads the same address again. */
export const REPEAT_MS = 10 * 60_000
/** For so long after a payment, another one for what it did not deliver is not settled. */
export const UNDELIVERED_MS = 3_600_000
/** Answers to one payment in all, so that no payment follows an address for nothing. */
export const ANSWERS_MAX = 20

/**
 * Whether the payment of a single request may be answered at an address. `known` is what it has
 * read before; `isUsed` is true of a payment whose credit is spent.
 */
export function mayAnswer(
  known: PaidAnswer | undefined,
  { address, isUsed, nowMs }: { address: string; isUsed: boolean; nowMs: number },
): boolean {
  if (known === undefined || known.answers === 0) return !isUsed
  const { deliveredMs = nowMs } = known
  return known.address === address && known.answers < ANSWERS_MAX && nowMs - deliveredMs < REPEAT_MS
}

/** True if a request of a route may be paid with it; without a coin, of any. */
export const covers = (
  { terms }: Pick<Credit, 'terms'>,
  { route, coin }: { route: TierRoute; coin?: Coin | undefined },
): boolean => terms.routes.includes(route) && (coin === undefined || terms.coins.includes(coin))
