/** Port to what the chain itself says of a payment; `src/chain` has the real one. */
import type { TokenSymbol } from './payment-chain.ts'
import type { PaymentProof, SignedPayment } from './payment.ts'

/**
 * `paid`: the exact transfer is there; `isFinal` once no reorganisation can take it back. `void`:
 * it is proved at the final block that it can never come. `open`: it may still come.
 */
export type ChainVerdict =
  | { kind: 'paid'; proof: PaymentProof; isFinal: boolean }
  | { kind: 'void'; reason: 'expired' | 'canceled' | 'used_elsewhere' }
  | { kind: 'open' }
  | { kind: 'unavailable'; reason: string }

/** Why a payment cannot be taken as it is; none is a guess from a node that did not answer. */
export type PaymentFault =
  | 'nonce_used'
  | 'signature_invalid'
  | 'payer_blocked'
  | 'insufficient_balance'
  | 'allowance_required'

export type Preflight =
  | { kind: 'ready' }
  /** All that are found, at least one, in the order of `PaymentFault`: a spent nonce first. */
  | { kind: 'fault'; faults: readonly PaymentFault[] }
  | { kind: 'unavailable'; reason: string }

export type FoundTransfer = PaymentProof & { asset: string; from: string; amount: bigint }

/**
 * `finalNumber`: the block up to which all is final. `latestMs`: the time of the newest block;
 * undefined where blocks have no time.
 */
export type ChainHead = {
  finalNumber: number
  latestNumber: number
  latestMs?: number | undefined
}

export type ChainView = {
  /** Asks the chain alone whether a signed payment would go through now. Never rejects. */
  preflight(signed: SignedPayment, signature: string): Promise<Preflight>
  /** Looks for a payment. `fromBlock` was the newest when it was offered. Never rejects. */
  look(
    signed: SignedPayment,
    hint: { fromBlock: number; txHash?: string | undefined },
  ): Promise<ChainVerdict>
  /** The wallet that sent a transaction; undefined without an answer. Never rejects. */
  senderOf(txHash: string): Promise<string | undefined>
  /**
   * The chain at its finality, where fewer confirmations are waited for; undefined where what counts
   * is final. `final` is undefined without an answer. Never rejects.
   */
  finality?:
    | {
        final(): Promise<number | undefined>
        look(signed: SignedPayment, hint: { fromBlock: number }): Promise<ChainVerdict>
      }
    | undefined
  /** The newest head seen; asks the node if it is older. Undefined without an answer. */
  head(ageMsMax: number): Promise<ChainHead | undefined>
  /** Transfers of our tokens in final blocks of a range (inclusive). Rejects without an answer. */
  transfersTo(payTo: string, range: { from: number; to: number }): Promise<FoundTransfer[]>
  /** Checks what must be true of the chain and of each token: why not, if not. Never rejects. */
  check(): Promise<{ chain?: string | undefined; tokens: Partial<Record<TokenSymbol, string>> }>
}
