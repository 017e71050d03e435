/**
 * Read-only questions to a node, each with one deadline for everything it takes.
 *
 * Raw requests instead of viem's actions: `readContract` would fetch a URL of the contract's
 * choice (EIP-3668), and in places reports a dead node as an answer.
 */
import type { Hex } from 'viem'

import type { PaymentChain } from '#src/selling/payment-chain.ts'

import { answerOf, isRevert, type Node, openNode, type Question, statusOf } from './node.ts'
import {
  type Block,
  type ChainLog,
  readBlock,
  readHex,
  readInput,
  readLogs,
  readReceipt,
  type Receipt,
  toQuantity,
} from './rpc-answers.ts'

const TIMEOUT_MS = 5000

/** A block by its number, or the newest, or the newest that is final. */
export type BlockTag = number | 'latest' | PaymentChain['finality']

/**
 * Logs of any of the contracts; a topic that is null is any, one that is an array is any of these.
 */
export type LogQuestion = {
  /** None for all. */
  addresses: readonly string[]
  topics: readonly (Hex | readonly Hex[] | null)[]
  /** Blocks, both inclusive. */
  from: number
  to: number
}

/** Each question throws `RpcFault` for want of an answer. */
export type Rpc = {
  readonly chain: PaymentChain
  /** Code at an address, `0x` if there is none. */
  getCode(address: string): Promise<Hex>
  /** What a contract answers, as of the newest block if none is named; undefined if it reverts. */
  call(question: { to: string; data: Hex }, block?: BlockTag): Promise<Hex | undefined>
  /** Undefined where the node has no such block. */
  getBlock(tag: BlockTag): Promise<Block | undefined>
  getLogs(question: LogQuestion): Promise<ChainLog[]>
  /** Undefined for a transaction that is in no block that counts. */
  getReceipt(txHash: string): Promise<Receipt | undefined>
  /**
   * What a transaction says to the contract that it calls; undefined
   * where the node does not know it.
   */
  getInput(txHash: string): Promise<{ to: string | undefined; input: Hex } | undefined>
}

export type RpcOptions = {
  chain: PaymentChain
  url: string
  /** For a question with its retry. */
  timeoutMs?: number | undefined
  /** Is called once when the node stops answering as it should, and once when it does again. */
  log?: ((line: string) => void) | undefined
}

/** The node gave no answer that may be relied upon. `message` is fit for the operator. */
export class RpcFault extends Error {
  override name = 'RpcFault'
}

/** `fault` is a reason without the URL. */
type Outcome =
  { kind: 'answer'; result: unknown } | { kind: 'reverted' } | { kind: 'fault'; fault: string }
/** Takes a question and what makes sense of its answer: null if it cannot. */
type Ask = <T>(question: Question, read: (result: unknown) => T | null) => Promise<T | undefined>

/** Opens nothing: viem is loaded, and the chain checked, when the first question is asked. */
export function createRpc(options: RpcOptions): Rpc {
  const { chain } = options
  const ask = createGuard(chain, createRequest(options), createFaultLog(options))

  return {
    chain,
    async getCode(address) {
      const params = [address, 'latest']
      return (await ask({ method: 'eth_getCode', params }, readHex)) ?? '0x'
    },
    call: (question, block = 'latest') =>
      ask({ method: 'eth_call', params: [question, toTag(block)] }, readHex),
    getBlock: (tag) =>
      ask({ method: 'eth_getBlockByNumber', params: [toTag(tag), false] }, readBlock),
    async getLogs({ addresses, topics, from, to }) {
      const range = { fromBlock: toQuantity(from), toBlock: toQuantity(to) }
      const address = addresses.length === 0 ? undefined : addresses
      const params = [{ address, topics, ...range }]
      return (await ask({ method: 'eth_getLogs', params }, readLogs)) ?? []
    },
    getReceipt: (txHash) =>
      ask({ method: 'eth_getTransactionReceipt', params: [txHash] }, readReceipt),
    getInput: (txHash) => ask({ method: 'eth_getTransactionByHash', params: [txHash] }, readInput),
  }
}

const toTag = (tag: BlockTag): string => (typeof tag === 'number' ? toQuantity(tag) : tag)

type Request = (question: Question) => Promise<Outcome>

/** Asks only a node that says it is on the chain, and asks for that again after each failure. */
function createGuard(
  { chainId: wanted }: PaymentChain,
  request: Request,
  noteFault: (fault: string | undefined) => RpcFault,
): Ask {
  let identity: Promise<string | undefined> | undefined

  async function findFault(): Promise<string | undefined> {
    const outcome = await request({ method: 'eth_chainId', params: [] })
    if (outcome.kind === 'fault') return outcome.fault
    const hex = outcome.kind === 'answer' ? readHex(outcome.result) : null
    const chainId = hex === null ? Number.NaN : Number(hex)
    return chainId === wanted ? undefined : `is on chain ${chainId}, not on ${wanted}`
  }

  return async (question, read) => {
    identity ??= findFault()
    const fault = await identity
    const outcome: Outcome =
      fault === undefined ? await request(question) : { kind: 'fault', fault }
    const answer = outcome.kind === 'answer' ? read(outcome.result) : undefined
    if (outcome.kind === 'fault' || answer === null) {
      identity = undefined
      const odd = `answers ${question.method} with something odd`
      throw noteFault(outcome.kind === 'fault' ? outcome.fault : odd)
    }
    noteFault(undefined)
    return answer
  }
}

/** Logs each change between answering and not; returns what is to be thrown. */
function createFaultLog({ url, log = () => {} }: RpcOptions) {
  const origin = URL.parse(url)?.origin ?? 'BOOKFEED_RPC_URL'
  let isFailing = false
  return (fault: string | undefined): RpcFault => {
    const message = `The RPC at ${origin} ${fault ?? 'answers again'}.`
    if ((fault !== undefined) !== isFailing) log(message)
    isFailing = fault !== undefined
    return new RpcFault(message)
  }
}

function createRequest({ timeoutMs = TIMEOUT_MS, ...options }: RpcOptions): Request {
  let opening: Promise<Node> | undefined

  return async (question) => {
    opening ??= openNode(options)
    const node = await opening
    // viem's own timeout ends with the headers, and a Retry-After makes it wait as long as the node
    // likes.
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      return { kind: 'answer', result: await node.request(question, signal) }
    } catch (error) {
      const answer = answerOf(node.viem, error)
      if (question.method === 'eth_call' && answer && isRevert(answer)) return { kind: 'reverted' }
      if (signal.aborted) return { kind: 'fault', fault: `gave no answer in ${timeoutMs} ms` }
      if (answer) return { kind: 'fault', fault: `answers with the error ${answer.code}` }
      const status = statusOf(node.viem, error)
      const fault =
        status === undefined ? 'cannot be reached' : `answers with HTTP status ${status}`
      return { kind: 'fault', fault }
    }
  }
}
