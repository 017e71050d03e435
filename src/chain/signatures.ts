/** Whether an account signed: a plain one by its key, a contract by being asked (ERC-1271). */
import type { Hex } from 'viem'

import { callContract } from './contract-questions.ts'
import type { Rpc } from './rpc.ts'

/** Bytes r, s and v: what a plain account makes. */
const PLAIN_LENGTH = 65
/** A contract with many owners joins their signatures; ours is the limit, no standard's. */
const SIGNATURE_BYTES_MAX = 8192
/**
 * Half the order of secp256k1: a higher s is the mirror image of a
 * signature, which anybody can make.
 */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
/** Returned, left-aligned in a word, by a contract that accepts a signature. */
const MAGIC = '0x1626ba7e'.padEnd('0x'.length + 64, '0')

export type Claim = { address: string; hash: Hex; signature: Hex }

/** Whether a text is the bytes of some signature, of whatever kind of account. */
export const isSignature = (text: string): text is Hex =>
  /^0x(?:[0-9a-fA-F]{2})+$/.test(text) && text.length <= 2 + 2 * SIGNATURE_BYTES_MAX

/** The plain account that signed, in lower case; undefined if none can have. */
export async function recover({ hash, signature }: Omit<Claim, 'address'>) {
  const { recoverAddress, size, slice } = await import('viem')
  if (size(signature) !== PLAIN_LENGTH || BigInt(slice(signature, 32, 64)) > S_MAX) return undefined
  try {
    return (await recoverAddress({ hash, signature })).toLowerCase()
  } catch {
    // Not every 65 bytes are a signature; a contract may still know what they mean.
    return undefined
  }
}

/** Whether the contract at an address accepts a signature. Throws `RpcFault`. */
export async function isAccepted(rpc: Rpc, { address, hash, signature }: Claim): Promise<boolean> {
  const answer = await callContract(rpc, {
    to: address,
    signature: 'isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
    args: [hash, signature],
  })
  return answer?.toLowerCase() === MAGIC
}

/**
 * Whether the tokens would take a signature of a payment. As they do, it goes by the code at the
 * address: with code the contract decides, also for an account that delegates to one (EIP-7702).
 * Throws `RpcFault`.
 */
export async function isPaymentSignature(
  rpc: Rpc,
  { signature, ...claim }: Omit<Claim, 'signature'> & { signature: string },
): Promise<boolean> {
  if (!isSignature(signature)) return false
  if ((await rpc.getCode(claim.address)) !== '0x') return isAccepted(rpc, { ...claim, signature })
  const isStrict = /(1b|1c)$/i.test(signature)
  return isStrict && (await recover({ ...claim, signature })) === claim.address.toLowerCase()
}
