/**
 * A whole server that sells on a chain of this machine, and customers with keys, wallets and money.
 */
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import type { SoldChain } from '#src/billing/billing.ts'
import { createBilling } from '#src/billing/create-billing.ts'
import { createChainView } from '#src/chain/chain-view.ts'
import { createRpc, type Rpc } from '#src/chain/rpc.ts'
import { createSanctionsOracle } from '#src/chain/sanctions-oracle.ts'
import { createWallets } from '#src/chain/wallets.ts'
import { digestOf } from '#src/domain/selling/api-key.ts'
import type { Facilitator } from '#src/domain/selling/facilitator.ts'
import type { TokenSymbol } from '#src/domain/selling/payment-chain.ts'
import type { PaymentRequirements } from '#src/domain/selling/payment.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createScreener } from '#src/screening/screener.ts'
import { createApp } from '#src/server/app.ts'

import { type Draft, signUsdc, type Wish } from '../chain/signed-payments.ts'
import { readConfig } from './config.ts'
import { fakeHistory } from './fake-history.ts'
import { addKey, loadedExtensions } from './harness.ts'
import { asJson } from './signup-client.ts'
import { createStockClient, signPayment } from './stock-client.ts'
import { systemClock } from './venue/venue.ts'

const SETTLE = '/v1/billing/x402/settle'
const DAY_MS = 86_400_000

/** The clock that wallets and chain go by. */
export const wallClock = systemClock

export type PaidServerOptions = {
  chain: LittlePolygon
  facilitator: Facilitator
  /** The node that the server asks, if it is not that of the chain. */
  rpcUrl?: string
  /** What else is sold on. */
  others?: readonly { chain: LittlePolygon; facilitator: Facilitator }[]
  /** Whether requests may be paid for without a key. */
  isKeyless?: boolean
  history?: MarketHistory
  ledger?: Ledger
  /** After how many blocks a payment counts; by default when it is final. */
  confirmations?: number
}

/** Starts to listen on a free port; all parts but the history are the real ones. */
export async function startPaidServer(options: PaidServerOptions) {
  const { chain, facilitator, rpcUrl = chain.url, others = [], isKeyless = false } = options
  const time = { skewMs: 0 }
  const lines: string[] = []
  const parts = { clock: () => wallClock() + time.skewMs, log: (line: string) => lines.push(line) }
  const ledger = options.ledger ?? openLedger(':memory:', { nowMs: wallClock() })
  const rpc = createRpc({ chain: chain.chain, url: rpcUrl, timeoutMs: 1000 })
  const oracle = createSanctionsOracle(rpc)
  const screener = { ledger, oracle, staleAfterMs: DAY_MS, isListConfigured: false, ...parts }
  const { screen, signup } = createScreener(screener)
  const payTo = chain.payee.address
  let origin = ''
  const createId = () => crypto.randomUUID().replaceAll('-', '')
  const sell = (node: Rpc, relay: Facilitator): SoldChain => ({
    chain: node.chain,
    view: createChainView(node, {
      payTo,
      confirmations: options.confirmations ?? 'final',
      ...parts,
    }),
    facilitator: relay,
  })
  const billing = createBilling({
    ...parts,
    ledger,
    payTo,
    screen,
    createId,
    listTiers: () => ledger.listTiers(),
    chains: [
      sell(rpc, facilitator),
      ...others.map(({ chain: { chain: other, url }, facilitator: relay }) =>
        sell(createRpc({ chain: other, url, timeoutMs: 1000 }), relay),
      ),
    ],
    sleep: async () => {},
    origin: () => origin,
  })
  const app = createApp({
    ...parts,
    ledger,
    billing,
    screen,
    recording: () => undefined,
    signup,
    createId,
    history: options.history ?? fakeHistory(),
    config: readConfig({
      BOOKFEED_LOG: 'off',
      BOOKFEED_KEYLESS: isKeyless ? 'on' : 'off',
      BOOKFEED_TRUSTED_PROXIES: '127.0.0.1',
    }),
    extensions: loadedExtensions,
    timer: () => performance.now(),
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    wallets: createWallets(undefined),
    origin: () => origin,
    version: '0.0.0-test',
  })
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
  origin = server.url.origin
  await billing.refresh()
  return {
    origin,
    chain,
    ledger,
    billing,
    lines,
    /** Moves the clock of the server alone. */
    time,
    stop: async () => {
      await server.stop(true)
      ledger.dispose()
    },
  }
}

export type PaidServer = Awaited<ReturnType<typeof startPaidServer>>

