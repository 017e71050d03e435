import { x402Client } from '@x402/core/client'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { toClientEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { createPublicClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

import { addresses } from '#dev/sandbox/addresses.ts'
import { describeChain } from '#dev/sandbox/exact-facilitator.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'

/** The unchanged client of the makers of x402, with a key of a local chain. */
export function createStockClient(rpcUrl: string, key: `0x${string}`, on = homeChain): x402Client {
  const reader = createPublicClient({ chain: describeChain(on, rpcUrl), transport: http(rpcUrl) })
  const signer = toClientEvmSigner(privateKeyToAccount(key), {
    readContract: (query) => reader.readContract(query),
  })
  const client = new x402Client().register(on.network, new ExactEvmScheme(signer))
  // By default it refuses to spend more than a dollar, or in USDT.
  return client.setSpendControls({
    maxAmountPerPayment: '$1000',
    allowedAssets: [{ network: 'eip155:137', asset: addresses.usdt }],
  })
}

/** Signs a payment, as after a 402. */
export const signPayment = (
  client: x402Client,
  requirements: PaymentRequirements,
): Promise<PaymentPayload> =>
  client.createPaymentPayload({
    x402Version: 2,
    resource: { url: 'https://api.example.com/v1/billing/x402/settle' },
    accepts: [requirements],
  })
