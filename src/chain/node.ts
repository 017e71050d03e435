/**
 * The one way to a node of a chain. The URL may hold a key, and is in every message of viem's
 * errors: code that catches one uses `findAnswer` alone.
 */
import type { HttpRequestError, RpcRequestError } from 'viem'

import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'

export type Viem = typeof import('viem')
export type Question = { method: string; params?: unknown }

export type Node = Awaited<ReturnType<typeof openNode>>

const RETRY_COUNT = 1
/** The longest code is 24 KiB; a question for too many logs is asked again for fewer. */
const ANSWER_BYTES_MAX = 1024 * 1024
/** The same on every chain. */
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** Loads viem; connects to nothing before it is asked. */
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
    /** Asks, and asks once more where the node did not answer. Rejects with an error of viem's. */
    request(question: Question, signal: AbortSignal): Promise<unknown> {
      // Sent once: again would be answered by "already known", or an error about the nonce.
      const retryCount = question.method === 'eth_sendRawTransaction' ? 0 : RETRY_COUNT
      return transport.request(question as never, { retryCount, signal })
    },
  }
}

/** The error that the node itself answered with, if it did: viem wraps it in errors of its own. */
export const findAnswer = (viem: Viem, error: unknown): RpcRequestError | undefined =>
  find<RpcRequestError>(viem, error, viem.RpcRequestError)

export const findStatus = (viem: Viem, error: unknown): number | undefined =>
  find<HttpRequestError>(viem, error, viem.HttpRequestError)?.status

const find = <T>({ BaseError }: Viem, error: unknown, Wanted: new (...args: never[]) => T) =>
  error instanceof BaseError
    ? ((error.walk((inner) => inner instanceof Wanted) as T | null) ?? undefined)
    : undefined

/** The code that nodes agree upon for a revert; some put only words for it under a general code. */
const REVERT_CODE = 3
const revertWords = /revert|invalid opcode|out of gas|stack (under|over)flow|invalid jump/i

export const isRevert = ({ code, details }: RpcRequestError): boolean =>
  code === REVERT_CODE || revertWords.test(details)
