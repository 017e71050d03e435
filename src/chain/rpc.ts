/**
 * The one way to a Polygon node: read-only questions, each with one deadline for everything it takes. The
 * node's URL may hold a key, so nothing that viem says of it (URLs are in all its messages) leaves this file.
 *
 * Raw requests instead of viem's actions: `readContract` would follow a contract's wish to fetch
 * a URL of the contract's choice (EIP-3668), and retells a dead node as an answer in places.
 */
import type { HttpRequestError, RpcRequestError } from 'viem'

import type { Hex } from './hex.ts'
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

export const POLYGON_CHAIN_ID = 137

const RETRY_COUNT = 1
const TIMEOUT_MS = 5000
/** The longest code that a chain takes is 24 KiB; who asks for logs asks for fewer if they are too many. */
const ANSWER_BYTES_MAX = 1024 * 1024

/** A block by its number, or the newest, or the newest that is final. */
export type BlockTag = number | 'latest' | 'finalized'

/** Logs of any of the contracts; a topic that is null is any, one that is an array is any of these. */
export type LogQuestion = {
  /** None for all. */
  addresses: readonly string[]
  topics: readonly (Hex | readonly Hex[] | null)[]
  /** Blocks, both inclusive. */
  from: number
  to: number
}

/** Each throws `RpcFault` for want of an answer. */
export type Rpc = {
  /** Code at an address, `0x` if there is none. */
  getCode(address: string): Promise<Hex>
  /** What a contract answers, as of the newest block if none is named; undefined if it reverts. */
  call(question: { to: string; data: Hex }, block?: BlockTag): Promise<Hex | undefined>
  /** Undefined where the node has no such block. */
  getBlock(tag: BlockTag): Promise<Block | undefined>
  getLogs(question: LogQuestion): Promise<ChainLog[]>
  /** Undefined for a transaction that is in no block that counts. */
  getReceipt(txHash: string): Promise<Receipt | undefined>
  /** What a transaction says to the contract that it calls; undefined where the node does not know it. */
  getInput(txHash: string): Promise<{ to: string | undefined; input: Hex } | undefined>
}

export type RpcOptions = {
  url: string
  /** For a question with its retry. */
  timeoutMs?: number | undefined
  /** Is told once when the node stops answering as it should, and once when it does again. */
  log?: ((line: string) => void) | undefined
}

/** The node gave no answer that may be relied upon. `message` is fit for the operator. */
export class RpcFault extends Error {
  override name = 'RpcFault'
}

/** `fault` is a reason without the URL. */
type Outcome =
  { kind: 'answer'; result: unknown } | { kind: 'reverted' } | { kind: 'fault'; fault: string }
type Question = {
  method: `eth_${string}`
  params: unknown[]
}
/** Takes a question and what makes sense of its answer: null if it cannot. */
type Ask = <T>(question: Question, read: (result: unknown) => T | null) => Promise<T | undefined>

/** Opens nothing: viem is loaded, and the chain checked, when the first question is asked. */
export function createRpc({ url, timeoutMs = TIMEOUT_MS, log }: RpcOptions): Rpc {
  const request = createRequest(url, timeoutMs)
  const ask = createGuard(request, createFaultLog(url, log))

  return {
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

/** Asks only a node that says it is on Polygon, and asks for its chain again after each failure. */
function createGuard(request: Request, noteFault: (fault: string | undefined) => RpcFault): Ask {
  let identity: Promise<string | undefined> | undefined

  async function findFault(): Promise<string | undefined> {
    const outcome = await request({ method: 'eth_chainId', params: [] })
    if (outcome.kind === 'fault') return outcome.fault
    const hex = outcome.kind === 'answer' ? readHex(outcome.result) : null
    const chainId = hex === null ? Number.NaN : Number(hex)
    return chainId === POLYGON_CHAIN_ID
      ? undefined
      : `is on chain ${chainId}, not on ${POLYGON_CHAIN_ID}`
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

/** Tells the log of each change between answering and not; returns what is to be thrown. */
function createFaultLog(url: string, log: (line: string) => void = () => {}) {
  const origin = URL.parse(url)?.origin ?? 'BOOKFEED_RPC_URL'
  let isFailing = false
  return (fault: string | undefined): RpcFault => {
    const message = `The RPC at ${origin} ${fault ?? 'answers again'}.`
    if ((fault !== undefined) !== isFailing) log(message)
    isFailing = fault !== undefined
    return new RpcFault(message)
  }
}

type Viem = typeof import('viem')

function createRequest(url: string, timeoutMs: number): Request {
  let connection: Promise<{ viem: Viem; client: ReturnType<typeof connect> }> | undefined

  return async ({ method, params }) => {
    connection ??= import('viem').then((viem) => ({ viem, client: connect(viem, url) }))
    const { viem, client } = await connection
    // viem's own timeout ends with the headers, and a Retry-After makes it wait as long as the node likes.
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const result: unknown = await client.request({ method, params } as never, { signal })
      return { kind: 'answer', result }
    } catch (error) {
      if (method === 'eth_call' && isRevert(viem, error)) return { kind: 'reverted' }
      const late = `gave no answer in ${timeoutMs} ms`
      return { kind: 'fault', fault: signal.aborted ? late : toReason(viem, error) }
    }
  }
}

const connect = ({ createClient, http }: Viem, url: string) =>
  createClient({
    transport: http(url, { retryCount: RETRY_COUNT, maxResponseBodySize: ANSWER_BYTES_MAX }),
  })

/** The code that nodes agree upon for a revert; some put only words for it under a general code. */
const REVERT_CODE = 3
const revertWords = /revert|invalid opcode|out of gas|stack (under|over)flow|invalid jump/i

function isRevert(viem: Viem, error: unknown): boolean {
  const answer = findRpcError(viem, error)
  return answer !== undefined && (answer.code === REVERT_CODE || revertWords.test(answer.details))
}

function toReason(viem: Viem, error: unknown): string {
  const answer = findRpcError(viem, error)
  if (answer !== undefined) return `answers with the error ${answer.code}`
  const status = findHttpError(viem, error)?.status
  return status === undefined ? 'cannot be reached' : `answers with HTTP status ${status}`
}

/** viem wraps what the node answered in errors of its own. */
const findRpcError = ({ BaseError, RpcRequestError: Wanted }: Viem, error: unknown) =>
  error instanceof BaseError
    ? ((error.walk((inner) => inner instanceof Wanted) as RpcRequestError | null) ?? undefined)
    : undefined

const findHttpError = ({ BaseError, HttpRequestError: Wanted }: Viem, error: unknown) =>
  error instanceof BaseError
    ? ((error.walk((inner) => inner instanceof Wanted) as HttpRequestError | null) ?? undefined)
    : undefined
