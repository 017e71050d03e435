import type { Config } from '#src/config/config.ts'
import type { createStreamService } from '#src/features/stream/service.ts'
import type { StreamData } from '#src/features/stream/sockets.ts'
import { markRewritten } from '#src/http/target.ts'
import type { PeerSource } from '#src/http/visit.ts'
import { codeOf } from '#src/platform/message.ts'
import { commandError } from '#src/server/command-end.ts'

const IDLE_TIMEOUT_SECONDS = 10
/** A backstop far above what the routes take: they answer better than Bun, which answers bare. */
const BODY_BYTES_MAX = 1024 * 1024

type Address = Pick<Config, 'host' | 'port'>
/** What answers at an address. */
export type Answers = {
  fetch: (request: Request, peers: PeerSource) => Response | Promise<Response>
  frequentPaths: readonly string[]
  stream: Pick<ReturnType<typeof createStreamService>, 'websocket'>
}

/**
 * Begins to answer at the address of the configuration, with `isShared` beside others of this
 * process. Throws a `command` fault where it cannot be had.
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
      // A port in use must be refused, also when its holder would share it.
      reusePort: isShared,
      ...markRewritten(fetch, frequentPaths),
      websocket: stream.websocket,
      // The front door catches everything; this keeps Bun's own page away should that fail.
      error: () => new Response(null, { status: 500 }),
    })
  } catch (cause) {
    throw commandError(toListenMessage(codeOf(cause), host, port), { cause })
  }
}

/**
 * Fails as `listen` does where it would, before work that would be in vain, or do harm, without the
 * address.
 */
export async function checkAddress({ host, port }: Address): Promise<void> {
  try {
    await tryAddress({ host, port })
  } catch (cause) {
    throw commandError(toListenMessage(codeOf(cause), host, port), { cause })
  }
}

/** The same for `serveAt`. */
export async function checkAddressAt(at: Address, variable: string): Promise<void> {
  try {
    await tryAddress(at)
  } catch (cause) {
    throw commandError(toServeMessage(codeOf(cause), at, variable), { cause })
  }
}

async function tryAddress({ host, port }: Address): Promise<void> {
  if (port === 0) return
  const fetch = () => new Response(null, { status: 503 })
  const address = { hostname: host, port, reusePort: false }
  await Bun.serve({ ...address, development: false, fetch }).stop(true)
}

/**
 * Begins to answer requests that are the operator's, where `variable` says. Throws a `command`
 * fault.
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
