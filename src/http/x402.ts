/** x402 v2 over HTTP: its objects travel in headers too, as base64 of JSON, for stock clients. */

import { AppError, unsoundPayment } from '#src/core/errors.ts'
import { isRecord } from '#src/lib/record.ts'

import { object, text } from './fields.ts'
import { measureJson, NESTING_MAX } from './json.ts'
import { Type } from './schema.ts'

/** What is to be signed: with a 402, and with an offer. */
export const PAYMENT_REQUIRED_HEADER = 'PAYMENT-REQUIRED'
/** A signed payment, on a request. */
export const PAYMENT_SIGNATURE_HEADER = 'PAYMENT-SIGNATURE'
/** A wallet's signed message in place of a payment, on a request. */
export const SIGN_IN_HEADER = 'SIGN-IN-WITH-X'
/** What became of it: with a 200, and with a 402. */
export const PAYMENT_RESPONSE_HEADER = 'PAYMENT-RESPONSE'

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
          examples: [{ name: 'USD Coin', version: '2' }],
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

/** Of a header that this server has written. */
export const fromPaymentHeader = (header: string): unknown =>
  JSON.parse(Buffer.from(header, 'base64').toString())

const base64Pattern = /^(?=.)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Undefined without the header. Throws `payment_invalid`; never shows what was sent. */
export const readPaymentHeader = (request: Request): Record<string, unknown> | undefined =>
  readHeader(request, PAYMENT_SIGNATURE_HEADER, 'payment_invalid')

/** Undefined without the header. Throws `challenge_invalid`; never shows what was sent. */
export const readSignInHeader = (request: Request): Record<string, unknown> | undefined =>
  readHeader(request, SIGN_IN_HEADER, 'challenge_invalid')

type Code = 'payment_invalid' | 'challenge_invalid'

function readHeader(request: Request, name: string, code: Code) {
  const sent = request.headers.get(name)
  if (sent === null) return undefined
  const refuse = (why: string, cause?: unknown) =>
    new AppError(code, `The header \`${name}\` ${why}. Send base64 of the payload as JSON.`, {
      ...(code === 'payment_invalid' ? unsoundPayment : {}),
      ...{ param: name, cause },
    })
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
