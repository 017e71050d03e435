/** Parts of an OpenAPI operation, rendered from what the code itself uses. */
import type { TObject } from '@sinclair/typebox'

import { type ErrorCode, errorCodes } from '#src/core/errors.ts'

import { type OpenApiSchema, toOpenApiSchema } from './openapi-schema.ts'
import { type Failure, PROBLEM_MEDIA_TYPE, toProblem } from './problem.ts'
import { isOptional } from './query.ts'

export type OpenApiParameter = {
  name: string
  in: 'query' | 'path'
  required: boolean
  description: string
  example?: unknown
  schema: OpenApiSchema
}

export type OpenApiResponse = {
  description: string
  headers: Record<string, OpenApiHeader>
  content: Record<
    string,
    { schema: { $ref: string }; examples: Record<string, { value: unknown }> }
  >
}

export type OpenApiHeader = { $ref: string } | { description: string; schema: { type: 'string' } }

/** Headers of every response, to be spread into each response's `headers`. */
export const commonHeaders = {
  'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
  'X-Content-Type-Options': { $ref: '#/components/headers/X-Content-Type-Options' },
} as const

/** Describes a header of one response. */
export const textHeader = (description: string): OpenApiHeader => ({
  description,
  schema: { type: 'string' },
})

/** What an example of a code says; a code that is not here gets its title. */
const exampleFailures: Partial<Record<ErrorCode, Pick<Failure, 'detail' | 'extras'>>> = {
  invalid_parameter: {
    detail: '`limit` is "5000", but must be an integer from 1 to 1000 in plain decimal digits.',
    extras: { param: 'limit' },
  },
  cursor_invalid: {
    detail: 'The cursor is not one of ours. Send `nextCursor` or `X-Resume-Cursor` unchanged.',
    extras: { param: 'cursor' },
  },
  cursor_mismatch: {
    detail: 'The cursor belongs to another market or other filters. Only `limit` may change.',
    extras: { param: 'cursor' },
  },
  invalid_request: { detail: 'The path has a malformed percent-encoding.', extras: {} },
  unknown_coin: {
    detail: 'There is no coin "doge". Coins are btc, eth, sol, xrp.',
    extras: { param: 'coin' },
  },
  unknown_market: {
    detail:
      'There is no btc market of this conditionId. GET /v1/btc/markets lists those there are.',
    extras: { param: 'conditionId' },
  },
  internal: {
    detail: 'The server failed. Report the requestId; a retry may help.',
    extras: {},
  },
  unavailable: { detail: 'Not ready: accepting.', extras: { retryAfterSeconds: 5 } },
}

/** Renders the parameter list of the schema that `parseQuery` reads, or of path parameters. */
export function openApiParameters(
  schema: TObject,
  place: 'query' | 'path' = 'query',
): OpenApiParameter[] {
  return Object.entries(schema.properties).map(([name, property]) => {
    const { description, example, ...plain } = toOpenApiSchema(property)
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

const retryAfter = textHeader('Seconds to wait before another attempt.')

/** Renders a success with a JSON body; `headers` are those beside the common ones. */
export const jsonContent = (description: string, schema: object, headers: object = {}) => ({
  description,
  headers: { ...commonHeaders, ...headers },
  content: { 'application/json': { schema: toOpenApiSchema(schema) } },
})

/** Renders the failures of a route: one response a status, one example a code. */
export function problemResponses(codes: readonly ErrorCode[]): Record<string, OpenApiResponse> {
  const responses: Record<string, OpenApiResponse> = {}
  for (const code of codes) {
    const { status, title } = errorCodes[code]
    const failure = exampleFailures[code] ?? { detail: `${title}.`, extras: {} }
    const value = toProblem({ code, ...failure }, 'req_5f0c1b7e9a2d4c36')
    const known = responses[status]?.content[PROBLEM_MEDIA_TYPE]?.examples
    responses[status] = {
      description: known ? `${responses[status]?.description} · ${title}` : title,
      headers: {
        ...commonHeaders,
        'Cache-Control': textHeader('`no-store`.'),
        ...(value.retryAfterSeconds === undefined ? {} : { 'Retry-After': retryAfter }),
      },
      content: {
        [PROBLEM_MEDIA_TYPE]: {
          schema: { $ref: '#/components/schemas/Problem' },
          examples: { ...known, [code]: { value } },
        },
      },
    }
  }
  return responses
}
