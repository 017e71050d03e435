/** The program that a sandbox writes for its user: a purchase as a customer would make it. */

export type Purchase = {
  /** Origin of the server. */
  origin: string
  apiKey: string
  privateKey: string
}

/** A route that the Pro tier includes and the Free tier does not. */
const PRO_ROUTE = '/v1/sol/markets?limit=1'

/** After the first lines, the program is that of a real customer. */
export const renderBuyScript = ({ origin, apiKey, privateKey }: Purchase): string => `\
// Buys a month of Pro with the stock x402 client, and reads what only Pro may read.
// The wallet is a throw-away one of a chain on this machine: its money is play money.
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { privateKeyToAccount } from 'viem/accounts'

const server = ${JSON.stringify(origin)}
const key = ${JSON.stringify(apiKey)}
const wallet = privateKeyToAccount(${JSON.stringify(privateKey)})

// Without this the client refuses to sign more than $1.
const client = new x402Client()
  .register('eip155:137', new ExactEvmScheme(wallet))
  .setSpendControls({ maxAmountPerPayment: '$50' })
const payingFetch = wrapFetchWithPayment(fetch, client)

const headers = { authorization: \`Bearer \${key}\`, 'content-type': 'application/json' }
const post = (path, body, send = fetch) =>
  send(server + path, { method: 'POST', headers, body: JSON.stringify(body) })
const say = (...words) => process.stdout.write(words.join(' ') + '\\n')
const readPro = () => fetch(server + ${JSON.stringify(PRO_ROUTE)}, { headers })
const take = async (response) => {
  const body = await response.json()
  if (!response.ok) throw new Error(\`\${response.status} \${body.code}: \${body.detail}\`)
  return body
}

const before = await readPro()
say('before:', before.status, (await before.json()).code)

// A quote is a price that is yours for ten minutes.
const order = { tierId: 'pro', network: 'eip155:137', token: 'USDC' }
const quote = await take(await post('/v1/billing/x402/quote', order))
say('quote: ', quote.quoteId, quote.paymentRequirements.amount, 'atomic units of USDC')
const { paymentInFlight: other } = quote
if (other) say('found: ', other.paymentId, other.paymentState, '(nothing is signed beside it)')

// The server answers 402; the client signs what it asks for and sends the request again, paid. Run
// again while a payment is in flight, or just after it was made, nothing is signed: the answer is
// that of the payment. "anotherPeriod": true in the order buys a second period.
const request = { quoteId: quote.quoteId }
let answer = await take(await post('/v1/billing/x402/settle', request, other ? fetch : payingFetch))
// Six looks a minute: the Free tier has ten requests of billing.
for (let tries = 0; answer.status === 'pending' && tries < 60; tries++) {
  await Bun.sleep(10_000)
  answer = await take(await fetch(new URL(answer.pollUrl, server), { headers }))
}
say('settle:', answer.status, answer.settlement?.transaction)

const after = await readPro()
const { tier, current, upcoming } = await take(await fetch(server + '/v1/billing/subscription', { headers }))
say('after: ', after.status, tier.name, 'until', (upcoming.at(-1) ?? current)?.endsAt)
process.exit(after.status === 200 ? 0 : 1)
`

/** The same for a wallet without an account. */
export const renderKeylessScript = ({
  origin,
  privateKey,
}: Pick<Purchase, 'origin' | 'privateKey'>): string => `\
// Buys a pack, reads with its key, and pays for one request, with the stock x402 client.
// The wallet is a throw-away one of a chain on this machine: its money is play money.
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { privateKeyToAccount } from 'viem/accounts'

const server = ${JSON.stringify(origin)}
const wallet = privateKeyToAccount(${JSON.stringify(privateKey)})
const client = new x402Client().register('eip155:137', new ExactEvmScheme(wallet))
const payingFetch = wrapFetchWithPayment(fetch, client)
const say = (...words) => process.stdout.write(words.join(' ') + '\\n')

const markets = server + '/v1/btc/markets?limit=1'
say('before: ', (await fetch(markets)).status)

const buy = server + '/v1/billing/packs/pack-1000'
const post = (url, value) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  })
let answer = await payingFetch(buy, { method: 'POST' })
// A payment that is not final yet is asked for with its claim, and not paid again.
while (answer.status === 202) {
  const { claim } = await answer.json()
  await Bun.sleep(10_000)
  answer = await post(buy, { claim })
}
const bought = await answer.json()
say('pack:   ', answer.status, bought.product?.name, bought.key ? 'with a key' : 'without a key')

// A wallet that has an account already, also when this runs again, signs for a key.
const signUp = async () => {
  const asked = await post(server + '/v1/keys/challenge', { address: wallet.address })
  const { message } = await asked.json()
  const signature = await wallet.signMessage({ message })
  const { key } = await (await post(server + '/v1/keys', { message, signature })).json()
  say('key:     for one signature')
  return key
}
const key = bought.key ?? (await signUp())
const headers = { authorization: \`Bearer \${key}\` }
const read = await fetch(server + '/v1/sol/markets?limit=1', { headers })
const usage = await (await fetch(server + '/v1/usage', { headers })).json()
say('read:   ', read.status, 'used', usage.packs?.[0]?.used, 'of', usage.packs?.[0]?.requests)

// One request needs no key at all.
const paid = await payingFetch(markets)
say('request:', paid.status, paid.headers.get('payment-response') ? 'paid' : 'not paid')
process.exit(read.status === 200 && paid.status === 200 ? 0 : 1)
`
