import { visitOf } from '#src/http/gate.ts'
import { PAYMENT_SIGNATURE_HEADER, toPaymentHeader } from '#src/http/x402.ts'

import type { McpDeps } from './server.ts'

type Peers = { requestIP(): { address: string } | null }
type Deps = Omit<McpDeps, 'ask'> & {
  /** The front door, which what a tool asks comes through, too. */
  fetch: (request: Request, peers: Peers) => Response | Promise<Response>
}

export const mcpRoute = { method: 'POST', path: '/mcp' } as const

/** Of the message, not of the question. */
const ofMessage = [
  ...['accept', 'accept-encoding', 'content-length', 'content-type'],
  ...['if-none-match', 'transfer-encoding'],
]

/** Returns what answers a message of an agent. */
export function createMcpAnswer({ fetch, ...deps }: Deps) {
  const ask: McpDeps['ask'] = async (request, target, payment) => {
    const headers = new Headers(request.headers)
    for (const name of ofMessage) headers.delete(name)
    if (payment !== undefined) headers.set(PAYMENT_SIGNATURE_HEADER, toPaymentHeader(payment))
    const visit = visitOf(request)
    const address = { requestIP: () => visit.peers?.requestIP(request) ?? null }
    const own = new Request(new URL(target, request.url).href, { headers })
    const response = await fetch(own, address)
    // The message takes from no window: it reports the one that its tool took from.
    const { rate, enteredMs } = visitOf(own)
    Object.assign(visit, { rate, enteredMs })
    return response
  }
  let loaded: Promise<(request: Request) => Promise<Response>> | undefined
  return async (request: Request): Promise<Response> => {
    loaded ??= import('./server.ts').then(({ createMcp }) => createMcp({ ...deps, ask }))
    return (await loaded)(request)
  }
}
