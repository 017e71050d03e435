/**
 * Failures as problem documents (RFC 9457). Elysia's own bodies never leave, because they carry the
 * message of any error and the refused input.
 */

import { type Static, Type } from '@sinclair/typebox'
import { ParseError, ValidationError } from 'elysia'

import {
  AppError,
  type ErrorCode,
  errorCodes,
  type ErrorExtras,
  retryActions,
} from '#src/domain/errors.ts'
import { messageOf } from '#src/platform/message.ts'

import { count, object, text } from './fields.ts'
import { jsonResponse } from './json.ts'
import { oneOf } from './kinds.ts'
import { refusalOf } from './validation.ts'
import {
  PAYMENT_REQUIRED_HEADER,
  PAYMENT_RESPONSE_HEADER,
  PaymentFailure,
  PaymentRequired,
  RequirementsV1,
  toChallengeHeader,
  toPaymentHeader,
  toV1Members,
} from './x402.ts'

export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

// The keys of a table that is written out in full.
const codes = Object.keys(errorCodes) as ErrorCode[]

export const Problem = object(
  'Problem',
  {
    type: text(
      'Address of the documentation of `code`, relative to the server.',
      '/errors#unknown_market',
    ),
    title: text('The kind of failure; the same for every one of a code.'),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status again.' }),
    code: Type.Union(
      codes.map((code) => Type.Literal(code)),
      { description: 'What to branch on. Codes are never renamed; new ones may be added.' },
    ),
    error: text('The same as `code`, for clients that look for `error`.'),
    detail: text('What was wrong here, and what to do about it.'),
    requestId: text('The same as the header X-Request-Id; quote it to us.'),
    param: Type.Optional(text('The parameter that was refused.')),
    retryAfterSeconds: Type.Optional(count('The same as the header Retry-After.')),
    requiredTier: Type.Optional(text('The lowest tier that includes what was asked for.')),
    replacedBy: Type.Optional(text('Link to the file that replaced this one.')),
    reason: Type.Optional(text('Why a payment is not possible; an open set of codes.')),
    retryAction: Type.Optional(
      oneOf(retryActions, { description: "What a payer's program should do next." }),
    ),
    paymentRequired: Type.Optional(Type.Unsafe<unknown>(PaymentRequired)),
    paymentResponse: Type.Optional(PaymentFailure),
    x402Version: Type.Optional(
      Type.Literal(1, { description: 'For clients of x402 v1, with `accepts`.' }),
    ),
    accepts: Type.Optional(Type.Unsafe<unknown>(Type.Array(RequirementsV1))),
  },
  { description: 'A failure, as RFC 9457 describes it.' },
)
export type Problem = Static<typeof Problem>

type Failure = { code: ErrorCode; detail: string; extras: ErrorExtras }

export function toProblem({ code, detail, extras }: Failure, requestId: string): Problem {
  const { status, title } = errorCodes[code]
  const { contentRange: _, authenticate: __, ...members } = extras
  const problem = {
    type: `/errors#${code}`,
    title,
    status,
    code,
    error: code,
    detail,
    requestId,
    ...members,
  }
  const { paymentRequired } = extras
  return paymentRequired === undefined
    ? problem
    : Object.assign(problem, toV1Members(paymentRequired))
}

export const codeOf = (error: unknown): ErrorCode => toFailure(error).code

/** Ends the work for a client that closed its connection, so that nobody reads the response. */
export class ClientGoneError extends AppError {
  constructor() {
    super('unavailable', 'The client closed its connection.')
  }
}

/** The status, in log and metrics, of a request whose client was gone before its response; of nginx. */
export const CLIENT_GONE = 499

/** Answers anything thrown; what is not known to be harmless becomes `internal`. Never cached. */
export function problemResponse(
  error: unknown,
  requestId: string,
  defaults: Pick<ErrorExtras, 'retryAction'> = {},
): Response {
  const { code, detail, extras } = toFailure(error)
  const problem = toProblem({ code, detail, extras: { ...defaults, ...extras } }, requestId)
  const { status, retryAfterSeconds, paymentRequired, paymentResponse } = problem
  const response = jsonResponse(problem, {
    status,
    headers: { 'Content-Type': PROBLEM_MEDIA_TYPE, 'Cache-Control': 'no-store' },
  })
  const { headers } = response
  const challenge = status === 401 ? 'Bearer' : extras.authenticate
  if (challenge !== undefined) headers.set('WWW-Authenticate', challenge)
  if (paymentRequired !== undefined)
    headers.set(PAYMENT_REQUIRED_HEADER, toChallengeHeader(paymentRequired, challenge?.length))
  if (paymentResponse !== undefined)
    headers.set(PAYMENT_RESPONSE_HEADER, toPaymentHeader(paymentResponse))
  if (retryAfterSeconds !== undefined) headers.set('Retry-After', String(retryAfterSeconds))
  if (extras.contentRange !== undefined) headers.set('Content-Range', extras.contentRange)
  return response
}

const toFailure = (error: unknown): Failure =>
  error instanceof AppError
    ? { code: error.code, detail: error.message, extras: error.extras }
    : {
        code: 'internal',
        detail: 'The server failed. Report the requestId; a retry may help.',
        extras: {},
      }

/**
 * The text of an error for the log, with its causes; undefined for an error of the caller. A failure
 * that is expected, such as a 503 of billing that is closed, has no stack.
 */
export function describeFault(error: unknown): string | undefined {
  if (errorCodes[toFailure(error).code].status < 500) return undefined
  const lines: string[] = []
  let current = error
  // A chain of causes can be a circle.
  for (let depth = 0; depth < 5 && current !== undefined; depth++) {
    lines.push(error instanceof AppError ? lineOf(current) : textOf(current))
    current = current instanceof Error ? current.cause : undefined
  }
  return lines.join('\nCaused by: ')
}

const lineOf = (error: unknown): string =>
  error instanceof AppError ? `${error.code}: ${error.message}` : messageOf(error)

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)

/** Turns what Elysia throws into an error of ours: its own messages show what was sent. */
export function toOwnError(error: unknown): unknown {
  if (error instanceof ValidationError && error.type !== 'response') return refusalOf(error)
  // A hook that parses threw it.
  return error instanceof ParseError ? error.cause : error
}
