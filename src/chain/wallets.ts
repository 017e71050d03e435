import type { SignatureCheck, SignIn, Wallets } from '#src/selling/wallet.ts'

import type { Hex } from './hex.ts'
import type { Rpc } from './rpc.ts'

/** Bytes r, s and v: what a plain account makes. */
const PLAIN_LENGTH = 65
/** A contract with many owners joins their signatures; ours is the limit, no standard's. */
const SIGNATURE_BYTES_MAX = 8192
/** Half the order of secp256k1: a higher s is the mirror image of a signature, which anybody can make. */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/** Returned, left-aligned in a word, by a contract that accepts a signature (ERC-1271). */
const MAGIC = '0x1626ba7e'

const isAddress = (text: string): text is Hex => /^0x[0-9a-fA-F]{40}$/.test(text)
const isHexBytes = (text: string): text is Hex => /^0x(?:[0-9a-fA-F]{2})+$/.test(text)

/** Reads and checks what wallets sign. Without an RPC only plain accounts can sign in. */
export function createWallets(rpc: Rpc | undefined): Wallets {
  return {
    writeSignIn,
    readSignIn,
    async checkSignature({ address, message, signature }) {
      const bytes = (signature.length - '0x'.length) / 2
      if (!isAddress(address) || bytes > SIGNATURE_BYTES_MAX || !isHexBytes(signature)) {
        return 'invalid'
      }
      if ((await recover(message, signature)) === address.toLowerCase()) return 'valid'
      return rpc ? askContract(rpc, { address, message, signature }) : 'contract_unsupported'
    },
  }
}

async function writeSignIn({ issuedMs, expiresMs, ...fields }: SignIn): Promise<string> {
  const { createSiweMessage } = await import('viem/siwe')
  const { getAddress } = await import('viem')
  return createSiweMessage({
    ...fields,
    address: getAddress(fields.address),
    version: '1',
    issuedAt: new Date(issuedMs),
    expirationTime: new Date(expiresMs),
  })
}

async function readSignIn(message: string): Promise<Partial<SignIn>> {
  const { parseSiweMessage } = await import('viem/siwe')
  const { getAddress } = await import('viem')
  const { address, issuedAt, expirationTime, ...rest } = parseSiweMessage(message)
  const { domain, statement, uri, chainId, nonce } = rest
  const read: { [K in keyof SignIn]: SignIn[K] | undefined } = {
    domain,
    address: address && getAddress(address),
    statement,
    uri,
    chainId,
    nonce,
    issuedMs: toMs(issuedAt),
    expiresMs: toMs(expirationTime),
  }
  // Each of its keys that is left is defined.
  return Object.fromEntries(
    Object.entries(read).filter(([, value]) => value !== undefined),
  ) as Partial<SignIn>
}

/** viem reads a malformed time as an invalid date. */
const toMs = (time: Date | undefined): number | undefined =>
  time === undefined || Number.isNaN(time.getTime()) ? undefined : time.getTime()

/** The plain account that signed, in lower case; undefined if none can have. */
async function recover(message: string, signature: Hex): Promise<string | undefined> {
  const { recoverMessageAddress, size, slice } = await import('viem')
  if (size(signature) !== PLAIN_LENGTH || BigInt(slice(signature, 32, 64)) > S_MAX) return undefined
  try {
    return (await recoverMessageAddress({ message, signature })).toLowerCase()
  } catch {
    // Not every 65 bytes are a signature; a contract may still know what they mean.
    return undefined
  }
}

async function askContract(
  rpc: Rpc,
  { address, message, signature }: { address: Hex; message: string; signature: Hex },
): Promise<SignatureCheck> {
  const { encodeFunctionData, hashMessage, parseAbi } = await import('viem')
  const data = encodeFunctionData({
    abi: parseAbi([
      'function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
    ]),
    args: [hashMessage(message), signature],
  })
  try {
    if ((await rpc.getCode(address)) === '0x') return 'invalid'
    const answer = await rpc.call({ to: address, data })
    return answer?.toLowerCase() === MAGIC.padEnd('0x'.length + 64, '0') ? 'valid' : 'invalid'
  } catch {
    // Whatever went wrong, the wallet did not say no.
    return 'unavailable'
  }
}
