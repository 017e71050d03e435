/** Port: relays signed payments to the chain, implemented in `src/facilitator`. */
import type { PaymentRequirements } from './payment.ts'

/**
 * The result of submitting a payment. Only `refused` means that nothing was sent to the chain;
 * after any other result the chain decides. `reason` is the facilitator's own word, an open set.
 */
export type SettleResult =
  /** Reported as mined; believed only after a look at the chain. */
  | { kind: 'success'; txHash: string }
  /** Sent, but not mined in time. */
  | { kind: 'pending'; txHash: string }
  /** Reported as not settled, possibly with the hash of a transaction that was sent. */
  | { kind: 'failed'; reason: string; txHash?: string | undefined }
  /** The request itself was refused: not authorized (401, 403) or too many (429). */
  | { kind: 'refused'; reason: string }
  /** Timeout, lost connection, 5xx, redirect or garbage: the outcome is unknown. */
  | { kind: 'unknown'; reason: string; txHash?: string | undefined }

export type SupportedKind = { x402Version: number; scheme: string; network: string }

export type Facilitator = {
  /** For the operator and the list of chains: a host name, or `local`. Never contains a secret. */
  readonly name: string
  /**
   * Submits a payment, with the same bytes for every call about the same payment. `trace` is the
   * W3C `traceparent` of the calling span. Never rejects.
   */
  settle(
    payload: string,
    requirements: PaymentRequirements,
    trace?: string | undefined,
  ): Promise<SettleResult>
  /** The wallet that sends all transactions, if there is one. Never rejects. */
  sender?(): Promise<string | undefined>
  /**
   * Lists supported kinds; `kinds` is undefined if the facilitator does not answer. `gasAddress` is
   * the wallet that pays for gas, if it is empty. Never rejects.
   */
  supported(): Promise<{
    kinds: readonly SupportedKind[] | undefined
    reason?: string | undefined
    gasAddress?: string | undefined
  }>
}
