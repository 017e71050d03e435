/**
 * An offer is what the route `quote` makes: a tier at an amount that no other open offer has, so that
 * a signed payment, which names nothing but an amount, names its offer.
 */
import type { TokenSymbol, TransferMethod } from './payment-chain.ts'
import type { Terms } from './tier.ts'

/** How long an offer may be signed. */
export const OFFER_LIFE_MS = 10 * 60_000
/** What a wallet is told: seconds from signing for which the payment stays valid. */
export const PAYMENT_TIMEOUT_SECONDS = 600
/** How far ahead a payment's end may lie: for so long after an offer its amount stays its own. */
export const VALID_BEFORE_MS_MAX = 24 * 3_600_000
/** At most this much is taken off a price, in atomic units (a cent), to tell offers apart. */
export const AMOUNT_SLOTS = 10_000

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
