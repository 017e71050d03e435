/**
 * A route is one thing: what it takes, who may call it, what it answers and how it fails are
 * written once, beside the handler. From that come reading and refusing, headers, 304 and the
 * operation of the OpenAPI document. Elysia routes; `serveRoutes` gives each route to it as one
 * handler that does, in this order: who asks, what of the path exists, the query, the body, the
 * answer.
 */
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { type AnyElysia, Elysia } from 'elysia'

import type { ErrorCode } from '#src/core/errors.ts'
import type { FindMarket } from '#src/core/market-name.ts'
import type { Coin, Market } from '#src/core/market.ts'
import type { Steps } from '#src/lib/scheduler.ts'
import type { Caller } from '#src/selling/caller.ts'

import { type Access, accessCodes, type AccessPorts, admit, callerOf, isOpen } from './access.ts'
import { bodyCodes, readBody } from './body.ts'
import {
  answerData,
  answerUnkept,
  cachingHeaderTexts,
  COVERAGE_HEADER,
  type DataAnswer,
  encodingTexts,
} from './data-response.ts'
import { type Allowance, visitOf } from './gate.ts'
import { idempotencyParameter, REPLAYED_HEADER } from './idempotency.ts'
import { jsonResponse } from './json.ts'
import { pathParameters, readCoin, readMarket } from './market-path.ts'
import {
  type Components,
  type HeaderTexts,
  type OpenApiParameter,
  openApiParameters,
} from './openapi-operation.ts'
import { parseQuery } from './schema-reader.ts'
import { searchOf } from './url.ts'
import type { Work } from './work.ts'

/** What routes ask of the rest of the server. */
export type RoutePorts = AccessPorts & { findMarket: FindMarket; work: Work }

/**
 * How an answer may be kept, which decides what a handler returns. `digest`: data, whose digest is
 * its `ETag`. `tag`: a response that is known by its tag before it is made, so the handler answers
 * 304 itself. `unkept`: data that is compressed, but never kept. Any other is the `Cache-Control`
 * of a JSON value.
 */
type Caching = 'digest' | 'tag' | 'unkept' | 'no-store' | 'no-cache' | 'private, no-store'

type Returned<C extends Caching> = C extends 'digest' | 'unkept'
  ? DataAnswer
  : C extends 'tag'
    ? Response
    : object

/** A success, for the documentation. */
type Success = {
  status?: 200 | 201 | 202 | 204
  description: string
  /** Of JSON; another body has `content`. */
  schema?: TSchema
  content?: Record<string, { schema: { type: 'string'; format?: 'binary' } }>
  /** Headers of its own, of a 304 too. */
  headers?: HeaderTexts
  /** Those that a 304 lacks. */
  bodyHeaders?: HeaderTexts
}

type PathValues<P extends string> = (P extends `${string}/:coin${string}`
  ? { coin: Coin }
  : unknown) &
  (P extends `${string}/:conditionId${string}` ? { market: Market } : unknown) &
  (P extends `${string}/:id${string}` ? { id: string } : unknown)

/** What a handler is given: what was read, and nothing that was not. */
type Call<P extends string, A extends Access, Q, B> = { request: Request } & PathValues<P> &
  (A extends 'none' | 'open' | 'signup' ? unknown : { caller: Caller }) &
  (Q extends TObject ? { query: Static<Q> } : unknown) &
  (B extends TObject ? { body: Static<B> } : unknown)

type Spec<P extends string, A extends Access, Q, B, C extends Caching> = {
  /** `GET` by default. */
  method?: 'POST' | 'DELETE'
  /** `:coin` and `:conditionId` are read, and refused where there is no such thing. */
  path: P
  access: A
  /**
   * The rate window that requests are taken from; `data` by default.
   * Routes that begin alike must agree.
   */
  allowance?: 'billing'
  /** Keeps the connection of an admitted request for so many idle seconds. */
  keepOpenSeconds?: number
  /** The access by default. */
  tag?: string
  operationId: string
  summary: string
  description: string
  /** Without it every parameter is refused. */
  query?: Q
  body?: B
  /** Schema of `:id`. */
  id?: TSchema
  requestHeaders?: readonly OpenApiParameter[]
  /** True if an `Idempotency-Key` is heeded; the handler sees to it. */
  isReplayable?: boolean
  ok: Success | readonly Success[]
  /** True if `X-Coverage` says how far the data was recorded. */
  isCovered?: boolean
  caching: C
  /** True where only memory is read, so that nothing can fail. */
  isInMemory?: boolean
  /** Codes beside those that follow from all of the above. */
  fails?: readonly ErrorCode[]
  /** Work that may take long is in steps; a promise is awaited. */
  answer(
    call: Call<P, A, Q, B>,
  ): Response | Returned<C> | Promise<Response | Returned<C>> | Steps<Returned<C>>
}

