/** Requests with retries: bounded, with jitter, and never before `Retry-After`. */
import { BookfeedError, errorOf } from './errors.ts'
import { parseExactly } from './numbers.ts'

export type Options<N = number> = {
  /** URL of the server, such as `https://books.example.com`. */
  server: string
  /** API key, or `sample`. Sent in a header, or in the first message of a stream. */
  key?: string | undefined
  /**
   * Converts each number of data from its digits: `String`, or a decimal of your library. By
   * default numbers are floats, which do not add up exactly.
   */
  numbers?: ((digits: string) => N) | undefined
  /** Attempts per request, including the first; 5 by default. */
  attempts?: number | undefined
  /** Longest `Retry-After` to wait for, in milliseconds; 65,000 by default, one rate window. */
  waitMs?: number | undefined
  /** Timeout of a response in milliseconds; 60,000 by default. Streams have their own. */
  timeoutMs?: number | undefined
  /**
   * With a test key: the fault to request, or a function that returns it per request. Streams over
   * WebSocket request none.
   */
  fault?: Fault | (() => Fault | undefined) | undefined
  /** Replaces `fetch`, for example by one that pays. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Replaces `WebSocket`; on Node 20, which has none, pass that of the package `ws`. */
  WebSocket?: WebSocketLike | undefined
}
/** A fault that the server simulates for a request with a test key. */
export type Fault = 'rate_limited' | 'stale' | 'gap' | 'slow' | 'payment_pending'

export type WebSocketLike = new (url: string) => WebSocket

export type Call = {
  path: string
  method?: string | undefined
  /** Members named in braces by the path are inserted there; all others go into the query. */
  input?: object | undefined
  body?: object | undefined
  headers?: Record<string, string> | undefined
  signal?: AbortSignal | undefined
  /** True if numbers stay numbers, for responses other than data. */
  isPlain?: boolean | undefined
}

const BACKOFF_MS = { first: 500, max: 30_000 }

/** Milliseconds before the next attempt: random, and growing with the number of failures. */
export const backoffMs = (failures: number): number =>
  Math.min(BACKOFF_MS.max, BACKOFF_MS.first * 2 ** failures) * (0.5 + Math.random() / 2)

/** Waits; rejects with the reason of the signal. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })

/** After this long without data on a stream, heartbeats included, the connection counts as dead. */
const DEAD_MS = 35_000

/** Calls back once if it was not reset for too long. */
export function watchdog(onDead: () => void): { reset: () => void; end: () => void } {
  let timer = setTimeout(onDead, DEAD_MS)
  const end = () => clearTimeout(timer)
  const reset = () => {
    end()
    timer = setTimeout(onDead, DEAD_MS)
  }
  return { reset, end }
}

const DAY = /^\d{4}-\d\d-\d\d$/

/** A parameter in the form of the API: names joined by commas; a day becomes its start in UTC. */
export function sentOf(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'string' && DAY.test(value)) return `${value}T00:00:00Z`
  return Array.isArray(value) ? value.map(sentOf).join(',') : value
}

/** Members of a body, or of a message of a stream. */
export const sentMembers = (input: object): object =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [name, sentOf(value)]))

export class Requester {
  readonly options: Omit<Options<unknown>, 'key'>
  readonly #key: string | undefined

  constructor({ key, ...options }: Options<unknown>) {
    if (!/^https?:/i.test(options.server) || !URL.canParse(options.server)) {
      const detail = `"${withoutKeys(String(options.server))}" is not a URL such as https://books.example.com.`
      throw new BookfeedError('invalid_parameter', detail, { param: 'server' })
    }
    this.options = options
    this.#key = readKey(key)
  }

  /** A getter, so that printing a client does not show the key. */
  get key(): string | undefined {
    return this.#key
  }

  /** Parses the JSON of a response, with numbers in the requested form. */
  parse(text: string): unknown {
    const { numbers } = this.options
    return numbers ? parseExactly(text, numbers) : JSON.parse(text)
  }

  url({ path, input = {} }: Call): string {
    const values: Record<string, unknown> = { ...input }
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = encodeURIComponent(String(values[name]))
      delete values[name]
      return value
    })
    const url = new URL(filled, this.options.server)
    for (const [name, value] of Object.entries(values))
      if (value !== undefined && value !== null) url.searchParams.set(name, String(sentOf(value)))
    return url.href
  }

  /** Sends a request until it succeeds; `read` is part of an attempt. */
  async send<T>(call: Call, read: (response: Response) => Promise<T> | T): Promise<T> {
    const { attempts = 5, waitMs = 65_000 } = this.options
    for (let failures = 0; ;) {
      try {
        return await this.#attempt(call, read)
      } catch (error) {
        if (!(error instanceof BookfeedError && error.isPassing)) throw error
        const seconds = error.retryAfterSeconds
        // A little later than required, with jitter.
        const pauseMs = seconds === undefined ? backoffMs(failures) : seconds * 1000 + jitterMs()
        if (++failures >= attempts || (seconds ?? 0) * 1000 > waitMs) throw error
        await sleep(pauseMs, call.signal)
      }
    }
  }

  async json(call: Call): Promise<{ body: unknown; headers: Headers }> {
    return await this.send(call, async (response) => {
      const text = await response.text()
      const body: unknown = call.isPlain ? JSON.parse(text) : this.parse(text)
      return { body, headers: response.headers }
    })
  }

  async #attempt<T>(call: Call, read: (response: Response) => Promise<T> | T): Promise<T> {
    const { fetch: send = fetch, fault, timeoutMs = 60_000 } = this.options
    const key = this.#key
    const { method = 'GET', body, signal } = call
    signal?.throwIfAborted()
    const headers = new Headers(call.headers)
    if (key !== undefined) headers.set('authorization', `Bearer ${key}`)
    const asked = typeof fault === 'function' ? fault() : fault
    if (asked !== undefined) headers.set('bookfeed-fault', asked)
    if (body !== undefined) headers.set('content-type', 'application/json')
    const [url, late] = [this.url(call), new AbortController()]
    const timer = setTimeout(() => late.abort(), timeoutMs)
    try {
      const response = await send(url, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
      })
      if (!response.ok) throw await errorOf(response)
      return await read(response)
    } catch (error) {
      signal?.throwIfAborted()
      throw error instanceof BookfeedError ? error : noAnswer(url, error)
    } finally {
      clearTimeout(timer)
    }
  }
}

const noAnswer = (url: string, cause: unknown) =>
  new BookfeedError('no_answer', `No answer from ${withoutKeys(url)}.`, { cause })

/** Trims the key, which may have been pasted with white space. Throws without showing it. */
function readKey(given: string | undefined): string | undefined {
  const key = given?.trim()
  if (!key) return undefined
  if (/^[!-~]+$/.test(key)) return key
  const detail = `The key that ends in ${JSON.stringify(key.slice(-4))} contains an invalid character.`
  throw new BookfeedError('invalid_parameter', detail, { param: 'key' })
}

/** A text that is safe to show: only the last four characters of a key remain. */
const withoutKeys = (text: string): string =>
  text.replace(/(bf_(?:live|test)_)\w*(\w{4})/g, '$1…$2')

const jitterMs = () => Math.random() * 250
