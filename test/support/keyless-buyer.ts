/** Wallets that buy single requests without a key, and connections that end too early. */
import { connect, type Socket } from 'node:net'

import type { PaymentRequirements } from '@x402/core/types'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import type { ReachedPolygon } from '#dev/sandbox/little-polygon.ts'

import { createStockClient, signPayment } from './stock-client.ts'

export type Buyer = { key: `0x${string}`; address: `0x${string}` }

/** A wallet with 100 USDC. */
export async function newBuyer(
  chain: ReachedPolygon & { mintUsdc(address: string, amount: bigint): Promise<unknown> },
): Promise<Buyer> {
  const key = generatePrivateKey()
  const { address } = privateKeyToAccount(key)
  await chain.mintUsdc(address, 100_000_000n)
  return { key, address }
}

/** Another address each time, because the allowance of one address would end a test. */
export function anyAddress(): Record<string, string> {
  const [a, b, c] = crypto.getRandomValues(new Uint8Array(3))
  return { 'x-forwarded-for': `10.${a}.${b}.${c}` }
}

/** Sends a request, and repeats it if the machine is too busy to respond. */
export async function ask(url: string, init: RequestInit = {}): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const headers = { ...anyAddress(), ...(init.headers as Record<string, string>) }
    const response = await fetch(url, { ...init, headers })
    if (response.status !== 503 || tries === 1_000) return response
    const { code } = (await response.clone().json()) as { code: string }
    if (code !== 'unavailable') return response
    await Bun.sleep(20)
  }
}

/** A header that pays the demand of an address in USDC with a stock client. */
export async function payFor(
  url: string,
  buyer: Buyer,
  chain: ReachedPolygon,
  method = 'GET',
): Promise<Record<string, string>> {
  const response = await ask(url, { method })
  if (response.status !== 402) throw new Error(`Nothing is asked for: ${response.status}.`)
  const { paymentRequired } = (await response.json()) as {
    paymentRequired: { accepts: PaymentRequirements[] }
  }
  const wanted = paymentRequired.accepts.find(
    ({ network, extra }) => network === chain.network && extra.name === 'USD Coin',
  )
  if (wanted === undefined) throw new Error('USDC is not accepted.')
  const payload = await signPayment(createStockClient(chain.url, buyer.key, chain.chain), wanted)
  return { 'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64') }
}

/** Sends a request over a separate connection, which the caller may end. */
export function openRequest(
  url: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<Socket> {
  const { host, hostname, port, pathname, search } = new URL(url)
  const lines = Object.entries({ host, ...anyAddress(), ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const { promise, resolve } = Promise.withResolvers<Socket>()
  const socket = connect(Number(port), hostname, () => {
    socket.write(`${method} ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`, () =>
      resolve(socket),
    )
  })
  socket.on('error', () => undefined)
  return promise
}
