/**
 * Read-only questions to a node. Raw requests instead of viem's actions: `readContract` would fetch
 * a URL of the contract's choice (EIP-3668), and in places reports a dead node as an answer.
 */

import type { Hex } from 'viem'

import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import type { Log } from '#src/platform/log.ts'
import { isRecord } from '#src/platform/record.ts'

import { findAnswer, findStatus, isRevert, type Node, openNode, type Question } from './node.ts'

const TIMEOUT_MS = 5000

export type Block = { number: number; hash: Hex; /** Unix seconds. */ time: bigint }

/** Addresses, topics and hashes in lower case. */
export type ChainLog = {
  address: string
  topics: readonly string[]
  data: Hex
  blockNumber: number
  blockHash: string
  txHash: string
  logIndex: number
}

export type Receipt = {
  isSuccess: boolean
  blockNumber: number
  blockHash: string
  txHash: string
  /** In the order in which they came to be. */
  logs: readonly ChainLog[]
}

export type BlockTag = number | 'latest' | PaymentChain['finality']

/** A topic that is null is any, one that is an array is any of these. */
export type LogQuestion = {
  /** Contracts; none for all. */
  addresses: readonly string[]
  topics: readonly (Hex | readonly Hex[] | null)[]
  /** Blocks, both inclusive. */
  from: number
  to: number
}

export type RpcOptions = {
  chain: PaymentChain
  url: string
  /** For a question with its retry. */
  timeoutMs?: number | undefined
  /** Is called once when the node stops answering as it should, and once when it does again. */
  log?: Log | undefined
}

/** The node gave no answer that can be relied upon. The message is fit for the operator. */
export const rpcFault = (message: string, options: ErrorOptions = {}): Fault =>
  new Fault(message, { kind: 'rpc', ...options })

/** The result where a contract undid an `eth_call`. */
const reverted = Symbol('reverted')

/** Each question throws an `rpc` fault for want of an answer. */
export type Rpc = ReturnType<typeof createRpc>

/** Opens nothing: viem is loaded, and the chain checked, when the first question is asked. */
export function createRpc(options: RpcOptions) {
  const origin = URL.parse(options.url)?.origin ?? 'BOOKFEED_RPC_URL'
  const { ask, findOtherChain } = createGuard(options, origin, createRequest(options))

  return {
    chain: options.chain,
    /** The address of the node, without credentials. */
    origin,
    /**
     * Asks the node again for its chain. Resolves with both chains if they differ, such as
     * `is on chain 1, not on 137`, and with undefined if they agree or the node does not answer.
     * Never rejects.
     */
    findOtherChain,
    /** Code at an address, `0x` if there is none. */
    getCode: (address: string) =>
      ask({ method: 'eth_getCode', params: [address, 'latest'] }, readHex),
    /** What a contract answers, by default as of the newest block; undefined if it reverts. */
    call: (question: { to: string; data: Hex }, block: BlockTag = 'latest') =>
      ask({ method: 'eth_call', params: [question, toTag(block)] }, (result) =>
        result === reverted ? undefined : readHex(result),
      ),
    /** Undefined where the node has no such block. */
    getBlock: (tag: BlockTag) =>
      ask({ method: 'eth_getBlockByNumber', params: [toTag(tag), false] }, orMissing(readBlock)),
    /** Logs of blocks that count: of none that was taken back, or is still to come. */
    getLogs({ addresses, topics, from, to }: LogQuestion) {
      const range = { fromBlock: toTag(from), toBlock: toTag(to) }
      const address = addresses.length === 0 ? undefined : addresses
      return ask({ method: 'eth_getLogs', params: [{ address, topics, ...range }] }, readLogs)
    },
    /** Undefined for a transaction that is in no block that counts. */
    getReceipt: (txHash: string) =>
      ask({ method: 'eth_getTransactionReceipt', params: [txHash] }, orMissing(readReceipt)),
    /** The call that a transaction makes; undefined where the node does not know it. */
    getInput: (txHash: string) =>
      ask({ method: 'eth_getTransactionByHash', params: [txHash] }, orMissing(readInput)),
    /** The wallet that sent a transaction; undefined where the node does not know it. */
    getSender: (txHash: string) =>
      ask({ method: 'eth_getTransactionByHash', params: [txHash] }, orMissing(readSender)),
  }
}

const toTag = (tag: BlockTag): string => (typeof tag === 'number' ? `0x${tag.toString(16)}` : tag)

/** Asks only a node that is on the chain, which it checks again after each failure. */
function createGuard(
  { chain, log = () => {} }: RpcOptions,
  origin: string,
  request: (question: Question) => Promise<unknown>,
) {
  let identity: Promise<void> | undefined
  let isFailing = false

  async function identify(): Promise<void> {
    const result = await request({ method: 'eth_chainId', params: [] })
    const chainId = isHex(result) ? Number(result) : Number.NaN
    if (chainId !== chain.chainId) {
      throw new Fault(`is on chain ${chainId}, not on ${chain.chainId}`, { kind: 'other_chain' })
    }
  }

  const describe = (reason: string): string => `The RPC at ${origin} ${reason}.`

  /** Whatever was found out about the node, the next question finds out again. */
  function fail(message: string): void {
    identity = undefined
    if (!isFailing) log(message, 'warn')
    isFailing = true
  }

  return {
    /** `read` makes sense of the result, or throws. */
    async ask<T>(question: Question, read: (result: unknown) => T): Promise<T> {
      try {
        identity ??= identify()
        await identity
        const answer = read(await request(question))
        if (isFailing) log(`The RPC at ${origin} answers again.`)
        isFailing = false
        return answer
      } catch (error) {
        if (!isFault(error, 'no_answer', 'other_chain')) throw error
        const message = describe(error.message || `answers ${question.method} with something odd`)
        fail(message)
        throw rpcFault(message, { cause: error })
      }
    },

    async findOtherChain(): Promise<string | undefined> {
      try {
        await identify()
      } catch (error) {
        if (!isFault(error, 'other_chain')) return undefined
        fail(describe(error.message))
        return error.message
      }
      return undefined
    },
  }
}

