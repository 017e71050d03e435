/**
 * What is promised of every response, done around the app because Elysia's hooks do not run on
 * every path: the gate, a request id, the common headers, one line in the access log, a problem
 * document for anything thrown, HEAD answered as GET without a body.
 */
import { AppError } from '#src/domain/errors.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'
import type { Clock } from '#src/domain/time.ts'

import { createAccessLine } from './access-log.ts'
import { BODY_BYTES_MAX, bodySizeError } from './body.ts'
import {
  isPreflight,
  REQUEST_ID_HEADER,
  requestIdOf,
  TRACE_HEADER,
  traceOf,
  writeCorsHeaders,
  writePreflightHeaders,
} from './common-headers.ts'
import { trackDelivery } from './delivery.ts'
import type { Gate } from './gate.ts'
import { type Meters, OTHER } from './meters.ts'
import { codeOf, describeFault, MissingRoute, problemResponse } from './problem.ts'
import type { RouteTable } from './route-table.ts'
import { STREAM_SECONDS_MAX } from './stream.ts'
import { hasManyHosts, isRewritten } from './target.ts'
import type { Unread } from './unread.ts'
import {
  type Arrived,
  bindVisit,
  type PeerSource,
  type RequestTarget,
  type Visit,
} from './visit.ts'
import type { Work } from './work.ts'
import { PAYMENT_RESPONSE_HEADER, PAYMENT_SIGNATURE_HEADER } from './x402.ts'

/** `peers` reports the caller's address; without it all callers without a key are one. */
type Handle = (request: Request, peers?: PeerSource) => Response | Promise<Response>

type FrontDoorOptions = {
  handle: (arrived: Arrived) => Response | Promise<Response>
  routes: RouteTable
  /** By path, what makes a WebSocket of a request; throws where it is not asked for. */
  sockets: ReadonlyMap<string, (request: Request, visit: Visit, headers: Headers) => void>
  gate: Gate
  /** What a caller without a valid key can do here; added to the answer that says so. */
  waysIn?: (() => string) | undefined
  work: Pick<Work, 'enter' | 'spend'>
  unread: Pick<Unread, 'assertRoom' | 'hold'>
  meters: Pick<Meters, 'request' | 'problem'>
  /** The row of each name that time is counted under. */
  timedRows?: ReadonlyMap<string, number>
  /** `off` leaves only the lines of our own faults, as JSON. */
  /** `auto` is JSON: only the process knows whether it has a terminal. */
  logsAs: 'auto' | 'json' | 'text' | 'off'
  log: (line: string) => void
  clock: Clock
  createId: () => string
  timer: Clock
}

/** One request on its way through. `inner` is the request that the app sees. */
type Exchange = {
  request: Request
  inner: Request
  requestId: string
  traceparent: string | undefined
  target: RequestTarget
  visit: Visit
  peers: PeerSource | undefined
  startedMs: number
  fault?: string | undefined
}

