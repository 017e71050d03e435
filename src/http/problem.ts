import { type Static, Type } from '@sinclair/typebox'

import { type ErrorCode, errorCodes, type ErrorExtras, retryActions } from '#src/core/errors.ts'

import { object } from './fields.ts'
import { literals } from './schema-reader.ts'
import {
  PAYMENT_REQUIRED_HEADER,
  PAYMENT_RESPONSE_HEADER,
  PaymentFailure,
  PaymentRequired,
  toPaymentHeader,
} from './x402.ts'

export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

// The keys of a table that is written out in full.
const codes = Object.keys(errorCodes) as ErrorCode[]

/** The one shape of every failure (RFC 9457). */
export const Problem = object(
  'Problem',
  {
    type: Type.String({
      description: 'Address of the documentation of `code`, relative to the server.',
      examples: ['/errors#unknown_market'],
    }),
    title: Type.String({ description: 'The kind of failure; the same for every one of a code.' }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status again.' }),
    code: Type.Union(
      codes.map((code) => Type.Literal(code)),
      { description: 'What to branch on. Codes are never renamed; new ones may be added.' },
    ),
    error: Type.String({ description: 'The same as `code`, for clients that look for `error`.' }),
    detail: Type.String({ description: 'What was wrong here, and what to do about it.' }),
    requestId: Type.String({ description: 'The same as the header X-Request-Id; quote it to us.' }),
    param: Type.Optional(Type.String({ description: 'The parameter that was refused.' })),
    retryAfterSeconds: Type.Optional(
      Type.Integer({ minimum: 0, description: 'The same as the header Retry-After.' }),
    ),
    requiredTier: Type.Optional(
      Type.String({ description: 'The lowest tier that includes what was asked for.' }),
    ),
    reason: Type.Optional(
      Type.String({ description: 'Why a payment is not possible; an open set of codes.' }),
    ),
    retryAction: Type.Optional(
      literals(retryActions, { description: "What a payer's program should do next." }),
    ),
    paymentRequired: Type.Optional(Type.Unsafe<unknown>(PaymentRequired)),
    paymentResponse: Type.Optional(PaymentFailure),
  },
  { description: 'A failure, as RFC 9457 describes it.' },
)
export type Problem = Static<typeof Problem>

/** What went wrong, before it is bound to a request. */
export type Failure = { code: ErrorCode; detail: string; extras: ErrorExtras }

/** Makes the document of a failure. */
export function toProblem({ code, detail, extras }: Failure, requestId: string): Problem {
  const { status, title } = errorCodes[code]
  return { type: `/errors#${code}`, title, status, code, error: code, detail, requestId, ...extras }
}

/** Answers with a problem document. Failures are never cached. */
export function problemResponse(problem: Problem): Response {
  const body = JSON.stringify(problem)
  const headers = new Headers({
    'Content-Type': PROBLEM_MEDIA_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
  })
  if (problem.retryAfterSeconds !== undefined) {
    headers.set('Retry-After', String(problem.retryAfterSeconds))
  }
  if (problem.paymentRequired !== undefined) {
    headers.set(PAYMENT_REQUIRED_HEADER, toPaymentHeader(problem.paymentRequired))
  }
  if (problem.paymentResponse !== undefined) {
    headers.set(PAYMENT_RESPONSE_HEADER, toPaymentHeader(problem.paymentResponse))
  }
  if (problem.status === 401) headers.set('WWW-Authenticate', 'Bearer')
  return new Response(body, { status: problem.status, headers })
}
