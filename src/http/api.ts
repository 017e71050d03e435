/**
 * What routes are declared with: macros of Elysia. A route states who may call it (`access`, or
 * `openTo` where no key is needed), what it needs of its path (`coin`, `market`), how its answer may
 * be kept (`caching`), and what the document says of its answers beside their schemas (`answers`).
 * A request is read in one order, whatever the order of these members: the caller's rights, what
 * the path names, the query, the body. So nobody learns of a market, or of a parameter, without the
 * right to the data.
 */
import type { TObject, TSchema } from '@sinclair/typebox'
import { type AnyElysia, Elysia } from 'elysia'

import type { ErrorCode } from '#src/domain/errors.ts'
import type { FindMarket } from '#src/domain/market-name.ts'
import type { Coin, Market } from '#src/domain/market.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { TierRoute } from '#src/domain/selling/tier.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { readBody } from './body.ts'
import { readCoin, readMarket } from './data-query.ts'
import { answerData, type DataAnswer, type PageAnswer } from './data-response.ts'
import {
  type Access,
  type AccessPorts,
  admit,
  type TakeSignup,
  type Visit,
  visitOf,
} from './gate.ts'
import { jsonResponse } from './json.ts'
import type { KeptAnswers } from './kept-answers.ts'
import type { HeaderTexts, OpenApiParameter } from './openapi-operation.ts'
import { noQuery, parseQuery } from './schema-reader.ts'
import { searchOf } from './url.ts'
import type { Work } from './work.ts'

/**
 * How an answer may be kept. `digest`: data, whose digest is its `ETag`. `page`: a page of a market,
 * whose tag is known before it is made. `tag`: a response whose handler answers 304 itself.
 * `unkept`: data without a tag. Any other is the `Cache-Control` of a JSON value.
 */
export type Caching =
  'digest' | 'page' | 'tag' | 'unkept' | 'no-store' | 'no-cache' | 'private, no-store'

/** What the document says of an answer beside its schema. */
export type AnswerText = {
  status?: 200 | 201 | 202 | 204 | 206
  description: string
  /** Bodies that are not JSON. */
  content?: Record<string, { schema: { type: 'string'; format?: 'binary' } }>
  /** Headers of its own, of a 304 too. */
  headers?: HeaderTexts
  /** Those that a 304 lacks. */
  bodyHeaders?: HeaderTexts
}

type OpenAccess = Extract<Access, 'none' | 'open' | 'signup' | 'operator'>

/** What a route states beside its path and schemas; Elysia keeps it in `detail`. */
export type Stated = {
  access: Access
  /** The access of one request, where its query decides. */
  accessAt?: (search: URLSearchParams) => Exclude<Access, 'none'>
  caching: Caching
  answers: AnswerText | readonly AnswerText[]
  /** The rate window that a request is taken from: `data` by default. Routes that begin alike must agree. */
  allowance?: 'billing'
  /** True of what must be answered when the server has too much to do; billing is without it. */
  isUrgent?: boolean
  /** Idle seconds for which the connection of an admitted request is kept. */
  keepOpenSeconds?: number
  /** Schema of the part `:id` of the path. */
  id?: TSchema
  requestHeaders?: readonly OpenApiParameter[]
  /** True if an `Idempotency-Key` is heeded; the handler sees to it. */
  isReplayable?: boolean
  /** True if `X-Coverage` says how far the data was recorded. */
  isCovered?: boolean
  /** True of what reads no history, which alone can be damaged. */
  readsFiles?: boolean
  /** True of what has no coding but its own. */
  isAsStored?: boolean
  /** True if `Accept` chooses a format (`table.ts`). */
  isTable?: boolean
  /** True where only memory is read, so that nothing can fail. */
  isInMemory?: boolean
  /** Codes beside those that follow from all of the above. */
  fails?: readonly ErrorCode[]
}

/** A route as it was declared. */
export type Declared = Stated & {
  method: string
  path: string
  query?: TObject
  body?: TObject
  /** Schemas of answers in JSON, by status. */
  response: Readonly<Record<number, TSchema>>
  detail: { operationId: string; summary: string; description: string; tags: readonly string[] }
}

const STATED = 'x-bookfeed'

type Hook = {
  query?: TObject
  body?: TObject
  response?: Declared['response']
  detail?: Declared['detail'] & { [STATED]?: Stated }
}