/** A route, whatever it reads. */
export type Route = Readonly<{
  method: string
  path: string
  allowance: Allowance
  toHandler: (ports: RoutePorts) => Handler
  toOperation: (components: Components) => object
}>
type Handler = (context: { request: Request; params?: Params }) => Response | Promise<Response>
type Params = { coin?: string; conditionId?: string; id?: string }

/** Declares a route. */
export const route = <
  const P extends string,
  const A extends Access,
  const C extends Caching,
  Q extends TObject | undefined = undefined,
  B extends TObject | undefined = undefined,
>(
  spec: Spec<P, A, Q, B, C>,
): Route => ({
  method: spec.method ?? 'GET',
  path: spec.path,
  allowance: spec.access === 'none' ? 'none' : (spec.allowance ?? 'data'),
  // The reader gives exactly what the types of the call say.
  toHandler: (ports) => createHandler(spec as unknown as AnySpec, ports),
  toOperation: (components) => toOperation(spec as unknown as AnySpec, components),
})

type AnySpec = Spec<string, Access, TObject | undefined, TObject | undefined, Caching>
type AnyCall = { request: Request; market?: Market | undefined }
type Result = Response | DataAnswer | object

/** Gives routes to Elysia; `components` become those of their operations. */
export function serveRoutes(
  routes: readonly Route[],
  { components, ...ports }: RoutePorts & { components: Components },
): AnyElysia {
  const app = new Elysia({ name: 'routes' })
  for (const { method, path, toHandler, toOperation } of routes) {
    // Elysia reads the source of a handler to guess what it needs, and takes any call after
    // `return` or `=>` for a promise: the answer would come a tick later, which costs a tenth of a
    // page. A bound function shows no source.
    const handler = toHandler(ports).bind(undefined)
    // Bodies are read by us, and Elysia must leave something to read.
    app.route(method, path, handler, { parse: 'none', detail: toOperation(components) })
  }
  return app
}

function createHandler(spec: AnySpec, ports: RoutePorts): Handler {
  const { access, query: querySchema = noQuery, body: bodySchema, keepOpenSeconds, caching } = spec
  const { findMarket, work } = ports
  const answer = spec.answer as (call: AnyCall) => Result | Promise<Result> | Steps<DataAnswer>

  function finish(call: AnyCall, result: ReturnType<typeof answer>): Response | Promise<Response> {
    if (result instanceof Response) return result
    if (result instanceof Promise) return result.then((value) => finish(call, value))
    if (isSteps(result)) return finish(call, work.run(call.request, result))
    if (caching !== 'digest' && caching !== 'unkept') {
      return jsonResponse(result, { headers: { 'Cache-Control': caching } })
    }
    const data = result as DataAnswer
    if (caching === 'unkept') return answerUnkept(call.request, data)
    const isClosed = data.isClosed ?? call.market?.isClosed ?? false
    return answerData(call.request, { ...data, isClosed })
  }

  return ({ request, params }) => {
    // Elysia gives none where the path has none.
    const { coin, conditionId, id } = params ?? noParams
    if (access === 'none') return finish({ request }, answer({ request }))
    admit({ request, access, coin }, ports)
    if (keepOpenSeconds !== undefined) visitOf(request).keepOpen?.(keepOpenSeconds)
    const known = coin === undefined ? undefined : readCoin(coin)
    const market =
      known && conditionId !== undefined ? readMarket(known, conditionId, findMarket) : undefined
    const query = parseQuery(querySchema, searchOf(request.url))
    const caller = isOpen(access) ? undefined : callerOf(request)
    const call = { request, coin: known, market, id, caller, query }
    if (bodySchema === undefined) return finish(call, answer(call))
    return readBody(bodySchema, request).then((body) => {
      const whole = { ...call, body }
      return finish(whole, answer(whole))
    })
  }
}

