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

/** How far ahead a payment's end may lie. */
export const VALID_BEFORE_MS_MAX = DAY_MS

/** x402 v2, scheme `exact`, exactly as a wallet consumes it. */
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
  /** `quote_` and letters and digits. */
  id: string
  accountId: string
  /** The account's wallet, lower case, at the plain price; undefined: the amount is unique. */
  payer?: string | undefined
  /** What is bought, as the catalogue had it. */
  terms: Terms
  /** 0 where requests are bought. */
  periodDays: number
  /** How many requests are bought in place of a period. */
  requests?: number | undefined
  symbol: TokenSymbol
  method: TransferMethod
  requirements: PaymentRequirements
  /** The newest block when it was made: the payment is in a later one. */
  fromBlock: number
  createdMs: number
  /** Exclusive. */
  expiresMs: number
}

/** So long an offer can be paid. */
export const OFFER_LIFE_MS = 10 * 60_000

/** True if the operator has ended the offer before its time. */
export const isReleasedOffer = ({ createdMs, expiresMs }: Offer): boolean =>
  expiresMs < createdMs + OFFER_LIFE_MS

/** Member of `extra` in an offer that was asked for beside a payment of the same tier and token. */
export const ANOTHER_PERIOD = 'anotherPeriod'

/** True if the offer is for a period beside one whose payment is in flight, or was just made. */
export const isForAnotherPeriod = ({
  requirements,
}: {
  requirements: Pick<PaymentRequirements, 'extra'>
}): boolean => requirements.extra[ANOTHER_PERIOD] !== undefined

/** Reason of a payment whose transfer is in a transaction that is not known to be ours. */
export const ELSEWHERE = 'submitted_elsewhere'

/** Id of the first key of an account that begins with a payment. */
export const firstKeyIdOf = (paymentId: string): string => paymentId.replace('pay_', 'key_')

/** States in which money may still arrive: no other payment may be asked for the same offer. */
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

/** True while money may still arrive: we did not send what was rejected, but its payer can. */
export const isUndecided = ({ state }: Pick<Payment, 'state'>): boolean =>
  state === 'rejected' || openStates.some((open) => open === state)

/** What a wallet signed, read strictly. Addresses in lower case. */
export type SignedPayment = {
  network: Network
  method: TransferMethod
  asset: string
  payer: string
  payTo: string
  /** Atomic units. */
  amount: bigint
  /** Unix seconds: the chain takes it strictly after and strictly before. */
  validAfter: bigint
  validBefore: bigint
  /** 0x and 64 lower-case hex digits; of Permit2 decimal digits. Unique per payer and contract. */
  nonce: string
  /** Whose nonces these are: the token, or Permit2. */
  nonceContract: string
  /** SHA-256 of `payload`, hex. */
  payloadHash: string
  /** The x402 payload as JSON in one canonical form: sent to the facilitator byte by byte. */
  payload: string
}

/**
 * True if a payment was signed after another, by at least a second: every offer gives a payment the
 * same time (`maxTimeoutSeconds`), so it ends later, too.
 */
export const isSignedAfter = (
  { validBefore }: Pick<SignedPayment, 'validBefore'>,
  other: Pick<SignedPayment, 'validBefore'>,
): boolean => validBefore > other.validBefore

/** Where the chain says that money arrived. */
export type PaymentProof = { txHash: string; blockNumber: number; logIndex: number }

export type Payment = {
  /** `pay_` and letters and digits. */
  id: string
  offerId: string
  accountId: string
  state: PaymentState
  signed: SignedPayment
  /** The payer's own name for it, by which it is not made twice. */
  identifier?: string | undefined
  /** How often the facilitator was asked to settle. */
  attempts: number
  /** While in the future, a process holds the lease. */
  leaseUntilMs?: number | undefined
  /** As the facilitator reported it, or as it was found. */
  txHash?: string | undefined
  proof?: PaymentProof | undefined
  /** Why it is where it is: a code of ours or of the facilitator's; see also `ELSEWHERE`. */
  reason?: string | undefined
  /** What the operator decided about it in `review`. */
  resolution?: string | undefined
  createdMs: number
  updatedMs: number
}
