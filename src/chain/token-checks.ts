import type { ChainView } from '#src/selling/chain-view.ts'
import type { PaymentToken, TokenSymbol } from '#src/selling/payment-chain.ts'

import type { Confirmations } from './chain-head.ts'
import { askContract, askWord } from './contract-questions.ts'
import { type Rpc, RpcFault } from './rpc.ts'
import { domainSeparatorOf } from './typed-data.ts'

/** Whether the issuer of a token has frozen an address. A token that knows no such question freezes none. */
export async function isBlocked(rpc: Rpc, token: PaymentToken, address: string): Promise<boolean> {
  const signature = `${token.blockList}(address) view returns (bool)`
  const answer = await askContract(rpc, { to: token.address, signature, args: [address] })
  return answer !== undefined && BigInt(answer) !== 0n
}

export type CheckOptions = {
  /** Where payments go. */
  payTo?: string | undefined
  confirmations: Confirmations
}

/** As ChainView. */
export async function checkChain(
  rpc: Rpc,
  options: CheckOptions,
): Promise<Awaited<ReturnType<ChainView['check']>>> {
  const chain = await reasonOf(() => checkFinality(rpc, options.confirmations))
  if (chain !== undefined) return { chain, tokens: {} }
  const tokens: Partial<Record<TokenSymbol, string>> = {}
  for (const token of rpc.chain.tokens) {
    const reason = await reasonOf(() => checkToken(rpc, token, options.payTo))
    if (reason !== undefined) tokens[token.symbol] = reason
  }
  return { tokens }
}

/** Whatever the node is asked, it first has to say that it is on the right chain. */
async function checkFinality(rpc: Rpc, confirmations: Confirmations): Promise<string | undefined> {
  const block = await rpc.getBlock(confirmations === 'final' ? rpc.chain.finality : 'latest')
  return block ? undefined : 'The RPC knows no block that is final.'
}

async function checkToken(
  rpc: Rpc,
  token: PaymentToken,
  payTo: string | undefined,
): Promise<string | undefined> {
  const { chain } = rpc
  const needed = token.method === 'permit2' ? [chain.permit2, chain.permit2Proxy] : []
  for (const address of [token.address, ...needed]) {
    if ((await rpc.getCode(address)) === '0x') return `There is no contract at ${address}.`
  }
  if (token.domain && !(await hasDomain(rpc, token))) {
    return `The EIP-712 domain of ${token.address} is not the one that wallets would sign in.`
  }
  return payTo === undefined ? undefined : checkRecipient(rpc, token, payTo)
}

async function hasDomain(rpc: Rpc, token: PaymentToken): Promise<boolean> {
  const signature = 'DOMAIN_SEPARATOR() view returns (bytes32)'
  const answer = await askContract(rpc, { to: token.address, signature, args: [] })
  return answer?.toLowerCase() === (await domainSeparatorOf(rpc.chain, token))
}

/** Every payment to a frozen address would fail. */
async function checkRecipient(
  rpc: Rpc,
  token: PaymentToken,
  payTo: string,
): Promise<string | undefined> {
  const signature = 'balanceOf(address) view returns (uint256)'
  await askWord(rpc, { to: token.address, signature, args: [payTo] })
  return (await isBlocked(rpc, token, payTo))
    ? `The issuer of ${token.symbol} has blocked the receiving address.`
    : undefined
}

async function reasonOf(check: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await check()
  } catch (error) {
    if (error instanceof RpcFault) return error.message
    throw error
  }
}
