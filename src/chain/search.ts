import type { ChainVerdict } from '#src/selling/chain-view.ts'
import type { PaymentChain } from '#src/selling/payment-chain.ts'
import type { SignedPayment } from '#src/selling/payment.ts'

import type { Head } from './chain-head.ts'
import type { ChainLog } from './rpc-answers.ts'

export type VoidReason = Extract<ChainVerdict, { kind: 'void' }>['reason']

/** A look for one payment. */
export type Search = {
  signed: SignedPayment
  chain: PaymentChain
  /** Blocks in which its logs can be, both inclusive. */
  range: { from: number; to: number }
  head: Head
  /** The verdict for a transfer that was found. */
  paid: (transfer: ChainLog) => Promise<ChainVerdict>
  /** The verdict for what makes a payment impossible: none yet while a reorganisation may undo it. */
  settled: (blockNumber: number, reason: VoidReason) => ChainVerdict
}
