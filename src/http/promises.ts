/**
 * The promises of every response: a request id, the caller's rate window, CORS, a problem document
 * for each failure, HEAD as GET without its body, and one line in the access log. They are one
 * Elysia plugin, whose hooks come before those of any route.
 */
import { type AnyElysia, Elysia, NotFoundError } from 'elysia'

import { AppError } from '#src/domain/errors.ts'
import { excerpt, KEY_PREFIX, redactKeys } from '#src/domain/selling/api-key.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MaybePromise } from '#src/platform/maybe-promise.ts'

import { BODY_BYTES_MAX, bodySizeError } from './body.ts'
import {
  bindCall,
  type Call,
  callOf,
  endingOf,
  findCall,
  holderOf,
  peersOf,
  type PeerSource,
  type Sender,
  withEnding,
} from './call.ts'
import { trackDelivery } from './delivery.ts'
import { jsonResponse } from './json.ts'
import type { Meters } from './meters.ts'
import {
  CLIENT_GONE,
  ClientGoneError,
  codeOf,
  describeFault,
  problemResponse,
  toOwnError,
} from './problem.ts'
import { type Gate, UnpaidError } from './rights.ts'
import type { Rounds } from './rounds.ts'
import { STREAM_SECONDS_MAX } from './stream.ts'
import { hasManyHosts, isRewritten, type RequestTarget } from './target.ts'
import type { Unread } from './unread.ts'
import { PAYMENT_RESPONSE_HEADER, PAYMENT_SIGNATURE_HEADER } from './x402.ts'

/** How the responses of a route are counted. */
export type CountedRoute = {
  /** The row of the meters that its time is counted in. */
  row: number
  /** The name that usage is counted under. */
  usageOf: (request: Request) => string
  /** True if bodies take no memory of their own: responses share them, or they are read from disk. */
  isShared: boolean
}

export type PromisesOptions = {
  /** The app that uses the plugin. */
  app: AnyElysia
  readTarget: (url: string) => RequestTarget
  /** By the name of the route, such as `GET /v1/usage`. */
  routes: ReadonlyMap<string, CountedRoute>
  /** How requests without a route are counted. */
  unrouted: CountedRoute
  gate: Gate
  /** The ways to get access without a key; part of a 401. */
  waysIn?: (() => string) | undefined
  /** Sells the response to a request that failed for lack of a payment. */
  answerUnpaid?: ((request: Request, error: UnpaidError) => Promise<Response>) | undefined
  /** Finds the page for a person whose request matches no route. */
  findPage?: ((request: Request) => Promise<Response> | undefined) | undefined
  rounds: Pick<Rounds, 'enter'>
  unread: Pick<Unread, 'assertRoom' | 'hold'>
  meters: Pick<Meters, 'request' | 'problem'>
  /** The format of the access log. `auto` is JSON; `off` logs only our own faults. */
  logsAs: 'auto' | 'json' | 'text' | 'off'
  log: (line: string) => void
  clock: Clock
  createId: () => string
  timer: Clock
}

export type Promises = ReturnType<typeof createPromises>

