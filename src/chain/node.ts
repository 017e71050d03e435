/**
 * The only access to a node of a chain. The URL may contain a key, and appears in all error
 * messages of viem: code that catches an error uses only `findAnswer`.
 */
import type { HttpRequestError, RpcRequestError } from 'viem'

import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'

export type Viem = typeof import('viem')
export type Question = { method: string; params?: unknown }

export type Node = Awaited<ReturnType<typeof openNode>>

const RETRY_COUNT = 1
/** The longest contract code is 24 KiB; a request for too many logs is repeated for fewer. */
const ANSWER_BYTES_MAX = 1024 * 1024
/** The same address on every chain. */
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** Loads viem; connects with the first request. */
export async function openNode({
  chain,
  url,
  redirect = 'follow',
}: {
  chain: PaymentChain
  url: string
  redirect?: 'follow' | 'error'
}) {
  const viem = await import('viem')
  const described = viem.defineChain({
    id: chain.chainId,
    name: chain.name,
    nativeCurrency: { name: chain.gasSymbol, symbol: chain.gasSymbol, decimals: 18 },
    rpcUrls: { default: { http: [url] } },
    contracts: { multicall3: { address: MULTICALL3 } },
  })
  const transport = viem.http(url, {
    retryCount: RETRY_COUNT,
    maxResponseBodySize: ANSWER_BYTES_MAX,
    fetchOptions: { redirect },
  })({ chain: described })
  return {
    viem,
    chain: described,
    /** Sends a request, twice if the node does not answer. Rejects with an error of viem. */
    request(question: Question, signal: AbortSignal): Promise<unknown> {
      // Sent once: a repetition is answered by "already known", or by an error about the nonce.
      const retryCount = question.method === 'eth_sendRawTransaction' ? 0 : RETRY_COUNT
      return transport.request(question as never, { retryCount, signal })
    },
  }
}

/** The node's own error, unwrapped from viem's; undefined if the node did not answer. */
export const findAnswer = (viem: Viem, error: unknown): RpcRequestError | undefined =>
  find<RpcRequestError>(viem, error, viem.RpcRequestError)

export const findStatus = (viem: Viem, error: unknown): number | undefined =>
  find<HttpRequestError>(viem, error, viem.HttpRequestError)?.status

const find = <T>({ BaseError }: Viem, error: unknown, Wanted: new (...args: never[]) => T) =>
  error instanceof BaseError
    ? ((error.walk((inner) => inner instanceof Wanted) as T | null) ?? undefined)
    : undefined

/** The error code of a revert; some nodes use a general code and describe the revert in words. */
const REVERT_CODE = 3
const revertWords = /revert|invalid opcode|out of gas|stack (under|over)flow|invalid jump/i

export const isRevert = ({ code, details }: RpcRequestError): boolean =>
  code === REVERT_CODE || revertWords.test(details)