const noQuery = Type.Object({})
const noParams: Params = {}

const isSteps = (result: object): result is Steps<DataAnswer> =>
  'next' in result && typeof result.next === 'function'

/** Every code that an operation may answer. */
function codesOf(spec: AnySpec): Set<ErrorCode> {
  const { path, access, query, body, fails = [] } = spec
  const codes = new Set<ErrorCode>([...accessCodes(access), ...fails])
  const add = (isThere: boolean | undefined, more: readonly ErrorCode[]) => {
    if (isThere) for (const code of more) codes.add(code)
  }
  add(path.includes('/:'), ['invalid_request'])
  add(path.includes('/:coin'), ['unknown_coin'])
  add(path.includes('/:conditionId'), ['unknown_market'])
  add(query && 'cursor' in query.properties, ['cursor_invalid', 'cursor_mismatch'])
  add(body !== undefined, bodyCodes)
  add(spec.isReplayable, ['idempotency_mismatch'])
  if (spec.isInMemory) codes.delete('internal')
  return codes
}

/** The operation of the OpenAPI document. */
function toOperation(spec: AnySpec, components: Components) {
  const { path, access, tag = access, operationId, summary, description, query, body } = spec
  const successes = [spec.ok].flat()
  const parts = { ...pathParameters, ...(spec.id === undefined ? {} : { id: spec.id }) }
  const named = Object.entries(parts).filter(([name]) => path.includes(`/:${name}`))
  const parameters = [
    ...openApiParameters({ properties: Object.fromEntries(named) }, 'path'),
    ...openApiParameters(query ?? noQuery, 'query'),
    ...(spec.requestHeaders ?? []),
    ...(spec.isReplayable ? [idempotencyParameter] : []),
  ]
  const answers = successes.map((success) => [
    success.status ?? 200,
    toAnswer(spec, success, components),
  ])
  const [first] = successes
  const isTagged = spec.caching === 'digest' || spec.caching === 'tag'
  return {
    tags: [tag],
    ...{ operationId, summary, description },
    ...(access === 'none' ? {} : { security: isOpen(access) ? [] : [{ apiKey: [] }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: components.body(body) }),
    responses: {
      ...Object.fromEntries(answers),
      ...(isTagged && first ? { 304: toUnchanged(spec, first, components) } : {}),
      ...components.failures(codesOf(spec)),
    },
  }
}

function toAnswer(spec: AnySpec, success: Success, components: Components) {
  const { description, schema, headers, bodyHeaders } = success
  const content = schema && { 'application/json': { schema: components.schema(schema) } }
  return components.answer({
    description,
    headers: {
      ...cachingTextsOf(spec),
      ...(spec.caching === 'digest' || spec.caching === 'tag' || spec.caching === 'unkept'
        ? encodingTexts
        : {}),
      ...headers,
      ...bodyHeaders,
    },
    ...((success.content ?? content) ? { content: success.content ?? content } : {}),
  })
}

const toUnchanged = (spec: AnySpec, { headers }: Success, components: Components) =>
  components.answer({
    description: 'What was asked for is still what `If-None-Match` names.',
    headers: { ...cachingTextsOf(spec), ...headers },
  })

/** Headers of every success, whether it has a body or not. */
function cachingTextsOf({ caching, isCovered, isReplayable }: AnySpec): HeaderTexts {
  const control = caching === 'unkept' ? 'no-store' : caching
  return {
    ...(caching === 'digest' || caching === 'tag'
      ? cachingHeaderTexts
      : { 'Cache-Control': `\`${control}\`.` }),
    ...(isCovered ? { [COVERAGE_HEADER]: coverageText } : {}),
    ...(isReplayable
      ? { [REPLAYED_HEADER]: '`true` on an answer that was given before; else absent.' }
      : {}),
  }
}

const coverageText =
  'How much of the time asked for is recorded, over the outcomes asked for (RFC 9651): `full`; or `partial` or `none` with `covered` (share, rounded down), `gaps` (their number) and `reasons`; or `unknown`, without a share, if the trading window of a market is not known (send `from` and `to` to have its rows measured). An empty page of a `full` range is a fact; of any other it is not. GET …/coverage lists the gaps.'
