/**
 * Completes the OpenAPI document that the Swagger plugin generates from routes and their schemas:
 * headers, failures and other media types follow from the options of a route (`api.ts`), and what
 * several operations share (headers, failures, examples, named schemas) is there once.
 */
import { isDeepStrictEqual } from 'node:util'

import type { ElysiaSwaggerConfig } from '@elysiajs/swagger'
import type { TObject } from '@sinclair/typebox'
import { type AnyElysia, Elysia } from 'elysia'

import { errorExamples } from '#src/domain/error-examples.ts'
import { type ErrorCode, errorCodes } from '#src/domain/errors.ts'
import { assert } from '#src/platform/assert.ts'
import { isRecord } from '#src/platform/record.ts'

import { OPTIONS, type RouteOptions } from './api.ts'
import { bodyCodes } from './body.ts'
import type { Access, Caching } from './call.ts'
import { pathParameters } from './data-query.ts'
import {
  cachingHeaderTexts,
  COVERAGE_HEADER,
  encodingTexts,
  RESUME_HEADER,
} from './data-response.ts'
import { idempotencyParameter, REPLAYED_HEADER } from './idempotency.ts'
import { Problem, PROBLEM_MEDIA_TYPE, toProblem } from './problem.ts'
import type { HeaderTexts, OpenApiParameter, OpenApiSchema, ResponseText } from './response-text.ts'
import { accessCodes, isOpen } from './rights.ts'
import { isTableFormat, toTableText } from './table.ts'
import { isOptional } from './validation.ts'
import { PAYMENT_REQUIRED_HEADER, PAYMENT_RESPONSE_HEADER } from './x402.ts'

type Reference = { $ref: string }
type Content = Record<string, { schema: OpenApiSchema }>

const commonHeaders: HeaderTexts = {
  'X-Request-Id':
    'Yours, if you sent one of 1 to 64 letters, digits, `.`, `_`, `-`; otherwise a new one.',
  'X-Content-Type-Options': '`nosniff`; absent where the `Content-Type` is `application/json`.',
  'X-RateLimit-Limit': 'Requests a minute that your tier allows.',
  'X-RateLimit-Remaining': 'Requests left in the current window.',
  'X-RateLimit-Reset': 'Unix seconds at which the window ends.',
  RateLimit:
    'The same in the form of the IETF draft: `r` left, `t` seconds to the end of the window.',
  'Access-Control-Allow-Origin': '`*` where the request has an `Origin`: any page may call.',
  'Access-Control-Expose-Headers': 'The headers that a page of another origin may read.',
  Vary: '`Origin` where the request has one.',
}

/** Headers of most answers that a 304 confirms. */
const plainHeaders = new Set([...Object.keys(commonHeaders), 'ETag', 'Cache-Control'])

/** Headers of failures; `isSent` says which problems have one. */
const failureHeaders: [name: string, text: string, isSent: (problem: Problem) => boolean][] = [
  ['Cache-Control', '`no-store`.', () => true],
  ['RateLimit-Policy', '`q` requests in each `w` seconds.', () => true],
  ['Retry-After', 'Seconds to wait before another attempt.', (it) => 'retryAfterSeconds' in it],
  [
    PAYMENT_REQUIRED_HEADER,
    'Base64 of `paymentRequired`, without what only directories read.',
    (it) => 'paymentRequired' in it,
  ],
  [PAYMENT_RESPONSE_HEADER, 'Base64 of `paymentResponse`.', (it) => 'paymentResponse' in it],
  [
    'Content-Range',
    'How long the file is: `bytes */` and its bytes.',
    ({ status }) => status === 416,
  ],
  ['WWW-Authenticate', '`Bearer`.', ({ status }) => status === 401],
  [
    'WWW-Authenticate',
    'Of what is sold without a key: a challenge `Payment` (draft-httpauth-payment-01), which is the first offer of `paymentRequired`.',
    ({ status }) => status === 402,
  ],
]

