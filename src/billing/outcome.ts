/**
 * What becomes of a payment, from what the facilitator said and what the chain says. The chain has
 * the word: only it makes a payment `settled` or `void`, and only it may call one unpaid.
 */
import type { ChainVerdict } from '#src/selling/chain-view.ts'
import type { SettleResult } from '#src/selling/facilitator.ts'
import type { PaymentProof, PaymentState } from '#src/selling/payment.ts'

export type Next = {
  to: PaymentState
  reason?: string | undefined
  txHash?: string | undefined
  proof?: PaymentProof | undefined
}

/** What a look at the chain alone proves; undefined where it proves nothing. */
export function afterLook(verdict: ChainVerdict): Next | undefined {
  switch (verdict.kind) {
    case 'paid': {
      const { proof } = verdict
      return verdict.isFinal
        ? { to: 'settled', txHash: proof.txHash, proof }
        : { to: 'pending', txHash: proof.txHash, reason: 'not_final' }
    }
    case 'void':
      // The nonce went to something else that the payer signed: perhaps money of his, so it is looked at.
      return { to: verdict.reason === 'used_elsewhere' ? 'review' : 'void', reason: verdict.reason }
    case 'open':
    case 'unavailable':
      return
  }
}

/** After a call of the facilitator. `wasSent`: an earlier call may have sent the payment. */
export function afterSettle(
  result: SettleResult,
  verdict: ChainVerdict,
  { wasSent }: { wasSent: boolean },
): Next {
  return afterLook(verdict) ?? byWordAlone(result, wasSent)
}

/** The chain is silent: whatever the facilitator says, money may land. */
function byWordAlone(result: SettleResult, wasSent: boolean): Next {
  switch (result.kind) {
    case 'success':
    case 'pending':
      return { to: 'pending', txHash: result.txHash }
    case 'failed':
    case 'unknown':
      return { to: 'unknown', reason: result.reason, txHash: result.txHash }
    case 'refused':
      return { to: wasSent ? 'unknown' : 'screened', reason: result.reason }
  }
}