/** Wraps an app. The result neither throws nor rejects. */
export function createFrontDoor(options: FrontDoorOptions): Handle {
  const { handle, routes, sockets, gate } = options
  const { work, unread, meters, timer } = options
  const mark = createMark(options)
  const finish = createFinish(options, mark)
  const arrive = createArrivals(options)

  const fail = (exchange: Exchange, error: unknown): Response => {
    if (error instanceof MissingRoute)
      return answerMissing(exchange, routes.methodsAt(exchange.target.path))
    meters.problem(codeOf(error))
    exchange.fault = describeFault(error)
    const extras = keepsPayment(exchange, error)
      ? { retryAction: 'retry_same_payment' as const }
      : {}
    return problemResponse(withWaysIn(error, options.waysIn), exchange.requestId, extras)
  }

  const settle = (exchange: Exchange, response: Response) => {
    try {
      holdBytes(exchange, response)
      return finish(exchange, response)
    } catch (error) {
      return finish(exchange, fail(exchange, error))
    }
  }

  /** Counts what the client is to read, but for what is made while it is sent. */
  function holdBytes({ request, peers, visit }: Exchange, { headers }: Response): void {
    if (peers === undefined || visit.isHead) return
    if (visit.body !== undefined || visit.isShared) return
    const bytes = Number(headers.get('content-length') ?? 0)
    // A caller that came without a key, and has one now, has paid for this answer.
    const isPaidFor = visit.caller !== undefined && visit.address !== undefined
    if (bytes > 0) unread.hold({ request, peers, bytes, visit }, isPaidFor)
  }

  function proceed(arrival: Omit<Exchange, 'visit'>, visit: Visit) {
    const { request, inner, peers, requestId, traceparent, target, startedMs } = arrival
    bindVisit(inner, visit)
    visit.requestId = requestId
    visit.target = target
    visit.isHead = request.method === 'HEAD'
    visit.keepOpen = (seconds) => peers?.timeout?.(request, seconds)
    const exchange = { requestId, traceparent, target, request, inner, visit, peers, startedMs }
    return answer(exchange)
  }

  function answer(exchange: Exchange): Response | Promise<Response> {
    const { request, inner, target, visit, startedMs } = exchange
    try {
      assertServable(exchange)
      if (routes.isRefused(inner.method, target.path)) {
        return finish(exchange, answerMissing(exchange, routes.methodsAt(target.path)))
      }
      const open = sockets.get(target.path)
      if (open !== undefined && request.method !== 'GET') {
        return finish(exchange, answerMissing(exchange, SOCKET_METHODS))
      }
      if (open !== undefined) {
        visit.timedAs = `GET ${target.path}`
        const upgraded = new Response(null)
        mark(exchange, upgraded)
        // Bun answers with 101 and these headers.
        open(request, visit, upgraded.headers)
        return finish(exchange, upgraded)
      }
      if (!target.isUrgent) unread.assertRoom(visit)
      const wait = work.enter(visit, target.isUrgent)
      const arrived = { request: inner, target, visit }
      const result = wait === undefined ? handle(arrived) : wait.then(() => handle(arrived))
      if (!(result instanceof Promise)) return settle(exchange, result)
      return result.then(
        (response) => settle(exchange, response),
        (error: unknown) => finish(exchange, fail(exchange, error)),
      )
    } catch (error) {
      return finish(exchange, fail(exchange, error))
    } finally {
      work.spend(timer() - startedMs)
    }
  }

  return (request, peers) => {
    const arrival = arrive(request, peers)
    const { inner, target } = arrival
    const from = peers && peerOf(request, inner, peers)
    const visit = gate.admit({ request, allowance: target.allowance, peers: from })
    return visit instanceof Promise
      ? visit.then((later) => proceed(arrival, later))
      : proceed(arrival, visit)
  }
}

const withWaysIn = (error: unknown, waysIn: FrontDoorOptions['waysIn']): unknown =>
  error instanceof AppError && error.code === 'unauthenticated' && waysIn !== undefined
    ? new AppError(error.code, `${error.message} ${waysIn()}`, error.extras)
    : error

/** What is known of a request before the gate. */
const createArrivals =
  ({ routes, createId, timer }: FrontDoorOptions) =>
  (request: Request, peers: PeerSource | undefined): Omit<Exchange, 'visit'> => {
    const startedMs = timer()
    const target = routes.targetAt(request.url)
    const inner = target.isAbsolute && request.method === 'HEAD' ? asGet(request) : request
    const requestId = requestIdOf(request, createId)
    const traceparent = traceOf(request)
    return { requestId, traceparent, target, request, inner, peers, startedMs }
  }

function assertServable({ request, target, visit }: Exchange): void {
  if (visit.refusal) throw visit.refusal
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
  // By what the caller says; a body without a length is measured as it is read.
  const length = request.headers.get('content-length')
  if (length !== null && Number(length) > BODY_BYTES_MAX) throw bodySizeError()
}

/** Puts the common headers on a response; twice is as good as once. */
const createMark =
  ({ gate }: FrontDoorOptions) =>
  (exchange: Exchange, response: Response): void => {
    const { headers } = response
    const { visit } = exchange
    headers.set(REQUEST_ID_HEADER, exchange.requestId)
    if (exchange.traceparent !== undefined) headers.set(TRACE_HEADER, exchange.traceparent)
    // JSON needs no guess.
    if (headers.get('content-type') !== 'application/json')
      headers.set('X-Content-Type-Options', 'nosniff')
    if (visit.receipt !== undefined) headers.set(PAYMENT_RESPONSE_HEADER, visit.receipt)
    gate.writeHeaders(visit, response)
    if (exchange.target.isPrivate) {
      headers.set('Cross-Origin-Resource-Policy', 'same-origin')
    } else writeCorsHeaders(exchange.request, response)
  }