type OpenApiResponse = {
  description: string
  headers: Record<string, Reference>
  content?: Record<string, { schema: OpenApiSchema; examples: Record<string, Reference> }>
}

type OpenApiAnswer = {
  operationId: string
  description: string
  headers: HeaderTexts
  content?: Content | undefined
}

export type Components = ReturnType<typeof createComponents>

/** `more` are headers that all responses of the document have besides. */
export function createComponents(more: HeaderTexts = {}) {
  const common = { ...commonHeaders, ...more }
  const schemas: Record<string, OpenApiSchema> = {}
  const { headers, headerList } = createHeaders()
  const responses: Record<string, OpenApiResponse> = {}
  const examples: Record<string, { value: Problem }> = {}

  const schema = (given: object): OpenApiSchema => translate(openOf(given), schemas)

  function example(code: ErrorCode): Reference {
    examples[code] ??= { value: problemOf(code) }
    return { $ref: `#/components/examples/${code}` }
  }

  function failure(codes: readonly ErrorCode[]): Reference {
    const name = codes.join('.')
    const own = Object.fromEntries(
      failureHeaders.filter(([, , isSent]) => codes.map(problemOf).some(isSent)),
    )
    responses[name] ??= {
      description: codes.map((code) => errorCodes[code].title).join(' · '),
      headers: headerList({ ...common, ...own }, 'failure'),
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

    answer: ({ operationId, description, headers: own, content }: OpenApiAnswer) => ({
      description,
      headers: headerList({ ...common, ...own }, operationId),
      ...(content === undefined ? {} : { content }),
    }),

    /** One 304 for each kind, named by the headers that set it apart. */
    unchanged(own: HeaderTexts, operationId: string): Reference {
      const description = 'Not modified: `If-None-Match` names the current state.'
      const answer = { description, headers: headerList({ ...common, ...own }, operationId) }
      const ids = Object.values(answer.headers).map(({ $ref }) => $ref.split('/').at(-1) ?? '')
      const name = ['NotModified', ...ids.filter((id) => !plainHeaders.has(id))].join('.')
      responses[name] ??= answer
      assert(isDeepStrictEqual(responses[name], answer), 'A name is of one response.')
      return { $ref: `#/components/responses/${name}` }
    },

    /** One response a status, one example a code. */
    failures(codes: ReadonlySet<ErrorCode>): Record<string, Reference> {
      const byStatus = Map.groupBy(
        codesInOrder.filter((code) => codes.has(code)),
        (code) => errorCodes[code].status,
      )
      return Object.fromEntries([...byStatus].map(([status, some]) => [status, failure(some)]))
    },

    /** A member with a default may be left out of a body, and none may be added to it. */
    body(schema: object) {
      const given = plainOf(schema) as GeneratedObject
      const { properties = {}, required: _, ...rest } = given
      const required = Object.keys(properties).filter((name) => isRequired(given, name))
      const example = Object.fromEntries(
        Object.entries(properties).flatMap(([name, { examples: shown }]) =>
          Array.isArray(shown) ? [[name, shown[0]]] : [],
        ),
      )
      const closed = { ...rest, properties, additionalProperties: false }
      const all = required.length > 0 ? { ...closed, required } : closed
      const content = { 'application/json': { schema: translate(all, schemas), example } }
      return { required: required.length > 0, content }
    },
  }
}

function createHeaders() {
  const headers: Record<string, { description: string; schema: { type: 'string' } }> = {}

  /**
   * Headers of one name may be described in several ways; each is there once, and those after the
   * first are named by their value, where the text is no more, or else by the operation.
   */
  function headerId(name: string, description: string, operationId: string): string {
    const value = /^`([^`]+)`\.$/.exec(description)?.[1]?.replaceAll(/\W+/g, '-')
    const known = Object.keys(headers).find(
      (id) => id.split('.')[0] === name && headers[id]?.description === description,
    )
    const id = known ?? (name in headers ? `${name}.${value ?? operationId}` : name)
    headers[id] ??= { description, schema: { type: 'string' } }
    assert(headers[id].description === description, 'A name is of one header.')
    return id
  }

  const headerList = (texts: HeaderTexts, operationId: string): Record<string, Reference> =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [
        name,
        { $ref: `#/components/headers/${headerId(name, text, operationId)}` },
      ]),
    )

  return { headers, headerList }
}

