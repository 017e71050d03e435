/** The fate of a payment, from nonces, transfer logs and receipts. */

import type { Hex } from 'viem'

import type { ChainVerdict, ChainView } from '#src/domain/selling/chain-view.ts'
import type { PaymentProof, SignedPayment } from '#src/domain/selling/payment.ts'
import { isFault } from '#src/platform/fault.ts'

import {
  askWord,
  type Block,
  type BlockTag,
  type ChainLog,
  type LogQuestion,
  type Receipt,
  type Rpc,
  rpcFault,
  toTopic,
} from './rpc.ts'

/** More than the blocks of a day: a payment is valid for at most a day. */
const SEARCH_BLOCKS_MAX = 200_000
/** A reorganisation may move a payment below the block of its offer, but not deeper than this. */
const REORG_BLOCKS_MAX = 256
/** Nodes refuse longer ranges. */
const RANGE_BLOCKS_MAX = 2000
/** A range is not made shorter than this for a node that refuses it. */
const RANGE_BLOCKS_MIN = 250

export const topics = {
  /** `Transfer(address indexed from, address indexed to, uint256 value)` */
  transfer: '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  /** `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)` */
  used: '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5',
  /** `AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)` */
  canceled: '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81',
  /** `UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask)` */
  invalidated: '0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d',
} as const satisfies Record<string, Hex>

/** The head of the chain: all blocks up to `final` are final. */
export type Head = { final: Block; latestNumber: number; /** Unix seconds. */ latestTime: bigint }

/** The search for one payment, whose logs can be in the blocks of `range`, both inclusive. */
type Search = { rpc: Rpc; signed: SignedPayment; range: { from: number; to: number }; final: Block }

/**
 * Accepts two kinds of evidence: a transfer that exists, and the state of the chain at its final
 * block. A missing result from a node is never proof. Throws an `rpc` fault.
 */
export async function look(
  rpc: Rpc,
  {
    signed,
    hint,
    head,
  }: { signed: SignedPayment; hint: Parameters<ChainView['look']>[1]; head: Head },
): Promise<ChainVerdict> {
  const from = Math.max(0, hint.fromBlock - REORG_BLOCKS_MAX)
  const to = Math.min(head.latestNumber, hint.fromBlock + SEARCH_BLOCKS_MAX)
  const search: Search = { rpc, signed, range: { from, to }, final: head.final }
  const receipt = hint.txHash ? await rpc.getReceipt(hint.txHash) : undefined
  const hinted = receipt && (await findInReceipt(search, receipt))
  if (hinted) return paid(search, hinted)
  if (!(await isNonceUsed(rpc, signed, 'latest'))) return judgeUnused(search)
  return signed.method === 'eip3009' ? lookEip3009(search) : lookPermit2(search)
}

async function findInReceipt(search: Search, receipt: Receipt): Promise<ChainLog | undefined> {
  const { signed } = search
  if (signed.method === 'eip3009') return findAuthorizedTransfer(signed, receipt)
  const transfer = receipt.isSuccess && receipt.logs.find((log) => isTransfer(signed, log))
  return transfer && (await findBinding(search, transfer)) === 'own' ? transfer : undefined
}

/** The verdict for a transfer: final if its block is the one now on the chain at that height. */
async function paid({ rpc, final }: Search, transfer: ChainLog): Promise<ChainVerdict> {
  const proof = toProof(transfer)
  if (transfer.blockNumber > final.number) return { kind: 'paid', proof, isFinal: false }
  const block = await rpc.getBlock(transfer.blockNumber)
  if (block?.hash === transfer.blockHash) return { kind: 'paid', proof, isFinal: true }
  throw rpcFault(`The RPC contradicts itself about block ${transfer.blockNumber}.`)
}

/** The verdict for an event that rules a payment out: none while a reorganisation may undo it. */
const settled = (
  { final }: Search,
  blockNumber: number,
  reason: Extract<ChainVerdict, { kind: 'void' }>['reason'],
): ChainVerdict => (blockNumber <= final.number ? { kind: 'void', reason } : { kind: 'open' })

/** Only the chain's clock counts: a transaction sent in time may still wait to be mined. */
async function judgeUnused(search: Search): Promise<ChainVerdict> {
  const { rpc, signed, final } = search
  // The token requires a time before `validBefore`; Permit2 also accepts the deadline itself.
  const isOver =
    signed.method === 'eip3009' ? final.time >= signed.validBefore : final.time > signed.validBefore
  const canCome = !isOver || (await isNonceUsed(rpc, signed, final.number))
  return canCome ? { kind: 'open' } : settled(search, final.number, 'expired')
}