export type Answer = { status: number; headers: Headers; body: Record<string, unknown> }
export type QuoteAnswer = {
  quoteId: string
  paymentRequirements: PaymentRequirements
  paymentRequired: unknown
}
/** A payment of x402 v2 as it goes over the wire. */
export type Payload = {
  x402Version: number
  accepted: PaymentRequirements
  payload: Record<string, unknown>
}

/**
 * An account without a subscription, signed up with a wallet that has
 * 100 USDC and 100 USDT on a chain.
 */
export async function addCustomer(
  server: Pick<PaidServer, 'ledger' | 'origin' | 'chain'>,
  {
    funds = 100_000_000n,
    secret = generatePrivateKey(),
    isLinked = true,
    on: chain = server.chain,
  } = {},
) {
  const { ledger, origin } = server
  const wallet = { key: secret, address: privateKeyToAccount(secret).address }
  const key = addKey(ledger, undefined, isLinked ? wallet.address.toLowerCase() : undefined)
  const accountId = ledger.findKeyByDigest(digestOf(key))?.accountId ?? ''
  if (funds > 0n) await chain.mintUsdc(wallet.address, funds)
  if (funds > 0n) await chain.mintUsdt(wallet.address, funds)
  const client = createStockClient(chain.url, secret, chain.chain)
  const headers = { authorization: `Bearer ${key}` }
  const read = async (response: Response): Promise<Answer> => ({
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  })
  const get = async (path: string) => read(await fetch(origin + path, { headers }))
  const post = async (path: string, body: unknown, extra = {}) =>
    read(await fetch(origin + path, asJson(body, { ...headers, ...extra })))
  return {
    key,
    accountId,
    wallet,
    client,
    headers,
    get,
    async quote(
      tierId = 'starter',
      token: TokenSymbol = 'USDC',
      payer?: string,
      anotherPeriod?: boolean,
    ): Promise<QuoteAnswer> {
      const wish = { tierId, network: chain.network, token, payer, anotherPeriod }
      const { status, body } = await post('/v1/billing/x402/quote', wish)
      if (status !== 200) throw new Error(`No offer: ${JSON.stringify(body)}`)
      return body as QuoteAnswer
    },
    /** Signs with the stock client. */
    sign: async ({ paymentRequirements }: QuoteAnswer): Promise<Payload> =>
      (await signPayment(client, paymentRequirements)) as Payload,
    settle: (paymentPayload: unknown) => post(SETTLE, { paymentPayload }),
    /** Asks what a quote has to be paid with. */
    challenge: (quoteId: string) => post(SETTLE, { quoteId }),
    /** Identifier of the tier that the key has now. */
    tier: async () => ((await get('/v1/usage')).body.tier as { id: string }).id,
  }
}

export type Customer = Awaited<ReturnType<typeof addCustomer>>

/** Signs a payment in USDC whose members are other than a stock client would make them. */
export async function signAs(
  { chain }: Pick<PaidServer, 'chain'>,
  { quote, key }: { quote: QuoteAnswer; key: `0x${string}` },
  wish: Wish = {},
): Promise<Payload> {
  const { amount } = quote.paymentRequirements
  const payer = privateKeyToAccount(key).address.toLowerCase()
  const validBefore = BigInt(Math.floor(wallClock() / 1000) + 600)
  const draft = await signUsdc(chain, { payer, amount: BigInt(amount), validBefore, ...wish }, key)
  return { x402Version: 2, accepted: quote.paymentRequirements, payload: toAuthorization(draft) }
}

/** What a signed payment in USDC is over the wire. */
export const toAuthorization = ({ signed, signature }: Draft) => ({
  signature,
  authorization: {
    from: signed.payer,
    to: signed.payTo,
    value: String(signed.amount),
    validAfter: String(signed.validAfter),
    validBefore: String(signed.validBefore),
    nonce: signed.nonce,
  },
})

/** What matters of an answer: the status, and what a payer's program goes by. */
export const outcomeOf = ({ status, body }: Answer) => {
  const { code = body.status, reason, retryAction } = body
  return [status, code, reason, retryAction].filter((value) => value !== undefined)
}

/** What a payment must not change, or must: money on the chain, and what was given for it. */
export async function stateOf(
  { chain, ledger }: { chain: LittlePolygon; ledger: Ledger },
  { wallet, accountId }: Pick<Customer, 'wallet' | 'accountId'>,
  token: TokenSymbol = 'USDC',
) {
  const [payer, payee] = await Promise.all([
    chain.balanceOf(token, wallet.address),
    chain.balanceOf(token, chain.payee.address),
  ])
  return { payer, payee, periods: ledger.listSubscriptions(accountId).length }
}
