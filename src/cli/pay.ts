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
import { formatMillionths, type Millionths } from '#src/domain/decimal.ts'
import {
  findChain,
  homeChain,
  type PaymentChain,
  paymentChains,
  type PaymentToken,
  tokenSymbols,
} from '#src/domain/selling/payment-chain.ts'
import type { SignIn } from '#src/domain/selling/wallet.ts'
import { readPrice } from '#src/operator/values.ts'
import { readSecretFile } from '#src/platform/secret-file.ts'

import { commandError, usageError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { asOption, optionWith } from './command-line.ts'
import {
  createPayServer,
  describeFault,
  follow,
  type PayServer,
  type PayWorld,
  type Quote,
  readPeriodEnd,
  readQuote,
  readTier,
  readToken,
  settle,
  toText,
} from './pay-server.ts'

const NONCE_BYTES = 32
const MILLION = 1_000_000n

const help = `
Shows the purchase and stops: without --yes, nothing is signed, requested or changed. With --yes, the command
requests a quote, signs it, has the payment settled, waits until it counts, and prints the receipt. Your wallet
needs the token, and no coin for gas. The key file contains 0x and 64 hex digits, and only you may have access to it
(chmod 600); the key never leaves this process.

Without --api-key-file, the wallet signs up with a message first, and the new API key is printed alone on
standard output. Keep it: the subscription belongs to its account. If the wallet already has a key, the command
stops; pass that key with --api-key-file. --replace-key makes a new key nevertheless; the old key of an account
that has never paid then ends.

If a payment for the same tier and token is in flight, or was made within the last hour, the command signs
nothing and waits for that payment. If the account has the tier, the command signs nothing either.
--another-period buys one more period in both cases.

USDT is paid through Permit2, which you must approve once; if the approval is missing, the command prints how
to give it. With --rpc, the command checks the approval before it signs anything.

Examples:
  bookfeed pay --server https://books.example.com --key-file wallet.key --tier pro --token USDC
  bookfeed pay … --api-key-file bookfeed.key --yes

Exit code: 0 if the tier is paid or, without --yes, if it could be; 1 if it is not paid, or if the outcome is
unknown (the command prints what to do).`

export type PayFlags = {
  server: URL
  keyFile: string
  tier: string
  token: string
  network: string
  apiKeyFile?: string | undefined
  max: Millionths
  rpc?: string | undefined
  replaceKey?: true | undefined
  anotherPeriod?: true | undefined
  yes?: true | undefined
}

const realWorld: PayWorld = { fetch: (url, init) => fetch(url, init), sleep: Bun.sleep }

export const payCommand = (context: CliContext): Command =>
  new Command('pay')
    .description('buy a tier of a server with a wallet in a key file')
    .requiredOption('--server <url>', 'address of the server', parseServer)
    .requiredOption('--key-file <path>', 'file with the private key of the wallet that pays')
    .requiredOption('--tier <id>', 'tier to buy')
    .addOption(
      new Option('--token <symbol>', 'token to pay with').choices(tokenSymbols).default('USDC'),
    )
    .addOption(
      new Option('--network <caip2>', 'chain to pay on')
        .choices(paymentChains.map(({ network }) => network))
        .default(homeChain.network),
    )
    .option('--api-key-file <path>', 'file with the API key of the account that the tier is for')
    .addOption(optionWith(['--max <usd>', 'largest amount to sign'], asOption(readPrice), '100'))
    .option('--rpc <url>', 'JSON-RPC node of the chain, to check the allowance of Permit2')
    .option('--replace-key', 'make a new API key even if the wallet has one')
    .option('--another-period', 'buy one more period of a tier that you have or are paying for')
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
  if (!flags.yes) {
    for (const line of await describeOffer(buyer)) context.printError(line)
    context.printError('Nothing was signed, and nothing was changed. Add --yes to pay.')
    return
  }
  const key = await findKey(context, buyer)
  const held = flags.anotherPeriod ? undefined : await findPeriod(buyer, key)
  if (held !== undefined) {
    context.printError(
      `The account has the tier ${flags.tier} until ${held}. Nothing was signed. --another-period buys one more period.`,
    )
    return
  }
  const deal = await askQuote(buyer, key)
  const { quote, chain, token } = deal
  const { sleep } = world
  await checkAllowance(deal, buyer)
  if (quote.inFlight !== undefined) {
    const { paymentId, paymentState } = quote.inFlight
    context.printError(`found    ${paymentId}, ${paymentState}: nothing else is signed`)
    await follow(context, { server, key, sleep, quote })
    return
  }
  for (const line of describe(deal, flags)) context.printError(line)
  const { requirements } = quote
  const nonce = context.randomBytes(NONCE_BYTES)
  const terms = { chain, token, requirements, nowMs: context.clock(), nonce }
  const payload = await payer.signPayment(terms)
  const resource = { url: new URL('/v1/billing/x402/settle', server.url).href }
  const signed = { x402Version: 2, resource, accepted: requirements, payload } as const
  await settle(context, { server, key, sleep, body: { paymentPayload: signed } })
}