/** A spent nonce proves nothing: it may have been canceled, or spent on another signed transfer. */
async function lookEip3009(search: Search): Promise<ChainVerdict> {
  const { rpc, signed, range } = search
  const logs = streamLogs(rpc, {
    addresses: [signed.nonceContract],
    topics: [[topics.used, topics.canceled], toTopic(signed.payer), signed.nonce as Hex],
    ...range,
  })
  // The search ends with the first piece that contains the event.
  const event = (await logs.next()).value
  if (event === undefined) {
    if (await wasUsedBefore(search)) return settled(search, range.from - 1, 'used_elsewhere')
    throw rpcFault(`The RPC does not show what the nonce of ${signed.payer} was used for.`)
  }
  if (event.topics[0] === topics.canceled) return settled(search, event.blockNumber, 'canceled')
  const transfer = findAuthorizedTransfer(signed, await requireReceipt(rpc, event))
  return transfer ? paid(search, transfer) : settled(search, event.blockNumber, 'used_elsewhere')
}

/** The first transfer of the token after its nonce was used; later ones are other payments. */
function findAuthorizedTransfer(signed: SignedPayment, receipt: Receipt): ChainLog | undefined {
  const logs = receipt.isSuccess ? receipt.logs.filter((log) => log.address === signed.asset) : []
  const payer = toTopic(signed.payer)
  const used = logs.findIndex(({ topics: [event, authorizer, nonce] }) => {
    return event === topics.used && authorizer === payer && nonce === signed.nonce
  })
  const next = used === -1 ? undefined : logs[used + 1]
  return next && isTransfer(signed, next) ? next : undefined
}

/**
 * Finds the transfer that a Permit2 nonce was spent on. No event names the nonce, so the transfer
 * is identified by the transaction's call of the x402 proxy; if a contract made that call, by being
 * the only candidate.
 */
async function lookPermit2(search: Search): Promise<ChainVerdict> {
  const { rpc, signed, range, final } = search
  const { asset, payer, payTo } = signed
  const transfers = await findLogs(rpc, {
    addresses: [asset],
    topics: [topics.transfer, toTopic(payer), toTopic(payTo)],
    ...range,
  })
  const transfer = await pickTransfer(search, transfers)
  if (transfer) return paid(search, transfer)
  const invalidation = await findInvalidation(search)
  if (invalidation) return settled(search, invalidation.blockNumber, 'canceled')
  if (await wasUsedBefore(search)) return settled(search, range.from - 1, 'used_elsewhere')
  return (await isNonceUsed(rpc, signed, final.number)) ? lookAtSpending(search) : { kind: 'open' }
}

/** Judges by the block in which the nonce was spent. Missing logs prove nothing. */
async function lookAtSpending(search: Search): Promise<ChainVerdict> {
  const { rpc, signed } = search
  const block = await findSpendingBlock(search)
  const logs = await rpc.getLogs({ addresses: [], topics: [], from: block, to: block })
  if (logs.length === 0) {
    throw rpcFault(`The RPC does not show what the Permit2 nonce of ${signed.payer} was used for.`)
  }
  const transfer = await pickTransfer(search, logs)
  return transfer ? paid(search, transfer) : settled(search, block, 'used_elsewhere')
}

/** Binary search: the nonce is unspent before the range, and spent at the final block. */
async function findSpendingBlock({ rpc, signed, range, final }: Search): Promise<number> {
  let low = range.from
  let high = final.number
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (await isNonceUsed(rpc, signed, middle)) high = middle
    else low = middle + 1
  }
  return low
}

async function pickTransfer(
  search: Search,
  logs: readonly ChainLog[],
): Promise<ChainLog | undefined> {
  const { signed } = search
  const unbound: ChainLog[] = []
  for (const log of logs) {
    if (!isTransfer(signed, log)) continue
    const binding = await findBinding(search, log)
    if (binding === 'own') return log
    if (binding === 'indirect') unbound.push(log)
  }
  if (unbound.length > 1) {
    throw rpcFault(`More than one transfer of ${signed.payer} may be the payment.`)
  }
  return unbound[0]
}

async function findInvalidation({ rpc, signed, range }: Search): Promise<ChainLog | undefined> {
  const { decodeAbiParameters } = await import('viem')
  const logs = await findLogs(rpc, {
    addresses: [signed.nonceContract],
    topics: [topics.invalidated, toTopic(signed.payer)],
    ...range,
  })
  return logs.find(({ data }) => {
    const [word, mask] = decodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], data)
    return word === nonceWord(signed.nonce) && (mask & nonceBit(signed.nonce)) !== 0n
  })
}

