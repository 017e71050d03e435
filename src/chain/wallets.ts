import type { Hex } from 'viem'

import { homeChain } from '#src/selling/payment-chain.ts'
import type { SignatureCheck, SignIn, Wallets } from '#src/selling/wallet.ts'

import type { Rpc } from './rpc.ts'
import { type Claim, isAccepted, isSignature, recover } from './signatures.ts'

const isAddress = (text: string): text is Hex => /^0x[0-9a-fA-F]{40}$/.test(text)

/** Reads and checks what wallets sign. Without an RPC only plain accounts can sign in. */
export function createWallets(rpc: Rpc | undefined): Wallets {
  return {
    chainId: (rpc?.chain ?? homeChain).chainId,
    writeSignIn,
    readSignIn,
    async checkSignature({ address, message, signature }) {
      if (!isAddress(address) || !isSignature(signature)) return 'invalid'
      const { hashMessage } = await import('viem')
      const claim = { address, hash: hashMessage(message), signature }
      if ((await recover(claim)) === address.toLowerCase()) return 'valid'
      return rpc ? askContract(rpc, claim) : 'contract_unsupported'
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
    ...{ domain, statement, uri, chainId, nonce },
    address: address && getAddress(address),
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

async function askContract(rpc: Rpc, claim: Claim): Promise<SignatureCheck> {
  try {
    const isContract = (await rpc.getCode(claim.address)) !== '0x'
    return isContract && (await isAccepted(rpc, claim)) ? 'valid' : 'invalid'
  } catch {
    // Whatever went wrong, the wallet did not say no.
    return 'unavailable'
  }
}
