/**
 * A route is one thing: what it takes, who may call it, what it answers and how it fails are
 * written once, beside the handler. From that come reading and refusing, headers, 304 and the
 * operation of the OpenAPI document. A handler does, in this order: who asks, what of the path
 * exists, the query, the body, the answer.
 */
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { Memoirist } from 'memoirist'

import type { ErrorCode } from '#src/domain/errors.ts'
import type { FindMarket } from '#src/domain/market-name.ts'
import type { Coin, Market } from '#src/domain/market.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import { after, type Eventual } from '#src/platform/eventually.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { bodyCodes, readBody } from './body.ts'
import { pathParameters, readCoin, readMarket } from './data-query.ts'
import {
  answerData,
  answerPage,
  cachingHeaderTexts,
  COVERAGE_HEADER,
  type DataAnswer,
  encodingTexts,
  type PageAnswer,
  type PagePorts,
} from './data-response.ts'
import {
  type Access,
  accessCodes,
  type AccessPorts,
  admit,
  type Allowance,
  type Arrived,
  isOpen,
  type TakeSignup,
  visitOf,
} from './gate.ts'
import { idempotencyParameter, REPLAYED_HEADER } from './idempotency.ts'
import { jsonResponse } from './json.ts'
import { createAnswers } from './kept-answers.ts'
import { FIRST_ROUTE } from './meters.ts'
import {
  type Components,
  type HeaderTexts,
  type OpenApiParameter,
  openApiParameters,
} from './openapi-operation.ts'
import type { Place, RouteTable } from './route-table.ts'
import { noQuery, parseQuery } from './schema-reader.ts'
import { choosesFormat } from './table.ts'
import { decodePart, searchOf } from './url.ts'

type RoutePorts = AccessPorts &
  PagePorts & {
    findMarket: FindMarket
    eventually: Eventual
    places: Pick<RouteTable, 'keep'>
    takeSignup: TakeSignup
  }

/**
 * How an answer may be kept, which decides what a handler returns. `digest`: data, whose digest is
 * its `ETag`. `page`: a page of a market, which is known by its tag before it is made. `tag`: a
 * response whose handler answers 304 itself. `unkept`: data that is compressed. Any other is the
 * `Cache-Control` of a JSON value.
 */
type Caching = 'digest' | 'page' | 'tag' | 'unkept' | 'no-store' | 'no-cache' | 'private, no-store'

type Returned<C extends Caching> = C extends 'digest' | 'unkept'
  ? DataAnswer
  : C extends 'page'
    ? PageAnswer
    : C extends 'tag'
      ? Response
      : object

