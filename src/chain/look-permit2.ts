import type { Hex } from 'viem'

import type { ChainVerdict } from '#src/selling/chain-view.ts'

import { toTopic } from './contract-questions.ts'
import {
  bitOf,
  findLogs,
  isNonceUsed,
  isTransferOf,
  receiptOf,
  type Search,
  topics,
  wasUsedBefore,
  wordOf,
} from './evidence.ts'
import type { ChainLog, Receipt } from './rpc-answers.ts'
import { type Rpc, RpcFault } from './rpc.ts'

/**
 * Finds what a nonce of Permit2 was spent on. No event names it, so a transfer is bound to it by what the
 * transaction says to the x402 proxy; where another contract called the proxy, by being the only one.
 */
export async function lookPermit2(rpc: Rpc, search: Search): Promise<ChainVerdict> {
  const { signed, range, head, paid, settled } = search
  const transfer = await findTransfer(rpc, search)
  if (transfer) return paid(transfer)
  const invalidation = await findInvalidation(rpc, search)
  if (invalidation) return settled(invalidation.blockNumber, 'canceled')
  if (await wasUsedBefore(rpc, search)) return settled(range.from - 1, 'used_elsewhere')
  return (await isNonceUsed(rpc, signed, head.final.number))
    ? lookAtSpending(rpc, search)
    : { kind: 'open' }
}

/**
 * Judges by the one block in which the nonce was spent: any contract may have spent it, on any token. An empty
 * answer proves nothing, because it takes a log to move a token: that node has none.
 */
async function lookAtSpending(rpc: Rpc, search: Search): Promise<ChainVerdict> {
  const { signed, paid, settled } = search
  const block = await findSpendingBlock(rpc, search)
  const logs = await rpc.getLogs({ addresses: [], topics: [], from: block, to: block })
  if (logs.length === 0) {
    throw new RpcFault(
      `The RPC does not show what the Permit2 nonce of ${signed.payer} was used for.`,
    )
  }
  const transfer = await pickTransfer(rpc, search, logs)
  return transfer ? paid(transfer) : settled(block, 'used_elsewhere')
}

/** Halves the range, of which the nonce was unspent before the first block and is spent at the final one. */
async function findSpendingBlock(rpc: Rpc, { signed, range, head }: Search): Promise<number> {
  let [low, high] = [range.from, head.final.number]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (await isNonceUsed(rpc, signed, middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** The transfer of a payment in a transaction that calls the proxy with its nonce. */
export async function findPermittedTransfer(
  rpc: Rpc,
  search: Search,
  receipt: Receipt,
): Promise<ChainLog | undefined> {
  const transfer = receipt.isSuccess && receipt.logs.find((log) => isTransferOf(search.signed, log))
  return transfer && (await bindingOf(rpc, search, transfer)) === 'own' ? transfer : undefined
}

const findTransfer = async (rpc: Rpc, search: Search): Promise<ChainLog | undefined> => {
  const { asset, payer, payTo } = search.signed
  const logs = await findLogs(rpc, {
    addresses: [asset],
    topics: [topics.transfer, toTopic(payer), toTopic(payTo)],
    ...search.range,
  })
  return pickTransfer(rpc, search, logs)
}

async function pickTransfer(
  rpc: Rpc,
  search: Search,
  logs: readonly ChainLog[],
): Promise<ChainLog | undefined> {
  const { signed } = search
  const unbound: ChainLog[] = []
  for (const log of logs) {
    if (!isTransferOf(signed, log)) continue
    const binding = await bindingOf(rpc, search, log)
    if (binding === 'own') return log
    if (binding === 'indirect') unbound.push(log)
  }
  const [only] = unbound
  if (unbound.length > 1) {
    throw new RpcFault(`More than one transfer of ${signed.payer} may be the payment.`)
  }
  return only
}

/** The payer's own word to Permit2 that a nonce shall not be used. */
async function findInvalidation(rpc: Rpc, { signed, range }: Search) {
  const { decodeAbiParameters } = await import('viem')
  const logs = await findLogs(rpc, {
    addresses: [signed.nonceContract],
    topics: [topics.invalidated, toTopic(signed.payer)],
    ...range,
  })
  return logs.find(({ data }) => {
    const [word, mask] = decodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], data)
    return word === wordOf(signed.nonce) && (mask & bitOf(signed.nonce)) !== 0n
  })
}

/** Whether a transfer is of this nonce (`own`), of another or none, or of one that another contract chose. */
type Binding = 'own' | 'foreign' | 'indirect'

async function bindingOf(rpc: Rpc, { signed }: Search, log: ChainLog): Promise<Binding> {
  const receipt = await receiptOf(rpc, log)
  const call = await rpc.getInput(log.txHash)
  if (call === undefined) throw new RpcFault(`The RPC does not know the transaction ${log.txHash}.`)
  const proxy = rpc.chain.permit2Proxy.toLowerCase()
  if (call.to === proxy) {
    const permit = await readPermit(call.input)
    const isOwn = permit?.owner === signed.payer && permit.nonce === BigInt(signed.nonce)
    return isOwn ? 'own' : 'foreign'
  }
  // Whatever the payer signed, only the proxy can spend: it says so in each transaction in which it does.
  return receipt.logs.some(({ address }) => address === proxy) ? 'indirect' : 'foreign'
}

const proxyFunctions = [
  'struct Permitted { address token; uint256 amount; }',
  'struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }',
  'struct Witness { address to; uint256 validAfter; }',
  'struct Permit2612 { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
  'function settle(Permit permit, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(Permit2612 permit2612, Permit permit, address owner, Witness witness, bytes signature)',
] as const

/** Owner and nonce in a call of the proxy; undefined if it is another call. */
async function readPermit(input: Hex): Promise<{ owner: string; nonce: bigint } | undefined> {
  const { decodeFunctionData, parseAbi } = await import('viem')
  try {
    const { functionName, args } = decodeFunctionData({
      abi: parseAbi(proxyFunctions),
      data: input,
    })
    const [permit, owner] = functionName === 'settle' ? args : [args[1], args[2]]
    return { owner: owner.toLowerCase(), nonce: permit.nonce }
  } catch {
    return undefined
  }
}
