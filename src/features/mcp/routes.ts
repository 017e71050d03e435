import { type Visit, visitOf } from '#src/http/gate.ts'
import { PAYMENT_SIGNATURE_HEADER, toPaymentHeader } from '#src/http/x402.ts'

import type { McpDeps } from './server.ts'

type Peers = {
  requestIP(): { address: string } | null
  deliver(onSent: (isWhole: boolean) => void): void
}
type Deps = Omit<McpDeps, 'ask'> & {
  /** The front door, which what a tool asks comes through, too. */
  fetch: (request: Request, peers: Peers) => Response | Promise<Response>
  /** Takes one from the window of the caller. Throws `rate_limited`. */
  charge: (request: Request, visit: Visit) => Promise<void>
}

export const mcpRoute = { method: 'POST', path: '/mcp' } as const

/** Of the message, not of the question. */
const ofMessage = [
  ...['accept', 'accept-encoding', 'content-length', 'content-type'],
  ...['if-none-match', 'transfer-encoding'],
]

/** Returns what answers messages of an agent. */
export function createMcpAnswer({ fetch, charge, ...deps }: Deps) {
  /** Requests of the API that the messages of a request have made. */
  const asked = new WeakMap<Request, number>()
  const countAsked = (request: Request): number => asked.get(request) ?? 0
  const ask: McpDeps['ask'] = async (request, target, payment) => {
    asked.set(request, countAsked(request) + 1)
    const headers = new Headers(request.headers)
    for (const name of ofMessage) headers.delete(name)
    if (payment !== undefined) headers.set(PAYMENT_SIGNATURE_HEADER, toPaymentHeader(payment))
    const visit = visitOf(request)
    const address: Peers = {
      requestIP: () => visit.peers?.requestIP(request) ?? null,
      // The answer of a tool is delivered with the message.
      deliver(onSent) {
        const { onSent: others } = visit
        visit.onSent = (isWhole) => {
          others?.(isWhole)
          onSent(isWhole)
        }
      },
    }
    const own = new Request(new URL(target, request.url).href, { headers })
    const response = await fetch(own, address)
    // The message takes from no window: it reports the one that its tool took from.
    const { rate, enteredMs } = visitOf(own)
    Object.assign(visit, { rate, enteredMs })
    return response
  }

  async function load() {
    const [{ createMcp }, { createMessages }] = await Promise.all([
      import('./server.ts'),
      import('./messages.ts'),
    ])
    const answer = createMcp({ ...deps, ask })
    return createMessages({
      answerOne: answer,
      answerText: (request) => answer(request),
      charge: (request) => charge(request, visitOf(request)),
      countAsked,
    })
  }
  let loaded: ReturnType<typeof load> | undefined
  return async (request: Request): Promise<Response> => {
    loaded ??= load()
    return (await loaded)(request)
  }
}