function createRequest({ timeoutMs = TIMEOUT_MS, ...options }: RpcOptions) {
  let opening: Promise<Node> | undefined

  return async (question: Question): Promise<unknown> => {
    opening ??= openNode(options)
    const node = await opening
    // viem's own timeout ends with the headers, and it waits as long as a Retry-After says.
    const signal = AbortSignal.timeout(timeoutMs)
    let reason = `gave no answer in ${timeoutMs} ms`
    try {
      return await node.request(question, signal)
    } catch (error) {
      const answer = findAnswer(node.viem, error)
      if (question.method === 'eth_call' && answer && isRevert(answer)) return reverted
      if (!signal.aborted) reason = describeFailure(answer, findStatus(node.viem, error))
    }
    // Without its cause, which holds the URL.
    throw new Fault(reason, { kind: 'no_answer' })
  }
}

function describeFailure(answer: { code: number } | undefined, status: number | undefined): string {
  if (answer) return `answers with the error ${answer.code}`
  return status === undefined ? 'cannot be reached' : `answers with HTTP status ${status}`
}

const isHex = (value: unknown): value is Hex =>
  typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value)

/** Null is an honest "no such thing". */
const orMissing =
  <T>(read: (result: unknown) => T) =>
  (result: unknown): T | undefined =>
    result === null ? undefined : read(result)

const odd = (): never => {
  throw new Fault('', { kind: 'no_answer' })
}

const readHex = (value: unknown): Hex => (isHex(value) ? value : odd())

const readFields = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : odd())

const readList = (value: unknown): unknown[] => (Array.isArray(value) ? value : odd())

function readBytes(value: unknown, bytes: number): Hex {
  const hex = readHex(value)
  return hex.length === '0x'.length + 2 * bytes ? (hex.toLowerCase() as Hex) : odd()
}

function readNumber(value: unknown): number {
  // NaN for `0x` alone.
  const number = Number(readHex(value))
  return Number.isSafeInteger(number) ? number : odd()
}

function readBlock(value: unknown): Block {
  const { number, hash, timestamp } = readFields(value)
  return {
    number: readNumber(number),
    hash: readBytes(hash, 32),
    time: BigInt(readNumber(timestamp)),
  }
}

function readReceipt(value: unknown): Receipt {
  const { status, ...fields } = readFields(value)
  if (status !== '0x0' && status !== '0x1') odd()
  return {
    isSuccess: status === '0x1',
    blockNumber: readNumber(fields.blockNumber),
    blockHash: readBytes(fields.blockHash, 32),
    txHash: readBytes(fields.transactionHash, 32),
    logs: readLogs(fields.logs),
  }
}

function readInput(value: unknown): { to: string | undefined; input: Hex } {
  const { to, input } = readFields(value)
  // A transaction that makes a contract calls none.
  return { to: to === null ? undefined : readBytes(to, 20), input: readHex(input) }
}

const readSender = (value: unknown): string => readBytes(readFields(value).from, 20)

const readLogs = (value: unknown): ChainLog[] =>
  readList(value)
    .map(readFields)
    .filter(({ removed, blockHash }) => removed !== true && blockHash !== null)
    .map(readLog)
    .sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)

const readLog = (fields: Record<string, unknown>): ChainLog => ({
  address: readBytes(fields.address, 20),
  topics: readList(fields.topics).map((topic) => readBytes(topic, 32)),
  data: readHex(fields.data),
  blockNumber: readNumber(fields.blockNumber),
  blockHash: readBytes(fields.blockHash, 32),
  txHash: readBytes(fields.transactionHash, 32),
  logIndex: readNumber(fields.logIndex),
})

export type ContractQuestion = {
  to: string
  /** As Solidity writes it: `balanceOf(address) returns (uint256)`. */
  signature: string
  args: readonly unknown[]
  block?: BlockTag | undefined
}

/** What a contract answers: `0x` without such a function or code, undefined if it reverts. */
export async function callContract(
  rpc: Pick<Rpc, 'call'>,
  { to, signature, args, block }: ContractQuestion,
): Promise<Hex | undefined> {
  const { encodeFunctionData, parseAbi } = await import('viem')
  const abi = parseAbi([`function ${signature}`] as readonly string[])
  return rpc.call({ to, data: encodeFunctionData({ abi, args }) }, block)
}

/** The word that a contract answers with; undefined if it reverts or has no such function. */
export async function askContract(
  rpc: Pick<Rpc, 'call'>,
  question: ContractQuestion,
): Promise<Hex | undefined> {
  const answer = await callContract(rpc, question)
  return answer !== undefined && /^0x[0-9a-f]{64}$/i.test(answer) ? answer : undefined
}

/** As `askContract`, of a function that always answers: throws an `rpc` fault where it does not. */
export async function askWord(rpc: Rpc, question: ContractQuestion): Promise<bigint> {
  const answer = await askContract(rpc, question)
  if (answer !== undefined) return BigInt(answer)
  throw rpcFault(`The contract ${question.to} gives no answer to ${question.signature}.`)
}

export const toTopic = (address: string): Hex =>
  `0x${address.slice('0x'.length).toLowerCase().padStart(64, '0')}`
