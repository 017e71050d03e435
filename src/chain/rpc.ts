/**
 * Read-only requests to a node. They are raw instead of viem's actions: `readContract` would fetch
 * a URL that the contract chooses (EIP-3668), and in places reports a dead node as an answer.
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
  /** In the order of emission. */
  logs: readonly ChainLog[]
}

export type BlockTag = number | 'latest' | PaymentChain['finality']

/** A null topic matches any; an array matches any of its members. */
export type LogQuestion = {
  /** Contracts; empty for all. */
  addresses: readonly string[]
  topics: readonly (Hex | readonly Hex[] | null)[]
  /** Blocks, both inclusive. */
  from: number
  to: number
}

export type RpcOptions = {
  chain: PaymentChain
  url: string
  /** Timeout of a request including its retry. */
  timeoutMs?: number | undefined
  /** Called once when the node begins to fail, and once when it recovers. */
  log?: Log | undefined
}

/** The node gave no reliable answer. The message is meant for the operator. */
export const rpcFault = (message: string, options: ErrorOptions = {}): Fault =>
  new Fault(message, { kind: 'rpc', ...options })

/** The result of an `eth_call` that the contract reverted. */
const reverted = Symbol('reverted')

/** Every request throws an `rpc` fault if there is no answer. */
export type Rpc = ReturnType<typeof createRpc>

/** Connects to nothing: the first request loads viem and checks the chain. */
export function createRpc(options: RpcOptions) {
  const origin = URL.parse(options.url)?.origin ?? 'BOOKFEED_RPC_URL'
  const { ask, findOtherChain } = createGuard(options, origin, createRequest(options))

  return {
    chain: options.chain,
    /** The URL of the node, without credentials. */
    origin,
    /**
     * Asks the node again for its chain. Resolves with a description if it is the wrong one, such
     * as `is on chain 1, not on 137`; undefined if it is right or the node does not answer. Never
     * rejects.
     */
    findOtherChain,
    /** Code at an address, `0x` if there is none. */
    getCode: (address: string) =>
      ask({ method: 'eth_getCode', params: [address, 'latest'] }, readHex),
    /** The result of a contract call, by default at the newest block; undefined if it reverts. */
    call: (question: { to: string; data: Hex }, block: BlockTag = 'latest') =>
      ask({ method: 'eth_call', params: [question, toTag(block)] }, (result) =>
        result === reverted ? undefined : readHex(result),
      ),
    /** Undefined if the node has no such block. */
    getBlock: (tag: BlockTag) =>
      ask({ method: 'eth_getBlockByNumber', params: [toTag(tag), false] }, orMissing(readBlock)),
    /** Logs of canonical blocks; throws if the node returns any other. */
    getLogs({ addresses, topics, from, to }: LogQuestion) {
      const range = { fromBlock: toTag(from), toBlock: toTag(to) }
      const address = addresses.length === 0 ? undefined : addresses
      return ask({ method: 'eth_getLogs', params: [{ address, topics, ...range }] }, readLogs)
    },
    /** Undefined for a transaction that is in no canonical block. */
    getReceipt: (txHash: string) =>
      ask({ method: 'eth_getTransactionReceipt', params: [txHash] }, orMissing(readReceipt)),
    /** The call that a transaction makes; undefined if the node does not know it. */
    getInput: (txHash: string) =>
      ask({ method: 'eth_getTransactionByHash', params: [txHash] }, orMissing(readInput)),
    /** The wallet that sent a transaction; undefined if the node does not know it. */
    getSender: (txHash: string) =>
      ask({ method: 'eth_getTransactionByHash', params: [txHash] }, orMissing(readSender)),
  }
}

const toTag = (tag: BlockTag): string => (typeof tag === 'number' ? `0x${tag.toString(16)}` : tag)

/** Sends requests only to a node on the right chain, which it checks again after each failure. */
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

  /** After a failure the next request checks the node's chain again. */
  function fail(message: string): void {
    identity = undefined
    if (!isFailing) log(message, 'warn')
    isFailing = true
  }

  return {
    /** `read` decodes the result, or throws. */
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
        const message = describe(error.message || `gave a malformed answer to ${question.method}`)
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
    // viem's own timeout ends with the headers, and viem waits for as long as a Retry-After header
    // says.
    const signal = AbortSignal.timeout(timeoutMs)
    let reason = `gave no answer in ${timeoutMs} ms`
    try {
      return await node.request(question, signal)
    } catch (error) {
      const answer = findAnswer(node.viem, error)
      if (question.method === 'eth_call' && answer && isRevert(answer)) return reverted
      if (!signal.aborted) reason = describeFailure(answer, findStatus(node.viem, error))
    }
    // Without the cause, which contains the URL.
    throw new Fault(reason, { kind: 'no_answer' })
  }
}

function describeFailure(answer: { code: number } | undefined, status: number | undefined): string {
  if (answer) return `answers with the error ${answer.code}`
  return status === undefined ? 'cannot be reached' : `answers with HTTP status ${status}`
}

const isHex = (value: unknown): value is Hex =>
  typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value)

/** Null means that there is no such object. */
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
  // `0x` alone gives NaN.
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
  // A transaction that creates a contract calls none.
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
  /** In Solidity's syntax: `balanceOf(address) returns (uint256)`. */
  signature: string
  args: readonly unknown[]
  block?: BlockTag | undefined
}

/** The raw result of a contract: `0x` without such a function or code, undefined if it reverts. */
export async function callContract(
  rpc: Pick<Rpc, 'call'>,
  { to, signature, args, block }: ContractQuestion,
): Promise<Hex | undefined> {
  const { encodeFunctionData, parseAbi } = await import('viem')
  const abi = parseAbi([`function ${signature}`] as readonly string[])
  return rpc.call({ to, data: encodeFunctionData({ abi, args }) }, block)
}

/** The word that a contract returns; undefined if it reverts or has no such function. */
export async function askContract(
  rpc: Pick<Rpc, 'call'>,
  question: ContractQuestion,
): Promise<Hex | undefined> {
  const answer = await callContract(rpc, question)
  return answer !== undefined && /^0x[0-9a-f]{64}$/i.test(answer) ? answer : undefined
}

/** Like `askContract`, for a function that always returns: throws an `rpc` fault if it does not. */
export async function askWord(rpc: Rpc, question: ContractQuestion): Promise<bigint> {
  const answer = await askContract(rpc, question)
  if (answer !== undefined) return BigInt(answer)
  throw rpcFault(`The contract ${question.to} returned nothing for ${question.signature}.`)
}

export const toTopic = (address: string): Hex =>
  `0x${address.slice('0x'.length).toLowerCase().padStart(64, '0')}`