export function createPromises(options: PromisesOptions) {
  const { app, readTarget, routes, unrouted, gate, rounds, unread, meters, createId, timer } =
    options
  const { answerUnpaid, findPage } = options
  const record = createRecorder(options)
  /** Requests whose turn has come. */
  const waited = new WeakSet<Request>()

  /** Creates the call of a request, and answers HEAD. Returns undefined if a route answers. Throws why a request is refused. */
  function begin(request: Request): MaybePromise<Response> | undefined {
    const call = findCall(request) ?? openCall(request)
    if (call instanceof Promise) return call.then(() => app.fetch(request))
    if (call.isInner) return undefined
    const later = waited.has(request) ? undefined : waitForTurn(request, call)
    if (later !== undefined) return later
    assertServable(request, call)
    if (!call.target.isUrgent) unread.assertRoom(holderOf(call))
    return request.method === 'HEAD' ? answerHead(request) : undefined
  }

  /** Answers a request in a later round of the event loop; undefined if it is answered now. */
  function waitForTurn(request: Request, call: Call): Promise<Response> | undefined {
    const turn = rounds.enter(holderOf(call), call.target.isUrgent)
    if (turn === undefined) return undefined
    waited.add(request)
    return turn.then(
      () => app.fetch(request),
      (error: unknown) => finish(request, problem(request, error)),
    )
  }

  function openCall(request: Request): MaybePromise<Call> {
    const startedMs = timer()
    const target = readTarget(request.url)
    const peers = peersOf(request)
    const bind = (sender: Sender): Call => {
      const requestId = requestIdOf(request, createId)
      const call = { ...sender, requestId, traceparent: traceOf(request), target, startedMs, peers }
      bindCall(request, call)
      return call
    }
    const sender = gate.admit({ request, allowance: target.allowance, peers })
    return sender instanceof Promise ? sender.then(bind) : bind(sender)
  }

  const answerHead = async (request: Request): Promise<Response> =>
    finish(request, await fetchAgain(request, { isHead: true }))

  /**
   * Sends a request through the routes of the app again, with changes of its call: another caller,
   * or a rehearsal. Only the outer request is metered and logged.
   */
  async function fetchAgain(
    request: Request,
    changes: Partial<Call>,
    body: ArrayBuffer | null = null,
  ): Promise<Response> {
    const { url, headers, signal } = request
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const inner = new Request(url, { method, headers, signal, body })
    const call = callOf(request)
    const peers = call.peers && peersOfInner(request, call.peers)
    bindCall(inner, { ...call, ...changes, peers, isInner: true })
    return app.fetch(inner)
  }

  async function answerError(request: Request, thrown: unknown): Promise<Response> {
    const error = toOwnError(thrown)
    if (error instanceof ClientGoneError)
      return new Response(null, { status: CLIENT_GONE, headers: { 'Content-Length': '0' } })
    try {
      if (error instanceof UnpaidError && answerUnpaid) return await answerUnpaid(request, error)
      if (error instanceof NotFoundError) return (await findPage?.(request)) ?? noRoute(request)
      return problem(request, error)
    } catch (later) {
      const own = toOwnError(later)
      return own instanceof NotFoundError ? noRoute(request) : problem(request, own)
    }
  }

  function problem(request: Request, error: unknown): Response {
    const code = codeOf(error)
    meters.problem(code)
    const { requestId, keepsPayment } = callOf(request)
    const isKept = keepsPayment ?? request.headers.has(PAYMENT_SIGNATURE_HEADER)
    const extras =
      isKept && code !== 'sanctioned' ? { retryAction: 'retry_same_payment' as const } : {}
    const response = problemResponse(withWaysIn(error, options.waysIn), requestId, extras)
    return withEnding(response, { fault: describeFault(error) })
  }

  /** Answers a request whose path or method no route has. */
  function noRoute(request: Request): Response {
    const { target, requestId, isHead } = callOf(request)
    const method = isHead ? 'HEAD' : request.method
    const methods = methodsAt(app, target.path)
    const allow = methods.join(', ')
    if (method === 'OPTIONS' && allow !== '') {
      const headers = new Headers({ Allow: allow })
      if (isPreflight(request) && !target.isPrivate) writePreflightHeaders(headers, allow)
      return new Response(null, { status: 204, headers })
    }
    const error =
      allow === ''
        ? new AppError(
            'not_found',
            `No route ${excerpt(target.path)}. See /swagger for all routes.`,
          )
        : new AppError('method_not_allowed', `${method} is not possible here. Send ${allow}.`)
    const response = problemResponse(error, requestId)
    if (allow !== '') response.headers.set('Allow', allow)
    return response
  }

  /** Writes the headers that every response has. */
  function writeHeaders(request: Request, response: Response): void {
    const { headers } = response
    const call = callOf(request)
    headers.set(REQUEST_ID_HEADER, call.requestId)
    if (call.traceparent !== undefined) headers.set(TRACE_HEADER, call.traceparent)
    // Browsers guess no other type for JSON.
    if (headers.get('content-type') !== 'application/json')
      headers.set('X-Content-Type-Options', 'nosniff')
    if (call.receipt !== undefined) headers.set(PAYMENT_RESPONSE_HEADER, call.receipt)
    gate.writeHeaders(call, response)
    if (call.target.isPrivate) {
      headers.set('Cross-Origin-Resource-Policy', 'same-origin')
    } else writeCorsHeaders(request, response)
  }

  /** Ends a request: counts its unread bytes, writes the headers, and meters and logs it. */
  function finish(
    request: Request,
    made: Response,
    route = endingOf(made).route,
  ): MaybePromise<Response> {
    const call = callOf(request)
    if (call.isInner) return withEnding(made, { route })
    const counted = routes.get(route ?? '') ?? unrouted
    const response = countUnread(request, made, counted)
    meters.request(counted.row, response.status, timer() - call.startedMs)
    writeHeaders(request, response)
    if (request.method === 'HEAD') return finishHead(request, response, counted)
    record(request, response, counted)
    const { onSent } = endingOf(response)
    if (onSent === undefined || response.status >= 400) return response
    if (call.peers?.deliver === undefined) return trackDelivery(response, onSent)
    call.peers.deliver(onSent)
    return response
  }

  async function finishHead(
    request: Request,
    response: Response,
    counted: CountedRoute,
  ): Promise<Response> {
    const { fault, stream } = endingOf(response)
    const bare = await withoutBody(response, stream !== undefined).catch((error: unknown) =>
      withEnding(new Response(null, { status: 500, headers: response.headers }), {
        fault: describeFault(error),
      }),
    )
    if (fault !== undefined) withEnding(bare, { fault })
    record(request, bare, counted)
    return bare
  }

  /** Counts the bytes that wait for the client to read them. A stream makes its bytes as they are read. */
  function countUnread(request: Request, response: Response, { isShared }: CountedRoute): Response {
    const call = callOf(request)
    const { caller, address, peers } = call
    if (peers === undefined || request.method === 'HEAD' || isShared) return response
    if (endingOf(response).stream !== undefined) return response
    const bytes = Number(response.headers.get('content-length') ?? 0)
    if (bytes === 0) return response
    // A caller that came without a key, and has one now, has paid for this response.
    const isPaidFor = caller !== undefined && address !== undefined
    try {
      unread.hold({ request, peers, bytes, holder: holderOf(call) }, isPaidFor)
      return response
    } catch (error) {
      return problem(request, error)
    }
  }

  /** Finishes the value that a route returned, or that its promise resolves to. */
  function finishRouted(request: Request, route: string, value: unknown): MaybePromise<Response> {
    if (value instanceof Promise) {
      return value.then(
        (later) => finishRouted(request, route, later),
        async (error: unknown) => finish(request, await answerError(request, error), route),
      )
    }
    return finish(request, value instanceof Response ? value : toResponse(value), route)
  }

  // Elysia answers each request with a promise if the text of a hook of `onRequest` has a call after
  // `return`; a WebSocket would then be opened too late for bytes that came with its request.
  const plugin: AnyElysia = new Elysia({ name: 'promises' })
    .onRequest(({ request }) => {
      const early = begin(request)
      if (early !== undefined) return early
      return undefined
    })
    .mapResponse({ as: 'global' }, ({ request, route, responseValue }) => {
      const ended = finishRouted(request, `${request.method} ${route}`, responseValue)
      return ended
    })
    .onError({ as: 'global' }, async ({ request, route, error, set }) => {
      const response = await answerError(request, error)
      // Elysia copies a response if its own status is another one.
      set.status = 200
      // `mapResponse` ends the request if a route was matched.
      return (route as string | undefined) === undefined ? finish(request, response) : response
    })

  return { plugin, fetchAgain, writeHeaders, finish }
}