// The keys of a table that is written out in full.
const codesInOrder = Object.keys(errorCodes) as ErrorCode[]

const problemOf = (code: ErrorCode) => {
  const shown = errorExamples[code] ?? `${errorCodes[code].title}.`
  const { detail, ...extras } = typeof shown === 'string' ? { detail: shown } : shown
  return toProblem({ code, detail, extras }, 'req_5f0c1b7e9a2d4c36')
}

type GeneratedObject = { properties?: Record<string, OpenApiSchema>; required?: string[] }

/** A member or parameter without a default that TypeBox requires. */
const isRequired = ({ properties, required = [] }: GeneratedObject, name: string): boolean =>
  required.includes(name) && properties?.[name]?.default === undefined

/** Parameters of a query, as the document has them. */
export const openApiParameters = ({
  properties,
}: Pick<TObject, 'properties'>): OpenApiParameter[] =>
  Object.entries(properties).map(([name, property]) => {
    const { description, examples, ...schema } = plainOf(property)
    return toParameter({
      name,
      in: 'query',
      required: !isOptional(property),
      description: String(description ?? ''),
      examples,
      schema,
    })
  })

/** As the plugin generates it: with the examples of its schema, and required despite a default. */
type GeneratedParameter = Omit<OpenApiParameter, 'example' | 'description'> & {
  description?: string
  examples?: unknown
}

function toParameter({ examples, ...parameter }: GeneratedParameter): OpenApiParameter {
  const { required, description = '' } = parameter
  const { example, ...schema } = translate({ ...parameter.schema, examples }, {})
  return {
    name: parameter.name,
    in: parameter.in,
    required: required && schema.default === undefined,
    description,
    ...(example === undefined ? {} : { example }),
    schema,
  }
}

type Named = Record<string, OpenApiSchema>

/** A copy without symbols: kinds, transforms and words. */
const plainOf = (schema: object) => JSON.parse(JSON.stringify(schema)) as OpenApiSchema

/** A plain copy of the schema of a response: members may be added, also where Elysia forbids them. */
const openOf = (schema: object) =>
  JSON.parse(
    JSON.stringify(schema, (name, value) =>
      name === 'additionalProperties' && value === false ? undefined : value,
    ),
  ) as OpenApiSchema

/**
 * Translates a TypeBox schema, which OpenAPI 3.0 only resembles: `examples` becomes `example`, a
 * literal or a union of them an `enum`, a union with null `nullable`, which an `enum` has to say
 * too. One with an `$id` goes to `named`, and a reference to it takes its place.
 */
function translate({ $id, ...schema }: OpenApiSchema, named: Named): OpenApiSchema {
  const result = translatePlain(schema, named)
  if (typeof $id !== 'string') return result
  named[$id] ??= result
  assert(isDeepStrictEqual(named[$id], result), 'A name is of one schema.')
  return { $ref: `#/components/schemas/${$id}` }
}

function translatePlain(schema: OpenApiSchema, named: Named): OpenApiSchema {
  const { examples, anyOf, const: literal, ...rest } = schema
  const union = Array.isArray(anyOf) ? translateUnion(anyOf as OpenApiSchema[], named) : {}
  const result: OpenApiSchema = { ...rest, ...union }
  if (literal !== undefined) result.enum = [literal]
  if (Array.isArray(examples)) result.example = examples[0]
  if (isRecord(result.items)) result.items = translate(result.items, named)
  if (isRecord(result.properties)) {
    const members = Object.entries(result.properties as Named)
    result.properties = Object.fromEntries(
      members.map(([name, member]) => [name, translate(member, named)]),
    )
  }
  return result
}

