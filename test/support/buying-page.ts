/** The code of a page of another origin: the stock client of x402 in a browser. */
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

type Wish = { url: string; key: `0x${string}`; method?: string }

/** Reads or buys with a wallet; returns the part of the response that the page can see. */
async function buy({ url, key, method = 'GET' }: Wish) {
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(key)))
  const response = await wrapFetchWithPayment(fetch, client)(url, { method })
  return {
    status: response.status,
    body: await response.json(),
    receipt: response.headers.get('PAYMENT-RESPONSE'),
  }
}

Object.assign(globalThis, { buy })