const toResponse = (value: unknown): Response =>
  typeof value === 'string' ? new Response(value) : jsonResponse(value ?? null)

const withWaysIn = (error: unknown, waysIn: PromisesOptions['waysIn']): unknown =>
  error instanceof AppError && error.code === 'unauthenticated' && waysIn !== undefined
    ? new AppError(error.code, `${error.message} ${waysIn()}`, error.extras)
    : error

function assertServable(request: Request, { refusal, target }: Call): void {
  if (refusal) throw refusal
  if (!target.isAbsolute || hasManyHosts(request)) {
    const message = 'The request needs one valid Host header, and a target that is a path.'
    throw new AppError('invalid_request', message)
  }
  if (isRewritten(request)) {
    const message =
      'The path has an empty segment, a segment `.` or `..`, a backslash, or too many segments. Send the path as the documentation has it.'
    throw new AppError('invalid_request', message)
  }
  if (target.isMalformed) {
    throw new AppError('invalid_request', 'The path has a malformed percent-encoding.')
  }
  // The length that the client states; a body without a length is measured when it is read.
  const length = request.headers.get('content-length')
  if (length !== null && Number(length) > BODY_BYTES_MAX) throw bodySizeError()
}

/** Bun knows the address of a request that it received, and of no other. */
const peersOfInner = (request: Request, peers: PeerSource): PeerSource => ({
  requestIP: () => peers.requestIP(request),
  timeout: (_, seconds) => peers.timeout?.(request, seconds),
})