function translateUnion(options: readonly OpenApiSchema[], named: Named): OpenApiSchema {
  const others = options.filter((option) => option.type !== 'null')
  const orNull = (schema: OpenApiSchema): OpenApiSchema => {
    if (others.length === options.length) return schema
    const withNull = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {}
    return { ...schema, ...withNull, nullable: true }
  }
  const [only] = others
  if (only && others.length === 1) {
    // In place: beside a reference `nullable` would count for nothing.
    const { $id: _, ...inline } = only
    return orNull(translate(inline, named))
  }
  return others.every((option) => typeof option.const === 'string')
    ? orNull({ type: 'string', enum: others.map((option) => option.const) })
    : orNull({ anyOf: others.map((option) => translate(option, named)) })
}

/** An operation as the plugin generates it from its route. */
type Generated = {
  [OPTIONS]?: RouteOptions
  operationId: string
  parameters?: GeneratedParameter[]
  requestBody?: { content: { 'application/json': { schema: OpenApiSchema } } }
  responses?: Record<string, OpenApiSchema & { content?: { 'application/json'?: Described } }>
}
type Described = { schema: OpenApiSchema }
export type Paths = Record<string, Record<string, object>>

/** Has the Swagger plugin generate the document of an app from its routes. */
export async function generateDocument(
  app: AnyElysia,
  documentation: NonNullable<ElysiaSwaggerConfig['documentation']>,
): Promise<{ paths: object }> {
  const { swagger } = await import('@elysiajs/swagger')
  // A route is no file because of the dot in its name.
  const plugin = swagger({ path: '/swagger', excludeStaticFile: false, documentation })
  const request = new Request('http://localhost/swagger/json')
  const response = await new Elysia().use(plugin).use(app).handle(request)
  return (await response.json()) as { paths: object }
}

/** Completes the operations of a generated document whose access is to be shown. */
export function completePaths(
  generated: object,
  components: Components,
  isShown: (access: Access) => boolean,
): Paths {
  const paths: Paths = {}
  for (const [path, operations] of Object.entries(generated)) {
    for (const [method, operation] of Object.entries(
      operations as Readonly<Record<string, Generated>>,
    )) {
      const { [OPTIONS]: options, ...rest } = operation
      if (options === undefined || !isShown(options.access)) continue
      paths[path] = { ...paths[path], [method]: complete(path, rest, options, components) }
    }
  }
  return paths
}

/** Every code that an operation may answer. */
function codesOf(
  path: string,
  { parameters = [], requestBody }: Generated,
  { access, fails = [], ...options }: RouteOptions,
): Set<ErrorCode> {
  const codes = new Set<ErrorCode>([...accessCodes(access), ...fails])
  const add = (isThere: boolean | undefined, more: readonly ErrorCode[]) => {
    if (isThere) for (const code of more) codes.add(code)
  }
  add(path.includes('/{'), ['invalid_request'])
  add(path.includes('/{coin}'), ['unknown_coin'])
  add(path.includes('/{conditionId}'), ['unknown_market'])
  const hasCursor = parameters.some(({ name }) => name === 'cursor')
  add(hasCursor, ['cursor_invalid', 'cursor_mismatch'])
  add(requestBody !== undefined, bodyCodes)
  add(options.isReplayable, ['idempotency_mismatch'])
  if (options.isOfOwnCoins) codes.delete('tier_coin')
  for (const code of options.neverFails ?? []) codes.delete(code)
  return codes
}

