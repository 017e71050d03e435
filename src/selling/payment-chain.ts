/**
 * The chains and tokens that can be paid with, as data: another one is an entry here, not code.
 * Sources: the issuers' documentation and the contracts themselves; every fact that a contract can
 * confirm is confirmed at start (settlement/availability.ts).
 */

/** How a signed payment moves the token: by the token itself (EIP-3009), or by Uniswap's Permit2. */
export type TransferMethod = 'eip3009' | 'permit2'

export const tokenSymbols = ['USDC', 'USDT'] as const
export type TokenSymbol = (typeof tokenSymbols)[number]

export type PaymentToken = {
  symbol: TokenSymbol
  /** What the token calls itself. */
  name: string
  /** Checksummed (EIP-55). */
  address: string
  decimals: number
  method: TransferMethod
  /** Name and version of the EIP-712 domain that a payer signs in; of tokens with EIP-3009. */
  domain?: { name: string; version: string } | undefined
}

export type PaymentChain = {
  /** CAIP-2. */
  network: `eip155:${number}`
  chainId: number
  name: string
  /** Addresses of pages for people: `${explorer}/tx/0x…`. */
  explorer: string
  /** Settlements count when the block is under this tag. */
  finality: 'finalized'
  permit2: string
  /** The x402 contract that alone may spend what Permit2 payers sign. */
  permit2Proxy: string
  tokens: readonly PaymentToken[]
}

export const paymentChains: readonly PaymentChain[] = [
  {
    network: 'eip155:137',
    chainId: 137,
    name: 'Polygon',
    explorer: 'https://polygonscan.com',
    finality: 'finalized',
    permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
    permit2Proxy: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
    tokens: [
      {
        symbol: 'USDC',
        name: 'USD Coin',
        address: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
        decimals: 6,
        method: 'eip3009',
        domain: { name: 'USD Coin', version: '2' },
      },
      // USDT0 since 2025: no EIP-3009, and a salted domain that the x402 clients cannot sign in.
      {
        symbol: 'USDT',
        name: 'USDT0',
        address: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F',
        decimals: 6,
        method: 'permit2',
      },
    ],
  },
]

export const findChain = (network: string): PaymentChain | undefined =>
  paymentChains.find((chain) => chain.network === network)