/** The path of the WebSocket, which HEAD does not open. */
export const STREAM_PATH = '/v1/stream'
const methodNames = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** The methods that Elysia's router has at a path, with HEAD and OPTIONS; or none. */
export function methodsAt({ router }: Pick<AnyElysia, 'router'>, path: string): string[] {
  const fixed = router.static[path.length > 1 ? path.replace(/\/$/, '') : path] ?? {}
  const found = methodNames.filter(
    (method) => method in fixed || router.http.find(method, path) !== null,
  )
  if (found.length === 0) return []
  const hasHead = found.includes('GET') && path !== STREAM_PATH
  return [...found, ...(hasHead ? ['HEAD', 'OPTIONS'] : ['OPTIONS'])].sort()
}

/**
 * Keeps the headers and the length that GET would have had. A stream has no length, and does not
 * begin.
 */
async function withoutBody(response: Response, isStream: boolean): Promise<Response> {
  const { status, headers } = response
  if (isStream || headers.has('content-length')) await response.body?.cancel()
  else if (response.body !== null) {
    headers.set('Content-Length', String((await response.arrayBuffer()).byteLength))
  }
  return new Response(isStream ? nothing() : null, { status, headers })
}

/** Without a body, Bun sends the length 0; of a stream it sends none, and does not pull it for HEAD. */
const nothing = (): ReadableStream<Uint8Array> =>
  new ReadableStream({ pull: (controller) => controller.close() }, { highWaterMark: 0 })

export const REQUEST_ID_HEADER = 'X-Request-Id'
/** Short, because it is sent with every page. */
const ID_LENGTH = 16

/** The caller's id if it is harmless in a log and a header, and no key; otherwise a new one. */
export function requestIdOf(request: Request, createId: () => string): string {
  const sent = request.headers.get('x-request-id')
  const isAccepted = sent !== null && /^[\w.-]{1,64}$/.test(sent) && !sent.includes(KEY_PREFIX)
  return isAccepted ? sent : `req_${createId().slice(0, ID_LENGTH)}`
}

const TRACE_HEADER = 'traceparent'
/** W3C Trace Context: version, trace, span, flags; a later version may have more. */
const trace =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[\w-]*)?$/
const TRACE_LENGTH_MAX = 128
const TRACE_LENGTH = 55

