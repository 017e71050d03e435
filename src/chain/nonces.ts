import type { SignedPayment } from '#src/selling/payment.ts'

import { askWord } from './contract-questions.ts'
import type { BlockTag, Rpc } from './rpc.ts'

/** Permit2 keeps 256 nonces in a word, one bit each. */
export const wordOf = (nonce: string): bigint => BigInt(nonce) >> 8n
export const bitOf = (nonce: string): bigint => 1n << (BigInt(nonce) & 255n)

/** Whether the nonce of a payment is spent or given up, as of a block. Throws `RpcFault` without an answer. */
export async function isNonceUsed(
  rpc: Rpc,
  signed: SignedPayment,
  block: BlockTag,
): Promise<boolean> {
  const { payer, nonce, nonceContract: to } = signed
  if (signed.method === 'eip3009') {
    const signature = 'authorizationState(address,bytes32) view returns (bool)'
    return (await askWord(rpc, { to, signature, args: [payer, nonce], block })) !== 0n
  }
  const signature = 'nonceBitmap(address,uint256) view returns (uint256)'
  const bits = await askWord(rpc, { to, signature, args: [payer, wordOf(nonce)], block })
  return (bits & bitOf(nonce)) !== 0n
}

/** Whether a nonce was used before its payment can have been made. */
export async function wasUsedBefore(
  rpc: Rpc,
  { signed, range }: { signed: SignedPayment; range: { from: number } },
): Promise<boolean> {
  return range.from > 0 && (await isNonceUsed(rpc, signed, range.from - 1))
}
