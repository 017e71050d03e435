/** Verifies signatures: a plain account's by its key, a contract's by asking it (ERC-1271). */
import type { Hex } from 'viem'

import { homeChain } from '#src/domain/selling/payment-chain.ts'
import type { SignatureCheck, SignIn, Wallets } from '#src/domain/selling/wallet.ts'

import { callContract, type Rpc } from './rpc.ts'

/** Bytes r, s and v of a plain account's signature. */
const PLAIN_LENGTH = 65
/** A contract with several owners joins their signatures. The limit is ours, not a standard's. */
const SIGNATURE_BYTES_MAX = 8192
/**
 * Half the order of secp256k1: a signature with a higher s has a valid mirror image, which anyone
 * can compute.
 */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
/** Returned, left-aligned in a word, by a contract that accepts a signature. */
const MAGIC = '0x1626ba7e'.padEnd('0x'.length + 64, '0')

/** Parses and verifies signed messages. Without an RPC only plain accounts can sign in. */
export function createWallets(rpc: Rpc | undefined): Wallets {
  return {
    chainId: (rpc?.chain ?? homeChain).chainId,
    writeSignIn,
    readSignIn,
    async checkSignature({ address, message, signature }) {
      if (!/^0x[0-9a-fA-F]{40}$/.test(address) || !isSignature(signature)) return 'invalid'
      const { hashMessage } = await import('viem')
      const claim = { address, hash: hashMessage(message), signature }
      if ((await recover(claim)) === address.toLowerCase()) return 'valid'
      return rpc === undefined ? 'contract_unsupported' : checkContract(rpc, claim)
    },
  }
}

async function writeSignIn({ issuedMs, expiresMs, ...fields }: SignIn): Promise<string> {
  const [{ createSiweMessage }, { getAddress }] = await loadSiwe()
  return createSiweMessage({
    ...fields,
    address: getAddress(fields.address),
    version: '1',
    issuedAt: new Date(issuedMs),
    expirationTime: new Date(expiresMs),
  })
}

async function readSignIn(message: string): Promise<Partial<SignIn>> {
  const [{ parseSiweMessage }, { getAddress }] = await loadSiwe()
  const { address, issuedAt, expirationTime, ...rest } = parseSiweMessage(message)
  const { domain, statement, uri, chainId, nonce } = rest
  const read: { [K in keyof SignIn]: SignIn[K] | undefined } = {
    domain,
    statement,
    uri,
    chainId,
    nonce,
    address: address && getAddress(address),
    issuedMs: toMs(issuedAt),
    expiresMs: toMs(expirationTime),
  }
  // All remaining members are defined.
  return Object.fromEntries(
    Object.entries(read).filter(([, value]) => value !== undefined),
  ) as Partial<SignIn>
}

const loadSiwe = () => Promise.all([import('viem/siwe'), import('viem')])

/** viem reads a malformed time as an invalid date. */
const toMs = (time: Date | undefined): number | undefined =>
  time === undefined || Number.isNaN(time.getTime()) ? undefined : time.getTime()

async function checkContract(rpc: Rpc, claim: Claim): Promise<SignatureCheck> {
  try {
    const isContract = (await rpc.getCode(claim.address)) !== '0x'
    return isContract && (await isAccepted(rpc, claim)) ? 'valid' : 'invalid'
  } catch {
    // A failure of any kind is not a refusal by the wallet.
    return 'unavailable'
  }
}

type PaymentClaim = { address: string; hash: Hex; signature: string }
type Claim = PaymentClaim & { signature: Hex }

const isSignature = (text: string): text is Hex =>
  /^0x(?:[0-9a-fA-F]{2})+$/.test(text) && text.length <= 2 + 2 * SIGNATURE_BYTES_MAX

/** The plain account that signed, in lower case; undefined if none can have. */
async function recover({ hash, signature }: Claim): Promise<string | undefined> {
  const { recoverAddress, size, slice } = await import('viem')
  if (size(signature) !== PLAIN_LENGTH || BigInt(slice(signature, 32, 64)) > S_MAX) return undefined
  try {
    return (await recoverAddress({ hash, signature })).toLowerCase()
  } catch {
    // 65 bytes that are no signature may still mean something to a contract.
    return undefined
  }
}

async function isAccepted(rpc: Rpc, { address, hash, signature }: Claim): Promise<boolean> {
  const answer = await callContract(rpc, {
    to: address,
    signature: 'isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
    args: [hash, signature],
  })
  return answer?.toLowerCase() === MAGIC
}

/**
 * True if the tokens would accept a signature. Like them, it looks at the code of the address: an
 * account with code decides itself, even one that delegates (EIP-7702). Throws an `rpc` fault.
 */
export async function isPaymentSignature(
  rpc: Rpc,
  { signature, ...rest }: PaymentClaim,
): Promise<boolean> {
  if (!isSignature(signature)) return false
  const claim = { ...rest, signature }
  if ((await rpc.getCode(claim.address)) !== '0x') return isAccepted(rpc, claim)
  return isPlainPaymentSignature(claim)
}

/** True for a signature of a plain account; verified without the chain. */
export async function isPlainPaymentSignature({ signature, ...rest }: PaymentClaim) {
  const isStrict = isSignature(signature) && /(1b|1c)$/i.test(signature)
  return isStrict && (await recover({ ...rest, signature })) === rest.address.toLowerCase()
}