/** Marks a response, drops the body of HEAD, writes the line. */
function createFinish(options: FrontDoorOptions, mark: ReturnType<typeof createMark>) {
  const { gate, meters, timedRows = new Map<string, number>(), logsAs, log, clock, timer } = options
  const toLine = createAccessLine(clock, logsAs === 'text')

  const record = (exchange: Exchange, status: number, bytes: number | undefined) => {
    const { request, requestId, traceparent, target, visit, startedMs, fault } = exchange
    gate.finish(visit, bytes)
    if (logsAs === 'off' && fault === undefined) return
    const { method } = request
    const durationMs = timer() - startedMs
    const keyId = visit.caller?.keyId
    const error = fault
    log(
      toLine({
        requestId,
        traceparent,
        keyId,
        method,
        target: target.pathAndQuery,
        status,
        bytes,
        durationMs,
        error,
      }),
    )
  }

  /** Of a stream its bytes as they are sent, and the rest at its end; of anything else now. */
  const recordBody = (exchange: Exchange, { status, headers }: Response) => {
    const { visit, request, peers } = exchange
    if (visit.body === undefined) {
      record(exchange, status, toBytes(status, headers.get('content-length')))
      return
    }
    peers?.timeout?.(request, STREAM_SECONDS_MAX)
    visit.body.onPiece = (bytes) => gate.countBytes(visit, bytes)
    void visit.body.ended.then(({ bytes, error }) => {
      if (error !== undefined) exchange.fault = describeFault(error)
      record(exchange, status, bytes)
    })
  }

  return (exchange: Exchange, response: Response): Response | Promise<Response> => {
    const { headers, status } = response
    const { visit, startedMs } = exchange
    meters.request(timedRows.get(visit.timedAs ?? '') ?? OTHER, status, timer() - startedMs)
    mark(exchange, response)
    if (exchange.request.method !== 'HEAD') {
      recordBody(exchange, response)
      return visit.onSent === undefined || status >= 400
        ? response
        : passOn(response, visit.onSent, exchange.peers)
    }
    return withoutBody(response, visit.body !== undefined)
      .catch((error: unknown) => {
        exchange.fault = describeFault(error)
        return new Response(null, { status: 500, headers })
      })
      .then((bare) => {
        record(exchange, bare.status, 0)
        return bare
      })
  }
}

/** Whether a payment that came with the request may be sent again, unless the error says more. */
const keepsPayment = ({ visit, request }: Exchange, error: unknown): boolean =>
  (visit.keepsPayment ?? request.headers.has(PAYMENT_SIGNATURE_HEADER)) &&
  codeOf(error) !== 'sanctioned'

/** Has `onSent` called by what hands the body to the connection. */
function passOn(
  response: Response,
  onSent: (isWhole: boolean) => void,
  peers: PeerSource | undefined,
): Response | Promise<Response> {
  if (peers?.deliver === undefined) {
    return trackDelivery(response, onSent)
  }
  peers.deliver(onSent)
  return response
}

function toBytes(status: number, length: string | null): number | undefined {
  if (status === 204 || status === 304) return 0
  return length === null ? undefined : Number(length)
}

/** A WebSocket is opened by GET alone. */
const SOCKET_METHODS = ['GET', 'OPTIONS']

/** A path that exists under other methods says which. */
function answerMissing(
  { request, target, requestId }: Exchange,
  methods: readonly string[],
): Response {
  const { method } = request
  const { path, isPrivate } = target
  const allow = methods.join(', ')
  if (method === 'OPTIONS' && allow !== '') {
    const headers = new Headers({ Allow: allow })
    if (isPreflight(request) && !isPrivate) writePreflightHeaders(headers, allow)
    return new Response(null, { status: 204, headers })
  }
  const error =
    allow === ''
      ? new AppError('not_found', `No route ${excerpt(path)}. See /swagger for all routes.`)
      : new AppError('method_not_allowed', `${method} is not possible here. Send ${allow}.`)
  const response = problemResponse(error, requestId)
  if (allow !== '') response.headers.set('Allow', allow)
  return response
}

/** Bun knows the address of its own requests alone, and not of what the app sees for HEAD. */
const peerOf = (request: Request, inner: Request, peers: PeerSource): PeerSource =>
  inner === request ? peers : { requestIP: () => peers.requestIP(request) }

const asGet = ({ url, headers, signal }: Request): Request =>
  new Request(url, { method: 'GET', headers, signal })

/** Keeps the headers and the length that GET would have had; a stream has none, nor is begun. */
async function withoutBody(response: Response, isStream: boolean): Promise<Response> {
  const { status, headers } = response
  if (isStream || headers.has('content-length')) await response.body?.cancel()
  else if (response.body !== null) {
    headers.set('Content-Length', String((await response.arrayBuffer()).byteLength))
  }
  return new Response(isStream ? nothing() : null, { status, headers })
}

/** Without a body Bun would send the length 0; of a stream it sends none, nor pulls it for HEAD. */
const nothing = (): ReadableStream<Uint8Array> =>
  new ReadableStream({ pull: (controller) => controller.close() }, { highWaterMark: 0 })