/** The trace that a request is part of; undefined without a valid one. */
function traceOf({ headers }: Request): string | undefined {
  const sent = headers.get(TRACE_HEADER)
  if (sent === null || sent.length > TRACE_LENGTH_MAX || !trace.test(sent)) return undefined
  // Only later versions have more.
  return sent.startsWith('00') && sent.length > TRACE_LENGTH ? undefined : sent
}

const TRACE_AT = 3
const SPAN_AT = 36
const FLAGS_AT = 53
const SPAN_BYTES = 8

/**
 * The trace of a request that we send for another one: a span of its own in the caller's trace.
 * Undefined without a valid trace. `randomBytes` returns so many bytes.
 */
export function continueTrace(
  request: Request,
  randomBytes: (length: number) => Uint8Array,
): string | undefined {
  const trace = traceOf(request)
  if (trace === undefined) return undefined
  const span = randomBytes(SPAN_BYTES).toHex()
  // A client that does not know a later version continues in this one.
  return `00-${trace.slice(TRACE_AT, SPAN_AT)}${span}-${trace.slice(FLAGS_AT, TRACE_LENGTH)}`
}

const exposed =
  'Accept-Ranges, Bookfeed-Mode, Content-Disposition, Content-Encoding, Content-Range, ETag, Idempotent-Replayed, Location, PAYMENT-REQUIRED, PAYMENT-RESPONSE, RateLimit, RateLimit-Policy, Repr-Digest, Retry-After, WWW-Authenticate, X-Coverage, X-Export-Id, X-Next-Cursor, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Resume-Cursor, traceparent'
/** For a 402, whose headers must be short. */
const exposedOf402 =
  'PAYMENT-REQUIRED, PAYMENT-RESPONSE, RateLimit, RateLimit-Policy, WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, traceparent'
/** Clients of x402 send `Access-Control-Expose-Headers` with a payment; X-PAYMENT is the header of version 1. */
const allowed =
  'Access-Control-Expose-Headers, Authorization, Bookfeed-Fault, Content-Type, Idempotency-Key, If-None-Match, If-Range, Last-Event-ID, MCP-Protocol-Version, PAYMENT-SIGNATURE, Range, X-PAYMENT, X-Request-Id, traceparent'
const PREFLIGHT_SECONDS = '86400'

/**
 * Permits pages of any origin to read a response and its headers. Keys are sent in a header that only
 * the page's own code can set, and there are no cookies that a foreign page could use. Requests
 * without an `Origin` need no headers.
 */
function writeCorsHeaders(
  request: Request,
  { status, headers }: Pick<Response, 'status' | 'headers'>,
): void {
  if (!request.headers.has('origin')) return
  headers.set('Access-Control-Allow-Origin', '*')
  headers.set('Access-Control-Expose-Headers', status === 402 ? exposedOf402 : exposed)
  // Without it, a cache could give a page the response to another origin.
  if (!headers.has('vary')) headers.set('Vary', 'Origin')
}

/** True of the preflight request of a browser, which never has a key. */
export const isPreflight = ({ method, headers }: Request): boolean =>
  method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')

function writePreflightHeaders(headers: Headers, methods: string): void {
  headers.set('Access-Control-Allow-Methods', methods)
  headers.set('Access-Control-Allow-Headers', allowed)
  headers.set('Access-Control-Max-Age', PREFLIGHT_SECONDS)
}

