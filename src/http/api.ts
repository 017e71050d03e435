/**
 * The Elysia macros that declare a route: who may call it (`access`, or `openTo` if no key is
 * needed), what its handler takes from the path (`coin`, `market`), how its response is cached
 * (`caching`), and what the API document says about its responses beside their schemas (`answers`).
 *
 * A request is always checked in this order: the rights of the caller, the coin and market of the
 * path, repeated parameters, the text of the body, the query, the values of the body. A caller
 * without the right to the data therefore learns nothing about its markets and parameters.
 */

import type { TObject, TSchema } from '@sinclair/typebox'
import { type AnyElysia, Elysia } from 'elysia'

import type { ErrorCode } from '#src/domain/errors.ts'
import type { Coin, FindMarket, Market } from '#src/domain/market.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { TierRoute } from '#src/domain/selling/tier.ts'
import type { Silences } from '#src/history/reads/with-downtime.ts'

import type { DataAnswer, PackedAnswer, PageAnswer } from './answer.ts'
import { parseBody } from './body.ts'
import { type Access, bindEntry, type Caching, callOf, entryOf, keepOpen } from './call.ts'
import { readCoin, readMarket } from './data-query.ts'
import { answerData } from './data-response.ts'
import { jsonResponse } from './json.ts'
import type { KeptPages } from './kept-pages.ts'
import { assertTextKinds, noQuery } from './kinds.ts'
import type { OpenApiParameter, ResponseText } from './response-text.ts'
import { type AccessPorts, admit, type ChargeSignup } from './rights.ts'
import { searchOf } from './target.ts'
import { assertQuery } from './validation.ts'

type OpenAccess = Extract<Access, 'none' | 'open' | 'signup' | 'operator'>