type Success = {
  status?: 200 | 201 | 202 | 204 | 206
  description: string
  /** Of JSON; other bodies are in `content`. */
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

/** What was read, and nothing that was not. */
type Call<P extends string, A extends Access, Q, B> = { request: Request } & PathValues<P> &
  (A extends 'none' | 'operator' | 'open' | 'signup' ? unknown : { caller: Caller }) &
  (Q extends TObject ? { query: Static<Q> } : unknown) &
  (B extends TObject ? { body: Static<B> } : unknown)

type Spec<P extends string, A extends Access, Q, B, C extends Caching> = {
  /** `GET` by default. */
  method?: 'POST' | 'PATCH' | 'DELETE'
  /** `:coin` and `:conditionId` are read, and refused where there is no such thing. */
  path: P
  access: A
  /** The access of one request, where its query decides. */
  accessAt?: (search: URLSearchParams) => Exclude<Access, 'none'>
  /** `data` by default. Routes that begin alike must agree. */
  allowance?: 'billing'
  /** True of what must be answered when the server has too much to do; billing is without it. */
  isUrgent?: boolean
  /** Idle seconds for which the connection of an admitted request is kept. */
  keepOpenSeconds?: number
  /** The access by default. */
  tag?: string
  operationId: string
  summary: string
  description: string
  /** Without it every parameter is refused. */
  query?: Q
  body?: B
  id?: TSchema
  requestHeaders?: readonly OpenApiParameter[]
  /** True if an `Idempotency-Key` is heeded; the handler sees to it. */
  isReplayable?: boolean
  ok: Success | readonly Success[]
  /** True if `X-Coverage` says how far the data was recorded. */
  isCovered?: boolean
  caching: C
  /** True of what reads no history, which alone can be damaged. */
  readsFiles?: boolean
  /** True of what has no coding but its own. */
  isAsStored?: boolean
  /** True of what begins to follow: that is done once. */
  isFollowed?: boolean
  /** True if `Accept` chooses a format (`table.ts`). */
  isTable?: boolean
  /** True where only memory is read, so that nothing can fail. */
  isInMemory?: boolean
  /** Codes beside those that follow from all of the above. */
  fails?: readonly ErrorCode[]
  /** Work that may take long is in steps; a promise is awaited. */
  answer(
    call: Call<P, A, Q, B>,
  ): Response | Returned<C> | Promise<Response | Returned<C>> | Steps<Returned<C>>
}

type AnySpec = Spec<string, Access, TObject | undefined, TObject | undefined, Caching>
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type Route = Readonly<
  Omit<AnySpec, 'allowance' | 'method'> & { allowance: Allowance; method: Method }
>

export const route = <
  const P extends string,
  const A extends Access,
  const C extends Caching,
  Q extends TObject | undefined = undefined,
  B extends TObject | undefined = undefined,
>(
  spec: Spec<P, A, Q, B, C>,
): Route => ({
  // The reader gives exactly what the types of the call say.
  ...(spec as unknown as AnySpec),
  method: spec.method ?? 'GET',
  allowance:
    spec.access === 'none' || spec.access === 'operator' ? 'none' : (spec.allowance ?? 'data'),
})

type AnyCall = {
  request: Request
  place: Place
  market?: Market | undefined
  [read: string]: unknown
}
type Result = Response | DataAnswer | PageAnswer | object
type Params = { coin?: string; conditionId?: string; id?: string }

type Handler = (arrived: Arrived, params: Params) => Response | Promise<Response>
type Found = { place: number; handle: Handler }

/** Returns what answers a request to one of the routes; undefined where there is none. */
export function createRouter(routes: readonly Route[], ports: RoutePorts) {
  const router = new Memoirist<Found>()
  for (const [index, each] of routes.entries()) {
    const found = { place: FIRST_ROUTE + index, handle: createHandler(each, ports) }
    for (const path of [each.path, `${each.path}/`]) router.add(each.method, path, found)
  }
  return (arrived: Arrived): Response | Promise<Response> | undefined => {
    const { request, place, visit } = arrived
    const { path } = place
    const found = router.find(request.method, path)
    if (found === null) return undefined
    visit.timedAs = found.store.place
    const { params } = found
    if (path.includes('%'))
      for (const [name, part] of Object.entries(params)) params[name] = decodePart(part)
    return found.store.handle(arrived, params)
  }
}

/** As a document of their own has them, by path and method. */
export function describeRoutes(routes: readonly Route[], components: Components) {
  const paths: Record<string, Record<string, object>> = {}
  for (const each of routes) {
    const path = each.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [each.method.toLowerCase()]: toOperation(each, components) }
  }
  return paths
}

function createHandler(spec: Route, ports: RoutePorts): Handler {
  const {
    access,
    query: querySchema = noQuery,
    body: bodySchema,
    keepOpenSeconds,
    caching,
    isTable,
  } = spec
  const { findMarket, work, eventually, takeSignup } = ports
  const answer = spec.answer as (call: AnyCall) => Result | Promise<Result> | Steps<DataAnswer>
  const answers = caching === 'page' ? createAnswers(ports) : undefined
  const isSold = caching === 'page' || caching === 'digest' || caching === 'unkept'

  function finish(call: AnyCall, result: ReturnType<typeof answer>): Response | Promise<Response> {
    if (result instanceof Response) return result
    if (result instanceof Promise) return result.then((value) => finish(call, value))
    if (isSteps(result)) return finish(call, work.run(call.request, result))
    if (answers !== undefined && 'make' in result) {
      const page = result as PageAnswer
      answers.put(call, page)
      return answerPage(call.request, page, ports)
    }
    if (caching !== 'digest' && caching !== 'unkept' && caching !== 'page') {
      return jsonResponse(result, { headers: { 'Cache-Control': caching } })
    }
    return sendData(call, result as DataAnswer, caching === 'unkept' ? caching : 'digest')
  }

  /**
   * Throws what the request fails with, as far as that shows before its rows are read: an answer
   * that is sold is not made before it is paid for.
   */
  function rehearse(result: ReturnType<typeof answer>): Response | Promise<Response> {
    if (result instanceof Promise) return result.then(rehearse)
    if (!(result instanceof Response) && isSteps(result)) work.begin(result)
    return new Response(null, { status: 204 })
  }

  function act(call: AnyCall): Response | Promise<Response> {
    const result = answer(call)
    return visitOf(call.request).rehearsedFor === undefined
      ? finish(call, result)
      : rehearse(result)
  }

  return ({ request, place, visit }, params) => {
    if (spec.isAsStored) visit.isShared = true
    if (access === 'none') return eventually(() => act({ request, place }))
    const { coin, conditionId } = params
    const needed = spec.accessAt?.(new URLSearchParams(searchOf(request.url))) ?? access
    const begin = (): Caller | undefined => {
      const caller = admit(request, { access: needed, coin, conditionId, isSold }, ports)
      if (keepOpenSeconds !== undefined) visitOf(request).keepOpen?.(keepOpenSeconds)
      return caller
    }
    const readAll = (caller: Caller | undefined) => ({
      ...readCall(request, params, { querySchema, findMarket }),
      ...{ place, caller },
    })
    if (bodySchema === undefined && spec.isFollowed !== true) {
      return eventually(() => {
        const caller = begin()
        const known = isTable && choosesFormat(request) ? undefined : answers?.find(request, place)
        if (known !== undefined) {
          return visitOf(request).rehearsedFor === undefined
            ? answerPage(request, known, ports)
            : rehearse(known)
        }
        return act(readAll(caller))
      })
    }
    return after(eventually(begin), async (caller) => {
      if (access === 'signup') await takeSignup(request, visitOf(request))
      const call = await eventually(() => readAll(caller))
      if (bodySchema === undefined) return act(call)
      // A body can be read once.
      const body = await readBody(bodySchema, request)
      return eventually(() => act({ ...call, body }))
    })
  }
}

