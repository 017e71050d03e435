/**
 * The facilitator that the makers of x402 wrote, with the key of a wallet that pays for gas. It is
 * for a local chain: it does not mend what is known to be wrong with it.
 */
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import {
  createNonceManager,
  createWalletClient,
  defineChain,
  type Hex,
  http,
  publicActions,
  type VerifyTypedDataParameters,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { jsonRpc } from 'viem/nonce'

import { homeChain, type PaymentChain } from '#src/domain/selling/payment-chain.ts'

export type ExactFacilitatorOptions = {
  /** By default Polygon. */
  chain?: PaymentChain
  /** Of the local chain. */
  rpcUrl: string
  /** Pays for gas. */
  key: Hex
  /** How long it waits for a transfer to be mined before it says `settlement_pending`. */
  confirmationTimeoutMs?: number
}

export type ExactFacilitator = {
  facilitator: x402Facilitator
  /** To be called after `reorg` and `revert`: it counts its transactions itself. */
  resetNonces(): void
}

/** A chain of this machine, as viem knows it. */
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
}: ExactFacilitatorOptions): ExactFacilitator {
  // Without it, of payments settled at once all but one would use a number that is taken.
  const nonceManager = createNonceManager({ source: jsonRpc() })
  const account = privateKeyToAccount(key, { nonceManager })
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
        writeContract: (call) => client.writeContract(call),
        sendTransaction: (call) => client.sendTransaction(call),
        waitForTransactionReceipt: (query) => client.waitForTransactionReceipt(query),
      },
      { confirmationTimeoutMs },
    ),
  )
  return {
    facilitator: new x402Facilitator().register(chain.network, scheme),
    resetNonces: () => nonceManager.reset({ address: account.address, chainId: chain.chainId }),
  }
}
