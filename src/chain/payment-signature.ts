import type { Hex } from './hex.ts'
import type { Rpc } from './rpc.ts'

/** Bytes r, s and v: what a plain account makes. */
const PLAIN_PATTERN = /^0x[0-9a-f]{128}(1b|1c)$/i
const BYTES_PATTERN = /^0x(?:[0-9a-f]{2})+$/i
/** A contract with many owners joins their signatures; ours is the limit, no standard's. */
const SIGNATURE_BYTES_MAX = 8192
/** Half the order of secp256k1: a higher s is the mirror image of a signature, which tokens refuse. */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/** Returned, left-aligned in a word, by a contract that accepts a signature (ERC-1271). */
const MAGIC = '0x1626ba7e'

type Claim = { address: string; hash: Hex; signature: string }

/**
 * Whether the tokens would take a signature. As they do, it goes by the code at the address: with code
 * the contract decides, also for an account that delegates to one (EIP-7702). Throws `RpcFault`.
 */
export async function checkPaymentSignature(rpc: Rpc, claim: Claim): Promise<boolean> {
  const bytes = (claim.signature.length - '0x'.length) / 2
  if (bytes > SIGNATURE_BYTES_MAX || !BYTES_PATTERN.test(claim.signature)) return false
  const isPlain = (await rpc.getCode(claim.address)) === '0x'
  return isPlain ? isSigner(claim) : isAccepted(rpc, claim)
}

async function isSigner({ address, hash, signature }: Claim): Promise<boolean> {
  if (!PLAIN_PATTERN.test(signature)) return false
  const { recoverAddress, slice } = await import('viem')
  if (BigInt(slice(signature as Hex, 32, 64)) > S_MAX) return false
  try {
    const signer = await recoverAddress({ hash, signature: signature as Hex })
    return signer.toLowerCase() === address.toLowerCase()
  } catch {
    // Not every 65 bytes are a signature.
    return false
  }
}

async function isAccepted(rpc: Rpc, { address, hash, signature }: Claim): Promise<boolean> {
  const { encodeFunctionData, parseAbi } = await import('viem')
  const abi = parseAbi([
    'function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
  ])
  const data = encodeFunctionData({ abi, args: [hash, signature as Hex] })
  const answer = await rpc.call({ to: address, data })
  return answer?.toLowerCase() === MAGIC.padEnd('0x'.length + 64, '0')
}
