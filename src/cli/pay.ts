import { Command, Option } from 'commander'

import {
  createPayer,
  encodePermit2Approval,
  isPrivateKey,
  type Payer,
  readPermit2Allowance,
} from '#src/chain/payer.ts'
import { createRpc } from '#src/chain/rpc.ts'
import { createWallets } from '#src/chain/wallets.ts'
import { formatMillionths, type Millionths } from '#src/core/decimal.ts'
import { readSecretFile } from '#src/lib/secret-file.ts'
import { readPrice } from '#src/operator/values.ts'
import {
  findChain,
  homeChain,
  type PaymentChain,
  paymentChains,
  type PaymentToken,
  tokenSymbols,
} from '#src/selling/payment-chain.ts'
import type { SignIn } from '#src/selling/wallet.ts'

import { asOption, optionWith } from './command-line.ts'
import { type CliContext, CliError, usageError } from './context.ts'
import {
  createPayServer,
  type PayServer,
  type PayWorld,
  type Quote,
  readQuote,
  settle,
  toText,
} from './pay-server.ts'

const NONCE_BYTES = 32
const MILLION = 1_000_000n

const help = `
Asks the server for a quote, shows what would be signed, and stops there. With --yes it signs, has the
payment settled, waits until it counts and prints the receipt. Your wallet needs the token, and no coin for gas. The
key file holds 0x and 64 hex digits and must be yours alone (chmod 600); the key never leaves this process.

Without --api-key-file the wallet signs up by a message first, and the new API key is printed alone on
standard output: keep it, the subscription belongs to its account. A key that this wallet already has, and
never paid with, ends then: give it by --api-key-file instead.

USDT is paid through Permit2, which has to be approved once; the command says how when it is missing.
--rpc lets it look before anything is signed.

Examples:
  bookfeed pay --server https://books.example.com --key-file wallet.key --tier pro --token USDC
  bookfeed pay … --api-key-file bookfeed.key --yes

Exit code: 0 when the tier is paid or, without --yes, when the quote was shown; 1 when it is not paid, or
not known to be: what to do then is said.`

export type PayFlags = {
  server: URL
  keyFile: string
  tier: string
  token: string
  network: string
  apiKeyFile?: string | undefined
  max: Millionths
  rpc?: string | undefined
  yes?: true | undefined
}

const realWorld: PayWorld = { fetch: (url, init) => fetch(url, init), sleep: Bun.sleep }

export const payCommand = (context: CliContext): Command =>
  new Command('pay')
    .description('buy a tier of a server with a wallet in a key file')
    .requiredOption('--server <url>', 'where the server is', parseServer)
    .requiredOption('--key-file <path>', 'file with the private key of the wallet that pays')
    .requiredOption('--tier <id>', 'tier to buy')
    .addOption(
      new Option('--token <symbol>', 'what to pay with').choices(tokenSymbols).default('USDC'),
    )
    .addOption(
      new Option('--network <caip2>', 'chain to pay on')
        .choices(paymentChains.map(({ network }) => network))
        .default(homeChain.network),
    )
    .option('--api-key-file <path>', 'file with the API key of the account that the tier is for')
    .addOption(optionWith(['--max <usd>', 'never sign more than this'], asOption(readPrice), '100'))
    .option('--rpc <url>', 'JSON-RPC of a node of the chain, to look at the allowance of Permit2')
    .option('--yes', 'sign and pay')
    .addHelpText('after', help)
    .action((flags: PayFlags) => pay(context, flags, realWorld))

type Buyer = { server: PayServer; payer: Payer; flags: PayFlags }
type Deal = { quote: Quote; chain: PaymentChain; token: PaymentToken }

export async function pay(context: CliContext, flags: PayFlags, world: PayWorld): Promise<void> {
  const server = createPayServer(flags.server, world.fetch)
  const payer = await openWallet(flags.keyFile)
  context.printError(`wallet   ${payer.address}`)
  const buyer = { server, payer, flags }
  const key = await findKey(context, buyer)
  const deal = await askQuote(buyer, key)
  for (const line of describe(deal, flags)) context.printError(line)
  await checkAllowance(deal, buyer)
  if (!flags.yes) {
    context.printError('Nothing was signed. Add --yes to pay.')
    return
  }
  const { quote, chain, token } = deal
  const { requirements } = quote
  const nonce = context.randomBytes(NONCE_BYTES)
  const terms = { chain, token, requirements, nowMs: context.clock(), nonce }
  const payload = await payer.signPayment(terms)
  const resource = { url: new URL('/v1/billing/x402/settle', server.url).href }
  const signed = { x402Version: 2, resource, accepted: requirements, payload } as const
  await settle(context, { server, key, signed, sleep: world.sleep })
}

async function openWallet(path: string): Promise<Payer> {
  const secret = readSecretFile(path, `--key-file: ${path}`)
  if (isPrivateKey(secret)) return await createPayer(secret)
  throw new CliError(`--key-file: ${path} does not hold a private key: 0x and 64 hex digits.`)
}

