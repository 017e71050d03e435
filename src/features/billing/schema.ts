import { type Static, Type } from '@sinclair/typebox'

import { exampleOffer } from '#src/domain/error-examples.ts'
import { retryActions } from '#src/domain/errors.ts'
import { coins } from '#src/domain/market.ts'
import { tokenSymbols } from '#src/domain/selling/payment-chain.ts'
import { paymentStates } from '#src/domain/selling/payment.ts'
import { tierRoutes } from '#src/domain/selling/tier.ts'
import {
  choice,
  count,
  listOf,
  nullable,
  object,
  positive,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { literals, opaqueObject } from '#src/http/schema-reader.ts'
import { PAYMENT_BYTES_MAX, PaymentRequired, PaymentRequirements } from '#src/http/x402.ts'

const EXAMPLE_HASH = `0x${'5e'.repeat(32)}`
const payer = text(
  'Address that paid, in lower case.',
  '0x52908400098527886e0f7030069857d2e4169ee7',
)
const network = text('CAIP-2 identifier of the chain.', 'eip155:137')
const symbol = choice(tokenSymbols, 'Symbol of the token.')
const tierId = text('Identifier of the tier.', 'pro')
const boundedText = (maxLength: number, description: string, example: string) =>
  Type.String({ minLength: 1, maxLength, description, examples: [example] })
const quoteId = boundedText(
  100,
  '`quoteId` of POST /v1/billing/x402/quote.',
  'quote_4c1f7d2b9a0e4f55',
)
export const paymentId = text('Name of the payment.', 'pay_9b2e6f0c1d3a4875')
const transaction = text('Hash of the transaction.', EXAMPLE_HASH)
const explorerUrl = text(
  'A page for people about the transaction.',
  `https://polygonscan.com/tx/${EXAMPLE_HASH}`,
)
const amount = Type.String({
  pattern: '^[0-9]+$',
  description: 'What was paid, in atomic units of the token.',
  examples: ['48999863'],
})
const amountUsd = text('The same as a decimal, in units of the token.', '48.999863')

const tokenFacts = {
  symbol,
  name: text('What the token calls itself.', 'USD Coin'),
  address: text(
    'Contract of the token, checksummed.',
    '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  ),
  decimals: Type.Integer({ minimum: 0, maximum: 36, examples: [6] }),
  transferMethod: choice(
    ['eip3009', 'permit2'],
    'How a signed payment moves the token: by itself (EIP-3009), or by Permit2, which must be approved once.',
  ),
  eip712Domain: nullable(
    Type.Object({
      name: Type.String({ examples: ['USD Coin'] }),
      version: Type.String({ examples: ['2'] }),
    }),
    'Domain that a payer signs in; null where it is that of Permit2.',
  ),
}
const chainFacts = {
  network,
  name: text('Name for people.', 'Polygon'),
  chainId: Type.Integer({ minimum: 1, examples: [137] }),
  explorer: Type.String({ examples: ['https://polygonscan.com'] }),
  finality: text('Tag of the block from which on a payment counts.', 'finalized'),
}

const TierBody = object('Tier', {
  id: text('Identifier of the tier.', 'pro'),
  tierId: text('The same, under the name by which a tier is bought.', 'pro'),
  name: text('Name of the tier for people.', 'Pro'),
  coins: Type.Array(literals(coins, {}), {
    description: 'Coins that the tier includes.',
    examples: [coins],
  }),
  routes: Type.Array(literals(tierRoutes, {}), {
    description: 'Kinds of data that the tier includes.',
    examples: [tierRoutes],
  }),
  requestsPerMinute: positive('Requests a minute for each API key.', 300),
  concurrentStreams: positive('Exports at a time for each account.', 4),
  priceUsdc: nullable(
    Type.String({ examples: ['49'] }),
    'Price of a period in USDC, as a decimal; null where it is agreed upon.',
  ),
  periodDays: nullable(
    Type.Integer({ minimum: 1, examples: [30] }),
    'Days that a payment buys; null where nothing is bought.',
  ),
  isForSale: Type.Boolean({ description: 'True if the tier can be bought here.' }),
  contact: nullable(
    Type.String({ examples: ['Ask the operator of this server.'] }),
    'Where to ask for a tier that is not for sale; else null.',
  ),
  pausedSince: timeOrNull(
    'Since when purchases of a tier for sale are paused, because payments cannot be settled; null while they are not.',
  ),
})
export type TierBody = Static<typeof TierBody>

export const TierList = Type.Array(TierBody, { description: 'The catalogue, lowest tier first.' })

const ChainBody = object('Chain', {
  ...chainFacts,
  tokens: Type.Array(
    Type.Object({
      ...tokenFacts,
      enabled: Type.Boolean({ description: 'True if it can be paid with right now.' }),
      reason: textOrNull('Why it cannot be paid with; null if it can.'),
    }),
  ),
})
export type ChainBody = Static<typeof ChainBody>
export const ChainList = Type.Array(ChainBody, { description: 'Every chain that is known.' })

export const QuoteOrder = Type.Object({
  tierId: boundedText(64, 'Tier to buy, of GET /v1/billing/tiers.', 'pro'),
  network: boundedText(64, 'Chain to pay on, of GET /v1/billing/x402/chains.', 'eip155:137'),
  token: boundedText(16, 'Symbol of the token to pay with.', 'USDC'),
  payer: Type.Optional(
    Type.String({
      pattern: '^0x[0-9a-fA-F]{40}$',
      'x-expected': 'an address: 0x and 40 hex digits',
      description:
        "Address of the wallet that will sign; by default the account's own. For another one the amount is a little below the price, and unique.",
      examples: ['0x52908400098527886E0F7030069857D2E4169EE7'],
    }),
  ),
  anotherPeriod: Type.Optional(
    Type.Boolean({
      description:
        'True to buy one more period although a payment for the same tier and token may still be made, or was made within the last hour. By default the answer is then the quote of that payment, with `paymentInFlight`.',
      examples: [false],
    }),
  ),
})

const period = {
  tierId,
  name: text('Name of the tier for people.', 'Pro'),
  periodDays: positive('Days that are bought.', 30),
}

const paymentState = choice(paymentStates, 'Step that the payment has reached.')
const pollUrl = text(
  'Address to ask again, relative to the server; the same as the header Location.',
  '/v1/billing/x402/payments/pay_9b2e6f0c1d3a4875',
)

export const QuoteBody = object('PaymentQuote', {
  quoteId,
  expiresAt: time('Exclusive; sign and settle before.', '2026-04-14T08:10:00.000Z'),
  paymentRequirements: PaymentRequirements,
  paymentRequired: PaymentRequired,
  payer: textOrNull(
    "The account's wallet, lower case, where only it can pay this offer; null where any wallet can, because the amount is unique.",
    '0x52908400098527886e0f7030069857d2e4169ee7',
  ),
  tier: Type.Object(period, { description: 'What is bought.' }),
  startsAt: time(
    'When the period would begin if it were paid now: at once, or after what you have of the same or a higher tier.',
    '2026-04-14T08:00:00.000Z',
  ),
  chain: Type.Object(chainFacts),
  token: Type.Object(tokenFacts),
  paymentInFlight: Type.Optional(
    Type.Object(
      { paymentId, paymentState, pollUrl },
      {
        description:
          'A payment of your account that may still be made, or was made within the last hour for the same tier and token; absent if there is none, and with `anotherPeriod`. Sign nothing: ask `pollUrl` until the payment is decided.',
      },
    ),
  ),
})
export type QuoteBody = Static<typeof QuoteBody>

export const SettleBody = Type.Object({
  paymentPayload: Type.Optional(
    opaqueObject(PAYMENT_BYTES_MAX, {
      description:
        'The payment payload of x402 v2 that a wallet signed; instead of the header PAYMENT-SIGNATURE.',
      examples: [
        {
          x402Version: 2,
          accepted: exampleOffer,
          payload: {
            signature: `0x${'5a'.repeat(64)}1b`,
            authorization: {
              from: '0x52908400098527886e0f7030069857d2e4169ee7',
              to: exampleOffer.payTo,
              value: exampleOffer.amount,
              validAfter: '0',
              validBefore: '1776154200',
              nonce: `0x${'3c'.repeat(32)}`,
            },
          },
        },
      ],
    }),
  ),
  quoteId: Type.Optional(
    Type.String({
      ...quoteId,
      description:
        'Offer to get the challenge of, where no payment is sent. A payment names its offer itself.',
    }),
  ),
})

const PeriodBody = object('SubscriptionPeriod', {
  id: text('Name of the period.', 'sub_71c0f2a94be85d36'),
  tierId,
  startsAt: time('Start of the period, inclusive.', '2026-04-14T08:00:00.000Z'),
  endsAt: timeOrNull(
    'End of the period, exclusive; null if it never ends.',
    '2026-05-14T08:00:00.000Z',
  ),
  paymentId: textOrNull(
    'What paid for it; null for what the operator granted.',
    'pay_9b2e6f0c1d3a4875',
  ),
})
export type PeriodBody = Static<typeof PeriodBody>

const Proof = Type.Object(
  { paymentId, transaction, network, token: symbol, amount, amountUsd, payer, explorerUrl },
  { $id: 'PaymentProof', description: 'Where the chain says that money arrived.' },
)
const retryAction = choice(retryActions, 'What to do next.')
const authorizationExpiresAt = time(
  'After that the signed payment can move nothing any more.',
  '2026-04-14T08:10:00.000Z',
)

export const ActiveBody = object('PaidSettlement', {
  status: Type.Literal('active', { description: 'Paid, and what was bought is yours.' }),
  subscription: PeriodBody,
  settlement: Proof,
})
export type ActiveBody = Static<typeof ActiveBody>

export const productId = text('Identifier of the pack or tier.', 'pack-1000')

const credit = {
  name: text('Name for people.', '1,000 requests'),
  requests: Type.Integer({ minimum: 1, description: 'Requests bought.', examples: [1000] }),
}

export const CreditBody = Type.Object(
  {
    paymentId,
    packId: productId,
    ...credit,
    used: Type.Integer({ minimum: 0, description: 'Of these, answered.', examples: [12] }),
    boughtAt: time('When they were bought.'),
  },
  { $id: 'BoughtRequests', description: 'Requests that were paid for.' },
)

export const PackBody = object('Pack', {
  id: productId,
  ...credit,
  coins: Type.Array(literals(coins, {})),
  routes: Type.Array(literals(tierRoutes, {})),
  requestsPerMinute: Type.Integer({ minimum: 1, examples: [120] }),
  priceUsdc: text('Price in units of the token, as a decimal.', '1'),
  isForSale: Type.Boolean({ description: 'Whether it can be bought.' }),
})

export const PackList = Type.Array(PackBody)

export const ResourceList = object('ResourceList', {
  version: Type.Integer({ examples: [1] }),
  resources: Type.Array(text('Address on this server.', '/v1/billing/packs/pack-1000'), {
    description: 'What can be bought; empty where nothing is sold without a key.',
  }),
  openapi: text('Address of the description of all routes.', '/openapi.json'),
})

export const ClaimBody = Type.Object({
  claim: Type.Optional(
    boundedText(
      200,
      'The `claim` of a 202, in place of a payment: it returns what the payment has become, with the key until that was used.',
      'pay_9b2e6f0c1d3a4875.0kT9rWq2mZs5YvC8xHd4Bn',
    ),
  ),
})

export const BoughtBody = object('Bought', {
  status: Type.Literal('active', { description: 'Paid, and what was bought is the payer’s.' }),
  product: Type.Object(
    {
      id: productId,
      name: text('Name for people.', '1,000 requests'),
      periodDays: Type.Optional(positive('Days that were bought, of a tier.', 30)),
      requests: Type.Optional(positive('Requests that were bought, of a pack.', 1000)),
    },
    { description: 'What was bought for the account of the payer.' },
  ),
  subscription: nullable(
    PeriodBody,
    'The period that was bought; null of a pack, and without `key` if no key was sent.',
  ),
  requests: nullable(
    CreditBody,
    'The requests that were bought; null of a tier, and without `key` if no key was sent.',
  ),
  key: textOrNull(
    'A key of the account, if the account begins with this payment. Keep it where secrets are kept. Null if the account existed before, if a key was sent, once the key was used, and if the same payment is sent again without its `payment-identifier`, or one that was not signed after it.',
    'bf_live_0kT9rWq2mZs5YvC8xHd4Bn7LgJ1a3fPuEo6R',
  ),
  howToGetKey: textOrNull(
    'How the owner of the wallet gets a key; null with `key`, and if a key was sent.',
  ),
  settlement: Proof,
})

export const PendingBody = object('PendingSettlement', {
  status: Type.Literal('pending', { description: 'On its way: do not pay again.' }),
  paymentId,
  paymentState,
  reason: Type.Optional(
    text('Why it is not made yet, where the payer is the cause.', 'insufficient_balance'),
  ),
  retryAction,
  pollUrl,
  authorizationExpiresAt,
  claim: Type.Optional(
    text(
      'Of a purchase without a key: send it as `claim` to the same address for what the payment has become, and the key. Keep it as you keep a key.',
      'pay_9b2e6f0c1d3a4875.0kT9rWq2mZs5YvC8xHd4Bn',
    ),
  ),
})
export type PendingBody = Static<typeof PendingBody>

const status = choice(
  ['active', 'pending', 'failed', 'review'],
  '`active`: paid and provisioned. `pending`: on its way, do not pay again. `failed`: certain not to have been paid. `review`: the operator looks at it.',
)
const reason = text('Why it is where it is; an open set of codes.', 'insufficient_balance')

export const PaymentBody = object('Payment', {
  status,
  paymentId,
  paymentState,
  reason: Type.Optional(reason),
  retryAction: Type.Optional(retryAction),
  pollUrl: Type.Optional(pollUrl),
  authorizationExpiresAt: Type.Optional(authorizationExpiresAt),
  subscription: Type.Optional(PeriodBody),
  requests: Type.Optional(CreditBody),
  settlement: Type.Optional(Proof),
})
export type PaymentBody = Static<typeof PaymentBody>

export const ReceiptQuery = Type.Object({
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Payments on a page.',
    examples: [20],
  }),
  cursor: Type.Optional(
    Type.String({ minLength: 1, description: '`nextCursor` of the page before, unchanged.' }),
  ),
})
export type ReceiptQuery = Static<typeof ReceiptQuery>

