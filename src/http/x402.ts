/** x402 v2 over HTTP: its objects travel in headers too, as base64 of JSON, for stock clients. */

import { type Static, Type } from '@sinclair/typebox'

import { AppError, unsoundPayment } from '#src/domain/errors.ts'
import { findPaidChain } from '#src/domain/selling/payment-chain.ts'
import { isRecord } from '#src/platform/record.ts'

import { object, text } from './fields.ts'
import { measureJson, NESTING_MAX } from './json.ts'

/** The payment to sign: with a 402, and with an offer. */
export const PAYMENT_REQUIRED_HEADER = 'PAYMENT-REQUIRED'
/** A signed payment, on a request. */
export const PAYMENT_SIGNATURE_HEADER = 'PAYMENT-SIGNATURE'
/** The result of the payment: with a 200, and with a 402. */
export const PAYMENT_RESPONSE_HEADER = 'PAYMENT-RESPONSE'

/** A signed payment of v1, which no route takes. */
const V1_PAYMENT_HEADER = 'X-PAYMENT'

/** A signed payment as JSON; those of contract wallets are the longest. */
export const PAYMENT_BYTES_MAX = 16 * 1024

export const PaymentRequirements = object(
  'PaymentRequirements',
  {
    scheme: Type.Literal('exact'),
    network: Type.Unsafe<`eip155:${number}`>(text('CAIP-2 identifier of the chain.', 'eip155:137')),
    asset: text('Contract of the token.', '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'),
    amount: Type.String({
      pattern: '^[0-9]+$',
      description:
        'In atomic units of the token; to be signed exactly, because it names the offer.',
      examples: ['48999863'],
    }),
    payTo: text('Who is paid.', '0x1111111111111111111111111111111111111111'),
    maxTimeoutSeconds: Type.Integer({ minimum: 1, examples: [600] }),
    extra: Type.Unsafe<Record<string, string>>(
      Type.Object(
        {},
        {
          additionalProperties: Type.String(),
          description: 'What the way of transfer needs, such as the name and version of a domain.',
          examples: [{ name: 'USD Coin', version: '2', paymentFlow: 'upfront' }],
        },
      ),
    ),
  },
  { description: 'Payment requirements of x402 v2; a wallet consumes them as they are.' },
)

export const PaymentRequired = object(
  'PaymentRequired',
  {
    x402Version: Type.Literal(2),
    error: Type.Optional(text('Why there is no payment yet.')),
    resource: Type.Object({
      url: Type.String({ examples: ['https://api.example.com/v1/billing/x402/settle'] }),
      description: Type.String({ examples: ['Pro for 30 days'] }),
      mimeType: Type.String({ examples: ['application/json'] }),
      serviceName: Type.String({ examples: ['Bookfeed'] }),
    }),
    accepts: Type.Array(PaymentRequirements),
    extensions: Type.Optional(
      Type.Unsafe<Readonly<Record<string, object>>>(
        Type.Object(
          {},
          {
            additionalProperties: true,
            description: 'Extensions of x402 that this server understands.',
          },
        ),
      ),
    ),
  },
  { description: 'The challenge of x402 v2; the same as the header PAYMENT-REQUIRED.' },
)

/** Members that clients of v1 read in the body of a 402. They sign it, and then get a sentence. */
export const RequirementsV1 = object(
  'PaymentRequirementsV1',
  {
    scheme: Type.Literal('exact'),
    network: text('Name of the chain in x402 v1.', 'polygon'),
    maxAmountRequired: Type.String({ pattern: '^[0-9]+$', examples: ['1000'] }),
    resource: Type.String({ examples: ['https://api.example.com/v1/btc/markets'] }),
    description: Type.String({ examples: ['A request of markets or prices'] }),
    mimeType: Type.String({ examples: ['application/json'] }),
    payTo: Type.String({ examples: ['0x1111111111111111111111111111111111111111'] }),
    maxTimeoutSeconds: Type.Integer({ minimum: 1, examples: [600] }),
    asset: Type.String({ examples: ['0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'] }),
    extra: Type.Object({ name: Type.String(), version: Type.String() }),
  },
  { description: 'Payment requirements of x402 v1, which this server does not take payments of.' },
)

