import type { PaymentFault, Preflight } from '#src/selling/chain-view.ts'
import type { PaymentChain, PaymentToken } from '#src/selling/payment-chain.ts'
import type { SignedPayment } from '#src/selling/payment.ts'

import { askWord } from './contract-questions.ts'
import { isNonceUsed } from './evidence.ts'
import type { Rpc } from './rpc.ts'
import { isPaymentSignature } from './signatures.ts'
import { isBlocked } from './token-checks.ts'
import { hashPayment } from './typed-data.ts'

export type Signed = {
  signed: SignedPayment
  signature: string
  chain: PaymentChain
  token: PaymentToken
}

/** Asks all that can be asked at once. Throws `RpcFault`. */
export async function preflight(rpc: Rpc, payment: Signed): Promise<Preflight> {
  const { signed, signature, chain, token } = payment
  const hash = await hashPayment(signed, chain, token)
  const found: Record<PaymentFault, Promise<boolean>> = {
    nonce_used: isNonceUsed(rpc, signed, 'latest'),
    signature_invalid: not(isPaymentSignature(rpc, { address: signed.payer, hash, signature })),
    payer_blocked: isBlocked(rpc, token, signed.payer),
    insufficient_balance: lacksBalance(rpc, signed),
    allowance_required: lacksAllowance(rpc, payment),
  }
  const all = Object.keys(found) as PaymentFault[]
  const answers = await Promise.all(all.map((fault) => found[fault]))
  const faults = all.filter((_, index) => answers[index])
  return faults.length > 0 ? { kind: 'fault', faults } : { kind: 'ready' }
}

const not = async (answer: Promise<boolean>) => !(await answer)

async function lacksBalance(rpc: Rpc, { asset, payer, amount }: SignedPayment): Promise<boolean> {
  const signature = 'balanceOf(address) view returns (uint256)'
  return (await askWord(rpc, { to: asset, signature, args: [payer] })) < amount
}

/** Only Permit2 needs to be allowed to move the token. */
async function lacksAllowance(rpc: Rpc, { signed, chain }: Signed): Promise<boolean> {
  if (signed.method !== 'permit2') return false
  const signature = 'allowance(address,address) view returns (uint256)'
  const args = [signed.payer, chain.permit2]
  return (await askWord(rpc, { to: signed.asset, signature, args })) < signed.amount
}