export const BuyQuery = Type.Object({
  anotherPeriod: Type.Optional(
    choice(
      ['true', 'false'],
      '`true` to buy one more period although the wallet has paid for the tier within the last hour. By default the answer is then that of the earlier payment, and the new one is not settled.',
      'false',
    ),
  ),
})

const ReceiptBody = object('Receipt', {
  paymentId,
  quoteId,
  status,
  paymentState,
  reason: nullable(reason, 'Why it is where it is; null if there is nothing to say.'),
  tier: Type.Object(
    {
      ...period,
      periodDays: count('Days that were bought; 0 of a pack, which is requests.', 30),
      requests: Type.Optional(count('Requests that were bought; absent of a tier.', 1000)),
    },
    { description: 'What was bought, as it was then.' },
  ),
  subscription: nullable(PeriodBody, 'The period that it paid for; null until then.'),
  amount,
  amountUsd,
  token: symbol,
  network,
  payer,
  transaction: nullable(transaction, 'Null while none is known.'),
  explorerUrl: nullable(explorerUrl, 'Null while no transaction is known.'),
  createdAt: time('When the payment was taken.'),
  updatedAt: time('When it last changed.'),
})
export type ReceiptBody = Static<typeof ReceiptBody>

export const ReceiptList = listOf(ReceiptBody, 'Payments, newest first.')
export type ReceiptList = Static<typeof ReceiptList>

export const SubscriptionBody = object('Subscription', {
  tier: Type.Object({ id: tierId, name: period.name }, { description: 'What holds for you now.' }),
  current: nullable(PeriodBody, 'The period that gives it; null on the Free tier.'),
  upcoming: Type.Array(PeriodBody, { description: 'Periods that have yet to begin, by start.' }),
  free: Type.Boolean({ description: 'True while no period runs: you are on the Free tier.' }),
})
export type SubscriptionBody = Static<typeof SubscriptionBody>
