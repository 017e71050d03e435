/**
 * The Elysia macros that declare a route: who may call it (`access`, or `openTo` if no key is
 * needed), what its handler takes from the path (`coin`, `market`), how its response is cached
 * (`caching`), and what the API document says about its responses beside their schemas (`answers`).
 *
 * A request is always read in this order: the rights of the caller, the coin and market of the path,
 * the query, the body. A caller without the right to the data therefore learns nothing about its
 * markets and parameters.
 */

import type { TObject, TSchema } from '@sinclair/typebox'
import { type AnyElysia, Elysia } from 'elysia'

import type { ErrorCode } from '#src/domain/errors.ts'
import type { Coin, FindMarket, Market } from '#src/domain/market.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { TierRoute } from '#src/domain/selling/tier.ts'
import type { StaleSince } from '#src/domain/staleness.ts'
import { after } from '#src/platform/maybe-promise.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { DataAnswer, PageAnswer } from './answer.ts'
import { readBody } from './body.ts'
import { readCoin, readMarket } from './data-query.ts'
import { answerData, type KeptAnswers } from './data-response.ts'
import { type AccessPorts, admit, type ChargeSignup } from './gate.ts'
import { jsonResponse } from './json.ts'
import type { OpenApiParameter, ResponseText } from './response-text.ts'
import { noQuery, parseQuery } from './schema-reader.ts'
import { searchOf } from './target.ts'
import { type Access, type Visit, visitOf } from './visit.ts'
import type { Work } from './work.ts'

/**
 * How a response is cached. `digest`: data, whose `ETag` is its digest. `page`: a page of a market,
 * whose `ETag` is known before its rows are read. `tag`: the handler sets the `ETag` and answers 304
 * itself. `unkept`: data without an `ETag`. Any other value is the `Cache-Control` of a JSON body.
 */
export type Caching =
  'digest' | 'page' | 'tag' | 'unkept' | 'no-store' | 'no-cache' | 'private, no-store'

type OpenAccess = Extract<Access, 'none' | 'open' | 'signup' | 'operator'>

/** The options of a route beside its path and schemas; Elysia keeps them in `detail`. */
type RouteOptions = {
  access: Access
  /** The access that one request needs, if it depends on the query. */
  accessAt?: (search: URLSearchParams) => Exclude<Access, 'none'>
  caching: Caching
  answers: ResponseText | readonly ResponseText[]
  /** Whether the answer is of the caller's own coins: the path names none. */
  isOfOwnCoins?: boolean
  /** The rate window that a request is taken from: `data` by default. Routes that begin alike must agree. */
  allowance?: 'billing'
  /** Whether an overloaded server still answers; it always answers billing. */
  isUrgent?: boolean
  /**
   * Whether each request is long work, for which there must be room before it begins; of other routes
   * those for many rows are (`isLongQuery`).
   */
  isLong?: boolean
  /** Seconds that the connection of an admitted request may stay idle. */
  keepOpenSeconds?: number
  /** Schema of the path parameter `:id`, for the document. */
  id?: TSchema
  requestHeaders?: readonly OpenApiParameter[]
  /** Whether the handler honors `Idempotency-Key`. */
  isReplayable?: boolean
  /** Whether the response has `X-Coverage`, the recorded share of its range. */
  isCovered?: boolean
  /** Whether the route reads day files and no history, so that it never fails with `damaged`. */
  readsFiles?: boolean
  /** Whether bytes are sent as they are stored, never compressed. */
  isAsStored?: boolean
  /** Whether the list is available as CSV and Parquet (`table.ts`). */
  isTable?: boolean
  /** Whether the route reads memory alone, so that it never fails with `internal`. */
  isInMemory?: boolean
  /** Error codes beside those that follow from the options above. */
  fails?: readonly ErrorCode[]
}

