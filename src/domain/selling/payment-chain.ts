/**
 * Chains and tokens that are accepted: adding a chain takes an entry here and a node in
 * `BOOKFEED_RPC_URL`, no code. The values come from the issuers' documentation and the contracts;
 * `chain/token-checks.ts` verifies at start what a contract can confirm.
 */

/** How a signed payment moves the token: directly (EIP-3009), or through Uniswap's Permit2. */
export type TransferMethod = 'eip3009' | 'permit2'

export const tokenSymbols = ['USDC', 'USDT'] as const
export type TokenSymbol = (typeof tokenSymbols)[number]

export type PaymentToken = {
  symbol: TokenSymbol
  name: string
  /** Checksummed (EIP-55). */
  address: string
  decimals: number
  method: TransferMethod
  /** Name and version of the EIP-712 domain in which a payer signs; for tokens with EIP-3009. */
  domain?: { name: string; version: string } | undefined
  /** Function of the contract that returns, for an address, whether it is frozen. */
  blockList: string
}

export type Network = `eip155:${number}`

export type PaymentChain = {
  chainId: number
  /** CAIP-2. */
  network: Network
  name: string
  /** Name in x402 v1; undefined if it has none. */
  v1Name?: string
  gasSymbol: string
  /** Base URL of the block explorer: `${explorer}/tx/0x…`. */
  explorer: string
  /** A settlement counts when its block has this tag, unless the operator counts confirmations. */
  finality: 'finalized' | 'safe'
  permit2: string
  /** The x402 contract that is the only permitted spender of Permit2 signatures. */
  permit2Proxy: string
  /** Contract of the Chainalysis sanctions list. */
  sanctionsOracle: string
  tokens: readonly PaymentToken[]
}

const everywhere = {
  finality: 'finalized',
  permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
  permit2Proxy: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
} as const

/** Circle's USDC, the same contract code on every chain. */
const usdcAt = (address: string): PaymentToken => ({
  symbol: 'USDC',
  name: 'USD Coin',
  address,
  decimals: 6,
  method: 'eip3009',
  domain: { name: 'USD Coin', version: '2' },
  blockList: 'isBlacklisted',
})

/** The chain that is used if none is configured. */
export const homeChain: PaymentChain = {
  chainId: 137,
  network: 'eip155:137',
  name: 'Polygon',
  v1Name: 'polygon',
  gasSymbol: 'POL',
  explorer: 'https://polygonscan.com',
  ...everywhere,
  sanctionsOracle: '0x40C57923924B5c5c5455c48D93317139ADDaC8fb',
  tokens: [
    usdcAt('0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'),
    // USDT0 since 2025: no EIP-3009, and a salted domain that x402 clients cannot sign in.
    {
      symbol: 'USDT',
      name: 'USDT0',
      address: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F',
      decimals: 6,
      method: 'permit2',
      blockList: 'isBlocked',
    },
  ],
}

export const paymentChains: readonly PaymentChain[] = [
  homeChain,
  {
    chainId: 8453,
    network: 'eip155:8453',
    name: 'Base',
    v1Name: 'base',
    gasSymbol: 'ETH',
    explorer: 'https://basescan.org',
    ...everywhere,
    sanctionsOracle: '0x3A91A31cB3dC49b4db9Ce721F50a9D076c8D739B',
    tokens: [usdcAt('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913')],
  },
]

/**
 * Replaces a chain where no money is paid. Its addresses hold no contract on any chain, so a
 * signature for it is worthless everywhere.
 */
export const testChain: PaymentChain = {
  chainId: 1337,
  network: 'eip155:1337',
  name: 'Test',
  gasSymbol: 'TEST',
  explorer: 'https://example.invalid',
  ...everywhere,
  sanctionsOracle: '0x0000000000000000000000000000000000007356',
  tokens: [usdcAt('0x0000000000000000000000000000000000007357')],
}

/** Also finds the chain for payments without money. */
export const findPaidChain = (network: string): PaymentChain | undefined =>
  network === testChain.network ? testChain : findChain(network)

export const findChain = (network: string): PaymentChain | undefined =>
  paymentChains.find((chain) => chain.network === network)
