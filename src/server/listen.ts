import type { Config } from '#src/config/config.ts'
import { AppError } from '#src/domain/errors.ts'
import type { createStreamService } from '#src/features/stream/service.ts'
import type { StreamData } from '#src/features/stream/sockets.ts'
import type { PeerSource } from '#src/http/call.ts'
import { problemResponse } from '#src/http/problem.ts'
import { REQUEST_ID_HEADER, requestIdOf } from '#src/http/promises.ts'
import { markRewritten } from '#src/http/target.ts'
import { codeOf } from '#src/platform/message.ts'
import { atMost } from '#src/platform/timeout.ts'

import { commandError } from './command-end.ts'

/** Requests in progress have this long to end when a server stops. */
export const DRAIN_MS_MAX = 10_000
const IDLE_TIMEOUT_SECONDS = 10
const COPYING = 'Not ready: history, ledger. The server copies its database first.'
const STARTING = 'Not ready: the server starts.'
const RETRY_AFTER_SECONDS = 5
/** A backstop far above what the routes take: they answer better than Bun, which answers bare. */
const BODY_BYTES_MAX = 1024 * 1024

type Address = Pick<Config, 'host' | 'port'>
/** What responses of a server that is not ready are made with. */
type Identity = { createId: () => string; version: string }
/** An app that can listen. */
export type Answers = {
  fetch: (request: Request, peers: PeerSource) => Response | Promise<Response>
  frequentPaths: readonly string[]
  stream: Pick<ReturnType<typeof createStreamService>, 'websocket'>
}

export type ListeningServer = {
  url: URL
  /** Call it after a commit: other threads read the new rows at once. */
  wake: (() => void) | undefined
  /** Resolves when no request uses the stores. */
  stop(): Promise<void>
}

/**
 * Listens at an address, with `isShared` beside other threads of this process. Throws a `command`
 * fault if the address is not available.
 */
export function listen(
  { fetch, stream, frequentPaths }: Answers,
  { host, port }: Address,
  isShared = false,
) {
  try {
    return Bun.serve<StreamData>({
      hostname: host,
      port,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
      maxRequestBodySize: BODY_BYTES_MAX,
      development: false,
      // A port in use must be refused, even if its holder would share it.
      reusePort: isShared,
      ...markRewritten(fetch, frequentPaths),
      websocket: stream.websocket,
      // The app catches everything; this keeps Bun's own page away should that fail.
      error: () => new Response(null, { status: 500 }),
    })
  } catch (cause) {
    throw commandError(toListenMessage(codeOf(cause), host, port), { cause })
  }
}

/** Listens in this thread alone. */
export function listenAlone(app: Answers, address: Address): ListeningServer {
  const server = listen(app, address)
  async function stop(): Promise<void> {
    await atMost(DRAIN_MS_MAX, server.stop())
    await server.stop(true)
  }
  return { url: server.url, wake: undefined, stop }
}

/** Fails as `listen` does if an address of the configuration is taken, before any work is done. */
export async function checkAddresses(
  { host, port, metrics }: Config,
  identity: Identity,
): Promise<void> {
  try {
    await tryAddress({ host, port }, identity)
  } catch (cause) {
    throw commandError(toListenMessage(codeOf(cause), host, port), { cause })
  }
  if (metrics !== '') await checkAddressAt(metrics, 'BOOKFEED_METRICS', identity)
}

/** Fails as `serveAt` does if the address is taken. */
export async function checkAddressAt(
  at: Address,
  variable: string,
  identity: Identity,
): Promise<void> {
  try {
    await tryAddress(at, identity)
  } catch (cause) {
    throw commandError(toServeMessage(codeOf(cause), at, variable), { cause })
  }
}

async function tryAddress(address: Address, identity: Identity): Promise<void> {
  if (address.port !== 0) await serveNotReady(address, identity, STARTING).stop(true)
}

/**
 * Answers 503 at an address while a server copies its database; `/healthz` is 200. Does nothing if
 * the system chooses the port, which no client knows yet.
 */
export function answerNotReady(address: Address, identity: Identity): AsyncDisposable | undefined {
  if (address.port === 0) return undefined
  const server = serveNotReady(address, identity, COPYING)
  return { [Symbol.asyncDispose]: () => server.stop(true) }
}

function serveNotReady(
  { host, port }: Address,
  { createId, version }: Identity,
  detail: string,
): Bun.Server<undefined> {
  const notReady = new AppError('unavailable', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS })
  return Bun.serve({
    hostname: host,
    port,
    reusePort: false,
    development: false,
    fetch(request) {
      if (new URL(request.url).pathname === '/healthz')
        return Response.json({ status: 'ok', version })
      const requestId = requestIdOf(request, createId)
      const response = problemResponse(notReady, requestId)
      response.headers.set(REQUEST_ID_HEADER, requestId)
      return response
    },
  })
}

/**
 * Listens for requests of the operator at the address that `variable` configures. Throws a
 * `command` fault.
 */
export function serveAt(
  at: Address,
  variable: string,
  { fetch }: { fetch: (request: Request) => Response | Promise<Response> },
): Bun.Server<undefined> {
  try {
    const address = { hostname: at.host, port: at.port, reusePort: false }
    return Bun.serve({ ...address, development: false, fetch })
  } catch (cause) {
    throw commandError(toServeMessage(codeOf(cause), at, variable), { cause })
  }
}

const toServeMessage = (code: string, { host, port }: Address, variable: string): string =>
  `${variable}: cannot listen on ${host}:${port} (${code}). Name another port.`

function toListenMessage(code: string, host: string, port: number): string {
  if (code === 'EADDRINUSE') {
    return `Port ${port} of ${host} is taken. Stop the other program, or choose another port with --port or BOOKFEED_PORT (0 takes any free one).`
  }
  if (code === 'EACCES') {
    return `This user may not listen on port ${port}. Set BOOKFEED_PORT to a port above 1023.`
  }
  return `Cannot listen on ${host}:${port} (${code}). Set BOOKFEED_HOST to an address of this machine.`
}
