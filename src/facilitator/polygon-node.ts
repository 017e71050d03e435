/**
 * A node as one settlement sees it. The SDK takes silence for an answer in places: a node that could not be
 * asked for code makes a signature "invalid". So whatever fails on the way to the node is noted
 * here, where nothing can swallow it.
 */
import type { EIP1193RequestFn, PublicClient, RpcRequestError } from 'viem'

export type Viem = typeof import('viem')
type Request = (args: { method: string; params?: unknown }) => Promise<unknown>

/** What was seen during one settlement. */
export type Watch = {
  /** A question was not answered as a node should: nothing that was concluded since may be believed. */
  isSilent: boolean
  /** The node says that our account cannot pay for gas. */
  isOutOfGas: boolean
}

export const POLYGON_CHAIN_ID = 137

const RETRY_COUNT = 1
const ANSWER_BYTES_MAX = 1024 * 1024
const REVERT_CODE = 3
/** Questions whose honest answer may be an error, which then says so. */
const refusable: readonly string[] = ['eth_call', 'eth_estimateGas', 'eth_sendRawTransaction']
/** Not every node has it; viem then asks for something else. */
const optional = 'eth_maxPriorityFeePerGas'
const revertWords = /revert|invalid opcode|out of gas|stack (under|over)flow|invalid jump/i
const gasWords = /insufficient funds|gas required exceeds allowance/i
const knownWords = /already known|already imported|known transaction/i
export type NodeOptions = {
  url: string
  /** For a question with its retry. */
  timeoutMs: number
  /** How often to look for a receipt. */
  pollMs: number
}

/** Opens what clients of one node share. */
export function openNode(viem: Viem, { url, timeoutMs, pollMs }: NodeOptions) {
  const chain = viem.defineChain({
    id: POLYGON_CHAIN_ID,
    name: 'Polygon',
    nativeCurrency: { name: 'POL', symbol: 'POL', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
    contracts: { multicall3: { address: '0xcA11bde05977b3631167028862bE2a173976CA11' } },
  })
  const transport = viem.http(url, {
    retryCount: RETRY_COUNT,
    maxResponseBodySize: ANSWER_BYTES_MAX,
    fetchOptions: { redirect: 'error' },
  })({ chain })

  return (watch: Watch): PublicClient => {
    const request: Request = async (args) => {
      // Sent once: a second time would be answered by "already known", or by an error about the nonce.
      const retryCount = args.method === 'eth_sendRawTransaction' ? 0 : RETRY_COUNT
      const signal = AbortSignal.timeout(timeoutMs)
      try {
        return await transport.request(args as never, { retryCount, signal })
      } catch (error) {
        note(watch, args.method, findAnswer(viem, error))
        throw error
      }
    }
    return viem.createPublicClient({
      chain,
      transport: viem.custom({ request: request as EIP1193RequestFn }, { retryCount: 0 }),
      // A contract could else make us fetch a URL of its choice (EIP-3668).
      ccipRead: false,
      pollingInterval: pollMs,
    })
  }
}

/** The error that the node itself answered with, if it did. */
const findAnswer = ({ BaseError, RpcRequestError: Wanted }: Viem, error: unknown) =>
  error instanceof BaseError
    ? ((error.walk((inner) => inner instanceof Wanted) as RpcRequestError | null) ?? undefined)
    : undefined

function note(watch: Watch, method: string, answer: RpcRequestError | undefined): void {
  if (answer !== undefined && method === optional) return
  if (answer !== undefined && refusable.includes(method) && isRevert(answer)) return
  // Only of our own account: what a contract says of funds is about the payer.
  if (method === 'eth_estimateGas' && gasWords.test(answer?.details ?? '')) watch.isOutOfGas = true
  else watch.isSilent = true
}

const isRevert = ({ code, details }: RpcRequestError): boolean =>
  code === REVERT_CODE || revertWords.test(details)

/** Whether a node that refuses a transaction does so because it has it. */
export const isKnownAlready = (viem: Viem, error: unknown): boolean =>
  knownWords.test(findAnswer(viem, error)?.details ?? '')