/** Meters and logs a request: a stream when its body has ended, any other response now. */
function createRecorder({ gate, logsAs, log, clock, timer }: PromisesOptions) {
  const toLine = createAccessLine(clock, logsAs === 'text')

  function print(request: Request, status: number, bytes: number | undefined, error?: string) {
    if (logsAs === 'off' && error === undefined) return
    const { requestId, traceparent, caller, target, startedMs } = callOf(request)
    log(
      toLine({
        requestId,
        traceparent,
        keyId: caller?.keyId,
        method: request.method,
        target: target.pathAndQuery,
        status,
        bytes,
        durationMs: timer() - startedMs,
        error,
      }),
    )
  }

  return (request: Request, response: Response, { usageOf }: CountedRoute): void => {
    const call = callOf(request)
    const usage = usageOf(request)
    const { status, headers } = response
    const { stream, fault } = endingOf(response)
    if (stream === undefined) {
      const bytes = toBytes(request, status, headers.get('content-length'))
      gate.count(call, usage, bytes)
      print(request, status, bytes, fault)
      return
    }
    let isCounted = false
    const count = (bytes: number): void => {
      if (isCounted) gate.countMore(call, usage, bytes)
      else gate.count(call, usage, bytes)
      isCounted = true
    }
    call.peers?.timeout?.(request, STREAM_SECONDS_MAX)
    stream.onPiece = count
    void stream.ended.then(({ bytes, error }) => {
      if (!isCounted) gate.count(call, usage, bytes)
      print(request, status, bytes, error === undefined ? fault : describeFault(error))
    })
  }
}

function toBytes(request: Request, status: number, length: string | null): number | undefined {
  if (request.method === 'HEAD' || status === 204 || status === 304) return 0
  return length === null ? undefined : Number(length)
}

const TARGET_LENGTH_MAX = 2048
const MS_PER_SECOND = 1000

type AccessRecord = {
  /** Nothing in it needs escaping, nor in `traceparent`. */
  requestId: string
  keyId: string | undefined
  method: string
  target: string
  status: number
  /** Length of the body; undefined for a stream. */
  bytes: number | undefined
  durationMs: number
  traceparent?: string | undefined
  error?: string | undefined
}

/**
 * Creates the function that prints a record as a line, newline included; `isText` for people. JSON
 * is concatenated, because `JSON.stringify` of an object costs more than the rest of the request's
 * bookkeeping; only what the caller sent is escaped.
 */
export function createAccessLine(clock: Clock, isText = false): (record: AccessRecord) => string {
  const timeText = createTimeText(clock)
  return (record) => {
    const { requestId, keyId, method, target, status, bytes, durationMs } = record
    const { traceparent, error } = record
    const cut = target.length > TARGET_LENGTH_MAX ? target.slice(0, TARGET_LENGTH_MAX) : target
    const path = redactKeys(cut)
    const level = error === undefined ? 'info' : 'error'
    const took = Math.round(durationMs * 1000) / 1000
    if (isText) {
      const parts = [timeText(), level, method, quote(path), status, `${bytes ?? '-'} bytes`]
      const own = [
        ...parts,
        `${took} ms`,
        requestId,
        keyId,
        traceparent,
        error && redactKeys(error),
      ]
      return `${own
        .filter((part) => part !== undefined)
        .join(' ')
        .replaceAll('\n', ' | ')}\n`
    }
    const key = keyId === undefined ? 'null' : `"${keyId}"`
    const line = `{"time":"${timeText()}","level":"${level}","requestId":"${requestId}","key":${key},"method":${quote(method)},"path":${quote(path)},"status":${status},"bytes":${bytes ?? 'null'},"durationMs":${took}`
    const trace = traceparent === undefined ? '' : `,"traceparent":"${traceparent}"`
    return error === undefined
      ? `${line}${trace}}\n`
      : `${line}${trace},"error":${JSON.stringify(redactKeys(error))}}\n`
  }
}

/** Matches nearly every address: nothing that JSON would escape. */
const plain = /^[\w/?&=.,:~%+-]*$/

const quote = (text: string): string => (plain.test(text) ? `"${text}"` : JSON.stringify(text))

/** ISO 8601 of now; the part that changes once a second is kept. */
function createTimeText(clock: Clock): () => string {
  let second = Number.NaN
  let prefix = ''
  return () => {
    const nowMs = clock()
    const current = Math.floor(nowMs / MS_PER_SECOND)
    if (current !== second) {
      second = current
      prefix = new Date(current * MS_PER_SECOND).toISOString().slice(0, -'000Z'.length)
    }
    return `${prefix}${String(nowMs - current * MS_PER_SECOND).padStart(3, '0')}Z`
  }
}