async function openWallet(path: string): Promise<Payer> {
  const secret = readSecretFile(path, `--key-file: ${path}`)
  if (isPrivateKey(secret)) return await createPayer(secret)
  throw commandError(`--key-file: ${path} does not hold a private key: 0x and 64 hex digits.`)
}

/** Describes the purchase from the catalogue, whose routes need no key. */
async function describeOffer({ server, flags }: Buyer): Promise<string[]> {
  const { tier: id, token: symbol, network, max, apiKeyFile, server: url } = flags
  const tier = readTier(await server.expectList('/v1/billing/tiers'), id)
  const sold = readToken(await server.expectList('/v1/billing/x402/chains'), { network, symbol })
  const { chain, token } = findToken(network, symbol)
  if (sold !== undefined) throw commandError(`${symbol} on ${chain.name}: ${sold}`)
  if (tier.price > max) {
    throw commandError(
      `The price is ${formatMillionths(tier.price)} ${symbol}, more than --max ${formatMillionths(max)}.`,
    )
  }
  return [
    `buys     ${id} for ${tier.periodDays} days from ${url.origin}`,
    `pays     ${formatMillionths(tier.price)} ${symbol} on ${chain.name} (${token.address})`,
    'to       the address of the quote, which --yes requests',
    `signs    ${describeSignature(chain, token)}`,
    apiKeyFile === undefined
      ? 'account  of this wallet: --yes signs up, and prints the API key'
      : `account  of the API key in ${apiKeyFile}`,
  ]
}

/** The end of the account's last period of the tier; undefined if it has none. */
async function findPeriod({ server, flags }: Buyer, key: string): Promise<string | undefined> {
  const body = await server.expect(200, '/v1/billing/subscription', { key })
  return readPeriodEnd(body, flags.tier)
}

async function findKey(context: CliContext, buyer: Buyer): Promise<string> {
  const { apiKeyFile } = buyer.flags
  if (apiKeyFile) return readSecretFile(apiKeyFile, `--api-key-file: ${apiKeyFile}`)
  // A key is created only if the product is available.
  await describeOffer(buyer)
  const key = await signUp(buyer, context.createId())
  context.printError('signed up with the wallet; the API key, shown once:')
  context.print(key)
  return key
}

/** Signs up and returns the key. `once` makes a retry safe. */
async function signUp({ server, payer, flags }: Buyer, once: string): Promise<string> {
  const asked = { body: { address: payer.address } }
  const challenge = await server.expect(200, '/v1/keys/challenge', asked)
  // Unchanged: the message contains line breaks.
  const message = String(challenge.message ?? '')
  await assertOurs(message, server, payer)
  const signature = await payer.signMessage(message)
  const keepKeys = flags.replaceKey === undefined
  const body = { message, signature, label: 'bookfeed pay', keepKeys }
  const headers = { 'idempotency-key': once }
  const answer = await server.ask('/v1/keys', { body, headers })
  if (answer.status === 409 && answer.body.code === 'key_limit') {
    throw commandError(
      `${describeFault(answer)} Pass the key of this wallet with --api-key-file. If it is lost, add --replace-key: the old key of an account that has never paid ends then. Nothing was paid, and no key was changed.`,
    )
  }
  if (answer.status !== 201) throw commandError(describeFault(answer))
  return toText(answer.body.key)
}