async function findKey(context: CliContext, buyer: Buyer): Promise<string> {
  const { apiKeyFile } = buyer.flags
  if (apiKeyFile) return readSecretFile(apiKeyFile, `--api-key-file: ${apiKeyFile}`)
  const key = await signUp(buyer, context.mint())
  context.printError('signed up with the wallet; the API key, shown once:')
  context.print(key)
  return key
}

/** Signs up and returns the key. `once` makes it safe to ask again. */
async function signUp({ server, payer }: Buyer, once: string): Promise<string> {
  const asked = { body: { address: payer.address } }
  const challenge = await server.expect(200, '/v1/keys/challenge', asked)
  // As it came: it has line breaks.
  const message = String(challenge.message ?? '')
  await assertOurs(message, server, payer)
  const signature = await payer.signMessage(message)
  const body = { message, signature, label: 'bookfeed pay' }
  const headers = { 'idempotency-key': once }
  return toText((await server.expect(201, '/v1/keys', { body, headers })).key)
}

/** A server could pass on the message of another one, and sign in there in our name. */
async function assertOurs(message: string, { url }: PayServer, payer: Payer): Promise<void> {
  const wallets = createWallets(undefined)
  const read = await wallets.readSignIn(message)
  const isOurs = read.domain === url.host && read.address === payer.address
  if (isOurs && isWhole(read) && (await wallets.writeSignIn(read)) === message) return
  throw new CliError(
    `The server wants a message signed that is not for ${url.host} and this wallet. Nothing was signed.`,
  )
}

const isWhole = (read: Partial<SignIn>): read is SignIn =>
  (['statement', 'uri', 'chainId', 'nonce', 'issuedMs', 'expiresMs'] as const).every(
    (name) => read[name] !== undefined,
  )

async function askQuote({ server, payer, flags }: Buyer, key: string): Promise<Deal> {
  const { tier, token: symbol, network, max, apiKeyFile } = flags
  // Who signed up with the wallet is known by it; another account has to name who pays.
  const guest = apiKeyFile === undefined ? {} : { payer: payer.address }
  const body = { tierId: tier, network, token: symbol, ...guest }
  const quote = readQuote(await server.expect(200, '/v1/billing/x402/quote', { key, body }))
  const { network: quoted, asset, amount } = quote.requirements
  const chain = findChain(network)
  const token = chain?.tokens.find((each) => each.symbol === symbol)
  if (!chain || quoted !== network || token?.address.toLowerCase() !== asset.toLowerCase()) {
    const place = chain?.name ?? network
    throw new CliError(`The server quotes another token than ${symbol} on ${place}: ${asset}.`)
  }
  // Millionths of a dollar, in units of the token.
  if (BigInt(amount) * MILLION > BigInt(max) * 10n ** BigInt(token.decimals)) {
    const [price, limit] = [formatAmount(amount, token), formatMillionths(max)]
    throw new CliError(`The server asks for ${price} ${symbol}, more than --max ${limit}.`)
  }
  return { quote, chain, token }
}

const formatAmount = (atomic: string, { decimals }: PaymentToken): string => {
  const text = atomic.padStart(decimals + 1, '0')
  return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`
}

function describe({ quote, chain, token }: Deal, flags: PayFlags): string[] {
  const { quoteId, expiresAt, requirements } = quote
  const amount = formatAmount(requirements.amount, token)
  const what =
    token.method === 'permit2'
      ? `PermitWitnessTransferFrom of Permit2 ${chain.permit2}, spender ${chain.permit2Proxy}`
      : `TransferWithAuthorization of ${token.address}`
  return [
    `buys     ${flags.tier} from ${flags.server.origin}, ${quoteId}, until ${expiresAt}`,
    `pays     ${amount} ${token.symbol} on ${chain.name} (${token.address})`,
    `to       ${requirements.payTo}`,
    `signs    ${what}`,
  ]
}

/** Only if a node was named; otherwise the server says what is missing, before anything moves. */
async function checkAllowance(deal: Deal, { payer, flags }: Buyer): Promise<void> {
  const { quote, chain, token } = deal
  if (token.method !== 'permit2' || flags.rpc === undefined) return
  const rpc = createRpc({ chain, url: flags.rpc })
  const allowance = await readPermit2Allowance(rpc, { chain, token, owner: payer.address })
  if (allowance >= BigInt(quote.requirements.amount)) return
  throw new CliError(
    `Permit2 may not take ${token.symbol} from ${payer.address} yet. Send one transaction from this wallet, which needs a little ${chain.gasSymbol}: to ${token.address}, data ${await encodePermit2Approval(chain)}. With cast: cast send ${token.address} 'approve(address,uint256)' ${chain.permit2} ${2n ** 256n - 1n}`,
  )
}

function parseServer(text: string): URL {
  const url = URL.parse(text)
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url?.hostname ?? '')
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return url
  throw usageError('--server must be an https URL; http is for servers of this machine.')
}
