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
  groupOrNull,
  listOf,
  nullable,
  object,
  positive,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { expecting, integer, oneOf, opaqueObject } from '#src/http/kinds.ts'
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
export const paymentId = text('Id of the payment.', 'pay_9b2e6f0c1d3a4875')
const transaction = text('Hash of the transaction.', EXAMPLE_HASH)
const explorerUrl = text(
  'Page of a block explorer for the transaction.',
  `https://polygonscan.com/tx/${EXAMPLE_HASH}`,
)
const amount = Type.String({
  pattern: '^[0-9]+$',
  description: 'Paid amount, in atomic units of the token.',
  examples: ['48999863'],
})
const amountUsd = text('Paid amount as a decimal, in units of the token.', '48.999863')

const tokenFacts = {
  symbol,
  name: text('Name in the token contract.', 'USD Coin'),
  address: text(
    'Contract of the token, checksummed.',
    '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  ),
  decimals: Type.Integer({ minimum: 0, maximum: 36, examples: [6] }),
  transferMethod: choice(
    ['eip3009', 'permit2'],
    'Transfer method: `eip3009` needs no approval; `permit2` needs the token to be approved once.',
  ),
  eip712Domain: groupOrNull('EIP-712 domain to sign with; null for Permit2, which has its own.', {
    name: Type.String({ examples: ['USD Coin'] }),
    version: Type.String({ examples: ['2'] }),
  }),
}
const chainFacts = {
  network,
  name: text('Display name.', 'Polygon'),
  chainId: Type.Integer({ minimum: 1, examples: [137] }),
  explorer: Type.String({ examples: ['https://polygonscan.com'] }),
  finality: text('Block tag at which a payment counts as final.', 'finalized'),
}

const TierBody = object('Tier', {
  id: text('Identifier of the tier.', 'pro'),
  tierId: text('Same as `id`, under the name that a purchase uses.', 'pro'),
  name: text('Display name of the tier.', 'Pro'),
  coins: Type.Array(oneOf(coins), {
    description: 'Coins that the tier includes.',
    examples: [coins],
  }),
  routes: Type.Array(oneOf(tierRoutes), {
    description: 'Kinds of data that the tier includes.',
    examples: [tierRoutes],
  }),
  requestsPerMinute: positive('Requests a minute for each API key.', 300),
  concurrentStreams: positive('Concurrent exports for each account.', 4),
  priceUsdc: nullable(
    Type.String({ examples: ['49'] }),
    'Price of a period in USDC, as a decimal; null if it is negotiated.',
  ),
  periodDays: nullable(
    Type.Integer({ minimum: 1, examples: [30] }),
    'Days that a payment buys; null if the tier is not for sale.',
  ),
  isForSale: Type.Boolean({ description: 'True if the tier can be bought here.' }),
  contact: nullable(
    Type.String({ examples: ['Ask the operator of this server.'] }),
    'Where to ask for a tier that is not for sale; otherwise null.',
  ),
  pausedSince: timeOrNull(
    'Since when purchases are paused because payments cannot be settled; null while they are open.',
  ),
})
export type TierBody = Static<typeof TierBody>

export const TierList = Type.Array(TierBody, { description: 'Tiers, the lowest first.' })

const ChainBody = object('Chain', {
  ...chainFacts,
  tokens: Type.Array(
    Type.Object({
      ...tokenFacts,
      enabled: Type.Boolean({ description: 'True if the token can be used now.' }),
      reason: textOrNull('Why the token cannot be used; null if it can.'),
    }),
  ),
})
export type ChainBody = Static<typeof ChainBody>
export const ChainList = Type.Array(ChainBody, { description: 'Supported chains.' })

export const QuoteOrder = Type.Object({
  tierId: boundedText(64, 'Id of the tier, from GET /v1/billing/tiers.', 'pro'),
  network: boundedText(64, 'Chain to pay on, from GET /v1/billing/x402/chains.', 'eip155:137'),
  token: boundedText(16, 'Symbol of the token to pay with.', 'USDC'),
  payer: Type.Optional(
    expecting(
      'an address: 0x and 40 hex digits',
      Type.String({
        pattern: '^0x[0-9a-fA-F]{40}$',
        description:
          'Wallet that will sign; by default the wallet of your account. Any other wallet pays a unique amount, slightly below the price.',
        examples: ['0x52908400098527886E0F7030069857D2E4169EE7'],
      }),
    ),
  ),
  anotherPeriod: Type.Optional(
    Type.Boolean({
      description:
        'True to buy one more period, although a payment for the same tier and token is pending or was made within the last hour. By default the quote of that payment is returned, with `paymentInFlight`.',
      examples: [false],
    }),
  ),
})

const period = {
  tierId,
  name: text('Display name of the tier.', 'Pro'),
  periodDays: positive('Days that the payment buys.', 30),
}

const paymentState = choice(paymentStates, 'State of the payment.')
const pollUrl = text(
  'Path to poll, relative to the server; the same as the header Location.',
  '/v1/billing/x402/payments/pay_9b2e6f0c1d3a4875',
)

export const QuoteBody = object('PaymentQuote', {
  quoteId,
  expiresAt: time(
    'End of the validity, exclusive: sign and settle before it.',
    '2026-04-14T08:10:00.000Z',
  ),
  paymentRequirements: PaymentRequirements,
  paymentRequired: PaymentRequired,
  payer: textOrNull(
    'Wallet of your account, in lower case, if only it can pay this quote; null if any wallet can, because the amount is unique.',
    '0x52908400098527886e0f7030069857d2e4169ee7',
  ),
  tier: Type.Object(period, { description: 'Tier and period for sale.' }),
  startsAt: time(
    'Start of the period if the payment were made now: at once, or after the periods you have of the same or a higher tier.',
    '2026-04-14T08:00:00.000Z',
  ),
  chain: Type.Object(chainFacts),
  token: Type.Object(tokenFacts),
  paymentInFlight: Type.Optional(
    Type.Object(
      { paymentId, paymentState, pollUrl },
      {
        description:
          'Payment of your account for the same tier and token that is pending or was made within the last hour; absent if there is none, and with `anotherPeriod`. Do not sign anything: poll `pollUrl` until the payment is decided.',
      },
    ),
  ),
})
export type QuoteBody = Static<typeof QuoteBody>

export const SettleBody = Type.Object({
  paymentPayload: Type.Optional(
    opaqueObject(PAYMENT_BYTES_MAX, {
      description:
        'Signed payment payload of x402 v2; alternative to the header PAYMENT-SIGNATURE.',
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
        'Quote whose challenge is returned if no payment is sent. A payment itself identifies its quote.',
    }),
  ),
})

const PeriodBody = object('SubscriptionPeriod', {
  id: text('Id of the period.', 'sub_71c0f2a94be85d36'),
  tierId,
  startsAt: time('Start of the period, inclusive.', '2026-04-14T08:00:00.000Z'),
  endsAt: timeOrNull(
    'End of the period, exclusive; null if it never ends.',
    '2026-05-14T08:00:00.000Z',
  ),
  paymentId: textOrNull(
    'Payment that paid for the period; null if the operator granted it.',
    'pay_9b2e6f0c1d3a4875',
  ),
})
export type PeriodBody = Static<typeof PeriodBody>

const Proof = Type.Object(
  { paymentId, transaction, network, token: symbol, amount, amountUsd, payer, explorerUrl },
  { $id: 'PaymentProof', description: 'Proof on the chain that the money arrived.' },
)
const retryAction = choice(retryActions, 'Next step for the payer.')
const authorizationExpiresAt = time(
  'Time from which the signed payment can no longer be executed.',
  '2026-04-14T08:10:00.000Z',
)

export const ActiveBody = object('PaidSettlement', {
  status: Type.Literal('active', { description: 'Paid and provisioned.' }),
  subscription: PeriodBody,
  settlement: Proof,
})
export type ActiveBody = Static<typeof ActiveBody>

export const productId = text('Id of the pack or tier.', 'pack-1000')

const credit = {
  name: text('Display name.', '1,000 requests'),
  requests: Type.Integer({ minimum: 1, description: 'Requests bought.', examples: [1000] }),
}

export const CreditBody = Type.Object(
  {
    paymentId,
    packId: productId,
    ...credit,
    used: Type.Integer({ minimum: 0, description: 'Requests already answered.', examples: [12] }),
    boughtAt: time('Time of the purchase.'),
  },
  { $id: 'BoughtRequests', description: 'Requests bought.' },
)

export const PackBody = object('Pack', {
  id: productId,
  ...credit,
  coins: Type.Array(oneOf(coins)),
  routes: Type.Array(oneOf(tierRoutes)),
  requestsPerMinute: Type.Integer({ minimum: 1, examples: [120] }),
  priceUsdc: text('Price in units of the token, as a decimal.', '1'),
  isForSale: Type.Boolean({ description: 'True if it can be bought.' }),
})

export const PackList = Type.Array(PackBody)

export const ResourceList = object('ResourceList', {
  version: Type.Integer({ examples: [1] }),
  resources: Type.Array(text('Path on this server.', '/v1/billing/packs/pack-1000'), {
    description: 'Packs and tiers for sale; empty if nothing is sold without a key.',
  }),
  openapi: text('Path of the API document.', '/openapi.json'),
})

export const ClaimBody = Type.Object({
  claim: Type.Optional(
    boundedText(
      200,
      'The `claim` of a 202, instead of a payment: returns the state of that payment, and its key until the key is used for the first time.',
      'pay_9b2e6f0c1d3a4875.0kT9rWq2mZs5YvC8xHd4Bn',
    ),
  ),
})

export const BoughtBody = object('Bought', {
  status: Type.Literal('active', {
    description: 'Paid and provisioned to the account of the payer.',
  }),
  product: Type.Object(
    {
      id: productId,
      name: text('Display name.', '1,000 requests'),
      periodDays: Type.Optional(positive('Days that a tier was bought for.', 30)),
      requests: Type.Optional(positive('Requests of a bought pack.', 1000)),
    },
    { description: 'What was bought.' },
  ),
  subscription: nullable(
    PeriodBody,
    'Period that was bought. Null for a pack; also null if no key was sent and `key` is null.',
  ),
  requests: nullable(
    CreditBody,
    'Requests that were bought. Null for a tier; also null if no key was sent and `key` is null.',
  ),
  key: textOrNull(
    'API key, if this payment created the account. Store it as a secret. Null if the account existed before, if a key was sent, after the first use of the key, if the same payment is sent again without its `payment-identifier`, and for another payment that was not signed later than the first.',
    'bf_live_0kT9rWq2mZs5YvC8xHd4Bn7LgJ1a3fPuEo6R',
  ),
  howToGetKey: textOrNull(
    'How the owner of the wallet gets a key; null if `key` is set or a key was sent.',
  ),
  settlement: Proof,
})

export const PendingBody = object('PendingSettlement', {
  status: Type.Literal('pending', { description: 'Pending: do not pay again.' }),
  paymentId,
  paymentState,
  reason: Type.Optional(
    text('Why the payment is not made yet, if the payer is the cause.', 'insufficient_balance'),
  ),
  retryAction,
  pollUrl,
  authorizationExpiresAt,
  claim: Type.Optional(
    text(
      'Only for purchases without a key: send it as `claim` to the same path to get the state of the payment, and the key. Store it as a secret.',
      'pay_9b2e6f0c1d3a4875.0kT9rWq2mZs5YvC8xHd4Bn',
    ),
  ),
})
export type PendingBody = Static<typeof PendingBody>

const status = choice(
  ['active', 'pending', 'failed', 'review'],
  '`active`: paid and provisioned. `pending`: not decided yet, do not pay again. `failed`: certainly not paid. `review`: the operator decides.',
)
const reason = text(
  'Code of the reason for the state; new codes may be added.',
  'insufficient_balance',
)

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
  limit: integer({
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Payments on a page.',
    examples: [20],
  }),
  cursor: Type.Optional(
    Type.String({ minLength: 1, description: '`nextCursor` of the previous page, unchanged.' }),
  ),
})
export type ReceiptQuery = Static<typeof ReceiptQuery>