function complete(
  path: string,
  generated: Generated,
  options: RouteOptions,
  components: Components,
) {
  const { operationId, parameters: sent = [], requestBody, responses = {} } = generated
  const { access, caching } = options
  const named: Readonly<Record<string, object | undefined>> = { ...pathParameters, id: options.id }
  const parameters = [
    ...sent.map((parameter) => {
      const schema = parameter.in === 'path' ? named[parameter.name] : undefined
      if (schema === undefined) return toParameter(parameter)
      const { description, examples, ...rest } = plainOf(schema)
      return toParameter({ ...parameter, description: String(description), examples, schema: rest })
    }),
    ...(options.requestHeaders ?? []),
    ...(options.isReplayable ? [idempotencyParameter] : []),
  ]
  const plain: readonly ResponseText[] = [options.answers].flat()
  const successes = parameters.some(isTableFormat) ? plain.map(toTableText) : plain
  const isTagged = caching === 'digest' || caching === 'page' || caching === 'tag'
  const shared = cachingTextsOf(options)
  const isCoded = (isTagged || caching === 'unkept') && !options.isAsStored
  const coding = isCoded ? encodingTexts : {}
  const answers = successes.map(({ status = 200, description: text, resume, ...success }) => {
    const schema = schemaOf(responses[status])
    const json = schema && { 'application/json': { schema: components.schema(schema) } }
    const content = json || success.content ? { ...json, ...success.content } : undefined
    const headers = {
      ...shared,
      ...coding,
      ...success.headers,
      ...resumeTexts(resume, caching),
      ...success.bodyHeaders,
    }
    return [status, components.answer({ operationId, description: text, headers, content })]
  })
  const [first] = successes
  const unchanged = {
    ...shared,
    ...first?.headers,
    ...(caching === 'page' ? {} : resumeTexts(first?.resume, caching)),
  }
  return {
    ...generated,
    ...(access === 'none' ? {} : { security: isOpen(access) ? [] : [{ apiKey: [] }] }),
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: requestBody && components.body(requestBody.content['application/json'].schema),
    responses: {
      ...Object.fromEntries(answers),
      ...(isTagged ? { 304: components.unchanged(unchanged, operationId) } : {}),
      ...components.failures(codesOf(path, generated, options)),
    },
  }
}

/** The schema of a response, whose name and description the plugin leaves beside its content. */
function schemaOf(response: NonNullable<Generated['responses']>[string] | undefined) {
  const { content, ...outer } = response ?? {}
  const inner = content?.['application/json']?.schema
  return inner && { ...outer, ...inner }
}

/** A 304 for a page is sent before any row is read, so it has no cursor. */
function resumeTexts(resume: string | undefined, caching: Caching): HeaderTexts {
  if (resume === undefined) return {}
  const after304 = ' Omitted on a 304; keep using the cursor from the response it confirms.'
  return { [RESUME_HEADER]: caching === 'page' ? resume + after304 : resume }
}

/** Headers of every success, whether it has a body or not. */
function cachingTextsOf({ caching, isCovered, isReplayable }: RouteOptions): HeaderTexts {
  const control = { 'Cache-Control': `\`${caching === 'unkept' ? 'no-store' : caching}\`.` }
  return {
    ...(caching === 'digest' || caching === 'page' || caching === 'tag'
      ? cachingHeaderTexts
      : control),
    ...(isCovered ? { [COVERAGE_HEADER]: coverageText } : {}),
    ...(isReplayable
      ? { [REPLAYED_HEADER]: '`true` on an answer that was given before; else absent.' }
      : {}),
  }
}

const coverageText =
  'How much of the time asked for is recorded, over the outcomes asked for (RFC 9651): `full`; or `partial` or `none` with `covered` (share, rounded down), `gaps` (their number) and `reasons`; or `unknown`, without a share, if the trading window of a market is not known (send `from` and `to` to have its rows measured). On what may still change, the reason `stale` and `until` say that the server has not heard from its database, and up to when everything is known. An empty page of a `full` range is a fact; of any other it is not. GET …/coverage lists the gaps.'