/** The options of a route beside its path and schemas; Elysia keeps them in `detail`. */
export type RouteOptions = {
  access: Access
  /** The access that one request needs, if it depends on the query. */
  accessAt?: (search: URLSearchParams) => Exclude<Access, 'none'>
  caching: Caching
  answers: ResponseText | readonly ResponseText[]
  /** True if the response is about the caller's own coins: the path names none. */
  isOfOwnCoins?: boolean
  /** The rate window that a request is taken from: `data` by default. Routes that begin alike must agree. */
  allowance?: 'billing'
  /** True if an overloaded server still answers; it always answers billing. */
  isUrgent?: boolean
  /** Seconds that the connection of an admitted request may stay idle. */
  keepOpenSeconds?: number
  /** Schema of the path parameter `:id`, for the document. */
  id?: TSchema
  requestHeaders?: readonly OpenApiParameter[]
  /** True if the handler honors `Idempotency-Key`. */
  isReplayable?: boolean
  /** True if the response has `X-Coverage`, the recorded share of its range. */
  isCovered?: boolean
  /** True if bytes are sent as they are stored, never compressed. */
  isAsStored?: boolean
  /** Error codes beside those that follow from the options above. */
  fails?: readonly ErrorCode[]
  /** Error codes that follow from them and never occur, such as `damaged` without a history. */
  neverFails?: readonly ErrorCode[]
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

export const OPTIONS = 'x-bookfeed'

type Schemas = {
  query?: TObject | undefined
  body?: TObject | undefined
  response?: DeclaredRoute['response'] | undefined
}

type Hook = Schemas & {
  detail?: DeclaredRoute['detail'] & { [OPTIONS]?: RouteOptions }
  parse?: (context: MatchedRequest) => unknown
  transform?: (context: MatchedRequest) => void
}

/** The routes of an app that were declared with these macros, in their order. */
export const declaredRoutes = (plugins: readonly AnyElysia[]): DeclaredRoute[] =>
  plugins
    .flatMap(({ routes }) => routes)
    .flatMap(({ method, path, hooks }) => {
      const { detail, query, body, response = {} } = hooks as Hook
      if (detail?.[OPTIONS] === undefined) return []
      const { [OPTIONS]: options, ...texts } = detail
      return [{ ...options, method, path, query, body, response, detail: texts } as DeclaredRoute]
    })

type ApiPorts = AccessPorts & {
  findMarket: FindMarket
  chargeSignup: ChargeSignup
  kept: KeptPages
  silences: Silences
}

/** The results of a handler that `reply` sends. */
type HandlerResult = Sendable | Promise<Sendable>
type Sendable = DataAnswer | PackedAnswer | PageAnswer | Response

/** A request and the route that matched it. */
type MatchedRequest = {
  request: Request
  route: string
  params: { coin?: string; conditionId?: string } | undefined
}

export type Api = ReturnType<typeof createApi>

const withOptions = (options: Partial<RouteOptions>) => ({
  detail: { [OPTIONS]: options } as object,
})

/** Options that a macro only notes in `detail`, where the server and the document read them. */
const noted = [
  'accessAt',
  'allowance',
  'answers',
  'fails',
  'id',
  'isAsStored',
  'isCovered',
  'isOfOwnCoins',
  'isReplayable',
  'isUrgent',
  'keepOpenSeconds',
  'neverFails',
  'requestHeaders',
] as const satisfies readonly (keyof RouteOptions)[]

const notedOptions = Object.fromEntries(
  noted.map((name) => [name, (value: unknown) => withOptions({ [name]: value })]),
) as {
  [Name in (typeof noted)[number]]: (
    value: NonNullable<RouteOptions[Name]>,
  ) => ReturnType<typeof withOptions>
}

/** Creates the macros, and `reply`, with which handlers send data. */
export function createApi(ports: ApiPorts) {
  const { findMarket, chargeSignup, kept, silences } = ports

  /** Admits the caller, and finds what the path names; the results are members of the `Entry`. */
  function enter({ request, route, params }: MatchedRequest, options: RouteOptions): void {
    const { access, accessAt, caching, isOfOwnCoins, keepOpenSeconds } = options
    // Health probes may send any query.
    if (access === 'none') return
    const search = searchOf(request.url)
    const needed = accessAt?.(new URLSearchParams(search)) ?? access
    const { coin: name, conditionId } = params ?? {}
    const isSold = isSoldSingly(options)
    const admission = { access: needed, coin: name, conditionId, isOfOwnCoins, isSold }
    const caller = admit(request, admission, ports)
    if (keepOpenSeconds !== undefined) keepOpen(request, keepOpenSeconds)
    if (access === 'signup') chargeSignup(request)
    const coin = name === undefined ? undefined : readCoin(name)
    const isOfMarket = coin !== undefined && conditionId !== undefined
    const market = isOfMarket ? readMarket(coin, conditionId, findMarket) : undefined
    bindEntry(request, {
      route: `${request.method} ${route}`,
      caching,
      admission,
      caller,
      coin,
      market,
    })
    assertQuery(search)
  }

  /** Hooks before Elysia reads and validates: a body is not even parsed for who may not send it. */
  function requestHooks(access: Access): object {
    return {
      ...withOptions({ access }),
      introspect(hook: Hook): void {
        const { body, detail } = hook
        if (access !== 'none') hook.query ??= noQuery
        if (hook.query !== undefined) assertTextKinds(hook.query)
        const admitted = (context: MatchedRequest): void =>
          enter(context, detail?.[OPTIONS] as RouteOptions)
        if (body === undefined) {
          hook.transform = ({ request, route, params }) => {
            admitted({ request, route, params })
          }
        } else {
          hook.parse = ({ request, route, params }) => {
            admitted({ request, route, params })
            return parseBody(body, request)
          }
        }
      },
    }
  }

  /**
   * Sends data, or a page of the market in the path, as the option `caching` of the route says. If
   * the request is rehearsed before it is paid for, this runs the work up to its first rows, throws
   * what it fails with, and sends nothing.
   */
  function reply(request: Request, result: HandlerResult): Response | Promise<Response> {
    if (result instanceof Promise) return result.then((value) => reply(request, value))
    if (callOf(request).rehearsedFor !== undefined) return nothing()
    if (result instanceof Response) return result
    if ('make' in result) return kept.send(request, result)
    const { caching, market } = entryOf(request) ?? {}
    const isClosed = result.isClosed ?? market?.isClosed
    const lasting = isClosed ? 'closed' : 'open'
    const data = { ...result, isClosed }
    return answerData(request, data, caching === 'unkept' ? 'unkept' : lasting, silences)
  }

  return new Elysia({ name: 'api' }).decorate('reply', reply).macro({
    /** `key`: any valid key. Otherwise the tier of the caller must include the route. */
    access: (access: TierRoute | 'key') => ({
      ...requestHooks(access),
      resolve: ({ request }) => ({ caller: entryOf(request)?.caller as Caller }),
    }),
    openTo: (access: OpenAccess) => requestHooks(access),
    coin: {
      resolve: ({ request }) => ({ coin: entryOf(request)?.coin as Coin }),
    },
    market: {
      resolve: ({ request }) => ({ market: entryOf(request)?.market as Market }),
    },
    caching: (caching: Caching) => {
      const hooks = withOptions({ caching })
      return isControl(caching) ? { ...hooks, afterHandle: asJson(caching) } : hooks
    },
    ...notedOptions,
  })
}

/** One Elysia app of several plugins. */
export function compose(plugins: readonly AnyElysia[]): AnyElysia {
  const app: AnyElysia = new Elysia({
    // Tests depend on these options: other values change what Elysia accepts.
    aot: true,
    normalize: false,
    // Otherwise a host name of one or two characters breaks the path.
    handler: { standardHostname: false },
  })
  for (const plugin of plugins) app.use(plugin)
  return app
}

/** True if a response can be paid for by itself: it is data, and not a file or a stream. */
export const isSoldSingly = ({ caching }: Pick<RouteOptions, 'caching'>): boolean =>
  caching === 'page' || caching === 'digest' || caching === 'unkept'

/** True if the value is a `Cache-Control` header; data goes through `reply`. */
const isControl = (caching: Caching): boolean => /^(private, )?no-/.test(caching)

/** Sends the value that a handler returned as JSON with a `Content-Length`, for the access log. */
const asJson =
  (control: string) =>
  ({ request, response }: { request: Request; response: unknown }): Response => {
    if (callOf(request).rehearsedFor !== undefined) return nothing()
    if (response instanceof Response) return response
    return jsonResponse(response, { headers: { 'Cache-Control': control } })
  }

const nothing = () => new Response(null, { status: 204 })