/** A declared route, as `declaredRoutes` returns it. */
export type DeclaredRoute = RouteOptions & {
  method: string
  path: string
  query?: TObject
  body?: TObject
  /** Schemas of JSON responses, by status. */
  response: Readonly<Record<number, TSchema>>
  detail: { operationId: string; summary: string; description: string; tags: readonly string[] }
}

const OPTIONS = 'x-bookfeed'

type Schemas = {
  query?: TObject | undefined
  body?: TObject | undefined
  response?: DeclaredRoute['response'] | undefined
}

type Hook = Schemas & {
  detail?: DeclaredRoute['detail'] & { [OPTIONS]?: RouteOptions }
  /** Taken from Elysia, which would read and check each request and response again. */
  schemas?: Schemas
}

/** The routes of an app that were declared with these macros, in their order. */
export const declaredRoutes = (app: AnyElysia): DeclaredRoute[] =>
  app.routes.flatMap(({ method, path, hooks }) => {
    const { detail, schemas = {} } = hooks as Hook
    if (detail?.[OPTIONS] === undefined) return []
    const { [OPTIONS]: options, ...texts } = detail
    const { query, body, response = {} } = schemas
    return [{ ...options, method, path, query, body, response, detail: texts } as DeclaredRoute]
  })

/** All routes of an app: those that were not declared with these macros have a method and a path. */
export const knownRoutes = (
  app: AnyElysia,
): (DeclaredRoute | { method: string; path: string })[] => [
  ...declaredRoutes(app),
  ...app.routes.filter(({ hooks }) => (hooks as Hook).detail?.[OPTIONS] === undefined),
]

/**
 * Hides the source text of a function from Elysia, which awaits a function if its text has a call
 * after `return` or `=>`: nearly all have, and all in the minified executable. Without `await` a route
 * answers at once if it can, and an uncached page takes 5 % less. Elysia also reads in the text which
 * members of the context it must make; those are `members`.
 */
function hideText<F extends (...args: never[]) => unknown>(call: F, members = ''): F {
  return Object.assign(call, { toString: () => `(${members}) => undefined` })
}

/** Lets handlers that send data with `reply` answer at once. To be called before the first request. */
export function answerAtOnce(app: AnyElysia): void {
  for (const { handler, hooks } of app.routes) {
    const options = (hooks as Hook).detail?.[OPTIONS]
    // What any other handler returns is awaited, and then sent as JSON.
    if (options !== undefined && !isControl(options.caching)) hideText(handler)
  }
}

type ApiPorts = AccessPorts & {
  findMarket: FindMarket
  chargeSignup: ChargeSignup
  work: Work
  kept: KeptAnswers
  staleSince: StaleSince
}

/** What a handler passes to `reply`: a value, a promise of it, or work in steps that ends with it. */
type HandlerResult<T> = T | Response | Promise<T | Response | Steps<T>> | Steps<T>

/** A request and the route that matched it. */
type MatchedRequest = {
  request: Request
  route: string
  params: { coin?: string; conditionId?: string } | undefined
}

/** What a handler finds in its context. */
type Context = MatchedRequest & { query: unknown; body: unknown }

export type Api = ReturnType<typeof createApi>

const withOptions = (options: Partial<RouteOptions>) => ({
  detail: { [OPTIONS]: options } as object,
})