/** The relation of a transfer to this nonce: its own, another one's, or chosen by a contract. */
async function findBinding(
  { rpc, signed }: Search,
  log: ChainLog,
): Promise<'own' | 'foreign' | 'indirect'> {
  const receipt = await requireReceipt(rpc, log)
  const call = await rpc.getInput(log.txHash)
  if (call === undefined) throw rpcFault(`The RPC does not know the transaction ${log.txHash}.`)
  const proxy = rpc.chain.permit2Proxy.toLowerCase()
  if (call.to === proxy) {
    const permit = await readPermit(call.input)
    const isOwn = permit?.owner === signed.payer && permit.nonce === BigInt(signed.nonce)
    return isOwn ? 'own' : 'foreign'
  }
  // Only the proxy can spend what the payer signed, and it emits a log whenever it does.
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

/** Owner and nonce of a call of the proxy; undefined for any other call. */
async function readPermit(data: Hex): Promise<{ owner: string; nonce: bigint } | undefined> {
  const { decodeFunctionData, parseAbi } = await import('viem')
  try {
    const { functionName, args } = decodeFunctionData({ abi: parseAbi(proxyFunctions), data })
    const [permit, owner] = functionName === 'settle' ? args : [args[1], args[2]]
    return { owner: owner.toLowerCase(), nonce: permit.nonce }
  } catch {
    return undefined
  }
}

/** Permit2 stores 256 nonces per word, one bit each. */
const nonceWord = (nonce: string): bigint => BigInt(nonce) >> 8n
const nonceBit = (nonce: string): bigint => 1n << (BigInt(nonce) & 255n)

/** True if the nonce of a payment is spent or canceled as of a block. Throws an `rpc` fault. */
export async function isNonceUsed(
  rpc: Rpc,
  {
    method,
    payer,
    nonce,
    nonceContract: to,
  }: Pick<SignedPayment, 'method' | 'payer' | 'nonce' | 'nonceContract'>,
  block: BlockTag,
): Promise<boolean> {
  if (method === 'eip3009') {
    const signature = 'authorizationState(address,bytes32) view returns (bool)'
    return (await askWord(rpc, { to, signature, args: [payer, nonce], block })) !== 0n
  }
  const signature = 'nonceBitmap(address,uint256) view returns (uint256)'
  const bits = await askWord(rpc, { to, signature, args: [payer, nonceWord(nonce)], block })
  return (bits & nonceBit(nonce)) !== 0n
}

const wasUsedBefore = async ({ rpc, signed, range }: Search): Promise<boolean> =>
  range.from > 0 && (await isNonceUsed(rpc, signed, range.from - 1))

/** Logs of a range of any length. Throws an `rpc` fault if any piece of it fails. */
export const findLogs = (rpc: Rpc, question: LogQuestion): Promise<ChainLog[]> =>
  Array.fromAsync(streamLogs(rpc, question))

async function* streamLogs(rpc: Rpc, question: LogQuestion): AsyncGenerator<ChainLog, undefined> {
  for (let { from } = question; from <= question.to; from += RANGE_BLOCKS_MAX) {
    const to = Math.min(question.to, from + RANGE_BLOCKS_MAX - 1)
    yield* await findInPieces(rpc, { ...question, from, to })
  }
}

/** Halves a range that gets no answer: it may contain too many logs for one. */
async function findInPieces(rpc: Rpc, question: LogQuestion): Promise<ChainLog[]> {
  try {
    return await rpc.getLogs(question)
  } catch (error) {
    const { from, to } = question
    if (!isFault(error, 'rpc') || to - from + 1 <= RANGE_BLOCKS_MIN) throw error
    const middle = from + Math.floor((to - from) / 2)
    const first = await findInPieces(rpc, { ...question, to: middle })
    return [...first, ...(await findInPieces(rpc, { ...question, from: middle + 1 }))]
  }
}

/** True if a log is the signed transfer; addresses and topics in lower case. */
export const isTransfer = (
  signed: Pick<SignedPayment, 'asset' | 'payer' | 'payTo' | 'amount'>,
  log: Pick<ChainLog, 'address' | 'topics' | 'data'>,
): boolean =>
  log.address === signed.asset &&
  log.topics.length === 3 &&
  log.topics[0] === topics.transfer &&
  log.topics[1] === toTopic(signed.payer) &&
  log.topics[2] === toTopic(signed.payTo) &&
  readAmount(log) === signed.amount

/** The amount of a transfer; undefined if the log is not an ERC-20 transfer. */
export const readAmount = (log: Pick<ChainLog, 'data'>): bigint | undefined =>
  log.data.length === '0x'.length + 64 ? BigInt(log.data) : undefined

export const toProof = ({ txHash, blockNumber, logIndex }: ChainLog): PaymentProof => ({
  txHash,
  blockNumber,
  logIndex,
})

/** The receipt of a log's transaction. A node that contradicts its own answer cannot be trusted. */
async function requireReceipt(rpc: Rpc, log: ChainLog): Promise<Receipt> {
  const receipt = await rpc.getReceipt(log.txHash)
  if (receipt?.isSuccess && receipt.blockHash === log.blockHash) return receipt
  throw rpcFault(`The RPC contradicts itself about the transaction ${log.txHash}.`)
}