/** Refuses the message of another server, which could be used to sign in there in our name. */
async function assertOurs(message: string, { url }: PayServer, payer: Payer): Promise<void> {
  const wallets = createWallets(undefined)
  const read = await wallets.readSignIn(message)
  const isOurs = read.domain === url.host && read.address === payer.address
  if (isOurs && isWhole(read) && (await wallets.writeSignIn(read)) === message) return
  throw commandError(
    `The sign-in message of the server is not for ${url.host} and this wallet. Nothing was signed.`,
  )
}

const isWhole = (read: Partial<SignIn>): read is SignIn =>
  (['statement', 'uri', 'chainId', 'nonce', 'issuedMs', 'expiresMs'] as const).every(
    (name) => read[name] !== undefined,
  )

async function askQuote({ server, payer, flags }: Buyer, key: string): Promise<Deal> {
  const { tier, token: symbol, network, max, apiKeyFile, anotherPeriod } = flags
  const body = {
    tierId: tier,
    network,
    token: symbol,
    // The wallet that signed up belongs to the account; another account must name its payer.
    payer: apiKeyFile === undefined ? undefined : payer.address,
    anotherPeriod,
  }
  const quote = readQuote(await server.expect(200, '/v1/billing/x402/quote', { key, body }))
  const { network: quoted, asset, amount } = quote.requirements
  const { chain, token } = findToken(network, symbol)
  if (quoted !== network || token.address.toLowerCase() !== asset.toLowerCase()) {
    throw commandError(`The server quotes another token than ${symbol} on ${chain.name}: ${asset}.`)
  }
  // Millionths of a dollar, in units of the token.
  if (BigInt(amount) * MILLION > BigInt(max) * 10n ** BigInt(token.decimals)) {
    const price = formatAmount(amount, token)
    const limit = formatMillionths(max)
    throw commandError(`The price is ${price} ${symbol}, more than --max ${limit}.`)
  }
  return { quote, chain, token }
}

/** Finds a token in our own table, whatever a server states. Throws a `command` fault. */
function findToken(network: string, symbol: string): { chain: PaymentChain; token: PaymentToken } {
  const chain = findChain(network)
  const token = chain?.tokens.find((each) => each.symbol === symbol)
  if (chain && token) return { chain, token }
  throw commandError(`You cannot pay with ${symbol} on ${chain?.name ?? network}.`)
}

const describeSignature = (chain: PaymentChain, token: PaymentToken): string =>
  token.method === 'permit2'
    ? `PermitWitnessTransferFrom of Permit2 ${chain.permit2}, spender ${chain.permit2Proxy}`
    : `TransferWithAuthorization of ${token.address}`

const formatAmount = (atomic: string, { decimals }: PaymentToken): string => {
  const text = atomic.padStart(decimals + 1, '0')
  return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`
}

function describe({ quote, chain, token }: Deal, flags: PayFlags): string[] {
  const { quoteId, expiresAt, requirements } = quote
  const amount = formatAmount(requirements.amount, token)
  return [
    `buys     ${flags.tier} from ${flags.server.origin}, ${quoteId}, until ${expiresAt}`,
    `pays     ${amount} ${token.symbol} on ${chain.name} (${token.address})`,
    `to       ${requirements.payTo}`,
    `signs    ${describeSignature(chain, token)}`,
  ]
}

/**
 * Checks the allowance only if a node was named; otherwise the server reports a missing one before
 * anything moves.
 */
async function checkAllowance(deal: Deal, { payer, flags }: Buyer): Promise<void> {
  const { quote, chain, token } = deal
  if (token.method !== 'permit2' || flags.rpc === undefined) return
  const rpc = createRpc({ chain, url: flags.rpc })
  const allowance = await readPermit2Allowance(rpc, { chain, token, owner: payer.address })
  if (allowance >= BigInt(quote.requirements.amount)) return
  throw commandError(
    `Permit2 has no approval to transfer ${token.symbol} from ${payer.address}. Send one transaction from this wallet, which needs a little ${chain.gasSymbol}: to ${token.address}, data ${await encodePermit2Approval(chain)}. With cast: cast send ${token.address} 'approve(address,uint256)' ${chain.permit2} ${2n ** 256n - 1n}`,
  )
}

function parseServer(text: string): URL {
  const url = URL.parse(text)
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url?.hostname ?? '')
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return url
  throw usageError('--server must be an https URL; http is only for servers on this machine.')
}
