/** What a look for a payment goes by: nonces, logs of transfers, and receipts. */
import type { Hex } from 'viem'

import type { ChainVerdict } from '#src/selling/chain-view.ts'
import type { PaymentProof, SignedPayment } from '#src/selling/payment.ts'

import type { Head } from './chain-head.ts'
import { askWord, toTopic } from './contract-questions.ts'
import type { ChainLog, Receipt } from './rpc-answers.ts'
import { type BlockTag, type LogQuestion, type Rpc, RpcFault } from './rpc.ts'

/** A look for one payment. */
export type Search = {
  signed: SignedPayment
  /** Blocks in which its logs can be, both inclusive. */
  range: { from: number; to: number }
  head: Head
  /** The verdict for a transfer that was found. */
  paid: (transfer: ChainLog) => Promise<ChainVerdict>
  /**
   * The verdict for what makes a payment impossible: none yet while a reorganisation may undo it.
   */
  settled: (
    blockNumber: number,
    reason: Extract<ChainVerdict, { kind: 'void' }>['reason'],
  ) => ChainVerdict
}

/** Permit2 keeps 256 nonces in a word, one bit each. */
export const wordOf = (nonce: string): bigint => BigInt(nonce) >> 8n
export const bitOf = (nonce: string): bigint => 1n << (BigInt(nonce) & 255n)

/**
 * Whether the nonce of a payment is spent or given up, as of a block.
 * Throws `RpcFault` without an answer.
 */
export async function isNonceUsed(
  rpc: Rpc,
  signed: SignedPayment,
  block: BlockTag,
): Promise<boolean> {
  const { payer, nonce, nonceContract: to } = signed
  if (signed.method === 'eip3009') {
    const signature = 'authorizationState(address,bytes32) view returns (bool)'
    return (await askWord(rpc, { to, signature, args: [payer, nonce], block })) !== 0n
  }
  const signature = 'nonceBitmap(address,uint256) view returns (uint256)'
  const bits = await askWord(rpc, { to, signature, args: [payer, wordOf(nonce)], block })
  return (bits & bitOf(nonce)) !== 0n
}

/** Whether a nonce was used before its payment can have been made. */
export async function wasUsedBefore(
  rpc: Rpc,
  { signed, range }: { signed: SignedPayment; range: { from: number } },
): Promise<boolean> {
  return range.from > 0 && (await isNonceUsed(rpc, signed, range.from - 1))
}

/** Hashes of the signatures of events. */
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

/** Nodes refuse longer ranges. */
const RANGE_BLOCKS_MAX = 2000
/** No range is made shorter than this for a node that says no to it. */
const RANGE_BLOCKS_MIN = 250

/**
 * Logs of a range of any length, asked for piece by piece. Throws
 * `RpcFault` if any piece is missing.
 */
export const findLogs = (rpc: Rpc, question: LogQuestion): Promise<ChainLog[]> =>
  Array.fromAsync(logsOf(rpc, question))

/** As `findLogs`, but the first alone, and no piece after that which has it. */
export const findFirstLog = async (
  rpc: Rpc,
  question: LogQuestion,
): Promise<ChainLog | undefined> => (await logsOf(rpc, question).next()).value ?? undefined

async function* logsOf(rpc: Rpc, question: LogQuestion): AsyncGenerator<ChainLog, undefined> {
  for (let { from } = question; from <= question.to; from += RANGE_BLOCKS_MAX) {
    const to = Math.min(question.to, from + RANGE_BLOCKS_MAX - 1)
    yield* await findInPieces(rpc, { ...question, from, to })
  }
}

/**
 * Halves a range that the node does not answer for: there may be more
 * in it than fits into an answer.
 */
async function findInPieces(rpc: Rpc, question: LogQuestion): Promise<ChainLog[]> {
  try {
    return await rpc.getLogs(question)
  } catch (error) {
    const { from, to } = question
    if (!(error instanceof RpcFault) || to - from + 1 <= RANGE_BLOCKS_MIN) throw error
    const middle = from + Math.floor((to - from) / 2)
    const first = await findInPieces(rpc, { ...question, to: middle })
    return [...first, ...(await findInPieces(rpc, { ...question, from: middle + 1 }))]
  }
}

/** Whether a log is the very transfer that was signed. */
export const isTransferOf = (signed: SignedPayment, log: ChainLog): boolean =>
  log.address === signed.asset &&
  log.topics.length === 3 &&
  log.topics[0] === topics.transfer &&
  log.topics[1] === toTopic(signed.payer) &&
  log.topics[2] === toTopic(signed.payTo) &&
  amountOf(log) === signed.amount

/** The amount of a transfer; undefined if the log is no transfer of an ERC-20 token. */
export const amountOf = (log: ChainLog): bigint | undefined =>
  log.data.length === '0x'.length + 64 ? BigInt(log.data) : undefined

export const toProof = ({ txHash, blockNumber, logIndex }: ChainLog): PaymentProof => ({
  txHash,
  blockNumber,
  logIndex,
})

/** The receipt behind a log. A node that contradicts what it just answered cannot be trusted. */
export async function receiptOf(rpc: Rpc, log: ChainLog): Promise<Receipt> {
  const receipt = await rpc.getReceipt(log.txHash)
  if (receipt?.isSuccess && receipt.blockHash === log.blockHash) return receipt
  throw new RpcFault(`The RPC contradicts itself about the transaction ${log.txHash}.`)
}