/** The routes of an app that were declared with these macros, in their order. */
export const declaredRoutes = (app: AnyElysia): Declared[] =>
  app.routes.flatMap(({ method, path, hooks }) => {
    const { detail, query, body, response = {} } = hooks as Hook
    if (detail?.[STATED] === undefined) return []
    const { [STATED]: stated, ...texts } = detail
    const schemas = Object.entries(response).map(([status, schema]) => [status, givenOf(schema)])
    const own = { method, path, query, body, response: Object.fromEntries(schemas), detail: texts }
    return [{ ...stated, ...own } as Declared]
  })

const GIVEN = Symbol('given')

/** Elysia closes the object schemas of answers when it compiles a route, which ours must not be. */
const copyOf = (schema: TSchema): TSchema => Object.assign({ ...schema }, { [GIVEN]: schema })
const givenOf = (schema: TSchema): TSchema => (schema[GIVEN as never] as TSchema) ?? schema

export type ApiPorts = AccessPorts & {
  findMarket: FindMarket
  takeSignup: TakeSignup
  work: Work
  kept: KeptAnswers
  /** What the time of a route is counted under. */
  timedAs: (method: string, pattern: string) => number | undefined
}

/** Data that a handler returns: at once, later, or in steps. */
export type Made<T> = T | Response | Promise<T | Response | Steps<T>> | Steps<T>

/** What the path of a request says, and which route it found. */
type Found = {
  request: Request
  route: string
  params: { coin?: string; conditionId?: string } | undefined
}

export type Api = ReturnType<typeof createApi>

const states = (stated: Partial<Stated>) => ({ detail: { [STATED]: stated } as object })

