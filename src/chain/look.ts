import type { Hex } from 'viem'

import type { ChainVerdict } from '#src/selling/chain-view.ts'
import type { SignedPayment } from '#src/selling/payment.ts'

import type { Head } from './chain-head.ts'
import { toTopic } from './contract-questions.ts'
import {
  bitOf,
  findFirstLog,
  findLogs,
  isNonceUsed,
  isTransferOf,
  receiptOf,
  type Search,
  topics,
  toProof,
  wasUsedBefore,
  wordOf,
} from './evidence.ts'
import type { ChainLog, Receipt } from './rpc-answers.ts'
import { type Rpc, RpcFault } from './rpc.ts'

/** More than a day of blocks: a payment is valid for no longer than a day. */
const SEARCH_BLOCKS_MAX = 200_000
/**
 * A reorganisation may put a payment below the block that was the newest when it
 * was offered; none goes deeper.
 */
const REORG_BLOCKS_MAX = 256

export type Lookup = {
  signed: SignedPayment
  hint: { fromBlock: number; txHash?: string | undefined }
  head: Head
}

/**
 * Looks for a payment. Two kinds of evidence count: a transfer that is there, and a state of the
 * chain at its final block. What a node does not show is never taken for proof. Throws `RpcFault`.
 */
export async function look(rpc: Rpc, { signed, hint, head }: Lookup): Promise<ChainVerdict> {
  const search: Search = {
    signed,
    range: {
      from: Math.max(0, hint.fromBlock - REORG_BLOCKS_MAX),
      to: Math.min(head.latestNumber, hint.fromBlock + SEARCH_BLOCKS_MAX),
    },
    head,
    paid: (transfer) => confirm(rpc, transfer, head),
    settled: (blockNumber, reason) =>
      blockNumber <= head.final.number ? { kind: 'void', reason } : { kind: 'open' },
  }
  const hinted = hint.txHash && (await findInTransaction(rpc, search, hint.txHash))
  if (hinted) return search.paid(hinted)
  if (!(await isNonceUsed(rpc, signed, 'latest'))) return judgeUnused(rpc, search)
  return signed.method === 'eip3009' ? lookEip3009(rpc, search) : lookPermit2(rpc, search)
}

async function findInTransaction(rpc: Rpc, search: Search, txHash: string) {
  const receipt = await rpc.getReceipt(txHash)
  if (receipt === undefined) return undefined
  return search.signed.method === 'eip3009'
    ? findAuthorizedTransfer(search.signed, receipt)
    : findPermittedTransfer(rpc, search, receipt)
}

/**
 * Nobody's clock counts but the chain's: a transaction that was sent in time may wait to be mined.
 */
async function judgeUnused(
  rpc: Rpc,
  { signed, head: { final }, settled }: Search,
): Promise<ChainVerdict> {
  // The token wants a time before `validBefore`; Permit2 takes the deadline itself, too.
  const isOver =
    signed.method === 'eip3009' ? final.time >= signed.validBefore : final.time > signed.validBefore
  const canCome = !isOver || (await isNonceUsed(rpc, signed, final.number))
  return canCome ? { kind: 'open' } : settled(final.number, 'expired')
}

/** Final only if the block that holds the transfer is the one that the node has there now. */
async function confirm(rpc: Rpc, transfer: ChainLog, { final }: Head): Promise<ChainVerdict> {
  const proof = toProof(transfer)
  if (transfer.blockNumber > final.number) return { kind: 'paid', proof, isFinal: false }
  const block = await rpc.getBlock(transfer.blockNumber)
  if (block?.hash === transfer.blockHash) return { kind: 'paid', proof, isFinal: true }
  throw new RpcFault(`The RPC contradicts itself about block ${transfer.blockNumber}.`)
}

/**
 * Finds what a spent authorization was spent on. A spent nonce alone proves nothing: the payer may
 * have canceled it, or signed another transfer with it.
 */
async function lookEip3009(rpc: Rpc, search: Search): Promise<ChainVerdict> {
  const { signed, range, paid, settled } = search
  const event = await findEvent(rpc, search)
  if (event === undefined) {
    if (await wasUsedBefore(rpc, search)) return settled(range.from - 1, 'used_elsewhere')
    throw new RpcFault(`The RPC does not show what the nonce of ${signed.payer} was used for.`)
  }
  if (event.topics[0] === topics.canceled) return settled(event.blockNumber, 'canceled')
  const transfer = findAuthorizedTransfer(signed, await receiptOf(rpc, event))
  return transfer ? paid(transfer) : settled(event.blockNumber, 'used_elsewhere')
}

const findEvent = (rpc: Rpc, { signed, range }: Search) =>
  findFirstLog(rpc, {
    addresses: [signed.nonceContract],
    topics: [[topics.used, topics.canceled], toTopic(signed.payer), signed.nonce as Hex],
    ...range,
  })

/**
 * The transfer of a payment in a transaction: the next that its token says after the use of its
 * nonce. There may be others in the transaction, which are of other authorizations.
 */
function findAuthorizedTransfer(signed: SignedPayment, receipt: Receipt): ChainLog | undefined {
  const logs = receipt.isSuccess ? receipt.logs.filter((log) => log.address === signed.asset) : []
  const used = logs.findIndex((log) => isUseOf(signed, log))
  const next = used === -1 ? undefined : logs[used + 1]
  return next && isTransferOf(signed, next) ? next : undefined
}

const isUseOf = (signed: SignedPayment, { topics: [event, authorizer, nonce] }: ChainLog) =>
  event === topics.used && authorizer === toTopic(signed.payer) && nonce === signed.nonce

/**
 * Finds what a nonce of Permit2 was spent on. No event names it, so a transfer is bound to it by
 * what the transaction says to the x402 proxy; where another contract called the proxy, by being
 * the only one.
 */
async function lookPermit2(rpc: Rpc, search: Search): Promise<ChainVerdict> {
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
 * Judges by the one block in which the nonce was spent: any contract may have spent it, on any
 * token. An empty answer proves nothing, because it takes a log to move a token: that node has
 * none.
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

/**
 * Halves the range, of which the nonce was unspent before the first block
 * and is spent at the final one.
 */
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
async function findPermittedTransfer(
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

/**
 * Whether a transfer is of this nonce (`own`), of another or none, or of
 * one that another contract chose.
 */
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
  // Whatever the payer signed, only the proxy can spend: it says so in each transaction in which it
  // does.
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
