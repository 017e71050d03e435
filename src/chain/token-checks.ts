/** Checks whether a payment would succeed now, and whether a token can be sold for at all. */

import type { ChainView, PaymentFault, Preflight } from '#src/domain/selling/chain-view.ts'
import type { PaymentToken, TokenSymbol } from '#src/domain/selling/payment-chain.ts'
import type { SignedPayment } from '#src/domain/selling/payment.ts'
import { isFault } from '#src/platform/fault.ts'

import { isNonceUsed } from './look.ts'
import { askContract, askWord, type Rpc } from './rpc.ts'
import { hashDomain, hashPayment } from './typed-data.ts'
import { isPaymentSignature } from './wallets.ts'

/** Confirmations after which a payment counts, its own block included, or the chain's finality. */
export type Confirmations = 'final' | number

/** The signed terms of a payment, without its text. */
export type PaymentTerms = Omit<SignedPayment, 'payload' | 'payloadHash'>

/** Makes all independent requests concurrently. Throws an `rpc` fault. */
export async function preflight(
  rpc: Rpc,
  token: PaymentToken,
  { signed, signature }: { signed: PaymentTerms; signature: string },
): Promise<Preflight> {
  const { asset, payer, amount } = signed
  const hash = await hashPayment(signed, rpc.chain, token)
  const found: Record<PaymentFault, Promise<boolean>> = {
    nonce_used: isNonceUsed(rpc, signed, 'latest'),
    signature_invalid: isPaymentSignature(rpc, { address: payer, hash, signature }).then(
      (isValid) => !isValid,
    ),
    payer_blocked: isBlocked(rpc, token, payer),
    insufficient_balance: readBalance(rpc, asset, payer).then((balance) => balance < amount),
    allowance_required: lacksAllowance(rpc, signed),
  }
  const all = Object.keys(found) as PaymentFault[]
  const answers = await Promise.all(all.map((fault) => found[fault]))
  const faults = all.filter((_, index) => answers[index])
  return faults.length > 0 ? { kind: 'fault', faults } : { kind: 'ready' }
}

const readBalance = (rpc: Rpc, to: string, owner: string): Promise<bigint> =>
  askWord(rpc, { to, signature: 'balanceOf(address) view returns (uint256)', args: [owner] })

async function lacksAllowance(rpc: Rpc, signed: PaymentTerms): Promise<boolean> {
  if (signed.method !== 'permit2') return false
  const signature = 'allowance(address,address) view returns (uint256)'
  const args = [signed.payer, rpc.chain.permit2]
  return (await askWord(rpc, { to: signed.asset, signature, args })) < signed.amount
}

/** True if the issuer has frozen an address. A token without a block list freezes none. */
async function isBlocked(rpc: Rpc, token: PaymentToken, address: string): Promise<boolean> {
  const signature = `${token.blockList}(address) view returns (bool)`
  const answer = await askContract(rpc, { to: token.address, signature, args: [address] })
  return answer !== undefined && BigInt(answer) !== 0n
}

export async function checkChain(
  rpc: Rpc,
  { payTo, confirmations }: { payTo?: string | undefined; confirmations: Confirmations },
): ReturnType<ChainView['check']> {
  // The first request also checks that the node is on the right chain.
  const chain = await findReason(async () => {
    const block = await rpc.getBlock(confirmations === 'final' ? rpc.chain.finality : 'latest')
    return block ? undefined : `The RPC at ${rpc.origin} returned no final block.`
  })
  if (chain !== undefined) return { chain, tokens: {} }
  const tokens: Partial<Record<TokenSymbol, string>> = {}
  for (const token of rpc.chain.tokens) {
    const reason = await findReason(() => checkToken(rpc, token, payTo))
    if (reason !== undefined) tokens[token.symbol] = reason
  }
  return { tokens }
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
    return `The EIP-712 domain of ${token.address} differs from the one that wallets sign.`
  }
  if (payTo === undefined) return undefined
  await readBalance(rpc, token.address, payTo)
  // All payments to a frozen address would fail.
  return (await isBlocked(rpc, token, payTo))
    ? `The issuer of ${token.symbol} has blocked the receiving address.`
    : undefined
}

async function hasDomain(rpc: Rpc, token: PaymentToken): Promise<boolean> {
  const signature = 'DOMAIN_SEPARATOR() view returns (bytes32)'
  const answer = await askContract(rpc, { to: token.address, signature, args: [] })
  return answer?.toLowerCase() === (await hashDomain(rpc.chain, token))
}

async function findReason(check: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await check()
  } catch (error) {
    if (isFault(error, 'rpc')) return error.message
    throw error
  }
}
