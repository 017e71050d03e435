import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'

/** Addresses of contracts on Polygon, and on the local chain. */
export const addresses = {
  usdc: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  usdt: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F',
  permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
  permit2Proxy: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
  multicall3: '0xcA11bde05977b3631167028862bE2a173976CA11',
  sanctionsList: '0x40C57923924B5c5c5455c48D93317139ADDaC8fb',
} as const

/** Address of Circle's token on a chain. */
export function usdcOn({ name, tokens }: PaymentChain): `0x${string}` {
  const token = tokens.find(({ symbol }) => symbol === 'USDC')
  if (!token) throw new Error(`There is no USDC on ${name}.`)
  return token.address as `0x${string}`
}
