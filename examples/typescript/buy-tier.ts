/**
 * Buys a tier with the stock x402 client. Try it with play money first: `bookfeed sandbox`.
 * Usage: KEY=bf_live_… WALLET_KEY=0x… bun buy-tier.ts [tier]
 * Needs @x402/fetch, @x402/evm and viem.
 */
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

type Payment = { status: string; pollUrl: string; settlement?: { transaction: string } }
type Problem = { code: string; detail: string }

const server = process.env.SERVER ?? 'http://127.0.0.1:3000'
const [tierId = 'pro'] = process.argv.slice(2)
const wallet = privateKeyToAccount(`0x${process.env.WALLET_KEY?.replace(/^0x/, '')}`)
// Without this the client refuses to sign more than $1.
const client = new x402Client()
  .register('eip155:137', new ExactEvmScheme(wallet))
  .setSpendControls({ maxAmountPerPayment: '$50' })
const payingFetch = wrapFetchWithPayment(fetch, client)

const headers = { authorization: `Bearer ${process.env.KEY}`, 'content-type': 'application/json' }
const post = (path: string, body: object, send: typeof payingFetch = fetch) =>
  send(server + path, { method: 'POST', headers, body: JSON.stringify(body) })
async function read<T>(response: Response): Promise<T> {
  const body = await response.json()
  if (response.ok) return body as T
  const { code, detail } = body as Problem
  console.error(`${response.status} ${code}: ${detail}`)
  process.exit(1)
}

// An offer that is valid for ten minutes; `payer` matters if it is not the wallet of the account.
const order = { tierId, network: 'eip155:137', token: 'USDC', payer: wallet.address }
const quoted = await post('/v1/billing/x402/quote', order)
const { quoteId } = await read<{ quoteId: string }>(quoted)
// The server answers 402; the client signs what it asks for and sends the request again, paid.
let answer = await post('/v1/billing/x402/settle', { quoteId }, payingFetch)
let payment = await read<Payment>(answer)
// In flight: never sign another. If this program dies here, check GET /v1/billing/payments.
while (payment.status === 'pending') {
  const seconds = Number(answer.headers.get('retry-after') ?? 10)
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  answer = await fetch(new URL(payment.pollUrl, server), { headers })
  // A 429 says when to ask again, and nothing else.
  if (answer.status !== 429) payment = await read<Payment>(answer)
}
console.log(payment.status, payment.settlement?.transaction)
const subscription = await fetch(`${server}/v1/billing/subscription`, { headers })
const { tier } = await read<{ tier: { id: string } }>(subscription)
console.log('tier:', tier.id)