/** The members of a 402 that clients of v1 read; undefined where nothing is to be signed. */
export function toV1Members(challenge: unknown) {
  if (!isRecord(challenge) || !Array.isArray(challenge.accepts)) return undefined
  const { accepts, resource } = challenge as Static<typeof PaymentRequired>
  const offers = accepts.flatMap((offer) => {
    const network = findPaidChain(offer.network)?.v1Name
    const { name, version } = offer.extra
    // v1 knows no token that is moved by Permit2.
    if (network === undefined || name === undefined || version === undefined) return []
    const { scheme, amount, payTo, maxTimeoutSeconds, asset } = offer
    const { url, description, mimeType } = resource
    return {
      scheme,
      network,
      maxAmountRequired: amount,
      resource: url,
      description,
      mimeType,
      payTo,
      maxTimeoutSeconds,
      asset,
      extra: { name, version },
    }
  })
  return offers.length === 0 ? undefined : { x402Version: 1 as const, accepts: offers }
}

export const PaymentFailure = object(
  'PaymentFailure',
  {
    success: Type.Literal(false),
    errorReason: text('Why, in the words of x402 v2; an open set.'),
    payer: Type.Optional(Type.String()),
    transaction: Type.Literal('', { description: 'Empty: nothing was settled.' }),
    network: Type.String({ examples: ['eip155:137'] }),
  },
  { description: 'The SettleResponse of x402 v2; the same as the header PAYMENT-RESPONSE.' },
)

export const toPaymentHeader = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64')

/**
 * The most bytes of data to sign in PAYMENT-REQUIRED and WWW-Authenticate. All headers of a 402
 * take at most 3 kB, for any address and number of chains: proxies read headers into a buffer of 4
 * or 8 kB, and respond with 502 if they are longer.
 */
const CHALLENGES_BYTES_MAX = 2_220

/**
 * The challenge for its header, beside one of `others` bytes: without what only directories read,
 * and with as many offers as fit. The body has all of it.
 */
export function toChallengeHeader(given: unknown, others = 0): string {
  const { extensions: all, ...challenge } = given as Static<typeof PaymentRequired>
  const { x402Version, error, resource, accepts } = challenge
  const { bazaar: _, ...read } = all ?? {}
  // Clients read no schema.
  const extensions = Object.fromEntries(
    Object.entries(read).map(([name, extension]) => [name, { ...extension, schema: {} }]),
  )
  const more = all === undefined ? {} : { extensions }
  for (let count = accepts.length; ; count--) {
    const offers = accepts.slice(0, count)
    const header = toPaymentHeader({ x402Version, error, resource, accepts: offers, ...more })
    if (header.length + others <= CHALLENGES_BYTES_MAX || count <= 1) return header
  }
}

/** Parses a header that this server has written. */
export const fromPaymentHeader = (header: string): unknown =>
  JSON.parse(Buffer.from(header, 'base64').toString())

const base64Pattern = /^(?=.)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Undefined without the header. Throws `payment_invalid`; never shows what was sent. */
export function readPaymentHeader(request: Request): Record<string, unknown> | undefined {
  const sent = request.headers.get(PAYMENT_SIGNATURE_HEADER)
  if (sent !== null) return parsePaymentHeader(sent)
  if (!request.headers.has(V1_PAYMENT_HEADER)) return undefined
  throw new AppError(
    'payment_invalid',
    'The header `X-PAYMENT` belongs to x402 v1, and this server accepts only x402 v2. Nothing was paid, and the signed payment was discarded. Use a client of v2, such as `@x402/fetch`.',
    { param: V1_PAYMENT_HEADER, reason: 'payload_invalid', retryAction: 'sign_anew' },
  )
}

function parsePaymentHeader(sent: string): Record<string, unknown> {
  const refuse = (why: string, cause?: unknown) =>
    new AppError(
      'payment_invalid',
      `The header \`${PAYMENT_SIGNATURE_HEADER}\` ${why}. Send base64 of the payload as JSON.`,
      { ...unsoundPayment, param: PAYMENT_SIGNATURE_HEADER, cause },
    )
  if (sent.length > PAYMENT_BYTES_MAX) throw refuse(`is longer than ${PAYMENT_BYTES_MAX} bytes`)
  if (!base64Pattern.test(sent)) throw refuse('is not base64')
  let value: unknown
  try {
    const json = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(sent, 'base64'))
    if (measureJson(json).depth <= NESTING_MAX) value = JSON.parse(json)
  } catch (cause) {
    throw refuse('holds no JSON in UTF-8', cause)
  }
  if (value === undefined) throw refuse(`is nested more than ${NESTING_MAX} levels deep`)
  if (isRecord(value)) return { ...value }
  throw refuse('holds no JSON object')
}
