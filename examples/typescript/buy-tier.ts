/**
 * Buys a tier with the stock x402 client. Try it with play money first: `bookfeed sandbox`.
 * Usage: KEY=bf_live_… WALLET_KEY=0x… bun buy-tier.ts [tier]
 * Run it again if it dies: it pays once. ANOTHER_PERIOD=1 buys one more period of the same tier.
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
// Without this, the client refuses to sign more than $1.
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

type Period = { tierId: string; endsAt: string | null }
type Subscription = { tier: { id: string }; current: Period | null; upcoming: Period[] }
const readSubscription = async () =>
  read<Subscription>(await fetch(`${server}/v1/billing/subscription`, { headers }))

const anotherPeriod = process.env.ANOTHER_PERIOD === '1'
const { current, upcoming } = await readSubscription()
if (!anotherPeriod && [current, ...upcoming].some((period) => period?.tierId === tierId)) {
  console.log('You have this tier. ANOTHER_PERIOD=1 buys one more period.')
  process.exit(0)
}
// The quote is valid for ten minutes; `payer` matters if it is not the wallet of the account.
const network = 'eip155:137'
const order = { tierId, network, token: 'USDC', payer: wallet.address, anotherPeriod }
type Quote = { quoteId: string; paymentInFlight?: { paymentId: string } }
const { quoteId, paymentInFlight } = await read<Quote>(await post('/v1/billing/x402/quote', order))
// The server answers 402; the client signs the payment and repeats the request. While an earlier
// payment may still arrive, nothing is signed, and the answer is about the earlier payment.
if (paymentInFlight) console.log('in flight:', paymentInFlight.paymentId)
const send = paymentInFlight ? fetch : payingFetch
let answer = await post('/v1/billing/x402/settle', { quoteId }, send)
let payment = await read<Payment>(answer)
// In flight: never sign another one. If this program dies here, run it again.
while (payment.status === 'pending') {
  const seconds = Number(answer.headers.get('retry-after') ?? 10)
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  answer = await fetch(new URL(payment.pollUrl, server), { headers })
  // A 429 only says when to ask again.
  if (answer.status !== 429) payment = await read<Payment>(answer)
}
console.log(payment.status, payment.settlement?.transaction)
console.log('tier:', (await readSubscription()).tier.id)
