/** Port: the chain's own view of a payment, implemented in `src/chain`. */
import type { TokenSymbol } from './payment-chain.ts'
import type { PaymentProof, SignedPayment } from './payment.ts'

/**
 * `paid`: the exact transfer was found; `isFinal` once no reorganisation can undo it. `void`: the
 * final block proves that the transfer can never happen. `open`: it may still happen.
 */
export type ChainVerdict =
  | { kind: 'paid'; proof: PaymentProof; isFinal: boolean }
  | { kind: 'void'; reason: 'expired' | 'canceled' | 'used_elsewhere' }
  | { kind: 'open' }
  | { kind: 'unavailable'; reason: string }

/** The reason why a payment cannot be accepted; never guessed from a node that did not answer. */
export type PaymentFault =
  | 'nonce_used'
  | 'signature_invalid'
  | 'payer_blocked'
  | 'insufficient_balance'
  | 'allowance_required'

export type Preflight =
  | { kind: 'ready' }
  /** All faults found, at least one, in the order of `PaymentFault`: a spent nonce first. */
  | { kind: 'fault'; faults: readonly PaymentFault[] }
  | { kind: 'unavailable'; reason: string }

export type FoundTransfer = PaymentProof & { asset: string; from: string; amount: bigint }

/**
 * `finalNumber`: the last final block. `latestMs`: the time of the newest block; undefined on
 * chains whose blocks have no time.
 */
export type ChainHead = {
  finalNumber: number
  latestNumber: number
  latestMs?: number | undefined
}

export type ChainView = {
  /** Simulates a signed payment on the chain. Never rejects. */
  preflight(signed: SignedPayment, signature: string): Promise<Preflight>
  /** Looks for a payment. `fromBlock` was the newest block when it was offered. Never rejects. */
  look(
    signed: SignedPayment,
    hint: { fromBlock: number; txHash?: string | undefined },
  ): Promise<ChainVerdict>
  /** The wallet that sent a transaction; undefined if the node does not answer. Never rejects. */
  senderOf(txHash: string): Promise<string | undefined>
  /**
   * The head by the chain's own finality, on servers that wait for fewer confirmations; undefined
   * if the payments that count are final. `final` is undefined if the node does not answer. Never
   * rejects.
   */
  finality?:
    | {
        final(): Promise<number | undefined>
        look(signed: SignedPayment, hint: { fromBlock: number }): Promise<ChainVerdict>
      }
    | undefined
  /** The newest head seen; asks the node if it is older. Undefined if the node does not answer. */
  head(ageMsMax: number): Promise<ChainHead | undefined>
  /**
   * Transfers of the accepted tokens in final blocks of a range (inclusive). Rejects if the node
   * does not answer.
   */
  transfersTo(payTo: string, range: { from: number; to: number }): Promise<FoundTransfer[]>
  /** Checks the chain and each token; returns a reason for each that fails. Never rejects. */
  check(): Promise<{ chain?: string | undefined; tokens: Partial<Record<TokenSymbol, string>> }>
}
