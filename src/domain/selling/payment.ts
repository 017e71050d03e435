/**
 * An offer is what the route `quote` makes: a tier at an amount. A signed payment names no product,
 * only who pays and how much. For the account's own wallet that is enough, so it is offered the
 * plain price; for any other wallet the amount is one that no other offer has.
 *
 * A payment on its way:
 *
 *     received ─ screened ─ settling ─┬─ settled ─ provisioned
 *        │          │                 ├─ pending ─┐
 *        │          │                 └─ unknown ─┴─ settled, or void
 *        └──────────┴── rejected, review
 *
 * `settling` is committed before the facilitator is called. What the chain does not confirm is
 * `pending` or `unknown`, never a failure; only the chain makes it `settled` or `void`.
 */
import { DAY_MS } from '#src/domain/time.ts'

import type { Network, TokenSymbol, TransferMethod } from './payment-chain.ts'
import type { Terms } from './tier.ts'

/** The furthest ahead that a payment may end. */
export const VALID_BEFORE_MS_MAX = DAY_MS

/** x402 v2, scheme `exact`, as wallets consume it. */
export type PaymentRequirements = {
  scheme: 'exact'
  network: Network
  /** Token contract, checksummed. */
  asset: string
  /** Atomic units, decimal digits. */
  amount: string
  payTo: string
  maxTimeoutSeconds: number
  extra: Record<string, string>
}

export type Offer = {
  /** `quote_`, letters and digits. */
  id: string
  accountId: string
  /** The account's wallet in lower case, which pays the plain price; undefined: a unique amount. */
  payer?: string | undefined
  /** The terms that are bought, copied from the catalogue. */
  terms: Terms
  /** 0 for a pack of requests. */
  periodDays: number
  /** Number of requests that are bought instead of a period. */
  requests?: number | undefined
  symbol: TokenSymbol
  method: TransferMethod
  requirements: PaymentRequirements
  /** The newest block when the offer was made: the payment can only be in a later one. */
  fromBlock: number
  createdMs: number
  /** Exclusive. */
  expiresMs: number
}

/** Time for which an offer can be paid. */
export const OFFER_LIFE_MS = 10 * 60_000

/** True if the operator ended the offer early. */
export const isReleasedOffer = ({ createdMs, expiresMs }: Offer): boolean =>
  expiresMs < createdMs + OFFER_LIFE_MS

/**
 * Member of `extra` in an offer for one more period, made while another payment for the same tier
 * and token exists.
 */
export const ANOTHER_PERIOD = 'anotherPeriod'

/** True if the offer is for one more period, beside a payment in flight or just made. */
export const isForAnotherPeriod = ({
  requirements,
}: {
  requirements: Pick<PaymentRequirements, 'extra'>
}): boolean => requirements.extra[ANOTHER_PERIOD] !== undefined

/** Reason of a payment whose transfer is in a transaction that may not be ours. */
export const ELSEWHERE = 'submitted_elsewhere'

/** Id of the first key of an account that a payment creates. */
export const firstKeyIdOf = (paymentId: string): string => paymentId.replace('pay_', 'key_')

/** States in which money may still arrive: the offer accepts no other payment. */
export const openStates = [
  'received',
  'screened',
  'settling',
  'pending',
  'unknown',
  'settled',
] as const
export const paymentStates = [...openStates, 'provisioned', 'rejected', 'void', 'review'] as const
export type PaymentState = (typeof paymentStates)[number]

/** True while money may still arrive. We never send a rejected payment, but its payer still can. */
export const isUndecided = ({ state }: Pick<Payment, 'state'>): boolean =>
  state === 'rejected' || openStates.some((open) => open === state)

/** The members that a wallet signed, strictly parsed. Addresses in lower case. */
export type SignedPayment = {
  network: Network
  method: TransferMethod
  asset: string
  payer: string
  payTo: string
  /** Atomic units. */
  amount: bigint
  /** Unix seconds, both exclusive: the chain accepts the payment only between them. */
  validAfter: bigint
  validBefore: bigint
  /** 0x and 64 lower-case hex digits; decimal digits for Permit2. Unique per payer and contract. */
  nonce: string
  /** The contract that tracks the nonces: the token, or Permit2. */
  nonceContract: string
  /** SHA-256 of `payload`, hex. */
  payloadHash: string
  /** The x402 payload as canonical JSON: sent to the facilitator byte for byte. */
  payload: string
}

/**
 * True if a payment was signed at least a second after another. All offers give a payment the same
 * lifetime (`maxTimeoutSeconds`), so the later one also ends later.
 */
export const isSignedAfter = (
  { validBefore }: Pick<SignedPayment, 'validBefore'>,
  other: Pick<SignedPayment, 'validBefore'>,
): boolean => validBefore > other.validBefore

/** Position of the transfer on the chain. */
export type PaymentProof = { txHash: string; blockNumber: number; logIndex: number }

export type Payment = {
  /** `pay_`, letters and digits. */
  id: string
  offerId: string
  accountId: string
  state: PaymentState
  signed: SignedPayment
  /** The payer's idempotency key for the payment. */
  identifier?: string | undefined
  /** Number of settlement attempts at the facilitator. */
  attempts: number
  /** While in the future, a process holds the lease. */
  leaseUntilMs?: number | undefined
  /** As reported by the facilitator, or as found on the chain. */
  txHash?: string | undefined
  proof?: PaymentProof | undefined
  /** Reason of the state: a code of ours or of the facilitator's; see also `ELSEWHERE`. */
  reason?: string | undefined
  /** The operator's decision about a payment in `review`. */
  resolution?: string | undefined
  createdMs: number
  updatedMs: number
}
