/** A complete selling server on a local chain, and customers with keys, wallets and money. */
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { UNCHECKED } from '#src/billing/availability.ts'
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
import { loadedExtensions, makeKey } from './harness.ts'
import { asJson } from './signup-client.ts'
import { createStockClient, signPayment } from './stock-client.ts'
import { systemClock } from './venue/venue.ts'

const SETTLE = '/v1/billing/x402/settle'
const QUOTE_PAUSE_MS = 100
const DAY_MS = 86_400_000

/** The clock of wallets and chain. */
export const wallClock = systemClock

export type PaidServerOptions = {
  chain: LittlePolygon
  facilitator: Facilitator
  /** The node of the server, if it is not that of the chain. */
  rpcUrl?: string
  /** Additional chains to sell on. */
  others?: readonly { chain: LittlePolygon; facilitator: Facilitator }[]
  /** True if requests can be bought without a key. */
  isKeyless?: boolean
  history?: MarketHistory
  ledger?: Ledger
  /** Blocks after which a payment counts; by default it must be final. */
  confirmations?: number
}

/** Listens on a free port; all parts except the history are real. */
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
    version: '0.0.0-test',
    first: {
      billing,
      screen,
      signup,
      recording: () => undefined,
      wallets: createWallets(undefined),
      origin: () => origin,
    },
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
    /** Moves only the clock of the server. */
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
/** An x402 v2 payment in its wire format. */
export type Payload = {
  x402Version: number
  accepted: PaymentRequirements
  payload: Record<string, unknown>
}

/**
 * An account without a subscription, signed up with a wallet that has 100 USDC and 100 USDT on a
 * chain.
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
  const address = isLinked ? wallet.address.toLowerCase() : undefined
  const key = await makeKey(ledger, undefined, address)
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
      let { status, body } = await post('/v1/billing/x402/quote', wish)
      // A server that has just started may still be checking its tokens.
      while (String(body.detail).includes(UNCHECKED)) {
        await Bun.sleep(QUOTE_PAUSE_MS)
        ;({ status, body } = await post('/v1/billing/x402/quote', wish))
      }
      if (status !== 200) throw new Error(`No offer: ${JSON.stringify(body)}`)
      return body as QuoteAnswer
    },
    /** Signs with the stock client. */
    sign: async ({ paymentRequirements }: QuoteAnswer): Promise<Payload> =>
      (await signPayment(client, paymentRequirements)) as Payload,
    settle: (paymentPayload: unknown) => post(SETTLE, { paymentPayload }),
    /** Requests the challenge of a quote. */
    challenge: (quoteId: string) => post(SETTLE, { quoteId }),
    /** Id of the key's current tier. */
    tier: async () => ((await get('/v1/usage')).body.tier as { id: string }).id,
  }
}

export type Customer = Awaited<ReturnType<typeof addCustomer>>

/** Signs a payment in USDC whose members differ from a stock client's. */
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

/** A signed payment in USDC in its wire format. */
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

/** The parts of a response that a payer's program depends on, including the status. */
export const outcomeOf = ({ status, body }: Answer) => {
  const { code = body.status, reason, retryAction } = body
  return [status, code, reason, retryAction].filter((value) => value !== undefined)
}

/** The state that a payment may change: money on the chain, and the purchases for it. */
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