function sendData({ request, market }: AnyCall, data: DataAnswer, caching: 'digest' | 'unkept') {
  const kept = (data.isClosed ?? market?.isClosed) ? 'closed' : 'open'
  return answerData(request, data, caching === 'unkept' ? caching : kept)
}

type Reading = { querySchema: TObject; findMarket: FindMarket }

function readCall(
  request: Request,
  { coin: sent, conditionId, id }: Params,
  { querySchema, findMarket }: Reading,
) {
  const coin = sent === undefined ? undefined : readCoin(sent)
  const hasMarket = coin !== undefined && conditionId !== undefined
  const market = hasMarket ? readMarket(coin, conditionId, findMarket) : undefined
  const query = parseQuery(querySchema, searchOf(request.url))
  return { request, coin, market, id, query }
}

const isSteps = (result: object): result is Steps<DataAnswer> =>
  'next' in result && typeof result.next === 'function'

/** Every code that an operation may answer. */
function codesOf(spec: Route): Set<ErrorCode> {
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
  if (spec.readsFiles) codes.delete('damaged')
  return codes
}

/** The operation of the OpenAPI document. */
export function toOperation(spec: Route, components: Components) {
  const {
    path,
    access,
    tag = access,
    operationId,
    summary,
    description,
    query,
    body,
    caching,
  } = spec
  const parts = { ...pathParameters, ...(spec.id === undefined ? {} : { id: spec.id }) }
  const named = Object.entries(parts).filter(([name]) => path.includes(`/:${name}`))
  const parameters = [
    ...openApiParameters({ properties: Object.fromEntries(named) }, 'path'),
    ...openApiParameters(query ?? noQuery, 'query'),
    ...(spec.requestHeaders ?? []),
    ...(spec.isReplayable ? [idempotencyParameter] : []),
  ]
  const successes = [spec.ok].flat()
  const isTagged = caching === 'digest' || caching === 'page' || caching === 'tag'
  const shared = cachingTextsOf(spec)
  const isCoded = (isTagged || caching === 'unkept') && !spec.isAsStored
  const coding = isCoded ? encodingTexts : {}
  const answers = successes.map(({ status = 200, description: text, schema, ...success }) => {
    const json = schema && { 'application/json': { schema: components.schema(schema) } }
    const content = json || success.content ? { ...json, ...success.content } : undefined
    const headers = { ...shared, ...coding, ...success.headers, ...success.bodyHeaders }
    return [status, components.answer({ operationId, description: text, headers, content })]
  })
  return {
    tags: [tag],
    ...{ operationId, summary, description },
    ...(access === 'none' ? {} : { security: isOpen(access) ? [] : [{ apiKey: [] }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: components.body(body) }),
    responses: {
      ...Object.fromEntries(answers),
      ...(isTagged
        ? { 304: components.unchanged({ ...shared, ...successes[0]?.headers }, operationId) }
        : {}),
      ...components.failures(codesOf(spec)),
    },
  }
}

/** Headers of every success, whether it has a body or not. */
function cachingTextsOf({ caching, isCovered, isReplayable }: Route): HeaderTexts {
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
  'How much of the time asked for is recorded, over the outcomes asked for (RFC 9651): `full`; or `partial` or `none` with `covered` (share, rounded down), `gaps` (their number) and `reasons`; or `unknown`, without a share, if the trading window of a market is not known (send `from` and `to` to have its rows measured). An empty page of a `full` range is a fact; of any other it is not. GET …/coverage lists the gaps.'