/** Creates the macros, and `reply`, with which handlers send data. */
export function createApi(ports: ApiPorts) {
  const { findMarket, chargeSignup, work, kept, staleSince } = ports

  /** Admits the caller, then reads the request; the results are members of its `Visit`. */
  function admitAndRead(matched: MatchedRequest, hook: Hook): Visit | Promise<Visit> {
    const { request, route, params } = matched
    const options = hook.detail?.[OPTIONS]
    if (options === undefined) throw new Error('A route must declare `access` or `openTo`.')
    const { access, accessAt, isOfOwnCoins, isLong, keepOpenSeconds, isAsStored } = options
    const visit = visitOf(request)
    visit.timedAs = `${request.method} ${route}`
    if (isAsStored) visit.isShared = true
    // Health probes may send any query.
    if (access === 'none') return visit
    const needed = accessAt?.(new URLSearchParams(searchOf(request.url))) ?? access
    const isSold = isSoldSingly(options)
    const { coin, conditionId } = params ?? {}
    visit.admission = { access: needed, coin, conditionId, isOfOwnCoins, isSold }
    visit.admitted = admit(request, visit.admission, ports)
    if (keepOpenSeconds !== undefined) visit.keepOpen?.(keepOpenSeconds)
    const schemas = hook.schemas ?? {}
    visit.isLong = isLong
    if (access === 'signup') chargeSignup(request, visit)
    return readRequest(matched, visit, schemas)
  }

  function readRequest(
    { request, params }: MatchedRequest,
    visit: Visit,
    { query, body }: Schemas,
  ): Visit | Promise<Visit> {
    const { coin, conditionId } = params ?? {}
    if (coin !== undefined) visit.coin = readCoin(coin)
    if (visit.coin !== undefined && conditionId !== undefined)
      visit.market = readMarket(visit.coin, conditionId, findMarket)
    visit.query = parseQuery(query ?? noQuery, searchOf(request.url))
    if (query !== undefined) visit.isLong ||= isLongQuery(query, visit.query as LongQuery)
    if (body === undefined) return visit
    // A body can be read only once.
    visit.reading ??= readBody(body, request)
    return visit.reading.then((json) => {
      visit.json = json
      return visit
    })
  }

  /** A hook that admits and reads a request. */
  function requestHooks(access: Access): object {
    return {
      ...withOptions({ access }),
      introspect(hook: Hook & { parse?: unknown; transform?: unknown }): void {
        const { query, body, response } = hook
        hook.schemas = { query, body, response }
        hook.query = hook.body = hook.response = undefined
        // `readBody` parses the body: it is stricter than Elysia.
        if (body !== undefined) hook.parse = 'none'
        const isAtOnce = body === undefined && access !== 'signup'
        const read = isAtOnce
          ? (context: Context) => readInto(context, hook)
          : async (context: Context) => await readInto(context, hook)
        hook.transform = hideText(read, '{ route }')
      },
    }
  }

  function readInto(context: Context, hook: Hook): undefined | Promise<undefined> {
    return after(admitAndRead(context, hook), ({ query, json }) => {
      context.query = query
      context.body = json
      return undefined
    })
  }

  /**
   * Sends the result of a handler. If the request is rehearsed before it is paid for, this runs the
   * work up to its first rows, throws what it fails with, and sends nothing.
   */
  function send<T extends object>(
    request: Request,
    result: HandlerResult<T>,
    answer: (value: T) => Response | Promise<Response>,
  ): Response | Promise<Response> {
    if (result instanceof Promise) return result.then((value) => send(request, value, answer))
    const isRehearsed = visitOf(request).rehearsedFor !== undefined
    if (result instanceof Response) return isRehearsed ? nothing() : result
    if (!isSteps(result)) return isRehearsed ? nothing() : answer(result)
    if (!isRehearsed) return send(request, work.run(request, result), answer)
    return work.begin(result).then(nothing)
  }

  const sendData = (
    request: Request,
    result: HandlerResult<DataAnswer>,
  ): Response | Promise<Response> =>
    send(request, result, (data) => {
      const isClosed = data.isClosed ?? visitOf(request).market?.isClosed
      return answerData(request, { ...data, isClosed }, isClosed ? 'closed' : 'open', staleSince)
    })

  return new Elysia({ name: 'api' })
    .decorate('reply', {
      /** Sends data with its digest as `ETag`. */
      data: sendData,

      /** Sends data without an `ETag`. */
      unkept: (request: Request, result: HandlerResult<DataAnswer>) =>
        send(request, result, (data) => answerData(request, data, 'unkept', staleSince)),

      /** Sends a page of the market in the path, or the page as a table, which is data. */
      page: (request: Request, result: HandlerResult<PageAnswer | DataAnswer>) =>
        send<PageAnswer | DataAnswer>(request, result, (page) => {
          if (!('make' in page)) return sendData(request, page)
          return kept.send(request, page)
        }),
    })
    .macro({
      /** `key`: any valid key. Otherwise the tier of the caller must include the route. */
      access: (access: TierRoute | 'key') => ({
        ...requestHooks(access),
        resolve: hideText(({ request }: { request: Request }) => ({
          caller: visitOf(request).admitted as Caller,
        })),
      }),
      openTo: (access: OpenAccess) => requestHooks(access),
      coin: {
        resolve: hideText(({ request }: { request: Request }) => ({
          coin: visitOf(request).coin as Coin,
        })),
      },
      market: {
        resolve: hideText(({ request }: { request: Request }) => ({
          market: visitOf(request).market as Market,
        })),
      },
      caching: (caching: Caching) => {
        const hooks = withOptions({ caching })
        return isControl(caching) ? { ...hooks, afterHandle: asJson(caching) } : hooks
      },
      accessAt: (accessAt: NonNullable<RouteOptions['accessAt']>) => withOptions({ accessAt }),
      answers: (answers: RouteOptions['answers']) => withOptions({ answers }),
      isOfOwnCoins: (isOfOwnCoins: true) => withOptions({ isOfOwnCoins }),
      allowance: (allowance: 'billing') => withOptions({ allowance }),
      isUrgent: (isUrgent: true) => withOptions({ isUrgent }),
      isLong: (isLong: true) => withOptions({ isLong }),
      keepOpenSeconds: (keepOpenSeconds: number) => withOptions({ keepOpenSeconds }),
      id: (id: TSchema) => withOptions({ id }),
      requestHeaders: (requestHeaders: readonly OpenApiParameter[]) =>
        withOptions({ requestHeaders }),
      isReplayable: (isReplayable: true) => withOptions({ isReplayable }),
      isCovered: (isCovered: true) => withOptions({ isCovered }),
      readsFiles: (readsFiles: true) => withOptions({ readsFiles }),
      isAsStored: (isAsStored: true) => withOptions({ isAsStored }),
      isTable: (isTable: true) => withOptions({ isTable }),
      isInMemory: (isInMemory: true) => withOptions({ isInMemory }),
      fails: (fails: readonly ErrorCode[]) => withOptions({ fails }),
    })
}

