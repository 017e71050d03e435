/**
 * A payment on its way:
 *
 *     received ─ screened ─ settling ─┬─ settled ─ provisioned
 *        │          │                 ├─ pending ─┐
 *        │          │                 └─ unknown ─┴─ settled, or void
 *        └──────────┴── rejected, review
 *
 * `settling` is committed before the facilitator is called. Whatever is not a success that the
 * chain confirms is `pending` or `unknown`, never a failure; only the chain makes it `settled` or
 * `void`.
 */
import type { TransferMethod } from './payment-chain.ts'

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

/**
 * True while money may still arrive: what was rejected was not sent by
 * us, but its payer can send it.
 */
export const isUndecided = ({ state }: Pick<Payment, 'state'>): boolean =>
  state === 'rejected' || openStates.some((open) => open === state)

/** What a wallet signed, read strictly. Addresses in lower case. */
export type SignedPayment = {
  network: `eip155:${number}`
  method: TransferMethod
  asset: string
  payer: string
  payTo: string
  /** Atomic units. */
  amount: bigint
  /** Unix seconds: the chain takes it strictly after and strictly before. */
  validAfter: bigint
  validBefore: bigint
  /**
   * EIP-3009: `0x` and 64 lower-case hex digits. Permit2: decimal digits.
   * Unique per payer and contract.
   */
  nonce: string
  /** Whose nonces these are: the token, or Permit2. */
  nonceContract: string
  /** SHA-256 of `payload`, hex. */
  payloadHash: string
  /** The x402 payload as JSON in one canonical form: sent to the facilitator byte by byte. */
  payload: string
}

/** Where the chain says that money arrived. */
export type PaymentProof = {
  txHash: string
  blockNumber: number
  logIndex: number
}

export type Payment = {
  /** `pay_` and letters and digits. */
  id: string
  offerId: string
  accountId: string
  state: PaymentState
  signed: SignedPayment
  /** How often the facilitator was asked to settle. */
  attempts: number
  /** While in the future, somebody holds the lease. */
  leaseUntilMs?: number | undefined
  /** As the facilitator reported it, or as it was found. */
  txHash?: string | undefined
  proof?: PaymentProof | undefined
  /** Why it is where it is: a code of ours or of the facilitator's. */
  reason?: string | undefined
  /** What the operator decided about it in `review`. */
  resolution?: string | undefined
  createdMs: number
  updatedMs: number
}
