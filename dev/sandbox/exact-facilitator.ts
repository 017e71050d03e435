/**
 * The reference facilitator of x402, with a wallet that pays for gas. Only for a local chain: its
 * known problems are not worked around.
 */
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import {
  createWalletClient,
  defineChain,
  type Hex,
  http,
  publicActions,
  type VerifyTypedDataParameters,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

import { homeChain, type PaymentChain } from '#src/domain/selling/payment-chain.ts'

export type ExactFacilitatorOptions = {
  /** Default: Polygon. */
  chain?: PaymentChain
  /** Node of the local chain. */
  rpcUrl: string
  /** Key of the wallet that pays for gas. */
  key: Hex
  /** Time to wait for a transfer to be mined before `settlement_pending` is returned. */
  confirmationTimeoutMs?: number
}

/** The local chain in viem's format. */
export const describeChain = ({ chainId, name, gasSymbol }: PaymentChain, rpcUrl: string) =>
  defineChain({
    id: chainId,
    name: `Little ${name}`,
    nativeCurrency: { name: gasSymbol, symbol: gasSymbol, decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  })

export function createExactFacilitator({
  chain = homeChain,
  rpcUrl,
  key,
  confirmationTimeoutMs = 5_000,
}: ExactFacilitatorOptions): x402Facilitator {
  const account = privateKeyToAccount(key)
  let sending: Promise<unknown> = Promise.resolve()
  /**
   * Sends a transaction after the node has accepted the one before, so that the nonce that the node
   * reports is free. viem's own nonce manager gives two transactions that begin at once the same one.
   */
  function inTurn<T>(send: () => Promise<T>): Promise<T> {
    const sent = sending.then(send)
    sending = sent.catch(() => undefined)
    return sent
  }
  const client = createWalletClient({
    account,
    chain: describeChain(chain, rpcUrl),
    transport: http(rpcUrl, { retryCount: 0 }),
    pollingInterval: 10,
    cacheTime: 0,
  }).extend(publicActions)
  const scheme = new ExactEvmScheme(
    toFacilitatorEvmSigner(
      {
        address: account.address,
        getCode: (query) => client.getCode(query),
        readContract: (query) => client.readContract(query),
        verifyTypedData: (query) => client.verifyTypedData(query as VerifyTypedDataParameters),
        writeContract: (call) => inTurn(() => client.writeContract(call)),
        sendTransaction: (call) => inTurn(() => client.sendTransaction(call)),
        waitForTransactionReceipt: (query) => client.waitForTransactionReceipt(query),
      },
      { confirmationTimeoutMs },
    ),
  )
  return new x402Facilitator().register(chain.network, scheme)
}
