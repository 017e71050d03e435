/**
 * Operations of the OpenAPI document, rendered from what the code itself uses. What several
 * operations share (headers, failures and their examples, named schemas) is collected as
 * components, and is there once.
 */
import type { TObject, TSchema } from '@sinclair/typebox'

import { errorExamples } from '#src/core/error-examples.ts'
import { type ErrorCode, errorCodes } from '#src/core/errors.ts'

import { isBodyRequired } from './body.ts'
import { type OpenApiSchema, toOpenApiSchema } from './openapi-schema.ts'
import { Problem, PROBLEM_MEDIA_TYPE, toProblem } from './problem.ts'
import { isOptional } from './schema-reader.ts'
import { PAYMENT_REQUIRED_HEADER, PAYMENT_RESPONSE_HEADER } from './x402.ts'

export type OpenApiParameter = {
  name: string
  in: 'query' | 'path' | 'header'
  required: boolean
  description: string
  example?: unknown
  schema: OpenApiSchema
}

type Reference = { $ref: string }
/** Descriptions of headers by their names. */
export type HeaderTexts = Readonly<Record<string, string>>
type Content = Record<string, { schema: OpenApiSchema }>

/** What the headers of every response say, by their names. */
const commonHeaders: HeaderTexts = {
  'X-Request-Id': 'Yours, if you sent one of 1 to 64 letters, digits, `.`, `_`, `-`; or ours.',
  'X-Content-Type-Options': '`nosniff`.',
  'X-RateLimit-Limit': 'Requests a minute that your tier allows.',
  'X-RateLimit-Remaining': 'Requests left in the current window.',
  'X-RateLimit-Reset': 'Unix seconds at which the window ends.',
  RateLimit: 'The same as the IETF drafts it: `r` left, `t` seconds to the end of the window.',
  'RateLimit-Policy': '`q` requests in each `w` seconds.',
  'Access-Control-Allow-Origin': '`*` where the request has an `Origin`: pages of any may call.',
  'Access-Control-Expose-Headers': 'The headers that such a page may read.',
  Vary: '`Origin` where the request has one.',
}

const failureHeaders: HeaderTexts = {
  'Cache-Control': '`no-store`.',
  'Retry-After': 'Seconds to wait before another attempt.',
  [PAYMENT_REQUIRED_HEADER]: 'Base64 of `paymentRequired`.',
  [PAYMENT_RESPONSE_HEADER]: 'Base64 of `paymentResponse`.',
  'WWW-Authenticate': '`Bearer`.',
}

type OpenApiFailure = {
  description: string
  headers: Record<string, Reference>
  content: Record<string, { schema: OpenApiSchema; examples: Record<string, Reference> }>
}

/** One answer of an operation that is no failure. */
export type OpenApiAnswer = { description: string; headers: HeaderTexts; content?: Content }

export type Components = ReturnType<typeof createComponents>

/** Begins the components of a document. */
export function createComponents() {
  const schemas: Record<string, OpenApiSchema> = {}
  const headers: Record<string, { description: string; schema: { type: 'string' } }> = {}
  const responses: Record<string, OpenApiFailure> = {}
  const examples: Record<string, { value: Problem }> = {}

  /** Headers of one name may be described in several ways; each is there once. */
  function header(name: string, description: string): Reference {
    let id = name
    for (let n = 2; (headers[id]?.description ?? description) !== description; n++) {
      id = `${name}-${n}`
    }
    headers[id] ??= { description, schema: { type: 'string' } }
    return { $ref: `#/components/headers/${id}` }
  }

  const headerList = (texts: HeaderTexts): Record<string, Reference> =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, header(name, text)]))

  const schema = (given: TSchema): OpenApiSchema => toOpenApiSchema(given, schemas)

  function example(code: ErrorCode): Reference {
    examples[code] ??= { value: problemOf(code) }
    return { $ref: `#/components/examples/${code}` }
  }

  /** All failures of an operation with one status. */
  function failure(codes: readonly ErrorCode[]): Reference {
    const name = codes.join('.')
    responses[name] ??= {
      description: codes.map((code) => errorCodes[code].title).join(' · '),
      headers: headerList({ ...commonHeaders, ...failureHeadersOf(codes) }),
      content: {
        [PROBLEM_MEDIA_TYPE]: {
          schema: schema(Problem),
          examples: Object.fromEntries(codes.map((code) => [code, example(code)])),
        },
      },
    }
    return { $ref: `#/components/responses/${name}` }
  }

  return {
    all: { schemas, headers, responses, examples },
    schema,

    answer: ({ description, headers: own, content }: OpenApiAnswer) => ({
      description,
      headers: headerList({ ...commonHeaders, ...own }),
      ...(content === undefined ? {} : { content }),
    }),

    /** One response a status, one example a code. */
    failures(codes: ReadonlySet<ErrorCode>): Record<string, Reference> {
      const byStatus = Map.groupBy(
        codesInOrder.filter((code) => codes.has(code)),
        (code) => errorCodes[code].status,
      )
      return Object.fromEntries([...byStatus].map(([status, some]) => [status, failure(some)]))
    },

    body(given: TObject) {
      const example = Object.fromEntries(
        Object.entries(given.properties).flatMap(([name, { examples: shown }]) =>
          Array.isArray(shown) ? [[name, shown[0]]] : [],
        ),
      )
      const content = { 'application/json': { schema: bodySchema(given, schemas), example } }
      return { required: isBodyRequired(given), content }
    },
  }
}

// The keys of a table that is written out in full.
const codesInOrder = Object.keys(errorCodes) as ErrorCode[]

const problemOf = (code: ErrorCode) => {
  const shown = errorExamples[code] ?? `${errorCodes[code].title}.`
  const { detail, ...extras } = typeof shown === 'string' ? { detail: shown } : shown
  return toProblem({ code, detail, extras }, 'req_5f0c1b7e9a2d4c36')
}

function failureHeadersOf(codes: readonly ErrorCode[]): HeaderTexts {
  const examples = codes.map(problemOf)
  const isThere: Record<string, boolean> = {
    'Cache-Control': true,
    'Retry-After': examples.some(({ retryAfterSeconds }) => retryAfterSeconds !== undefined),
    [PAYMENT_REQUIRED_HEADER]: examples.some(
      ({ paymentRequired }) => paymentRequired !== undefined,
    ),
    [PAYMENT_RESPONSE_HEADER]: examples.some(
      ({ paymentResponse }) => paymentResponse !== undefined,
    ),
    'WWW-Authenticate': examples.some(({ status }) => status === 401),
  }
  return Object.fromEntries(Object.entries(failureHeaders).filter(([name]) => isThere[name]))
}

/** A member with a default may be left out of a body, and none may be added to it. */
function bodySchema(given: TObject, schemas: Record<string, OpenApiSchema>): OpenApiSchema {
  const { required: _, ...rest } = toOpenApiSchema(given, schemas)
  const required = Object.entries(given.properties).flatMap(([name, member]) =>
    isOptional(member) ? [] : [name],
  )
  const closed = { ...rest, additionalProperties: false }
  return required.length > 0 ? { ...closed, required } : closed
}

/** Renders the parameters of a query, or of a path. */
export function openApiParameters(
  { properties }: Pick<TObject, 'properties'>,
  place: 'query' | 'path',
): OpenApiParameter[] {
  return Object.entries(properties).map(([name, property]) => {
    const { description, example, ...plain } = toOpenApiSchema(property, {})
    return {
      name,
      in: place,
      required: place === 'path' || !isOptional(property),
      description: String(description ?? ''),
      ...(example === undefined ? {} : { example }),
      schema: plain,
    }
  })
}
