/**
 * An offer is what the route `quote` makes: a tier at an amount. A signed payment names no product,
 * only who pays and how much. For the account's own wallet that is enough, so it is offered the
 * plain price; for any other wallet the amount is one that no other offer has.
 */
import { DAY_MS } from '#src/core/time.ts'

import type { TokenSymbol, TransferMethod } from './payment-chain.ts'
import type { Terms } from './tier.ts'

/** How long an offer may be signed. */
export const OFFER_LIFE_MS = 10 * 60_000
/** What a wallet is asked for: seconds from signing for which the payment stays valid. */
export const PAYMENT_TIMEOUT_SECONDS = 600
/** How far ahead a payment's end may lie. */
export const VALID_BEFORE_MS_MAX = DAY_MS
/** For so long an offer keeps its amount: it may be signed, then paid, and ten minutes more. */
export const RESERVED_MS = OFFER_LIFE_MS + PAYMENT_TIMEOUT_SECONDS * 1000 + 10 * 60_000
/** An open offer is shown again as long as this much time is left to sign it. */
export const OFFER_LEFT_MS_MIN = 3 * 60_000
/**
 * Offers that an account may have reserved and not paid, and how many of
 * them may be of unique amounts.
 */
export const OFFERS_MAX = 20
export const UNIQUE_OFFERS_MAX = 5
/**
 * What is taken off a price, in atomic units, so that an amount is unique: up to a cent, and up to
 * ten, but no more than a hundredth of the price, once the cent is nearly full.
 */
export const AMOUNT_SLOTS = 10_000
export const AMOUNT_SLOTS_WIDE = 100_000

/** x402 v2, scheme `exact`, exactly as a wallet consumes it. */
export type PaymentRequirements = {
  scheme: 'exact'
  network: `eip155:${number}`
  /** Token contract, checksummed. */
  asset: string
  /** Atomic units, decimal digits. */
  amount: string
  payTo: string
  maxTimeoutSeconds: number
  extra: Record<string, string>
}

export type Offer = {
  /** `quote_` and letters and digits. */
  id: string
  accountId: string
  /**
   * The account's wallet, lower case, if it is offered the plain price;
   * undefined: the amount is unique.
   */
  payer?: string | undefined
  /** What is bought, as the catalogue had it. */
  terms: Terms
  periodDays: number
  symbol: TokenSymbol
  method: TransferMethod
  requirements: PaymentRequirements
  /** The newest block when it was made: the payment is in a later one. */
  fromBlock: number
  createdMs: number
  /** Exclusive. */
  expiresMs: number
}