/** Whether an answer may be paid for by itself: it is data, and not a file or a stream. */
export const isSoldSingly = ({ caching }: Pick<RouteOptions, 'caching'>): boolean =>
  caching === 'page' || caching === 'digest' || caching === 'unkept'

/** Parameters that decide how much work a list is. */
type LongQuery = { limit?: number; interval?: unknown; view?: unknown }

/** Whether rows are made, or more of them are read than a request has by default. */
const isLongQuery = ({ properties }: TObject, { limit = 0, interval, view }: LongQuery): boolean =>
  interval !== undefined ||
  view === 'consolidated' ||
  limit > (properties.limit?.default ?? Number.POSITIVE_INFINITY)

/** Whether the value is a `Cache-Control` header; data goes through `reply`. */
const isControl = (caching: Caching): boolean => /^(private, )?no-/.test(caching)

/** Sends the value that a handler returned as JSON with a `Content-Length`, for the access log. */
const asJson =
  (control: string) =>
  ({ request, response }: { request: Request; response: unknown }): Response => {
    if (visitOf(request).rehearsedFor !== undefined) return nothing()
    if (response instanceof Response) return response
    return jsonResponse(response, { headers: { 'Cache-Control': control } })
  }

const nothing = () => new Response(null, { status: 204 })

const isSteps = <T>(result: object): result is Steps<T> =>
  'next' in result && typeof result.next === 'function'
