/** Port to a relay of signed payments to the chain; `src/facilitator` has the real ones. */
import type { PaymentRequirements } from './payment.ts'

/**
 * What came of handing a payment over. Only `refused` says that nothing was sent to the chain; all
 * else leaves that to be seen there. `reason` is the facilitator's own word, an open set.
 */
export type SettleResult =
  /** It says that the transfer is mined. Believed only after a look at the chain. */
  | { kind: 'success'; txHash: string }
  /** Sent, not mined in time. */
  | { kind: 'pending'; txHash: string }
  /** It says that it did not settle; perhaps with the hash of what it sent. */
  | { kind: 'failed'; reason: string; txHash?: string | undefined }
  /** It did not take the request at all: not authorized (401, 403) or too many (429). */
  | { kind: 'refused'; reason: string }
  /** Timeout, connection lost, 5xx, redirect, garbage: the outcome is not known. */
  | { kind: 'unknown'; reason: string; txHash?: string | undefined }

export type SupportedKind = { x402Version: number; scheme: string; network: string }

export type Facilitator = {
  /** For the operator and the list of chains: a host name, or `local`. Never holds a secret. */
  readonly name: string
  /**
   * Hands over the same bytes whenever it is called for the same payment. `trace` is what the call
   * is part of, a `traceparent` of W3C. Never rejects.
   */
  settle(
    payload: string,
    requirements: PaymentRequirements,
    trace?: string | undefined,
  ): Promise<SettleResult>
  /** The wallet that all its transactions come from, if there is one. Never rejects. */
  sender?(): Promise<string | undefined>
  /**
   * Asks what it can do. Undefined `kinds` if it gave no answer. `gasAddress` is the wallet that pays
   * for gas, where it is empty. Never rejects.
   */
  supported(): Promise<{
    kinds: readonly SupportedKind[] | undefined
    reason?: string | undefined
    gasAddress?: string | undefined
  }>
}