/** The macros of routes, and `reply`, with which a handler sends data. */
export function createApi(ports: ApiPorts) {
  const { findMarket, takeSignup, work, kept, timedAs } = ports

  /** Reads a request into its visit, as the route says. */
  function enter(found: Found, hook: Hook): Visit | Promise<Visit> {
    const { request, route, params } = found
    const stated = hook.detail?.[STATED]
    if (stated === undefined) throw new Error('A route states its access.')
    const { access, accessAt, caching, keepOpenSeconds, isAsStored } = stated
    const visit = visitOf(request)
    visit.timedAs = timedAs(request.method, route)
    if (isAsStored) visit.isShared = true
    // Probes send what they like.
    if (access === 'none') return visit
    const needed = accessAt?.(new URLSearchParams(searchOf(request.url))) ?? access
    const isSold = caching === 'page' || caching === 'digest' || caching === 'unkept'
    const { coin, conditionId } = params ?? {}
    visit.admission = { access: needed, coin, conditionId, isSold }
    visit.admitted = admit(request, visit.admission, ports)
    if (keepOpenSeconds !== undefined) visit.keepOpen?.(keepOpenSeconds)
    if (access !== 'signup') return read(found, visit, hook)
    // Once, although a read that lacks something runs again.
    visit.signup ??= takeSignup(request, visit)
    return visit.signup.then(() => read(found, visit, hook))
  }

  function read({ request, params }: Found, visit: Visit, hook: Hook): Visit | Promise<Visit> {
    const { coin, conditionId } = params ?? {}
    if (coin !== undefined) visit.coin = readCoin(coin)
    if (visit.coin !== undefined && conditionId !== undefined)
      visit.market = readMarket(visit.coin, conditionId, findMarket)
    visit.query = parseQuery(hook.query ?? noQuery, searchOf(request.url))
    if (hook.body === undefined) return visit
    // A body can be read once.
    visit.reading ??= readBody(hook.body, request)
    return visit.reading.then((body) => {
      visit.json = body
      return visit
    })
  }

  /** Reads a request as its route is declared, before Elysia validates it. */
  function entering(access: Access): object {
    let declared: Hook = {}
    return {
      ...states({ access }),
      introspect(hook: Hook): void {
        declared = hook
        const schemas = Object.entries(hook.response ?? {})
        hook.response = Object.fromEntries(schemas.map(([status, own]) => [status, copyOf(own)]))
      },
      // Elysia leaves the body to `readBody`, which is stricter.
      parse: 'none' as unknown as () => undefined,
      // Members one by one: from a context that is passed on whole, Elysia would fill all of it.
      transform(context: Found & { query: unknown; body: unknown }) {
        const found = { request: context.request, route: context.route, params: context.params }
        const entered = enter(found, declared)
        if (entered instanceof Promise) {
          return entered.then((visit) => {
            context.query = visit.query
            context.body = visit.json
          })
        }
        context.query = entered.query
        return undefined
      },
    }
  }

  /**
   * Sends what was made. Of a request that is rehearsed before it is paid for it throws what the
   * request fails with, as far as that shows before rows are read, and makes no answer.
   */
  function send<T extends object>(
    request: Request,
    made: Made<T>,
    answer: (value: T) => Response | Promise<Response>,
  ): Response | Promise<Response> {
    if (made instanceof Promise) return made.then((value) => send(request, value, answer))
    const isRehearsed = visitOf(request).rehearsedFor !== undefined
    if (made instanceof Response) return isRehearsed ? nothing() : made
    if (!isSteps(made)) return isRehearsed ? nothing() : answer(made)
    if (!isRehearsed) return send(request, work.run(request, made), answer)
    work.begin(made)
    return nothing()
  }

  const sendData = (request: Request, made: Made<DataAnswer>): Response | Promise<Response> =>
    send(request, made, (data) => {
      const isClosed = data.isClosed ?? visitOf(request).market?.isClosed
      return answerData(request, data, isClosed ? 'closed' : 'open')
    })

  return new Elysia({ name: 'api' })
    .decorate('reply', {
      /** Data, whose digest is its `ETag`. */
      data: sendData,

      /** Data without a tag. */
      unkept: (request: Request, made: Made<DataAnswer>) =>
        send(request, made, (data) => answerData(request, data, 'unkept')),

      /** A page of the market of the path; as a table it is data. */
      page: (request: Request, made: Made<PageAnswer | DataAnswer>) =>
        send<PageAnswer | DataAnswer>(request, made, (page) => {
          if (!('make' in page)) return sendData(request, page)
          return kept.send(request, page)
        }),
    })
    .macro({
      /** The key of a caller, or a tier with a route of this name. */
      access: (access: TierRoute | 'key') => ({
        ...entering(access),
        resolve: ({ request }: { request: Request }) => ({
          caller: visitOf(request).admitted as Caller,
        }),
      }),
      openTo: (access: OpenAccess) => entering(access),
      coin: {
        resolve: ({ request }: { request: Request }) => ({ coin: visitOf(request).coin as Coin }),
      },
      market: {
        resolve: ({ request }: { request: Request }) => ({
          market: visitOf(request).market as Market,
        }),
      },
      caching: (caching: Caching) => {
        const stated = states({ caching })
        return isControl(caching) ? { ...stated, afterHandle: asJson(caching) } : stated
      },
      accessAt: (accessAt: NonNullable<Stated['accessAt']>) => states({ accessAt }),
      answers: (answers: Stated['answers']) => states({ answers }),
      allowance: (allowance: 'billing') => states({ allowance }),
      isUrgent: (isUrgent: true) => states({ isUrgent }),
      keepOpenSeconds: (keepOpenSeconds: number) => states({ keepOpenSeconds }),
      id: (id: TSchema) => states({ id }),
      requestHeaders: (requestHeaders: readonly OpenApiParameter[]) => states({ requestHeaders }),
      isReplayable: (isReplayable: true) => states({ isReplayable }),
      isCovered: (isCovered: true) => states({ isCovered }),
      readsFiles: (readsFiles: true) => states({ readsFiles }),
      isAsStored: (isAsStored: true) => states({ isAsStored }),
      isTable: (isTable: true) => states({ isTable }),
      isInMemory: (isInMemory: true) => states({ isInMemory }),
      fails: (fails: readonly ErrorCode[]) => states({ fails }),
    })
}

/** True of what is sent as `Cache-Control`; what is data goes through `reply`. */
const isControl = (caching: Caching): boolean => /^(private, )?no-/.test(caching)

/** Prints what a handler returned; a body of known length has it in the access log. */
const asJson =
  (control: string) =>
  ({ request, response }: { request: Request; response: unknown }): Response => {
    if (visitOf(request).rehearsedFor !== undefined) return nothing()
    if (response instanceof Response) return response
    return jsonResponse(response, { headers: { 'Cache-Control': control } })
  }

const nothing = () => new Response(null, { status: 204 })

const isSteps = <T>(made: object): made is Steps<T> =>
  'next' in made && typeof made.next === 'function'