export const BuyQuery = Type.Object({
  anotherPeriod: Type.Optional(
    choice(
      ['true', 'false'],
      '`true` to buy one more period although the wallet has paid for the tier within the last hour. By default the earlier payment is returned, and the new one is not settled.',
      'false',
    ),
  ),
})

const ReceiptBody = object('Receipt', {
  paymentId,
  quoteId,
  status,
  paymentState,
  reason: nullable(reason, 'Code of the reason for the state; null if there is none.'),
  tier: Type.Object(
    {
      ...period,
      periodDays: count('Days bought; 0 for a pack.', 30),
      requests: Type.Optional(count('Requests bought; absent for a tier.', 1000)),
    },
    { description: 'Product as it was when it was bought.' },
  ),
  subscription: nullable(PeriodBody, 'Period that was paid for; null until it is provisioned.'),
  amount,
  amountUsd,
  token: symbol,
  network,
  payer,
  transaction: nullable(transaction, 'Null while no transaction is known.'),
  explorerUrl: nullable(explorerUrl, 'Null while no transaction is known.'),
  createdAt: time('Time at which the payment was received.'),
  updatedAt: time('Time of the last change.'),
})
export type ReceiptBody = Static<typeof ReceiptBody>

export const ReceiptList = listOf(ReceiptBody, 'Payments, newest first.')
export type ReceiptList = Static<typeof ReceiptList>

export const SubscriptionBody = object('Subscription', {
  tier: Type.Object(
    { id: tierId, name: period.name },
    { description: 'Limits and rights of the current tier.' },
  ),
  current: nullable(PeriodBody, 'Current period; null on the Free tier.'),
  upcoming: Type.Array(PeriodBody, { description: 'Later periods, by start.' }),
  free: Type.Boolean({ description: 'True if no period is active and the Free tier applies.' }),
})
export type SubscriptionBody = Static<typeof SubscriptionBody>
