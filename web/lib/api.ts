/** The client of our API: sends the visitor's key, returns JSON, throws problems. */

import { useLayoutEffect, useState } from 'preact/hooks'

import { noteDate } from './clock.ts'
import { noteAnswer, noteLost } from './connection.ts'
import { apiKey, unknownKey } from './key.ts'
import { createStore, useStore } from './store.ts'
import { withoutRoutes } from './without-routes.ts'

export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>

/** A problem document (RFC 9457) as the server sends it, or our own if no response arrived. */
export type Problem = {
  status: number
  code: string
  title: string
  detail: string
  retryAfterSeconds?: number
  requiredTier?: string
  /** For payments: the reason, and what to do next (docs/payments.md). */
  reason?: string
  retryAction?: string
  requestId?: string
}

export class ProblemError extends Error {
  readonly problem: Problem
  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem.detail, options)
    this.problem = problem
  }
}

/** The limit and the requests that are left this minute. */
export const rateStore = createStore<{ limit: number; remaining: number } | undefined>(undefined)

export function urlOf(path: string, query: QueryValues = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value))
  }
  const text = search.toString()
  return text === '' ? path : `${path}?${text}`
}

type Options = {
  method?: 'POST' | 'PATCH' | 'DELETE'
  query?: QueryValues
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
  /** `Authorization` in place of the visitor's key or the sample; null sends none. */
  authorization?: string | null | undefined
}

/**
 * Sends a request and returns the response, whatever its body. Throws `ProblemError`, and nothing
 * else but an abort.
 */
export async function send(path: string, options: Options = {}): Promise<Response> {
  const { method = 'GET', query, body, signal } = options
  const { authorization = apiKey.authorization(path) } = options
  const key = authorization === bearerOf(apiKey.store.get()) ? apiKey.store.get() : undefined
  if (key !== undefined && key === unknownKey.get()) throw new ProblemError(notKnown)
  const headers = new Headers(options.headers)
  if (authorization !== null) headers.set('Authorization', authorization)
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  let response: Response
  try {
    response = await fetch(urlOf(path, query), {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (cause) {
    if (signal?.aborted) throw cause
    noteLost()
    throw new ProblemError(unreachable, { cause })
  }
  noteAnswer()
  noteRate(response.headers)
  noteDate(response.headers)
  if (response.status === 401 && key !== undefined) return refuse(key, await readProblem(response))
  if (!response.ok) throw new ProblemError(await readProblem(response))
  return response
}

const bearerOf = (key: string | undefined): string | undefined => key && `Bearer ${key}`

/** A key that was made at another server may be unknown here for a moment. */
const ASK_AGAIN_MS = 30_000

/** Stops using a refused key for a while: refusals have a small allowance, which others share. */
function refuse(key: string, { requestId }: Problem): never {
  unknownKey.set(key)
  setTimeout(() => unknownKey.get() === key && unknownKey.set(undefined), ASK_AGAIN_MS)
  throw new ProblemError({ ...notKnown, ...(requestId === undefined ? {} : { requestId }) })
}

const notKnown: Problem = {
  status: 401,
  code: 'unauthenticated',
  title: 'The server does not know this key',
  detail:
    'It was revoked or replaced, or belongs to another server. Forget it to see the sample, or use another key.',
}

/** The JSON of an answer. */
export async function request<T>(path: string, options?: Options): Promise<T> {
  const response = await send(path, options)
  return (response.status === 204 ? undefined : await response.json()) as T
}

export const unreachable: Problem = {
  status: 0,
  code: 'unreachable',
  title: 'The server cannot be reached',
  detail: 'Check that you are online, and try again.',
}

function noteRate(headers: Headers): void {
  const limit = headers.get('x-ratelimit-limit')
  const remaining = headers.get('x-ratelimit-remaining')
  if (limit !== null) rateStore.set({ limit: Number(limit), remaining: Number(remaining) })
}

async function readProblem(response: Response): Promise<Problem> {
  const { status } = response
  try {
    const problem = (await response.json()) as Problem
    return { ...problem, status, detail: withoutRoutes(problem.detail) }
  } catch {
    const detail = 'The server returned no reason. Try again in a moment.'
    return { status, code: 'unreadable', title: `Status ${status}`, detail }
  }
}

export const toProblem = (error: unknown): Problem =>
  error instanceof ProblemError
    ? error.problem
    : {
        status: 0,
        code: 'internal',
        title: 'This page failed',
        detail: error instanceof Error ? error.message : String(error),
      }

export type Loaded<T> = {
  data: T | undefined
  problem: Problem | undefined
  isLoading: boolean
  /** The value of `again` for which the data was requested. */
  again?: unknown
  reload: () => void
}

type Asking<T> = {
  /** Undefined sends no request. */
  url: string | undefined
  ask: (url: string, options: { signal: AbortSignal }) => Promise<T>
  /** The key of the request: data of another key is dropped if the request fails. */
  whose: unknown
  /** Another value sends the request again. */
  again?: unknown
  /**
   * Interval of further requests while the page is visible, by the last data; undefined for none.
   */
  everyMs?: number | undefined | ((data: T | undefined) => number | undefined)
}

/** Sends a request. Earlier data stays while a new request runs, or fails for the same `whose`. */
export function useAsked<T>({ url, ask, whose, again, everyMs }: Asking<T>): Loaded<T> {
  const [count, setCount] = useState(0)
  const [state, setState] = useState<Answered<T>>({})
  // Sent before the page is painted.
  useLayoutEffect(() => {
    if (url === undefined) return
    const aborter = new AbortController()
    const { signal } = aborter
    let timer = 0
    let last: T | undefined
    const wait = () => {
      const waitMs = typeof everyMs === 'function' ? everyMs(last) : everyMs
      if (waitMs !== undefined) timer = window.setTimeout(load, waitMs)
    }
    const fail = (error: unknown) => {
      if (signal.aborted) return
      const problem = toProblem(error)
      setState((before) => ({
        ...(before.of === url && before.whose === whose && before),
        problem,
        of: url,
        whose,
      }))
      if (problem.status !== 403) wait()
    }
    const load = () => {
      if (timer !== 0 && document.visibilityState !== 'visible') return wait()
      void ask(url, { signal }).then((data) => {
        if (signal.aborted) return
        last = data
        setState({ of: url, whose, data, again })
        wait()
      }, fail)
    }
    load()
    return () => {
      aborter.abort()
      clearTimeout(timer)
    }
  }, [url, whose, again, count, everyMs])
  return {
    data: state.data,
    problem: state.of === url ? state.problem : undefined,
    isLoading: url !== undefined && state.of !== url,
    again: state.again,
    reload: () => setCount((before) => before + 1),
  }
}
type Answered<T> = { of?: string; whose?: unknown; data?: T; problem?: Problem; again?: unknown }
type Renewal<T> = Pick<Asking<T>, 'again' | 'everyMs'>

/** Reads a route with the visitor's key; an undefined path sends nothing. */
export const useApi = <T>(
  path: string | undefined,
  query?: QueryValues,
  renewal?: Renewal<T>,
): Loaded<T> =>
  useAsked<T>({
    ...renewal,
    url: path === undefined ? undefined : urlOf(path, query),
    ask: request,
    whose: useStore(apiKey.store),
  })
